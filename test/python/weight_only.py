# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of products whose rows have no scales, for every target: a file of tests
imports them, and says with its fixture `target` for which one they are.

Rows hold small integers, and NaN where no group reads them, so answers are exact.
"""

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import Plain, random_scaled
from nvfp4_kernels import compile_kernels

ROWS = ["bf16", "f16"]


def plain_product(rng, groups, n, k, fmt, rows, m=None):
    """Operands for `groups`, with lhs in bf16 or f16."""
    if groups.kind == "ragged_k":
        data = np.full((m, groups.extent), np.nan, OUT[rows])
        parts = []
        for begin, count in zip(groups.begins, groups.counts):
            data[:, begin:begin + count] = rng.integers(-8, 9, (m, count))
            parts.append(Plain(data[:, begin:begin + count]))
        rhs = [random_scaled(rng, (n, c), fmt) for c in groups.counts]
        return Product(groups, parts, rhs), data
    rank3 = groups.kind in ("batched", "masked")
    shape = ((len(groups),) if rank3 else ()) + (groups.extent, k)
    data = np.full(shape, np.nan, OUT[rows])
    for i, (begin, count) in enumerate(zip(groups.begins, groups.counts)):
        place = (i, slice(0, count)) if rank3 else slice(begin, begin + count)
        data[place] = rng.integers(-8, 9, (count, k))
    stacked = () if groups.kind == "dense" else (len(groups),)
    return Product(groups, Plain(data), random_scaled(rng, stacked + (n, k), fmt)), data


def plain_text(name, groups, fmt, rows, out, **others):
    rank3 = groups.kind in ("batched", "masked")
    shared = groups.kind in ("dense", "ragged_k")
    starts = "compact" if groups.kind == "ragged_k" else "whole"
    rank = 3 if rank3 or groups.kind == "ragged_k" else 2
    return matmul_text(name, groups.attribute, f"tensor<{'?x' * (3 if rank3 else 2)}{rows}>",
                       scaled_type(fmt, 2 if shared else 3, starts=starts),
                       f"tensor<{'?x' * rank}{out}>", **others)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("rows", ROWS)
def test_forms(rng, target, fmt, rows):
    for groups, n, k in ((dense(9), 72, 96), (ragged([3, 0, 70, 1], extra=3), 40, 160),
                         (masked([0, 5, 9], 9), 24, 64), (batched(2, 5), 33, 288)):
        product, data = plain_product(rng, groups, n, k, fmt, rows)
        text = plain_text("f", groups, fmt, rows, "f32", alpha="f32")
        operand, operands = product.arguments()
        got = compile_kernels(target, text).f(*operand, *operands, np.float32(0.5),
                                              product.destination("f32"))
        expected = expected_result(product, "f32", epilogue=lambda acc, g, i: 0.5 * acc)
        assert_equal(got, expected, groups.kind)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e4m3"])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("k", [33, 135])
def test_short_blocks(rng, target, fmt, rows, k):
    data = rng.integers(-8, 9, (9, k)).astype(OUT[rows])
    product = Product(dense(9), Plain(data), random_scaled(rng, (72, k), fmt))
    text = matmul_text("f", "<dense>", f"tensor<9x{k}x{rows}>", scaled_type(fmt, shape=(72, k)),
                       "tensor<9x72xbf16>")
    _, operands = product.arguments()
    got = compile_kernels(target, text).f(*operands, product.destination("bf16"))
    assert_equal(got, expected_result(product, "bf16"), k)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp8_e4m3"])
@pytest.mark.parametrize("rows", ROWS)
def test_groups_along_k(rng, target, fmt, rows):
    groups = ragged([0, 16, 130, 0, 7, 33], extra=6, kind="ragged_k")
    product, data = plain_product(rng, groups, 72, None, fmt, rows, m=37)
    text = plain_text("f", groups, fmt, rows, "f32")
    weights = join_along_k(product.rhs, groups, "linear", "compact")
    got = compile_kernels(target, text).f(groups.operand, data, weights,
                                          product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


@pytest.mark.parametrize("rows", ROWS)
def test_any_numbers_within_the_bound(rng, target, rows):
    k = 1024
    data = rng.standard_normal((17, k)).astype(OUT[rows])
    product = Product(dense(17), Plain(data), random_scaled(rng, (65, k), "nvfp4", lattice=False))
    text = matmul_text("f", "<dense>", f"tensor<?x?x{rows}>", scaled_type("nvfp4"),
                       "tensor<?x?xf32>")
    _, operands = product.arguments()
    got = compile_kernels(target, text).f(*operands, product.destination("f32"))
    (_, acc, magnitude), = product.accumulators()
    assert_within(got, acc, random_bound(acc, magnitude, k, 1), "f32")


@pytest.mark.parametrize("rows", ROWS)
def test_nan_and_infinity_in_rows(rng, target, rows):
    data = rng.integers(1, 9, (4, 64)).astype(OUT[rows])
    data[1, 3], data[2, 5] = np.nan, np.inf
    rhs = random_scaled(rng, (8, 64), "nvfp4")
    rhs.codes[:, 5] = np.arange(8) % 2 * 2  # 0 and 1
    text = matmul_text("f", "<dense>", f"tensor<?x?x{rows}>", scaled_type("nvfp4"),
                       "tensor<?x?xf32>")
    got = compile_kernels(target, text).f(data, rhs.store(), poison((4, 8), "f32"))
    assert np.all(np.isfinite(got[[0, 3]])) and np.all(np.isnan(got[1]))
    assert np.all(np.isnan(got[2, ::2])) and np.all(got[2, 1::2] == np.inf)
