# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer of the example, router to sums, as one function on device memory."""

import pathlib
import re

import ml_dtypes
import numpy as np
import pytest

import nvfp4

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
