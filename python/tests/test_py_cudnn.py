# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuDNN's grouped product with GLU: its tensors, flow and results; its defects only where they are asked for."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from format_formulas import F, ceil_log2, cutlass, elements, power
from nvfp4.cudnn import (GroupedGemmGluSm100, grouped_gemm_glu_wrapper_sm100, grouped_gemm_quant_wrapper_sm100,
                         grouped_gemm_srelu_wrapper_sm100)
from nvfp4_cases import activation_bound, assert_equal, assert_within, swiglu
from nvfp4_formats import FORMATS, random_scaled, store_scales

N, K = 128, 64


def view(scales, padding=0):
    """cuDNN's 6-D view of logical scales [L, R, C]."""
    return np.stack([store_scales(s, "blocked", None, padding) for s in scales]).transpose(3, 4, 1, 5, 2, 0)


class Case:
    def __init__(self, rng, counts=(256, 0, 256), fmt="nvfp4", extra=0):
        self.fmt, self.counts = FORMATS[fmt], counts
        m = sum(counts) + extra
        a = random_scaled(rng, (m, K), fmt, codes="small")
        b = random_scaled(rng, (len(counts), N, K), fmt, codes="small")
        typed = {"nvfp4": ml_dtypes.float8_e4m3fn}.get(fmt, ml_dtypes.float8_e8m0fnu)
        values = {"mxfp8_e4m3": ml_dtypes.float8_e4m3fn, "mxfp8_e5m2": ml_dtypes.float8_e5m2}.get(fmt, np.uint8)
        self.a = a.store()[0].view(values)[:, :, None]
        self.b = b.store()[0].view(values).transpose(1, 2, 0)
        self.sfa, self.sfb = view(a.scales[None]).view(typed), view(b.scales).view(typed)
        self.offsets = np.cumsum(counts).astype(np.int32)
        self.alpha = np.array([0.25, 0.5, 0.125][:len(counts)], np.float32)
        self.z = [self.alpha[g] * (a.values()[end - n:end] @ b.values()[g].T)
                  for g, (n, end) in enumerate(zip(counts, self.offsets))]
        self.rows = [slice(end - n, end) for n, end in zip(counts, self.offsets)]
        self.m, self.vector = m, self.fmt.block

    def inputs(self, **others):
        return dict(a_tensor=self.a, sfa_tensor=self.sfa, padded_offsets=self.offsets, alpha_tensor=self.alpha,
                    b_tensor=self.b, sfb_tensor=self.sfb, sf_vec_size=self.vector, **others)


def split(z):
    """Gate and up: even and odd blocks of 32 columns."""
    blocks = z.reshape(len(z), N // 64, 2, 32)
    return blocks[:, :, 0].reshape(len(z), N // 2), blocks[:, :, 1].reshape(len(z), N // 2)


ACTS = {"swiglu": (1, 0, np.inf), "geglu": (float(np.float32(1.702)), 1, 7)}


def expected_glu(case, act, prob=None, bias=None):
    for g, (z, rows) in enumerate(zip(case.z, case.rows)):
        if bias is not None:
            z = z + bias[:, g].astype(float)
        gate, up = split(z)
        y = swiglu(gate, up, *ACTS[act])
        bound = activation_bound(y, np.minimum(gate, ACTS[act][2]), 1.702) * 2
        factor = 1 if prob is None else prob[rows].astype(float)
        yield rows, z, y * factor, bound * np.abs(factor)


@pytest.mark.parametrize("act", ["swiglu", "geglu"])
@pytest.mark.parametrize("fmt", ["nvfp4", "nvfp4_e8m0", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"])
def test_wrapper(rng, act, fmt):
    case = Case(rng, fmt=fmt)
    prob = rng.choice([-2, -1, 0, 1], (case.m, 1, 1)).astype(np.float32)
    results = grouped_gemm_glu_wrapper_sm100(**case.inputs(prob_tensor=prob, act_func=act, c_dtype=np.float32,
                                                           d_dtype="torch.bfloat16"))
    assert results.c_tensor.shape == (case.m, N, 1) and results["d_tensor"].dtype == ml_dtypes.bfloat16
    for g, (rows, z, y, bound) in enumerate(expected_glu(case, act, prob[:, 0])):
        assert_equal(results.c_tensor[rows, :, 0], z.astype(np.float32))
        assert_within(results.d_tensor[rows, :, 0], y, bound, "bf16")
        # The maximum before rounding to bfloat16.
        assert abs(results.amax_tensor[g, 0] - np.abs(y).max(initial=0)) <= bound.max(initial=0) + 2.0**-20 * np.abs(y).max(initial=0)


def test_flow_with_bias_and_buffers_that_are_longer(rng):
    case = Case(rng, extra=40)
    bias = rng.integers(-8, 8, (3, N)).astype(ml_dtypes.bfloat16).T
    c, d = np.full((1, case.m, N), np.nan, np.float32), np.full((1, case.m, N // 2), np.nan, np.float32)
    c[:, -40:], d[:, -40:] = 13, 13
    c, d = c.transpose(1, 2, 0), d.transpose(1, 2, 0)
    amax = np.full((3, 1), -np.inf, np.float32)
    api = GroupedGemmGluSm100(case.a, c, d, case.sfa, case.offsets, case.alpha, None, sample_b=case.b,
                              sample_sfb=case.sfb, sample_bias=bias, sample_amax=amax)
    with pytest.raises(RuntimeError, match="compile"):
        api.execute(case.a, c, d, case.sfa, case.offsets, case.alpha, case.b, case.sfb, bias)
    assert api.check_support()
    api.compile()
    api.execute(case.a, c, d, case.sfa, case.offsets, case.alpha, case.b, case.sfb, bias, amax_tensor=amax)
    for g, (rows, z, y, bound) in enumerate(expected_glu(case, "swiglu", None, bias)):
        assert_equal(c[rows, :, 0], z.astype(np.float32))
        assert_within(d[rows, :, 0], y, bound, "f32")
        assert amax[g, 0] == np.abs(d[rows]).max(initial=0)
    assert (c[-40:] == 13).all() and (d[-40:] == 13).all()


def test_limits_and_offset_of_geglu(rng):
    case = Case(rng, (256,))
    results = grouped_gemm_glu_wrapper_sm100(**case.inputs(act_func="geglu", linear_offset=0.5, geglu_alpha=1.5,
                                                           glu_clamp_max=3.0, glu_clamp_min=-2.0, d_dtype=np.float32))
    gate, up = split(case.z[0])
    gate = np.minimum(gate, 3)
    y = gate / (1 + np.exp(-1.5 * gate)) * (np.clip(up, -2, 3) + 0.5)
    assert_within(results.d_tensor[:, :, 0], y, activation_bound(y, gate, 1.5) * 2, "f32")


def test_weights_behind_pointers(rng):
    case = Case(rng)
    dense = grouped_gemm_glu_wrapper_sm100(**case.inputs())
    weights = [np.ascontiguousarray(case.b[:, :, g]) for g in range(3)]
    scales = [np.ascontiguousarray(case.sfb.transpose(5, 2, 4, 0, 1, 3)[g]) for g in range(3)]
    inputs = case.inputs(b_ptrs=np.array([w.ctypes.data for w in weights]), n=N, b_dtype="torch.float4_e2m1fn_x2",
                         sfb_ptrs=np.array([s.ctypes.data for s in scales]))
    inputs.update(b_tensor=None, sfb_tensor=None)
    discrete = grouped_gemm_glu_wrapper_sm100(**inputs)
    np.testing.assert_array_equal(discrete.d_tensor, dense.d_tensor)
    np.testing.assert_array_equal(discrete.c_tensor, dense.c_tensor)
    for change, message in ((dict(sfb_ptrs=np.zeros(2, np.int64)), "length mismatch: expected 3"),
                            (dict(b_ptrs=np.zeros(3, np.int32)), "int64"), (dict(b_ptrs=np.zeros(3, np.int64)), "null")):
        with pytest.raises(ValueError, match=message):
            grouped_gemm_glu_wrapper_sm100(**{**inputs, **change})


@pytest.mark.parametrize("kind,fmt", [(ml_dtypes.float8_e4m3fn, "mxfp8_e4m3"), (ml_dtypes.float8_e5m2, "mxfp8_e5m2")])
@pytest.mark.parametrize("compat", [None, "cudnn"])
def test_results_with_scales_of_rows_and_columns(rng, kind, fmt, compat):
    case = Case(rng, (256, 256), "mxfp8_e4m3")
    norm = np.array([2.0], np.float32)
    plain = grouped_gemm_glu_wrapper_sm100(**case.inputs(d_dtype=np.float32)).d_tensor[:, :, 0]
    results = grouped_gemm_glu_wrapper_sm100(**case.inputs(d_dtype=kind, norm_const_tensor=norm, compat=compat))

    def quantised(x):
        blocks = x.reshape(-1, 32)
        if compat is None or fmt == "mxfp8_e4m3":
            codes, bytes_ = cutlass(blocks, fmt, norm[0])
        else:  # the limit 128 of cuDNN
            bytes_, value = power(ceil_log2(np.abs(blocks).max(1) * F(1 / 128) * norm[0]))
            codes = elements(blocks * (norm[0] / value)[:, None], fmt)
        return codes.reshape(x.shape), bytes_.reshape(len(x), -1)

    codes, scales = quantised(plain)
    np.testing.assert_array_equal(results.d_tensor[:, :, 0].view(np.uint8), codes)
    np.testing.assert_array_equal(results.sfd_row_tensor.view(np.uint8), view(scales[None], 127))
    codes, scales = quantised(np.ascontiguousarray(plain.T))
    np.testing.assert_array_equal(results.d_col_tensor[:, :, 0].view(np.uint8), codes.T)
    np.testing.assert_array_equal(results.sfd_col_tensor.view(np.uint8), view(scales[None]))


def test_ours_by_default_theirs_by_name(rng):
    case = Case(rng)
    ours = grouped_gemm_glu_wrapper_sm100(**case.inputs())
    theirs = grouped_gemm_glu_wrapper_sm100(**case.inputs(compat="cudnn"))
    assert ours.amax_tensor[1] == 0 and theirs.amax_tensor[1] == -np.inf
    np.testing.assert_array_equal(ours.d_tensor, theirs.d_tensor)
    with pytest.raises(NotImplementedError, match="bias"):
        grouped_gemm_glu_wrapper_sm100(**case.inputs(d_dtype=np.float32, compat="cudnn"))
    ragged = Case(rng, (7, 0, 30))
    result = grouped_gemm_glu_wrapper_sm100(**ragged.inputs(d_dtype=np.float32))
    for rows, _, y, bound in expected_glu(ragged, "swiglu"):
        assert_within(result.d_tensor[rows, :, 0], y, bound, "f32")
    with pytest.raises(ValueError, match="multiples of 256"):
        grouped_gemm_glu_wrapper_sm100(**ragged.inputs(compat="cudnn"))


@pytest.mark.parametrize("compat", [None, "cudnn"])
def test_quant_and_squared_relu(rng, compat):
    case = Case(rng)
    bias = rng.integers(-8, 8, (3, N)).astype(np.float32).T
    prob = rng.choice([-2.0, 0.5, 1], (case.m, 1, 1)).astype(np.float32)
    quant = grouped_gemm_quant_wrapper_sm100(**case.inputs(bias_tensor=bias, prob_tensor=prob, d_dtype=np.float32,
                                                           compat=compat))
    srelu = grouped_gemm_srelu_wrapper_sm100(**case.inputs(bias_tensor=bias, prob_tensor=prob, c_dtype=np.float32,
                                                           d_dtype=np.float32, compat=compat))
    for g, (z, rows) in enumerate(zip(case.z, case.rows)):
        p, b = prob[rows, 0].astype(float), bias[:, g].astype(float)
        assert_equal(quant.d_tensor[rows, :, 0], (z + b * p if compat else (z + b) * p).astype(np.float32))
        assert_equal(srelu.c_tensor[rows, :, 0], (z + b).astype(np.float32))
        y = np.maximum(z + b, 0) ** 2 * p
        assert_within(srelu.d_tensor[rows, :, 0], y, np.abs(y) * 2.0**-22, "f32")


@pytest.mark.parametrize("change,message", [
    (lambda c: dict(act_func="relu"), "swiglu or geglu"), (lambda c: dict(sf_vec_size=8), "16 or 32"),
    (lambda c: dict(sf_vec_size=32), "sf_vec_size 16"), (lambda c: dict(cd_major="m"), "cd_major"),
    (lambda c: dict(alpha_tensor=np.ones(2, np.float32)), r"alpha of shape \(3,\)"),
    (lambda c: dict(prob_tensor=np.ones(5, np.float32)), "prob of shape"),
    (lambda c: dict(b_tensor=c.b[:100]), "multiple of 64|nearest"),
    (lambda c: dict(b_tensor=None), "b_ptrs"), (lambda c: dict(compat="trt"), "compat"),
    (lambda c: dict(a_tensor=np.asfortranarray(c.a)), "adjacent"),
    (lambda c: dict(sfa_tensor=c.sfa[:, :, :1]), "4 blocks of 128 rows, but got 1"),
    (lambda c: dict(d_dtype="float13"), "d_dtype"),
    (lambda c: dict(a_tensor=c.a.view(np.int8).astype(np.float32)), "float4_e2m1fn_x2")])
def test_what_is_not_supported_says_why(rng, change, message):
    case = Case(rng)
    with pytest.raises(ValueError, match=message):
        grouped_gemm_glu_wrapper_sm100(**{**case.inputs(), **change(case)})


@pytest.mark.parametrize("wrapper", [grouped_gemm_glu_wrapper_sm100, grouped_gemm_quant_wrapper_sm100,
                                     grouped_gemm_srelu_wrapper_sm100])
@pytest.mark.parametrize("compat", [None, "cudnn"])
def test_schedules_change_no_bit_and_those_of_no_kernel_are_refused(rng, wrapper, compat):
    case = Case(rng)
    expected = wrapper(**case.inputs(compat=compat)).d_tensor
    for tile, clusters in ((128, ((1, 1), (2, 1), (1, 2), (2, 4))), (256, (None, (2, 1), (2, 4)))):
        for cluster in clusters:
            got = wrapper(**case.inputs(compat=compat, mma_tiler_mn=(tile, 256), cluster_shape_mn=cluster, vector_f32=True,
                                        use_dynamic_sched=True, acc_dtype="torch.float32"))
            np.testing.assert_array_equal(got.d_tensor, expected)
    for change, message in (
            (dict(mma_tiler_mn=(64, 17)), r"mma_tiler_mn \(128, 256\) or \(256, 256\), but got \(64, 17\)"),
            (dict(mma_tiler_mn=256), "two whole numbers"), (dict(mma_tiler_mn=(256.0, 256)), "two whole numbers"),
            (dict(cluster_shape_mn=(3, 5)), r"\(2, 1\), .* for mma_tiler_mn \(256, 256\), but got \(3, 5\)"),
            (dict(cluster_shape_mn=(1, 1)), "cluster_shape_mn"), (dict(cluster_shape_mn=(4, 1)), "cluster_shape_mn"),
            (dict(mma_tiler_mn=(128, 256), cluster_shape_mn=(4, 1)), r"\(1, 1\), .*but got \(4, 1\)"),
            (dict(m_aligned=128), "m_aligned 256, but got 128"), (dict(acc_dtype=np.float16), "acc_dtype float32"),
            (dict(vector_f32=3), "vector_f32 True or False"), (dict(use_dynamic_sched=None), "use_dynamic_sched True or"),
            (dict(discrete_col_sfd=True), "discrete_col_sfd")):
        with pytest.raises((ValueError, NotImplementedError), match=message):
            wrapper(**case.inputs(compat=compat, **change))


def test_parameters_of_geglu_are_not_those_of_swiglu(rng):
    case = Case(rng)
    for change in (dict(linear_offset=1.0), dict(geglu_alpha=1.5), dict(glu_clamp_max=3.0), dict(glu_clamp_min=-3.0)):
        with pytest.raises(ValueError, match="expected act_func geglu with linear_offset, .* for swiglu"):
            grouped_gemm_glu_wrapper_sm100(**case.inputs(**change))


def test_weights_are_given_once(rng):
    case = Case(rng)
    pointers = np.ones(3, np.int64)
    for change in (dict(b_ptrs=pointers, sfb_ptrs=pointers), dict(sfb_ptrs=pointers), dict(sfb_tensor=None)):
        with pytest.raises(ValueError, match="expected either b_tensor and sfb_tensor, or b_ptrs and sfb_ptrs"):
            grouped_gemm_glu_wrapper_sm100(**{**case.inputs(), **change})
    with pytest.raises(ValueError, match="expected no n and b_dtype with b_tensor"):
        grouped_gemm_glu_wrapper_sm100(**case.inputs(n=N))


def test_scales_of_columns_by_group(rng, monkeypatch):
    """The scales of each group as blocked scales of their own, one after the other: cuDNN's create_and_partition_new_SFDCol."""
    monkeypatch.setitem(globals(), "N", 384)
    case = Case(rng, (256, 0, 512), "mxfp8_e4m3")
    inputs = case.inputs(d_dtype=ml_dtypes.float8_e4m3fn, norm_const_tensor=np.array([2.0], np.float32))
    whole = grouped_gemm_glu_wrapper_sm100(**inputs)
    packed = grouped_gemm_glu_wrapper_sm100(**inputs, discrete_col_sfd=True)
    for name in ("d_tensor", "d_col_tensor", "sfd_row_tensor"):
        np.testing.assert_array_equal(whole[name].view(np.uint8), packed[name].view(np.uint8))
    # [columns / 128, rows / 128, 32, 4, 4] of all rows, and of each group.
    tiles = whole.sfd_col_tensor.view(np.uint8).transpose(5, 2, 4, 0, 1, 3)[0]
    expected = np.concatenate([tiles[:, rows.start // 128:rows.stop // 128].ravel() for rows in case.rows])
    found = packed.sfd_col_tensor.view(np.uint8).transpose(5, 2, 4, 0, 1, 3).ravel()
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, tiles.ravel())
    ragged = Case(rng, (64, 64), "mxfp8_e4m3")
    with pytest.raises(ValueError, match="start at multiples of 128 rows for discrete_col_sfd, but got one at 64"):
        grouped_gemm_glu_wrapper_sm100(**ragged.inputs(d_dtype=ml_dtypes.float8_e4m3fn, discrete_col_sfd=True,
                                                       norm_const_tensor=np.ones(1, np.float32)))


def test_one_expert_may_end_where_a_does(rng):
    case = Case(rng, (256,))

    def run(offsets, **options):
        d = np.full((1, case.m, N // 2), 7, np.float32).transpose(1, 2, 0)
        api = GroupedGemmGluSm100(case.a, None, d, case.sfa, offsets, case.alpha, None, sample_b=case.b, sample_sfb=case.sfb,
                                  **options)
        api.compile()
        api.execute(case.a, None, d, case.sfa, offsets, case.alpha, case.b, case.sfb)
        return d

    none = np.zeros(1, np.int32)
    assert (run(none) == 7).all()
    np.testing.assert_array_equal(run(none, use_single_group_runtime_offsets=True), run(case.offsets))
    case = Case(rng, (256, 256))
    with pytest.raises(ValueError, match="expected one expert for use_single_group_runtime_offsets, but got 2"):
        run(case.offsets, use_single_group_runtime_offsets=True)


def test_c_is_there_where_it_is_asked_for(rng):
    case = Case(rng, (256,))
    c, d = (np.zeros((1, case.m, n), np.float32).transpose(1, 2, 0) for n in (N, N // 2))
    arguments = case.a, c, d, case.sfa, case.offsets, case.alpha
    with pytest.raises(ValueError, match="expected c_tensor with generate_c, but got None"):
        GroupedGemmGluSm100(case.a, None, *arguments[2:], None, sample_b=case.b, sample_sfb=case.sfb, generate_c=True).compile()
    api = GroupedGemmGluSm100(*arguments, None, sample_b=case.b, sample_sfb=case.sfb, generate_c=True)
    api.compile()
    with pytest.raises(ValueError, match="expected a tensor for c|c_tensor with generate_c"):
        api.execute(case.a, None, *arguments[2:], case.b, case.sfb)
    api.execute(*arguments, case.b, case.sfb)
    assert_equal(c[:, :, 0], case.z[0].astype(np.float32))


def test_errors_are_of_both_families():
    assert issubclass(nvfp4.ArgumentError, ValueError) and issubclass(nvfp4.ArgumentError, nvfp4.NVFP4Error)
