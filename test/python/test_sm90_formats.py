# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels for sm_90a make of formats: weights decoded in registers, rows as bf16,
groups along K, and the numbers that neither holds."""

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import random_scaled
from nvfp4_kernels import check, compile_kernels, simulated, tile
from nvfp4_module import FULL

pytestmark = simulated("sm_90a")

# One of each decoder.
SOME = FORMAT_NAMES if FULL else ("nvfp4", "mxfp4", "mxfp8_e4m3")


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("m,n", [(96, 256), (40, 256), (192, 128)])
def test_tiles(rng, fmt, m, n):
    check(rng, "sm_90a", ragged([3, 129, 0, 70]), 264, 544, fmt, attrs=tile(m, n, 128))


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("k", [1, 50, 135] if FULL else [50, 135])
def test_short_blocks(rng, fmt, k):
    """Any K: the last block of a row may be short, and its last nibble alone."""
    product = make_product(rng, dense(9), 72, k, fmt)
    text = matmul_text("f", "<dense>", scaled_type(fmt, shape=(9, k)),
                       scaled_type(fmt, shape=(72, k)), "tensor<9x72xf32>")
    _, operands = product.arguments()
    got = compile_kernels("sm_90a", text).f(*operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"), k)


@pytest.mark.parametrize("fmt", SOME)
@pytest.mark.parametrize("side", ["lhs", "rhs"])
def test_nan_scales_poison_their_row_or_column(rng, fmt, side):
    product = make_product(rng, dense(9), 72, 96, fmt)
    operand = getattr(product, side)
    operand.scales[5, 1] = operand.fmt.nan_scale
    text = matmul_text("f", "<dense>", scaled_type(fmt), scaled_type(fmt), "tensor<?x?xf32>")
    _, operands = product.arguments()
    got = compile_kernels("sm_90a", text).f(*operands, product.destination("f32"))
    nan = np.zeros((9, 72), bool)
    nan[(5, slice(None)) if side == "lhs" else (slice(None), 5)] = True
    assert np.array_equal(np.isnan(got), nan)


@pytest.mark.parametrize("fmt", [f for f in FORMAT_NAMES if f != "nvfp4"])
@pytest.mark.parametrize("exponent", [-100, 100])
def test_scales_of_weights_far_from_one(rng, fmt, exponent):
    """A power of two is taken out of each matrix, and put back into its products."""
    groups = ragged([3, 40])
    product = make_product(rng, groups, 72, 96, fmt)
    product.rhs.scales[1] += np.uint8(exponent % 256)
    text = matmul_text("f", groups.attribute, scaled_type(fmt), scaled_type(fmt, 3),
                       "tensor<?x?xf32>")
    operand, operands = product.arguments()
    got = compile_kernels("sm_90a", text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_what_decoders_do_not_hold_is_an_error(rng):
    groups = ragged([3, 40], extra=2)
    text = matmul_text("f", groups.attribute, scaled_type("mxfp4"), scaled_type("mxfp4", 3),
                       "tensor<?x?xf32>")
    module = compile_kernels("sm_90a", text)

    def call(product):
        operand, operands = product.arguments()
        return module.f(*operand, *operands, product.destination("f32"))

    product = make_product(rng, groups, 72, 96, "mxfp4")
    product.rhs.scales[1, 0, 0], product.rhs.scales[1, 3, 1] = 1, 250
    product.rhs.codes[1, 0, 0] = product.rhs.codes[1, 3, 32] = 1
    with pytest.raises(RuntimeError, match=r"within a factor of 2\^126 of each other, but got "
                                           r"2\^-126 and 2\^123"):
        call(product)
    product = make_product(rng, groups, 72, 96, "mxfp4")
    # Rows of no group may hold anything.
    product.lhs.scales[44], product.lhs.codes[44] = 254, 7
    assert_equal(call(product), expected_result(product, "f32"))
    product.lhs.scales[7, 1], product.lhs.codes[7, 40] = 254, 7
    with pytest.raises(RuntimeError, match="that bf16 holds.* in row 7, column"):
        call(product)


RAGGED_K = [("ends", 1, "linear", "compact"), ("starts", 1, "blocked", "compact"),
            ("ends", 4, "blocked_8x4", "compact"), ("starts", 128, "linear", "whole"),
            ("ends", 128, "blocked", "whole")]


@pytest.mark.parametrize("fmt", SOME if FULL else ["nvfp4", "mxfp8_e4m3"])
@pytest.mark.parametrize("offsets,align,layout,starts", RAGGED_K)
def test_groups_along_k(rng, fmt, offsets, align, layout, starts):
    """Weight gradients: groups at any offset along K, empty ones included."""
    sides = scaled_type(fmt, 2, layout, starts)
    groups = ragged([0, 16, 300, 0, 7, 33], offsets, align, extra=5, kind="ragged_k")
    text = matmul_text("f", groups.attribute, sides, sides, "tensor<?x?x?xf32>",
                       alpha="tensor<?xf32>", beta="f32")
    module = compile_kernels("sm_90a", text)
    alpha = rng.choice([0.5, 1, 2], len(groups)).astype(np.float32)
    for m, n in ((70, 72), (5, 264)):
        product = make_product(rng, groups, n, None, fmt, m=m)
        operand, operands = product.arguments(layout, starts, layout, starts)
        start = rng.integers(-99, 99, product.out_shape()).astype(np.float32)
        got = module.f(*operand, *operands, alpha, np.float32(0.5), start.copy())
        expected = expected_result(product, "f32",
                                   epilogue=lambda acc, g, i: alpha[g] * acc + 0.5 * start[i])
        assert_equal(got, expected, (m, n))


def test_groups_along_k_share_their_rows(rng):
    """Numbers of a row belong to all groups, those of a group to its matrix."""
    groups = ragged([130, 0, 40], kind="ragged_k")
    product = make_product(rng, groups, 40, None, "nvfp4", m=100)
    sides = scaled_type("nvfp4", 2, "linear", "compact")
    text = matmul_text("f", groups.attribute, sides, sides, "tensor<?x?x?xbf16>",
                       bias="tensor<?x?xf32>", prob="tensor<?xf32>")
    operand, operands = product.arguments("linear", "compact", "linear", "compact")
    bias = rng.integers(-8, 8, (3, 40)).astype(np.float32)
    prob = rng.choice([0.5, 1, 2], 100).astype(np.float32)
    got = compile_kernels("sm_90a", text).f(*operand, *operands, bias, prob,
                                            product.destination("bf16"))
    expected = expected_result(product, "bf16",
                               epilogue=lambda acc, g, i: (acc + bias[g]) * prob[:, None])
    assert_equal(got, expected)
