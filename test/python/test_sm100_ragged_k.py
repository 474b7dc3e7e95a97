# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups along K on sm_100a: weight gradients, one result a group.

What lies between groups is NaN where the format has one, and 6.0 where it has
none, so that an element too many shows.
"""

import itertools

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import random_scaled
from nvfp4_kernels import EXACT, compile_kernels, run_schedule, simulated, tile
from nvfp4_module import FULL

pytestmark = simulated("sm_100a")


def strategy(n, ctas=1, k=256):
    return tile(128 * ctas, n, k, ctas=ctas)


# Weights on N, as they are without a strategy, and on M.
SIDES = pytest.mark.parametrize("attrs", [None, tile(128, 32, 256, swap_ab="true")],
                                ids=["weights_on_n", "weights_on_m"])


def check(rng, counts, m, n, fmt="nvfp4", offsets="ends", align=1, layout="linear",
          starts="compact", out="f32", index="i32", attrs=None, extra=5):
    """beta = 0.5: what stands in the result is added to."""
    groups = ragged(counts, offsets, align, extra=extra, kind="ragged_k",
                    dtype=np.int64 if index == "i64" else np.int32)
    product = make_product(rng, groups, n, None, fmt, m=m)
    side = scaled_type(fmt, 2, layout, starts)
    text = matmul_text("f", groups.attribute, side, side, f"tensor<?x?x?x{out}>", beta="f32",
                       alpha="tensor<?xf32>", attrs=attrs, index=index)
    operand, operands = product.arguments(layout, starts, layout, starts)
    alpha = rng.choice([0.5, 1, 2], len(groups)).astype(np.float32)
    before = rng.integers(-99, 99, product.out_shape()).astype(OUT[out])
    got = compile_kernels("sm_100a", text).f(
        *operand, *operands, alpha, np.float32(0.5), before.copy())
    expected = expected_result(product, out,
                               epilogue=lambda acc, g, *_: alpha[g] * acc + 0.5 * before[g])
    assert_equal(got, expected, (counts, m, n, fmt))


@pytest.mark.parametrize("offsets,align", [("ends", 1), ("starts", 1), ("ends", 16),
                                           ("starts", 16), ("ends", 256)])
def test_groups_anywhere(rng, offsets, align):
    check(rng, [0, 16, 300, 0, 7, 33], 130, 72, offsets=offsets, align=align)


def test_no_elements_at_all(rng):
    """D = beta D for every empty group."""
    check(rng, [0, 0], 40, 24)
    check(rng, [0], 3, 1, extra=0)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_formats(rng, fmt):
    check(rng, [33, 0, 512, 257], 5, 136, fmt)


@pytest.mark.parametrize("layout,starts,align", [("linear", "whole", 128), ("blocked", "whole", 128),
                                                 ("blocked", "compact", 1),
                                                 ("blocked_8x4", "compact", 4)])
def test_scale_layouts(rng, layout, starts, align):
    check(rng, [130, 0, 64], 40, 130, align=align, layout=layout, starts=starts)


@pytest.mark.parametrize("n,ctas", [(64, 1), (128, 1), (192, 1), (256, 1), (128, 2), (192, 2),
                                    (256, 2)])
def test_tiles(rng, n, ctas):
    check(rng, [300, 0, 520], 300, 264, attrs=strategy(n, ctas))
    if FULL:
        check(rng, [300, 0, 520], 300, 264, "mxfp4", attrs=strategy(n, ctas))
        check(rng, [300, 0, 520], 300, 264, "mxfp8_e4m3", attrs=strategy(n, ctas, 128))


@pytest.mark.parametrize("n,ctas", [(8, 1), (16, 1), (32, 1), (64, 1), (128, 1), (256, 1),
                                    (16, 2), (64, 2), (192, 2)])
def test_weights_on_m(rng, n, ctas):
    """Few rows of A beside many of B: the gradient of a weight of low rank."""
    turned = tile(128 * ctas, n, 256, ctas=ctas, swap_ab="true")
    check(rng, [300, 0, 7], 8, 300, attrs=turned)
    check(rng, [33, 520], 61, 264, "mxfp4", out="bf16", attrs=turned)


def test_results_and_offsets(rng):
    check(rng, [48, 5], 17, 40, out="bf16", index="i64")


def test_mixed_formats(rng):
    groups = ragged([128, 0, 200], kind="ragged_k", extra=56)
    product = make_product(rng, groups, 40, None, "mxfp8_e4m3", m=20)
    product.rhs = [random_scaled(rng, (40, c), "mxfp4") for c in groups.counts]
    text = matmul_text("f", groups.attribute, scaled_type("mxfp8_e4m3", 2, starts="compact"),
                       scaled_type("mxfp4", 2, starts="compact"), "tensor<?x?x?xf32>")
    operand, operands = product.arguments("linear", "compact", "linear", "compact")
    got = compile_kernels("sm_100a", text).f(*operand, *operands,
                                                     product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


@SIDES
def test_rows_share_their_numbers(rng, attrs):
    """prob and bias are of rows and columns, which all groups have in common."""
    groups = ragged([40, 0, 16], kind="ragged_k")
    product = make_product(rng, groups, 24, None, "nvfp4", m=130)
    side = scaled_type("nvfp4", 2, starts="compact")
    text = matmul_text("f", groups.attribute, side, side, "tensor<?x?x?xf32>",
                       bias="tensor<?xf32>", prob="tensor<?xf32>", attrs=attrs)
    operand, operands = product.arguments("linear", "compact", "linear", "compact")
    bias = rng.integers(-9, 9, 24).astype(np.float32)
    prob = rng.choice([0.5, 1, 2], 130).astype(np.float32)
    got = compile_kernels("sm_100a", text).f(*operand, *operands, bias, prob,
                                                     product.destination("f32"))
    expected = expected_result(product, "f32",
                               epilogue=lambda acc, *_: (acc + bias) * prob[:, None])
    assert_equal(got, expected)


@SIDES
def test_pairs_and_their_pre_activation(rng, attrs):
    groups, n = ragged([40, 0, 16], kind="ragged_k"), 48
    product = make_product(rng, groups, n, None, "nvfp4", m=130)
    side = scaled_type("nvfp4", 2, starts="compact")
    text = matmul_text("f", groups.attribute, side, side, "tensor<?x?x?xf32>", alpha="f32",
                       preact="tensor<?x?x?xf16>",
                       activation="<swiglu, gate = <8, gate_first>>", attrs=attrs)
    operand, operands = product.arguments("linear", "compact", "linear", "compact")
    pre, got = compile_kernels("sm_100a", text).f(
        *operand, *operands, np.float32(1 / 64), product.destination("f16"),
        product.destination("f32", n // 2))
    gate, up = gate_rows(8, 0, n // 2)
    for i, (index, acc, _) in enumerate(product.accumulators()):
        z = acc / 64
        assert_equal(pre[index], round_to(z, "f16"), f"pre-activation of group {i}")
        y = swiglu(z[:, gate], z[:, up], 1, 0, np.inf)
        assert_within(got[index], y, activation_bound(y, z[:, gate], 1.702), "f32", f"group {i}")


def test_offsets_outside_the_operand(rng):
    """Without run-time checks offsets are cut to the elements there are."""
    groups = ragged([32, 40], kind="ragged_k")
    product = make_product(rng, groups, 40, None, "nvfp4", m=5)
    groups.operand = np.array([32, 1000], np.int32)
    side = scaled_type("nvfp4", 2, starts="compact")
    text = matmul_text("f", groups.attribute, side, side, "tensor<?x?x?xf32>")
    operand, operands = product.arguments("linear", "compact", "linear", "compact")
    got = compile_kernels("sm_100a", text, "--runtime-checks=false").f(
        *operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


@pytest.mark.parametrize("seed", range(1, 17 if FULL else 3))
@pytest.mark.parametrize("n,ctas,swap", [(64, 1, "false"), (256, 1, "false"),
                                         (128, 2, "false"), (16, 1, "true")])
def test_schedules(rng, seed, n, ctas, swap):
    """TMA overwrites bytes of the destination that threads read (profile strict)."""
    groups = ragged([300, 0, 7, 513], kind="ragged_k", extra=5)
    product = make_product(rng, groups, 264, None, "nvfp4", m=200)
    side = scaled_type("nvfp4", 2, starts="compact")
    text = matmul_text("f", groups.attribute, side, side, "tensor<?x?x?xbf16>", beta="f32",
                       attrs=tile(128 * ctas, n, 256, ctas=ctas, swap_ab=swap))
    operand, operands = product.arguments("linear", "compact", "linear", "compact")
    flat = operand + list(itertools.chain(*operands))
    flat += [np.float32(2), product.destination("bf16", value=13)]
    run_schedule("sm_100a", f"ragged_k_{n}_{ctas}", text, flat, seed, *EXACT, profile="strict")
