# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuDNN's grouped products of the backward pass, against formulas in float64."""

import ml_dtypes
import numpy as np
import pytest

from nvfp4_cases import assert_within
from nvfp4.cudnn import (GroupedGemmDsreluSm100, discrete_grouped_gemm_dswiglu_wrapper_sm100, grouped_gemm_dglu_wrapper_sm100,
                         grouped_gemm_dsrelu_wrapper_sm100, grouped_gemm_dswiglu_wrapper_sm100)
from test_py_cudnn import Case, N

BF16 = ml_dtypes.bfloat16


def blocks(x):
    """Gate and up: even and odd blocks of 32 columns."""
    pairs, shape = x.reshape(len(x), x.shape[1] // 64, 2, 32), (len(x), x.shape[1] // 2)
    return pairs[:, :, 0].reshape(shape), pairs[:, :, 1].reshape(shape)


def join(gate, up):
    """The inverse of blocks."""
    shape = len(gate), gate.shape[1] // 32, 32
    return np.stack([gate.reshape(shape), up.reshape(shape)], 2).reshape(len(gate), 2 * gate.shape[1])


def differentiate(z, g, p, alpha, offset, limit):
    """(gradient of z, magnitude of its terms, gradient of p, magnitude of its terms)."""
    gate, up = blocks(z)
    low, clamped = np.minimum(gate, limit), np.clip(up, -limit, limit)
    s = 1 / (1 + np.exp(-alpha * low))
    act = low * s * (clamped + offset)
    d_gate = np.where(gate <= limit, p * g * (clamped + offset) * s * (1 + alpha * low * (1 - s)), 0)
    d_up = np.where(np.abs(up) <= limit, p * g * low * s, 0)
    # The slope of the gate is a sum that may cancel.
    size = np.abs(p * g * (clamped + offset)) * s * (1 + np.abs(alpha * low))
    return join(d_gate, d_up), join(size, np.abs(d_up)), (g * act).sum(1), np.abs(g * act).sum(1)


def pointers(case):
    """Weights behind pointers, and what keeps them."""
    weights = [np.ascontiguousarray(case.b[:, :, g]) for g in range(len(case.counts))]
    scales = [np.ascontiguousarray(case.sfb.transpose(5, 2, 4, 0, 1, 3)[g]) for g in range(len(case.counts))]
    inputs = case.inputs(b_ptrs=np.array([w.ctypes.data for w in weights]), n=N, b_dtype="torch.float4_e2m1fn_x2",
                         sfb_ptrs=np.array([s.ctypes.data for s in scales]))
    inputs.pop("b_tensor"), inputs.pop("sfb_tensor")
    return inputs, (weights, scales)


def extra(rng, case, width):
    c = (rng.integers(-32, 33, (case.m, width * N, 1)) / 8).astype(BF16)
    prob = rng.choice([-2, -1, 0.5, 1], (case.m, 1, 1)).astype(np.float32)
    return dict(c_tensor=c, prob_tensor=prob)


ACTS = {"dswiglu": (1, 0, np.inf), "dgeglu": (float(np.float32(1.702)), 1, 7)}


@pytest.mark.parametrize("act", list(ACTS))
@pytest.mark.parametrize("wrapper", [grouped_gemm_dglu_wrapper_sm100, discrete_grouped_gemm_dswiglu_wrapper_sm100])
def test_dglu(rng, act, wrapper):
    case = Case(rng, (256, 0, 70), extra=10)
    given, beta = extra(rng, case, 2), np.array([1, 0.5, 2], np.float32)
    inputs, kept = (case.inputs(), None) if wrapper is grouped_gemm_dglu_wrapper_sm100 else pointers(case)
    dprob = np.full((case.m, 1, 1), 3, np.float32)
    found = wrapper(**inputs, **given, beta_tensor=beta, dprob_tensor=dprob, act_func=act, generate_dbias=True,
                    d_dtype=np.float32)
    assert list(found.keys()) == ["d_row_tensor", "d_col_tensor", "dprob_tensor", "dbias_tensor", "amax_tensor",
                                  "sfd_row_tensor", "sfd_col_tensor"]
    for g, (rows, product) in enumerate(zip(case.rows, case.z)):
        z = float(beta[g]) * given["c_tensor"][rows, :, 0].astype(float)
        dz, terms, dp, size = differentiate(z, product, given["prob_tensor"][rows, 0].astype(float), *ACTS[act])
        assert_within(found.d_row_tensor[rows, :, 0], dz, terms * 2.0**-20, "f32")
        np.testing.assert_array_equal(found.d_row_tensor[rows], found.d_col_tensor[rows])
        assert (np.abs(dprob[rows, 0, 0] - 3 - dp) <= size * 2.0**-20 + 2.0**-20 * (3 + np.abs(dp))).all()
        sums = found.d_row_tensor[rows, :, 0].astype(float).sum(0)
        assert_within(found.dbias_tensor[g, :, 0].astype(float), sums, np.abs(sums) * 2.0**-8, "f32")
    assert (dprob[-10:] == 3).all() and (found.d_row_tensor[-10:] == 0).all()


def test_maxima_and_buffers_of_dswiglu(rng):
    case = Case(rng)
    given = extra(rng, case, 2)
    dprob, amax = (np.full(shape, np.nan, np.float32) for shape in ((case.m, 1, 1), (3, 2, 1)))
    found = grouped_gemm_dswiglu_wrapper_sm100(**case.inputs(), **given, beta_tensor=np.ones(3, np.float32),
                                               dprob_tensor_buf=dprob, amax_tensor_buf=amax)
    assert found.dprob_tensor is dprob and found.amax_tensor is amax and np.isfinite(dprob).all()
    for g, rows in enumerate(case.rows):
        for half, part in enumerate(blocks(found.d_row_tensor[rows, :, 0].astype(np.float32))):
            # The maximum is that before rounding to bfloat16.
            assert abs(amax[g, half, 0] - np.abs(part).max(initial=0)) <= 2.0**-8 * amax[g, half, 0]


def test_dsrelu_is_exact(rng):
    case = Case(rng, (256, 0, 256))
    given = extra(rng, case, 1)
    results = {name: np.full((1, case.m, N), np.nan, np.float32).transpose(1, 2, 0) for name in ("row", "col", "srelu")}
    dprob, dbias = np.zeros((case.m, 1, 1), np.float32), np.zeros((3, N, 1), np.float32)
    amax = np.full((3, 1), np.nan, np.float32)
    api = GroupedGemmDsreluSm100(
        case.a, case.b, given["c_tensor"], results["row"], results["col"], results["srelu"], case.sfa, case.sfb, case.offsets,
        case.alpha, given["prob_tensor"], dprob, dbias, sample_amax=amax)
    assert api.check_support()
    api.compile()
    api.execute(case.a, given["c_tensor"], results["row"], results["col"], case.sfa, case.offsets, case.alpha,
                given["prob_tensor"], dprob, case.b, case.sfb, dbias, d_srelu_tensor=results["srelu"], amax_tensor=amax)
    for g, (rows, product) in enumerate(zip(case.rows, case.z)):
        z, p = given["c_tensor"][rows, :, 0].astype(float), given["prob_tensor"][rows, 0].astype(float)
        dz = 2 * np.maximum(z, 0) * p * product
        assert_within(results["row"][rows, :, 0], dz, np.abs(dz) * 2.0**-22, "f32")
        assert_within(results["srelu"][rows, :, 0], np.maximum(z, 0)**2 * p, 0 * z, "f32")
        terms = np.maximum(z, 0)**2 * product
        assert (np.abs(dprob[rows, 0, 0] - terms.sum(1)) <= np.abs(terms).sum(1) * 2.0**-22).all()
        assert (np.abs(dbias[g, :, 0] - dz.sum(0)) <= np.abs(dz).sum(0) * 2.0**-21).all()
        assert amax[g, 0] == np.abs(results["row"][rows]).max(initial=0)
    np.testing.assert_array_equal(results["row"], results["col"])


def test_results_with_scales(rng):
    case = Case(rng, (256, 256), "mxfp8_e4m3")
    given = extra(rng, case, 1)
    found = grouped_gemm_dsrelu_wrapper_sm100(**case.inputs(), **given, d_dtype=ml_dtypes.float8_e4m3fn,
                                              norm_const_tensor=np.ones(1, np.float32))
    plain = grouped_gemm_dsrelu_wrapper_sm100(**case.inputs(), **given, d_dtype=np.float32)
    assert plain.sfd_row_tensor is None and plain.amax_tensor is None
    for name, scales in (("d_row_tensor", "sfd_row_tensor"), ("d_col_tensor", "sfd_col_tensor"),
                         ("d_srelu_tensor", "sfd_col_d_srelu_tensor")):
        codes, wanted = found[name][:, :, 0].astype(float), plain["d_row_tensor" if "srelu" not in name else name][:, :, 0]
        factors = found[scales].transpose(2, 1, 0, 4, 3, 5).reshape(found[scales].shape[2] * 128, -1).astype(float)
        factors = factors[:case.m] if scales == "sfd_row_tensor" else factors[:N].T
        factors = np.repeat(factors, 32, 1)[:, :N] if scales == "sfd_row_tensor" else np.repeat(factors, 32, 0)[:case.m]
        assert (np.abs(codes * factors - wanted) <= np.maximum(np.abs(wanted) * 2.0**-4, factors * 2.0**-9)).all()


@pytest.mark.parametrize("change,message", [
    (dict(act_func="swiglu"), "act_func dswiglu or dgeglu"), (dict(act_func="dgeglu", glu_clamp_min=-3.0), "glu_clamp_min"),
    (dict(geglu_alpha=1.0), "geglu_alpha"), (dict(prob_tensor=None), "a tensor for prob"),
    (dict(beta_tensor=np.ones(2, np.float32)), "beta of shape"), (dict(epilogue_op="relu"), "epilogue_op"),
    (dict(c_tensor=np.zeros((512, N, 1), BF16)), "c of shape")])
def test_errors_name_the_argument(rng, change, message):
    case = Case(rng)
    arguments = dict(**case.inputs(), **extra(rng, case, 2), beta_tensor=np.ones(3, np.float32), dprob_tensor=None)
    with pytest.raises((ValueError, NotImplementedError), match=message):
        grouped_gemm_dglu_wrapper_sm100(**{**arguments, **change})
