# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of cuDNN's grouped products of the forward pass beside those of the GLU product, against float64."""

import ml_dtypes
import numpy as np
import pytest

from format_formulas import cutlass
from nvfp4.cudnn import (GroupedGemmQuantSm100, GroupedGemmSreluSm100, discrete_grouped_gemm_swiglu_wrapper_sm100,
                         grouped_gemm_glu_wrapper_sm100, grouped_gemm_quant_wrapper_sm100, grouped_gemm_srelu_wrapper_sm100,
                         grouped_gemm_swiglu_wrapper_sm100)
from nvfp4_cases import assert_equal, assert_within
from test_py_cudnn import Case, N, view
from test_py_cudnn_backward import pointers


def nan(case, columns=N, dtype=np.float32):
    return np.full((1, case.m, columns), np.nan, dtype).transpose(1, 2, 0)


def factors(rng, case):
    return rng.choice([-2.0, 0.5, 1], (case.m, 1, 1)).astype(np.float32), rng.choice([0.25, 1, 4], case.m).astype(np.float32)


@pytest.mark.parametrize("has_prob", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_row_scales_come_before_the_bias(rng, has_prob, has_bias):
    case = Case(rng, (256, 0, 70), extra=10)
    prob, scale = factors(rng, case)
    bias = rng.integers(-8, 8, (3, N)).astype(np.float32).T
    d = nan(case)
    found = grouped_gemm_quant_wrapper_sm100(**case.inputs(
        d_tensor=d, row_scale_tensor=scale, prob_tensor=prob if has_prob else None, bias_tensor=bias if has_bias else None))
    assert found.d_tensor is d and list(found.keys()) == ["d_tensor", "d_col_tensor", "amax_tensor", "sfd_row_tensor",
                                                          "sfd_col_tensor"]
    for g, (rows, z) in enumerate(zip(case.rows, case.z)):
        y = z * scale[rows, None].astype(float) + (bias[:, g] if has_bias else 0)
        assert_equal(d[rows, :, 0], (y * (prob[rows, 0].astype(float) if has_prob else 1)).astype(np.float32))
    assert np.isnan(d[-10:]).all()
    if has_prob and has_bias:
        padded = Case(rng, (256, 0, 256))
        prob, scale = factors(rng, padded)
        found = grouped_gemm_quant_wrapper_sm100(**padded.inputs(row_scale_tensor=scale, prob_tensor=prob, bias_tensor=bias,
                                                                 compat="cudnn"))
        for g, (rows, z) in enumerate(zip(padded.rows, padded.z)):
            y = z * scale[rows, None].astype(float) + bias[:, g] * prob[rows, 0].astype(float)
            assert_equal(np.asarray(found.d_tensor)[rows, :, 0].astype(float), y.astype(np.float32).astype(found.d_tensor.dtype).astype(float))


def test_a_probability_of_one_dimension(rng):
    case = Case(rng)
    prob, _ = factors(rng, case)
    results = [grouped_gemm_quant_wrapper_sm100(**case.inputs(prob_tensor=p)).d_tensor for p in (prob, prob[:, 0, 0].copy())]
    np.testing.assert_array_equal(*results)


def test_quant_as_a_class_with_weights_behind_pointers(rng):
    case = Case(rng, extra=10)
    inputs, kept = pointers(case)
    d, d_col, amax = nan(case, dtype=ml_dtypes.bfloat16), nan(case, dtype=ml_dtypes.bfloat16), np.full((3, 1), np.nan, np.float32)
    api = GroupedGemmQuantSm100(case.a, case.sfa, case.offsets, case.alpha, d, d_col, num_experts=3, b_shape=(N, 64),
                                b_dtype=np.uint8, sample_amax=amax)
    assert api.check_support()
    api.compile()
    with pytest.raises(ValueError, match="expected a tensor for amax"):
        api.execute(case.a, case.sfa, case.offsets, case.alpha, d, b_ptrs=inputs["b_ptrs"], sfb_ptrs=inputs["sfb_ptrs"],
                    d_col_tensor=d_col)
    api.execute(case.a, case.sfa, case.offsets, case.alpha, d, b_ptrs=inputs["b_ptrs"], sfb_ptrs=inputs["sfb_ptrs"],
                d_col_tensor=d_col, amax_tensor=amax)
    for g, (rows, z) in enumerate(zip(case.rows, case.z)):
        assert_equal(d[rows, :, 0], z.astype(ml_dtypes.bfloat16))
        assert amax[g, 0] == np.abs(z).max(initial=0)
    np.testing.assert_array_equal(d[:-10], d_col[:-10])
    assert np.isnan(d[-10:].astype(float)).all() and np.isnan(d_col[-10:].astype(float)).all()


@pytest.mark.parametrize("wrapper", [grouped_gemm_quant_wrapper_sm100, grouped_gemm_srelu_wrapper_sm100])
def test_results_with_scales(rng, wrapper):
    case = Case(rng, (256, 256), "mxfp8_e4m3")
    norm = np.array([2.0], np.float32)
    plain = wrapper(**case.inputs(d_dtype=np.float32)).d_tensor[:, :, 0]
    found = wrapper(**case.inputs(d_dtype=ml_dtypes.float8_e4m3fn, norm_const_tensor=norm))
    for matrix, codes, scales, padding in ((plain, found.d_tensor[:, :, 0], found.sfd_row_tensor, 127),
                                           (np.ascontiguousarray(plain.T), found.d_col_tensor[:, :, 0].T, found.sfd_col_tensor, 0)):
        wanted, bytes_ = cutlass(matrix.reshape(-1, 32), "mxfp8_e4m3", norm[0])
        np.testing.assert_array_equal(codes.view(np.uint8), wanted.reshape(matrix.shape))
        np.testing.assert_array_equal(scales.view(np.uint8), view(bytes_.reshape(1, len(matrix), -1), padding))


def test_squared_relu_as_a_class(rng):
    case = Case(rng)
    prob, _ = factors(rng, case)
    c, d = nan(case), nan(case)
    api = GroupedGemmSreluSm100(case.a, case.b, c, d, case.sfa, case.sfb, case.offsets, case.alpha, sample_prob=prob)
    assert api.check_support()
    api.compile()
    api.execute(case.a, case.sfa, case.offsets, case.alpha, c, d, case.b, case.sfb, prob_tensor=prob)
    for rows, z in zip(case.rows, case.z):
        assert_equal(c[rows, :, 0], z.astype(np.float32))
        y = np.maximum(z, 0)**2 * prob[rows, 0].astype(float)
        assert_within(d[rows, :, 0], y, np.abs(y) * 2.0**-22, "f32")
    with pytest.raises(ValueError, match="expected a tensor for d, but got None"):
        GroupedGemmSreluSm100(case.a, case.b, c, None, case.sfa, case.sfb, case.offsets, case.alpha).check_support()


def test_swiglu_of_dense_and_discrete_weights(rng):
    case = Case(rng)
    prob, _ = factors(rng, case)
    wanted = grouped_gemm_glu_wrapper_sm100(**case.inputs(prob_tensor=prob))
    inputs, kept = pointers(case)
    for found in (grouped_gemm_swiglu_wrapper_sm100(**case.inputs(prob_tensor=prob)),
                  discrete_grouped_gemm_swiglu_wrapper_sm100(**inputs, prob_tensor=prob)):
        assert list(found.keys()) == list(wanted.keys())
        for name in ("c_tensor", "d_tensor", "amax_tensor"):
            np.testing.assert_array_equal(found[name], wanted[name])


def test_maxima_are_optional_and_one_expert_may_end_at_m(rng):
    case = Case(rng, (256,))
    found = grouped_gemm_quant_wrapper_sm100(**case.inputs(generate_amax=False))
    assert found.amax_tensor is None
    other = case.inputs(use_single_group_runtime_offsets=True)
    other["padded_offsets"] = np.zeros(1, np.int32)
    np.testing.assert_array_equal(grouped_gemm_quant_wrapper_sm100(**other).d_tensor, found.d_tensor)
