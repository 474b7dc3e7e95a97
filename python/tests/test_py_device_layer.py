# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer of the example, router to sums, as one function on device memory."""

import pathlib
import re

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4_cases import assert_within, random_bound

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/moe_layer/layer.mlir"
EXPERTS, HIDDEN, WIDTH = 16, 256, 128


def make_text(packed=False):
    """The example with smaller matrices, and with weights as sm_90a reads them where they lie."""
    sizes = {"1024": HIDDEN, "1536": 2 * WIDTH, "768": WIDTH}
    text = re.sub("|".join(sizes), lambda found: str(sizes[found[0]]), EXAMPLE.read_text())
    if packed:
        text = re.sub(r"(scaled<16x\d+x\d+, nvfp4)>", r"\1, wgmma>", text).replace("gate = <halves,", "gate = <32,")
    return text


@pytest.fixture(scope="module")
def arguments():
    rng = np.random.default_rng(5)
    up, down = (rng.standard_normal((EXPERTS, rows, columns)).astype(np.float32) / 8
                for rows, columns in ((2 * WIDTH, HIDDEN), (HIDDEN, WIDTH)))
    weights = []
    for matrix, parts in ((up, 2), (down, 1)):
        halves = [nvfp4.encode_scale(part, by_expert=True) for part in np.split(matrix, parts, 1)]
        scale = np.minimum.reduce(halves)
        weights += [nvfp4.quantize(matrix, global_scale=scale),
                    np.stack([1 / scale] * parts, 1) if parts > 1 else 1 / scale]
    encode = np.array([200.0], np.float32), np.array([150.0], np.float32)
    alpha, beta = weights[1] / encode[0], weights[3] / encode[1]
    router = rng.standard_normal((EXPERTS, HIDDEN)).astype(np.float32)
    return router, weights[0], alpha.astype(np.float32), encode[0], weights[2], beta.astype(np.float32), encode[1]


@pytest.mark.parametrize("target, tokens", [("sm_90a", 9), ("sm_90a", 1), ("sm_100a", 9), ("sm_100a", 0)])
def test_layer(rng, arguments, target, tokens):
    """As the CPU computes it, but for the order of the router's sums."""
    x = rng.standard_normal((tokens, HIDDEN)).astype(ml_dtypes.bfloat16)
    wanted = np.asarray(nvfp4.compile(make_text(), "cpu").run(x, *arguments, entry="layer")).astype(np.float32)
    router, up, alpha, encode, down, beta, encode2 = arguments
    if target == "sm_90a":
        up, down = nvfp4.relayout(up, gate=("vllm", "cudnn"), layout="wgmma"), nvfp4.relayout(down, layout="wgmma")
    program = nvfp4.compile(make_text(target == "sm_90a"), target + "+sim", memory="device", versions=1)
    got = np.asarray(program.run(x, router, up, alpha, encode, down, beta, encode2, entry="layer")).astype(np.float32)
    assert got.shape == wanted.shape and np.isfinite(got).all()
    if tokens:
        assert np.abs(wanted).max() > 0.01 and np.abs(got - wanted).max() < 0.02 * np.abs(wanted).max()


# The experts of gpt-oss as they are published, with smaller matrices: rows of bf16, MXFP4 weights, gate and up in turn,
# biases, and SwiGLU of values that are clamped.
GPT_OSS = """
!up = !grouped_scaled_gemm.scaled<8x384x320, mxfp4>
!down = !grouped_scaled_gemm.scaled<8x320x192, mxfp4>
func.func @layer(%x: tensor<?x320xbf16>, %logits: tensor<?x8xf32>, %w13: !up, %b13: tensor<8x384xbf16>, %w2: !down,
                 %b2: tensor<8x320xbf16>)
    -> (tensor<?x320xbf16>, tensor<?x192xbf16>, tensor<?x320xbf16>, tensor<8xi32>, tensor<?x4xi32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?x320xbf16>
  %rows = arith.muli %n, %c4 : index
  %we = tensor.empty(%n) : tensor<?x4xf32>
  %ee = tensor.empty(%n) : tensor<?x4xi32>
  %weights, %experts = grouped_scaled_gemm.route topk_softmax(%logits : tensor<?x8xf32>)
      outs(%we, %ee : tensor<?x4xf32>, tensor<?x4xi32>) -> tensor<?x4xf32>, tensor<?x4xi32>
  %se = tensor.empty() : tensor<8xi32>
  %st = tensor.empty(%rows) : tensor<?xi32>
  %sr = tensor.empty(%n) : tensor<?x4xi32>
  %ends, %tokens, %slots = grouped_scaled_gemm.sort_tokens(%experts : tensor<?x4xi32>)
      outs(%se, %st, %sr : tensor<8xi32>, tensor<?xi32>, tensor<?x4xi32>) -> tensor<8xi32>, tensor<?xi32>, tensor<?x4xi32>
  %pe = tensor.empty(%rows) : tensor<?x320xbf16>
  %p = grouped_scaled_gemm.permute(%x : tensor<?x320xbf16>) by(%tokens : tensor<?xi32>)
      outs(%pe : tensor<?x320xbf16>) -> tensor<?x320xbf16>
  %he = tensor.empty(%rows) : tensor<?x192xbf16>
  %h = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>) lhs(%p : tensor<?x320xbf16>)
      rhs(%w13 : !up) bias(%b13 : tensor<8x384xbf16>)
      activation = <swiglu, alpha = 1.702, beta = 1.0, limit = 7.0, gate = <1, gate_first>>
      outs(%he : tensor<?x192xbf16>) -> tensor<?x192xbf16>
  %ye = tensor.empty(%rows) : tensor<?x320xbf16>
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>) lhs(%h : tensor<?x192xbf16>)
      rhs(%w2 : !down) bias(%b2 : tensor<8x320xbf16>) outs(%ye : tensor<?x320xbf16>) -> tensor<?x320xbf16>
  %oe = tensor.empty(%n) : tensor<?x320xbf16>
  %out = grouped_scaled_gemm.combine(%y : tensor<?x320xbf16>) by(%slots : tensor<?x4xi32>)
      weights(%weights : tensor<?x4xf32>) outs(%oe : tensor<?x320xbf16>) -> tensor<?x320xbf16>
  return %out, %h, %y, %ends, %slots, %weights
      : tensor<?x320xbf16>, tensor<?x192xbf16>, tensor<?x320xbf16>, tensor<8xi32>, tensor<?x4xi32>, tensor<?x4xf32>
}
"""


@pytest.mark.parametrize("target, tokens", [("sm_90a", 9), ("sm_100a", 9), ("sm_100a", 1), ("sm_100a", 0), ("sm_100a", 70)])
def test_experts_of_gpt_oss(rng, target, tokens):
    """Sums of the first product are exact, so its strict activation has the CPU's bits; those of the second are in the bound."""
    lattice = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
    up, down = (nvfp4.quantize(rng.choice(lattice, shape), "mxfp4") for shape in ((8, 384, 320), (8, 320, 192)))
    b13, b2 = (rng.integers(-3, 4, shape).astype(ml_dtypes.bfloat16) for shape in ((8, 384), (8, 320)))
    x = rng.integers(-2, 3, (tokens, 320)).astype(ml_dtypes.bfloat16) / ml_dtypes.bfloat16(16)
    arguments = [x, rng.standard_normal((tokens, 8)).astype(np.float32), up, b13, down, b2]
    wanted, got = (list(map(np.asarray, nvfp4.compile(GPT_OSS, where, versions=1, **options).run(*arguments)))
                   for where, options in (("cpu", {}), (target + "+sim", {"memory": "device"})))
    out, h, y, ends, slots, weights = got
    for i, name in ((1, "h"), (3, "ends"), (4, "slots"), (5, "weights")):
        assert got[i].tobytes() == wanted[i].tobytes(), name
    matrices = nvfp4.dequantize(down).astype(np.float64)
    for g, (first, end) in enumerate(zip([0, *ends[:-1]], ends)):
        a, w = h[first:end].astype(np.float64), matrices[g]
        # Elements of 16 bits are terms of their own; the bias rounds once more.
        exact, terms = a @ w.T + b2[g].astype(np.float64), np.abs(a) @ np.abs(w).T
        bound = random_bound(None, terms, 192, block=1) + np.abs(exact) * 2.0**-24
        assert_within(y[first:end], exact, bound, "bf16", f"y of expert {g}")
    np.testing.assert_array_equal(out, nvfp4.combine(y, slots, weights))
    assert tokens == 0 or len(np.unique(h)) > 20
