# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuDNN's gradients of weights, and maxima behind Hadamard transforms, against formulas in float64."""

import ml_dtypes
import numpy as np
import pytest

from nvfp4.cudnn import (GroupedGemmWgradSm100, get_grouped_gemm_wgrad_workspace_size_sm100,
                         grouped_gemm_glu_hadamard_wrapper_sm100, grouped_gemm_glu_wrapper_sm100,
                         grouped_gemm_wgrad_wrapper_sm100, rmsnorm_rht_amax_wrapper_sm100)
from nvfp4_cases import assert_equal
from nvfp4_formats import FORMATS, random_scaled, store_scales
from test_py_cudnn import Case

BF16 = ml_dtypes.bfloat16
M, N = 160, 96


def hadamard_matrix():
    return np.array([[(-1.0)**bin(i & j).count("1") for j in range(16)] for i in range(16)])


class Gradient:
    """Operands [M, tokens] and [tokens, N] whose scales are those of one group after the other."""

    def __init__(self, rng, fmt, counts):
        self.vector = FORMATS[fmt].block
        tokens = sum(counts)
        self.offsets = np.cumsum(counts).astype(np.int32)
        typed = ml_dtypes.float8_e4m3fn if fmt == "nvfp4" else ml_dtypes.float8_e8m0fnu
        values = {"mxfp8_e4m3": ml_dtypes.float8_e4m3fn, "mxfp8_e5m2": ml_dtypes.float8_e5m2}.get(fmt, np.uint8)
        operands, self.stored, self.scales = [], [], []
        for rows in (M, N):
            x = random_scaled(rng, (rows, tokens), fmt, codes="small")
            operands.append(x.values())
            self.stored.append(np.ascontiguousarray(x.store()[0]).view(values))
            pieces = [store_scales(x.scales[:, (end - n) // self.vector:end // self.vector], "blocked", None, 0).ravel()
                      for n, end in zip(counts, self.offsets) if n]
            self.scales.append(np.concatenate(pieces).view(typed))
        self.wanted = np.stack([operands[0][:, end - n:end] @ operands[1][:, end - n:end].T
                                for n, end in zip(counts, self.offsets)])

    def inputs(self, **others):
        return dict(a_tensor=self.stored[0], b_tensor=self.stored[1].T, sfa_tensor=self.scales[0], sfb_tensor=self.scales[1],
                    offsets_tensor=self.offsets, sf_vec_size=self.vector, **others)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"])
def test_wgrad(rng, fmt):
    case = Gradient(rng, fmt, (256, 0, 128))
    target = np.full((3, M, N), np.nan, np.float32)
    found = grouped_gemm_wgrad_wrapper_sm100(**case.inputs(wgrad_tensor=target, mma_tiler_mn=(128, 128),
                                                           cluster_shape_mn=(1, 1))).wgrad_tensor
    assert found is target
    assert_equal(found, case.wanted.astype(np.float32))
    scales = np.array([2, 1, 0.5], np.float32), np.array([0.25, 1, 8], np.float32)
    product = (scales[0] * scales[1])[:, None, None].astype(float)
    grouped_gemm_wgrad_wrapper_sm100(**case.inputs(wgrad_tensor=target, accumulate_on_output=True, global_scale_a=scales[0],
                                                   global_scale_b=scales[1]))
    assert_equal(target, (case.wanted * (1 + product)).astype(np.float32))


def test_wgrad_behind_pointers(rng):
    case = Gradient(rng, "nvfp4", (128, 64))
    targets = [np.full((M, N), np.nan, BF16) for _ in range(2)]
    addresses = np.array([target.ctypes.data for target in targets])
    options = dict(num_experts=2, wgrad_shape=(M, N), wgrad_dtype="bfloat16")
    given = case.inputs()
    api = GroupedGemmWgradSm100(*(given[f"{name}_tensor"] for name in ("a", "b", "sfa", "sfb", "offsets")), **options)
    assert api.check_support()
    api.compile()
    api.execute(*(given[f"{name}_tensor"] for name in ("a", "b", "sfa", "sfb", "offsets")), wgrad_ptrs=addresses)
    assert_equal(np.stack(targets), case.wanted.astype(BF16))
    assert get_grouped_gemm_wgrad_workspace_size_sm100(2, output_mode="discrete") == 1


@pytest.mark.parametrize("change,message", [
    (dict(offsets_tensor=np.array([100, 200], np.int32)), "multiples of 64 tokens, .* got one at 100 in offsets_tensor"),
    (dict(output_mode="sparse"), "output_mode"), (dict(wgrad_ptrs=np.ones(2, np.int64)), "wgrad_ptrs"),
    (dict(input_order="tensor_ragged"), "input_order"), (dict(global_scale_a=np.ones(2, np.float32)), "global_scale_b"),
    (dict(sfa_tensor=np.zeros(7, ml_dtypes.float8_e4m3fn)), "scales of a_tensor"),
    (dict(wgrad_tensor=np.zeros((2, M, M), np.float32)), "wgrad of shape"), (dict(mma_tiler_mn=(64, 64)), "mma_tiler_mn")])
def test_errors_of_wgrad_name_the_argument(rng, change, message):
    case = Gradient(rng, "nvfp4", (128, 64))
    with pytest.raises((ValueError, NotImplementedError), match=message):
        grouped_gemm_wgrad_wrapper_sm100(**{**case.inputs(), **change})


def test_maxima_behind_the_transform_of_tokens(rng):
    case = Case(rng)
    prob = rng.choice([-2, 0.5, 1], (case.m, 1, 1)).astype(np.float32)
    found = grouped_gemm_glu_hadamard_wrapper_sm100(**case.inputs(prob_tensor=prob))
    plain = grouped_gemm_glu_wrapper_sm100(**case.inputs(prob_tensor=prob))
    assert list(found.keys()) == ["c_tensor", "d_tensor", "amax_tensor", "post_rht_amax_tensor"]
    for name in ("c_tensor", "d_tensor", "amax_tensor"):
        np.testing.assert_array_equal(found[name], plain[name])
    for g, rows in enumerate(case.rows):
        d = plain.d_tensor[rows, :, 0].astype(float)
        wanted = np.abs(np.einsum("ij,bjn->bin", hadamard_matrix(), d.reshape(-1, 16, d.shape[1]))).max(initial=0)
        # Sums of 16 terms in float32.
        assert abs(found.post_rht_amax_tensor[g, 0] - wanted) <= 16 * np.abs(d).max(initial=0) * 2.0**-22
    with pytest.raises(ValueError, match="d of float16, bfloat16"):
        grouped_gemm_glu_hadamard_wrapper_sm100(**case.inputs(prob_tensor=prob, d_dtype=np.float32))


@pytest.mark.parametrize("rows_per_cta", [None, 1, 8])
def test_rmsnorm_with_transform(rng, rows_per_cta):
    x, w = rng.normal(size=(16, 512)).astype(BF16), rng.normal(size=512).astype(BF16)
    found = rmsnorm_rht_amax_wrapper_sm100(x, w, eps=1e-3, rows_per_cta=rows_per_cta, num_threads=64)
    rows = x.astype(float)
    y = rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-3) * w.astype(float)
    size = np.abs(y).reshape(16, -1, 16).sum(2, keepdims=True) / 4
    y = (y.reshape(16, -1, 16) @ hadamard_matrix()) / 4
    assert (np.abs(found.o_tensor.astype(float).reshape(y.shape) - y) <= np.abs(y) * 2.0**-8 + size * 2.0**-20).all()
    step = rows_per_cta or 2
    wanted = np.abs(y).reshape(16 // step, -1).max(1)
    assert found.amax_tensor.shape == wanted.shape
    assert (np.abs(found.amax_tensor - wanted) <= size.max() * 2.0**-20).all()


@pytest.mark.parametrize("change,message", [
    (dict(w_tensor=np.ones(16, BF16)), "w of 64"), (dict(x_tensor=np.ones((4, 64), np.float32)), "x of bfloat16"),
    (dict(rows_per_cta=3), "rows_per_cta"), (dict(num_threads=48), "num_threads"),
    (dict(x_tensor=np.ones((4, 65), BF16)), "multiple of 16")])
def test_errors_of_rmsnorm_name_the_argument(change, message):
    arguments = dict(x_tensor=np.ones((4, 64), BF16), w_tensor=np.ones(64, BF16))
    with pytest.raises(ValueError, match=message):
        rmsnorm_rht_amax_wrapper_sm100(**{**arguments, **change})
