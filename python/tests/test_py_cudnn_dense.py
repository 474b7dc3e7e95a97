# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuDNN's products of stacks of matrices, and of 16-bit tokens and weights, against formulas in float64."""

import ml_dtypes
import numpy as np
import pytest

from nvfp4.cudnn import (GemmAmaxSm100, GemmSreluSm100, gemm_amax_wrapper_sm100, gemm_dsrelu_wrapper_sm100,
                         gemm_srelu_wrapper_sm100, gemm_swiglu_wrapper_sm100, grouped_gemm_wrapper_sm100,
                         moe_grouped_matmul, moe_grouped_matmul_bwd)
from nvfp4_cases import activation_bound, assert_equal, assert_within
from nvfp4_formats import FORMATS, random_scaled
from test_py_cudnn import view

M, N, K, L = 40, 128, 64, 2
BF16 = ml_dtypes.bfloat16


class Case:
    def __init__(self, rng, fmt="nvfp4"):
        a, b = (random_scaled(rng, (L, rows, K), fmt, codes="small") for rows in (M, N))
        typed = ml_dtypes.float8_e4m3fn if fmt == "nvfp4" else ml_dtypes.float8_e8m0fnu
        values = {"mxfp8_e4m3": ml_dtypes.float8_e4m3fn}.get(fmt, np.uint8)
        self.operands = dict(a_tensor=a.store()[0].view(values).transpose(1, 2, 0), sfa_tensor=view(a.scales).view(typed),
                             b_tensor=b.store()[0].view(values).transpose(1, 2, 0), sfb_tensor=view(b.scales).view(typed),
                             sf_vec_size=FORMATS[fmt].block)
        self.z = np.einsum("lmk,lnk->mnl", a.values(), b.values())


def nan(columns, dtype=np.float32):
    return np.full((L, M, columns), np.nan, dtype).transpose(1, 2, 0)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e4m3"])
def test_amax(rng, fmt):
    case = Case(rng, fmt)
    found = gemm_amax_wrapper_sm100(**case.operands)
    assert_equal(found.c_tensor, case.z.astype(np.float32))
    assert found.amax_tensor.shape == (1, 1, 1) and found.amax_tensor[0, 0, 0] == np.abs(case.z).max()
    c, amax = nan(N), np.full((1, 1, 1), np.nan, np.float32)
    o = {name: case.operands[f"{name}_tensor"] for name in ("a", "b", "sfa", "sfb")}
    api = GemmAmaxSm100(*o.values(), c, amax, sf_vec_size=case.operands["sf_vec_size"])
    assert api.check_support()
    api.compile()
    api.execute(*o.values(), c, amax)
    np.testing.assert_array_equal(c, found.c_tensor)


def test_swiglu_has_up_first(rng):
    case = Case(rng)
    found = gemm_swiglu_wrapper_sm100(**case.operands, alpha=0.25, c_dtype=np.float32)
    z = case.z / 4
    assert_equal(found.ab12_tensor, z.astype(np.float32))
    pairs = z.reshape(M, N // 64, 2, 32, L)
    up, gate = (pairs[:, :, i].reshape(M, N // 2, L) for i in range(2))
    y = up * gate / (1 + np.exp(-gate))
    assert_within(found.c_tensor, y, activation_bound(y, gate, 1), "f32")
    assert abs(found.amax_tensor[0] - np.abs(y).max()) <= 2.0**-20 * np.abs(y).max() and found.sfc_tensor is None


def test_squared_relu_and_its_gradient(rng):
    case = Case(rng)
    prob = rng.choice([-2, 0.5, 1], (M, 1, L)).astype(np.float32)
    forward = gemm_srelu_wrapper_sm100(**case.operands, prob_tensor=prob, c_dtype="float32", d_dtype="float32", alpha=0.5)
    z = case.z / 2
    assert_equal(forward.c_tensor, z.astype(np.float32))
    y = np.maximum(z, 0)**2 * prob
    assert_within(forward.d_tensor, y, np.abs(y) * 2.0**-22, "f32")
    c = rng.integers(-8, 9, (L, M, N)).astype(BF16).transpose(1, 2, 0)
    backward = gemm_dsrelu_wrapper_sm100(**case.operands, c_tensor=c, prob_tensor=prob, d_dtype="float32", alpha=0.5)
    dz, terms = 2 * np.maximum(c.astype(float), 0) * prob * z, np.maximum(c.astype(float), 0)**2 * z
    assert_within(backward.d_tensor, dz, np.abs(dz) * 2.0**-22, "f32")
    assert (np.abs(backward.dprob_tensor[:, 0] - terms.sum(1)) <= np.abs(terms).sum(1) * 2.0**-22).all()
    assert backward.amax_tensor[0] == np.abs(backward.d_tensor).max()


def test_alpha_of_a_call_comes_before_that_of_the_constructor(rng):
    case = Case(rng)
    prob, c, d = np.ones((M, 1, L), np.float32), nan(N), nan(N)
    a, sfa, b, sfb = (case.operands[f"{name}_tensor"] for name in ("a", "sfa", "b", "sfb"))
    api = GemmSreluSm100(a, b, c, d, sfa, sfb, prob, alpha=0.5)
    api.compile()
    for alpha, factor in ((None, 0.5), (2.0, 2.0)):
        api.execute(a, b, c, d, sfa, sfb, prob, alpha=alpha)
        assert_equal(c, (factor * case.z).astype(np.float32))


@pytest.mark.parametrize("wrapper", [gemm_srelu_wrapper_sm100, gemm_swiglu_wrapper_sm100])
def test_results_with_scales_of_rows(rng, wrapper):
    case, swiglu = Case(rng, "mxfp8_e4m3"), wrapper is gemm_swiglu_wrapper_sm100
    more = {} if swiglu else dict(prob_tensor=np.ones((M, 1, L), np.float32))
    y, scales = ("c", "sfc_tensor") if swiglu else ("d", "sfd_tensor")
    found = wrapper(**case.operands, **more, **{f"{y}_dtype": ml_dtypes.float8_e4m3fn}, norm_const_tensor=np.ones(1, np.float32))
    wanted = wrapper(**case.operands, **more, **{f"{y}_dtype": "float32"})[f"{y}_tensor"]
    stored = found[scales]
    factors = stored.transpose(2, 1, 0, 4, 3, 5).reshape(stored.shape[2] * 128, -1, L)[:M].astype(float)
    factors = np.repeat(factors, 32, 1)[:, :wanted.shape[1]]
    codes = found[f"{y}_tensor"].astype(float)
    assert (np.abs(codes * factors - wanted) <= np.maximum(np.abs(wanted) * 2.0**-4, factors * 2.0**-9)).all()


@pytest.mark.parametrize("change,message", [
    (dict(sfa_tensor=None), "sfa_tensor"), (dict(c_major="m"), "c_major"), (dict(ab12_dtype="int8"), "ab12_dtype"),
    (dict(mma_tiler_mn=(64, 64)), "mma_tiler_mn"), (dict(norm_const_tensor=np.ones(1, np.float32)), "norm_const_tensor"),
    (dict(vector_f32=2), "vector_f32"), (dict(sf_vec_size=8), "sf_vec_size")])
def test_errors_name_the_argument(rng, change, message):
    with pytest.raises((ValueError, NotImplementedError), match=message):
        gemm_swiglu_wrapper_sm100(**{**Case(rng).operands, **change})


def tokens(rng, rows, columns):
    return rng.integers(-8, 9, (1, rows, columns)).astype(BF16)


def offsets(*bounds):
    return np.array(bounds, np.int32)[:, None, None]


@pytest.mark.parametrize("mode", ["none", "gather", "scatter"])
@pytest.mark.parametrize("bounds", [(0, 3, 3, 8, 10), (0, 1, 5, 5)])
def test_sixteen_bit_weights(rng, mode, bounds):
    """Four groups of two experts, whose last end is given or not."""
    x, w = tokens(rng, 10, 16), rng.integers(-8, 9, (2, 16, 8)).astype(BF16)
    more = {}
    order = rng.permutation(10).astype(np.int32)
    if mode == "gather":
        more = dict(token_index=order[None, :, None])
    elif mode == "scatter":
        more = dict(token_index=(order // 2)[None, :, None], token_ks=(order % 2)[None, :, None], top_k=2)
    found = moe_grouped_matmul(x, w, offsets(*bounds), mode=mode, **more)
    rows, ends = x[0][order] if mode == "gather" else x[0], (*bounds, 10)[:5]
    wanted = np.zeros((10, 8))
    for g in range(4):
        wanted[ends[g]:ends[g + 1]] = rows[ends[g]:ends[g + 1]].astype(float) @ w[g % 2].astype(float)
    if mode == "scatter":
        wanted[order] = wanted.copy()
    assert_equal(found[0], wanted.astype(BF16))


def test_gradient_of_sixteen_bit_weights(rng):
    x, dy = tokens(rng, 10, 16), tokens(rng, 10, 8)
    found = moe_grouped_matmul_bwd(dy, x, offsets(0, 3, 3))
    wanted = [x[0, a:b].astype(float).T @ dy[0, a:b].astype(float) for a, b in ((0, 3), (3, 3), (3, 10))]
    assert_equal(found, np.stack(wanted).astype(BF16))
    summed = moe_grouped_matmul_bwd(dy, x, offsets(0, 3, 3, 7, 9), num_experts=2)
    parts = [x[0, a:b].astype(float).T @ dy[0, a:b].astype(float) for a, b in ((0, 3), (3, 3), (3, 7), (7, 9))]
    assert_equal(summed, np.stack([parts[0] + parts[2], parts[1] + parts[3]]).astype(BF16))


@pytest.mark.parametrize("change,message", [
    (dict(mode="mix"), "mode"), (dict(mode="gather"), "token_index"), (dict(top_k=2), "top_k"),
    (dict(first_token_offset=offsets(0, 5, 11)), "first_token_offset"), (dict(weight=np.zeros((2, 9, 8), BF16)), "weight"),
    (dict(mode="gather", token_index=np.full((1, 4, 1), 10, np.int32)), "token_index"),
    (dict(token=np.zeros((1, 10, 16), np.float32)), "token of float16")])
def test_errors_of_sixteen_bit_weights_name_the_argument(change, message):
    arguments = dict(token=np.zeros((1, 10, 16), BF16), weight=np.zeros((2, 16, 8), BF16), first_token_offset=offsets(0, 5, 10))
    with pytest.raises(ValueError, match=message):
        moe_grouped_matmul(**{**arguments, **change})


@pytest.mark.parametrize("compat", [None, "cudnn"])
@pytest.mark.parametrize("behind", [False, True])
def test_grouped_product_without_scales(rng, compat, behind):
    ends, m = np.array([256, 256, 512], np.int32), 520
    a = rng.integers(-4, 5, (1, m, 16)).astype(BF16).transpose(1, 2, 0)
    weights = rng.integers(-4, 5, (3, 24, 16)).astype(BF16)
    bias, alpha = rng.integers(-8, 9, (3, 24)).astype(np.float32).T, np.array([0.5, 1, 2], np.float32)
    prob = rng.choice([-2, 0.5, 1], (m, 1, 1)).astype(np.float32)
    d = np.full((1, m, 24), np.nan, np.float32).transpose(1, 2, 0)
    given = dict(b_ptrs=np.array([w.ctypes.data for w in weights]), n=24, b_dtype="bfloat16") if behind else dict(
        b_tensor=weights.transpose(1, 2, 0))
    arguments = dict(a_tensor=a, padded_offsets=ends, alpha_tensor=alpha, prob_tensor=prob, d_tensor=d, generate_c=True,
                     c_dtype="float32", compat=compat, **given)
    found = grouped_gemm_wrapper_sm100(**arguments, bias_tensor=bias)
    assert found.d_tensor is d and np.isnan(d[512:]).all()
    for g, (first, end) in enumerate(((0, 256), (256, 256), (256, 512))):
        z = alpha[g].astype(float) * (a[first:end, :, 0].astype(float) @ weights[g].astype(float).T)
        p, b = prob[first:end, 0].astype(float), bias[:, g].astype(float)
        assert_equal(d[first:end, :, 0], (z + b * p if compat else (z + b) * p).astype(np.float32))
        assert_equal(found.c_tensor[first:end, :, 0], (z + b * p if compat else z + b).astype(np.float32))
    grouped_gemm_wrapper_sm100(**arguments)
    assert_equal(d[:256, :, 0], (prob[:256, 0] * 0.5 * (a[:256, :, 0].astype(float) @ weights[0].astype(float).T)).astype(np.float32))
    for change, message in ((dict(n=3) if not behind else dict(n=None), "n and b_dtype"), (dict(d_dtype="bfloat16"), "d_dtype"),
                            (dict(padded_offsets=np.array([9, 3, 5], np.int32)), "padded_offsets"), (dict(b_major="n"), "b_major")):
        with pytest.raises((ValueError, NotImplementedError), match=message):
            grouped_gemm_wrapper_sm100(**{**arguments, **change})


def test_tensors_of_a_gpu_are_refused(rng):
    class OnGpu:
        def __dlpack_device__(self):
            return 2, 0

        def __dlpack__(self, **_):
            raise AssertionError("nothing of a GPU is read")

    for name in ("a_tensor", "b_tensor", "sfa_tensor"):
        with pytest.raises(ValueError, match="memory of the CPU, but got one on DLPack device"):
            gemm_amax_wrapper_sm100(**{**Case(rng).operands, name: OnGpu()})
