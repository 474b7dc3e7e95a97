# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of products as kernels that hold for every target. A file of tests imports
them all, and says with its fixture `target` for which one they are.
"""

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import random_scaled
from nvfp4_kernels import check, compile_kernels


@pytest.mark.parametrize("m,n,k", [(128, 128, 256), (256, 128, 512), (1, 8, 64), (130, 136, 288),
                                   (5, 264, 1024), (128, 33, 32), (3, 1, 0)])
def test_dense(rng, target, m, n, k):
    check(rng, target, dense(m), n, k)


@pytest.mark.parametrize("out", ["bf16", "f16"])
def test_result_types(rng, target, out):
    check(rng, target, dense(40), 72, 96, out=out)
    check(rng, target, dense(40), 71, 96, out=out)


@pytest.mark.parametrize("offsets,align", [("ends", 1), ("ends", 4), ("starts", 1),
                                           ("ends", 128), ("starts", 128)])
def test_ragged_rows(rng, target, offsets, align):
    check(rng, target, ragged([3, 0, 130, 1, 0], offsets, align, extra=7), 136, 288)
    check(rng, target, ragged([0, 0], offsets, align), 40, 64)


def test_ragged_rows_of_64_bit_offsets(rng, target):
    check(rng, target, ragged([3, 0, 130], dtype=np.int64), 40, 64, index="i64")


@pytest.mark.parametrize("layout,starts", [("linear", "compact"), ("blocked", "whole"),
                                           ("blocked", "compact"), ("blocked", "upper_bound"),
                                           ("blocked_8x4", "whole")])
def test_scale_layouts(rng, target, layout, starts):
    check(rng, target, ragged([5, 0, 64, 129]), 72, 160, lhs_layout=layout, lhs_starts=starts,
          rhs_layout="blocked")


def test_masked_and_batched(rng, target):
    check(rng, target, masked([0, 7, 130], 140), 72, 96)
    check(rng, target, batched(3, 9), 136, 64)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_formats(rng, target, fmt):
    check(rng, target, ragged([3, 0, 130]), 72, 288, fmt)
    check(rng, target, dense(16), 40, 32, fmt)


@pytest.mark.parametrize("k", [256, 200, 33])
@pytest.mark.parametrize("lhs,rhs", [("mxfp8_e4m3", "mxfp4"), ("mxfp4", "mxfp8_e5m2"),
                                     ("mxfp8_e5m2", "mxfp8_e4m3")])
def test_mixed_formats(rng, target, lhs, rhs, k):
    product = make_product(rng, dense(130), 72, k, lhs)
    product.rhs = random_scaled(rng, (72, k), rhs)
    text = matmul_text("f", "<dense>", scaled_type(lhs, shape=(130, k)),
                       scaled_type(rhs, shape=(72, k)), "tensor<130x72xf32>")
    _, operands = product.arguments(filler=15)
    got = compile_kernels(target, text).f(*operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_weights_of_separate_operands(rng, target):
    groups = ragged([3, 0, 130])
    product = make_product(rng, groups, 72, 96, "nvfp4", weights="discrete")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4"),
                       "tensor<?x?xf32>", weights=len(groups))
    operand, operands = product.arguments()
    got = compile_kernels(target, text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_list(rng, target):
    """Problems with their own M, N and K."""
    products = [make_product(rng, dense(m), n, k, "nvfp4")
                for m, n, k in [(80, 136, 512), (1, 8, 32), (130, 64, 96)]]
    text = list_text("f", len(products), "nvfp4", "tensor<?x?xf16>", "tensor<?xf32>", "f32")
    alpha = np.array([1, 0.5, 2], np.float32)
    pairs = [product.arguments()[1] for product in products]
    outs = [product.destination("f16", value=13) for product in products]
    got = compile_kernels(target, text).f(*[a for a, _ in pairs], *[b for _, b in pairs], alpha,
                                          np.float32(2), *outs)
    for g, product, factor in zip(got, products, alpha):
        expected = expected_result(product, "f16",
                                   epilogue=lambda acc, *_: factor * acc + 2 * 13)
        assert_equal(g, expected)


# Behind an odd K half a byte is nobody's. It holds -6 in these tests.
FILLER = 15


@pytest.mark.parametrize("groups,n,k,fmt,weights", [
    (dense(5), 33, 63, "nvfp4", "stacked"), (dense(130), 8, 1, "mxfp4", "stacked"),
    # Rows of 16 and 144 bytes, which are copied as they are if K is even.
    (ragged([3, 0, 130], extra=2), 72, 31, "nvfp4", "stacked"),
    (ragged([3, 0, 130]), 136, 545, "mxfp4", "stacked"),
    (ragged([7, 60], "starts", 4), 40, 287, "nvfp4_e8m0", "stacked"),
    (ragged([3, 0, 40]), 72, 97, "nvfp4", "discrete"),
    (masked([0, 7, 61], 70), 72, 255, "nvfp4", "stacked"),
    (batched(2, 9), 136, 257, "mxfp4", "stacked")], ids=str)
def test_odd_k(rng, target, groups, n, k, fmt, weights):
    product = make_product(rng, groups, n, k, fmt, weights=weights)
    outer = ["?"] if groups.kind in ("batched", "masked") else []
    is_stack = groups.kind != "dense" and weights == "stacked"
    text = matmul_text("f", groups.attribute, scaled_type(fmt, shape=outer + ["?", k]),
                       scaled_type(fmt, shape=["?"] * is_stack + ["?", k]),
                       "tensor<" + "x".join(outer + ["?", "?", "f32"]) + ">",
                       weights=len(groups) if weights == "discrete" else 1)
    operand, operands = product.arguments(filler=FILLER)
    got = compile_kernels(target, text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_odd_k_in_a_list(rng, target):
    shapes = [(80, 40, 511), (1, 8, 32), (130, 64, 95), (3, 5, 1)]
    products = [make_product(rng, dense(m), n, k, "nvfp4") for m, n, k in shapes]
    text = list_text("f", len(shapes), "nvfp4", "tensor<?x?xf32>", ks=[k for _, _, k in shapes])
    pairs = [product.arguments(filler=FILLER)[1] for product in products]
    got = compile_kernels(target, text).f(*[a for a, _ in pairs], *[b for _, b in pairs],
                                          *[product.destination("f32") for product in products])
    for result, product in zip(got, products):
        assert_equal(result, expected_result(product, "f32"))


@pytest.mark.parametrize("lhs,rhs", [("nvfp4", "nvfp4"), ("mxfp4", "mxfp8_e4m3"),
                                     ("mxfp8_e4m3", "mxfp4")])
def test_odd_k_in_groups(rng, target, lhs, rhs):
    """The last group ends at K, within a byte."""
    groups = ragged([33, 0, 300], kind="ragged_k")
    product = make_product(rng, groups, 40, None, lhs, m=20)
    product.rhs = [random_scaled(rng, (40, c), rhs) for c in groups.counts]
    text = matmul_text("f", groups.attribute,
                       scaled_type(lhs, starts="compact", shape=("?", groups.extent)),
                       scaled_type(rhs, starts="compact", shape=("?", groups.extent)),
                       "tensor<?x?x?xf32>")
    operand, operands = product.arguments("linear", "compact", "linear", "compact",
                                          filler=FILLER)
    got = compile_kernels(target, text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


# Result, alpha, offsets: each result with each alpha.
ALONG_K = [(out, alpha, ("ends", "starts")[(i + j) % 2])
           for i, out in enumerate(["f32", "bf16", "f16"]) for j, alpha in enumerate([None, "f32", "tensor<?xf32>"])]


@pytest.mark.parametrize("out,alpha,offsets", ALONG_K)
def test_results_of_groups_along_k(rng, target, out, alpha, offsets):
    groups = ragged([33, 0, 64], offsets, kind="ragged_k", extra=3)
    product = make_product(rng, groups, 24, None, "nvfp4", m=35)
    side = scaled_type("nvfp4", 2, starts="compact")
    text = matmul_text("f", groups.attribute, side, side, f"tensor<?x?x?x{out}>", alpha=alpha)
    operand, operands = product.arguments("linear", "compact", "linear", "compact")
    factor = np.float32([0.5, 2, 0.25]) if alpha == "tensor<?xf32>" else np.float32([0.5] * 3 if alpha else [1] * 3)
    scalars = [] if not alpha else [np.float32(0.5)] if alpha == "f32" else [factor]
    got = compile_kernels(target, text).f(*operand, *operands, *scalars, product.destination(out))
    assert_equal(got, expected_result(product, out, epilogue=lambda acc, g, _: factor[g] * acc))


# Groups and N of products whose result, or each group of it, has no elements.
NOTHING = [(dense(0), 32), (dense(5), 0), (batched(2, 0), 32), (batched(2, 5), 0), (masked([0, 0], 3), 32),
           (ragged([0, 0]), 32), (ragged([0, 0], "starts", extra=3), 32), (ragged([2, 3]), 0)]


@pytest.mark.parametrize("number", range(len(NOTHING)))
def test_the_maximum_of_nothing_is_zero(rng, target, number):
    groups, n = NOTHING[number]
    quantizer = "<trtllm>" if number % 2 else None
    product = make_product(rng, groups, n, 32, "nvfp4")
    rank = 3 if groups.kind in ("batched", "masked") else 2
    lhs = scaled_type("nvfp4", rank)
    dims = "x".join("?" * rank)
    text = matmul_text("f", groups.attribute, lhs, scaled_type("nvfp4", 2 if groups.kind == "dense" else 3),
                       None if quantizer else f"tensor<{dims}xf32>", quantizer=quantizer,
                       quantized=lhs if quantizer else None, amax=True)
    operand, operands = product.arguments()
    stored = [] if quantizer else [product.destination("f32")]
    *_, amax = compile_kernels(target, text).f(*operand, *operands, *stored, np.full(len(groups), -7, np.float32))
    assert np.array_equal(amax, np.zeros(len(groups), np.float32)), amax


def past_the_operand(rng):
    """A product whose last end lies behind its 43 rows, its text and its arguments."""
    groups = ragged([3, 40])
    product = make_product(rng, groups, 40, 64, "nvfp4")
    groups.operand = np.array([3, 1000], np.int32)
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4", 3),
                       "tensor<?x?xf32>")
    operand, operands = product.arguments()
    return product, text, [*operand, *operands, product.destination("f32")]


def test_offsets_outside_the_operand_write_nothing_there(rng, target):
    """Without run-time checks offsets are cut to the rows there are."""
    product, text, arguments = past_the_operand(rng)
    got = compile_kernels(target, text, "--runtime-checks=false").f(*arguments)
    assert_equal(got, expected_result(product, "f32"))


def test_run_time_checks_come_first(rng, target):
    _, text, arguments = past_the_operand(rng)
    with pytest.raises(RuntimeError, match=r"ends\[1\].*grouping_c6"):
        compile_kernels(target, text).f(*arguments)
