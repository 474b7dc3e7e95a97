# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relayout_weights on a CPU: every byte is that of the interpreter, whose places come
from the documentation, and the way back brings every number."""

import numpy as np
import pytest

import wgmma_numpy
from coded_weights import LAYOUTS, lay_out, relayout_text
from nvfp4_cases import FORMAT_NAMES, scaled_type
from nvfp4_formats import random_scaled
from nvfp4_module import check_with_interpreter, compile_module

SHAPES = [(64, 128), (70, 100), (3, 65, 33), (1, 1)]


def wide(rng, shape, fmt, layout):
    """Weights with zeros in columns, scales over the range that the layout holds, and NaN."""
    weights = random_scaled(rng, shape, fmt, lattice=False)
    codes, scales = weights.codes, weights.scales
    codes[rng.random(codes.shape) < 0.1] = 0
    if fmt != "nvfp4":
        spread = 8 if layout == "wgmma_f16" else 60
        scales[...] = rng.integers(127 - spread, 128, scales.shape)
    else:
        scales[...] = rng.integers(0, 127, scales.shape)
    scales.reshape(-1)[rng.integers(scales.size)] = weights.fmt.nan_scale if fmt != "nvfp4" else 0x7F
    return weights


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_are_those_of_the_interpreter(rng, fmt, layout, shape):
    operand = wide(rng, shape, fmt, layout).store("linear", None, 0, 0)
    check_with_interpreter(relayout_text("f", fmt, shape, layout), "f", operand, exact=True)
    blocks, factors = lay_out(fmt, shape, layout, operand)
    bytes_ = 4352 if fmt.startswith("mxfp8") else 2304
    assert blocks.shape == (*shape[:-2], -(-shape[-2] // 64), 2 * -(-shape[-1] // 128), bytes_)
    assert factors.shape == (shape[:-2] or (1,))
    check_with_interpreter(relayout_text("f", fmt, shape, layout, back=True), "f", (blocks, factors),
                           exact=True)


def test_bytes_are_those_of_numpy(rng):
    shape = (2, 192, 384)
    values, scales = wide(rng, shape, "nvfp4", "wgmma").store("linear", None, 0, 0)
    blocks, factors = lay_out("nvfp4", shape, "wgmma", (values, scales))
    assert np.array_equal(blocks.reshape(2, -1), wgmma_numpy.code(values, scales.view(np.uint8)))
    assert (factors == 128).all()


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_way_back(rng, fmt, layout):
    """Numbers, as what zeros and NaN are stored as is free."""
    shape = (2, 70, 100)
    weights = wide(rng, shape, fmt, layout)
    values, scales = weights.store("linear", None, 0, 0)
    coded = lay_out(fmt, shape, layout, (values, scales))
    back = compile_module(relayout_text("f", fmt, shape, layout, back=True)).f(coded)
    text = (f"func.func @f(%w: {scaled_type(fmt, shape=shape)}, %o: tensor<2x70x100xf32>) -> tensor<2x70x100xf32> {{\n"
            f"  %r = grouped_scaled_gemm.dequantize(%w : {scaled_type(fmt, shape=shape)})"
            " outs(%o : tensor<2x70x100xf32>) -> tensor<2x70x100xf32>\n  return %r : tensor<2x70x100xf32>\n}\n")
    module = compile_module(text)
    out = np.zeros(shape, np.float32)
    before, after = module.f((values, scales), out), module.f(tuple(back), out)
    assert np.array_equal(before, after, equal_nan=True)
    # A second time nothing changes at all.
    again = lay_out(fmt, shape, layout, tuple(back))
    assert all(np.array_equal(a, b) for a, b in zip(coded, again))


@pytest.mark.parametrize("fmt,layout,spread", [("mxfp4", "wgmma", 126), ("mxfp8_e4m3", "wgmma", 124),
                                               ("mxfp8_e5m2", "wgmma", 125), ("mxfp4", "wgmma_f16", 24),
                                               ("mxfp8_e4m3", "wgmma_f16", 22), ("mxfp8_e5m2", "wgmma_f16", 8)])
def test_scales_as_far_apart_as_can_be(rng, fmt, layout, spread):
    weights = random_scaled(rng, (64, 64), fmt)
    weights.codes[...] = 1
    weights.scales[...] = 200
    weights.scales[3, 1] = 200 - spread
    lay_out(fmt, (64, 64), layout, weights.store("linear", None, 0, 0))
    weights.scales[3, 1] -= 1
    with pytest.raises(RuntimeError, match=rf"within a factor of 2\^{spread} of each other.*relayout_weights_c4"):
        lay_out(fmt, (64, 64), layout, weights.store("linear", None, 0, 0))
