# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose rows have no scales, as kernels for sm_100a: threads decode weights."""

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import Plain, random_scaled
from nvfp4_kernels import compile_kernels, run_schedule, simulated, tile
from nvfp4_module import FULL
from weight_only import *  # noqa: F403
from weight_only import plain_product, plain_text

pytestmark = simulated("sm_100a")


@pytest.fixture
def target():
    return "sm_100a"


def check_tile(rng, groups, n, k, attrs, fmt="nvfp4", rows="bf16", out="f32"):
    product, _ = plain_product(rng, groups, n, k, fmt, rows)
    text = plain_text("f", groups, fmt, rows, out, alpha="f32", attrs=attrs)
    operand, operands = product.arguments()
    got = compile_kernels("sm_100a", text).f(*operand, *operands, np.float32(0.5),
                                             product.destination(out))
    expected = expected_result(product, out, epilogue=lambda acc, g, i: 0.5 * acc)
    assert_equal(got, expected, (groups.kind, attrs))


def rows_on_n(n, **others):
    return tile(128, n, 128, swap_ab="true", **others)


@pytest.mark.parametrize("n", [16, 32, 64, 128, 192, 256])
def test_tiles(rng, n):
    """Groups of more rows than a tile has, of fewer, and of none; columns of several tiles."""
    check_tile(rng, ragged([3, 0, 270, 17], extra=4), 424, 1100, rows_on_n(n))
    check_tile(rng, masked([0, 7, 61], 70), 72, 600, rows_on_n(n), "mxfp4", out="bf16")


@pytest.mark.parametrize("attrs", [rows_on_n(64, stages=1, scale_stages=1), rows_on_n(256, stages=2),
                                   rows_on_n(128, accumulator_stages=1, scale_stages=1),
                                   rows_on_n(256, accumulator_stages=1)])
def test_buffers(rng, attrs):
    check_tile(rng, ragged([300, 1], extra=1), 264, 700, attrs, "mxfp8_e5m2")


@pytest.mark.parametrize("n,split", [(16, 3), (64, 2), (256, 16)])
def test_parts_of_k(rng, n, split):
    """As many stages as parts, fewer, and none at all."""
    attrs = {**rows_on_n(n, split_k=split), "determinism": "relaxed"}
    check_tile(rng, ragged([3, 0, 40], extra=2), 136, 128 * split, attrs)
    check_tile(rng, dense(5), 72, 130, attrs, "mxfp4", out="bf16")
    check_tile(rng, dense(5), 8, 0, attrs)


@pytest.mark.parametrize("align", [1, 8])
def test_starts_of_groups(rng, align):
    groups = ragged([8, 0, 24, 40], extra=8, offsets="starts", align=align)
    check_tile(rng, groups, 136, 160, rows_on_n(32), rows="f16")


@pytest.mark.parametrize("fmt,exponents", [
    ("mxfp4", (0, 254)), ("nvfp4_e8m0", (0, 254)), ("mxfp8_e4m3", (0, 243)), ("mxfp8_e5m2", (0, 229))])
def test_scales_of_the_whole_range(rng, fmt, exponents):
    """The least and the greatest scales, by rows that bring the products back."""
    for exponent in exponents:
        rhs = random_scaled(rng, (40, 96), fmt)
        rhs.scales[:] = exponent
        power = 2.0 ** np.clip(127 - exponent, -126, 100)
        data = (rng.integers(-8, 9, (3, 96)) * power).astype(OUT["bf16"])
        product = Product(dense(3), Plain(data), rhs)
        text = matmul_text("f", "<dense>", "tensor<?x?xbf16>", scaled_type(fmt), "tensor<?x?xf32>")
        _, operands = product.arguments()
        got = compile_kernels("sm_100a", text).f(*operands, product.destination("f32"))
        assert_equal(got, expected_result(product, "f32"), exponent)


@pytest.mark.parametrize("fmt", ["mxfp4", "nvfp4_e8m0", "mxfp8_e4m3", "mxfp8_e5m2"])
@pytest.mark.parametrize("exponent", [20, 127, 220])
def test_every_bit_of_f16_rows(rng, fmt, exponent):
    """Beside scales that f16 does not hold; all bits of the rows count."""
    data = rng.integers(-2047, 2048, (37, 160)).astype(np.float16)
    data[0, :3] = 2.0**-24, 65504, -(2.0**-14)
    rhs = random_scaled(rng, (136, 160), fmt)
    rhs.scales[:] = exponent
    rhs.codes[:, :3] = 0
    rhs.codes[5, 0] = rhs.codes[6, 1] = rhs.codes[7, 2] = rhs.codes[9, 9]
    rhs.codes[5:8, 3:] = 0
    product = Product(dense(37), Plain(data), rhs)
    for attrs in (None, {**rows_on_n(64, split_k=2), "determinism": "relaxed"}, rows_on_n(256)):
        text = matmul_text("f", "<dense>", "tensor<?x?xf16>", scaled_type(fmt), "tensor<?x?xf32>", attrs=attrs)
        _, operands = product.arguments()
        got = compile_kernels("sm_100a", text).f(*operands, product.destination("f32"))
        assert_equal(got, expected_result(product, "f32"), attrs)


@pytest.mark.parametrize("fmt", ["mxfp4", "mxfp8_e5m2"])
def test_numbers_of_f16_within_the_bound(rng, fmt):
    data = rng.standard_normal((17, 1024)).astype(np.float16)
    data[3, 5], data[4, 7] = np.inf, np.nan
    rhs = random_scaled(rng, (65, 1024), fmt, lattice=False)
    rhs.codes[:, 5] = rhs.codes[0, 0] = 2
    rhs.codes[np.isinf(rhs.fmt.values[rhs.codes]) | np.isnan(rhs.fmt.values[rhs.codes])] = 0
    text = matmul_text("f", "<dense>", "tensor<?x?xf16>", scaled_type(fmt), "tensor<?x?xf32>")
    product = Product(dense(17), Plain(data), rhs)
    _, operands = product.arguments()
    got = compile_kernels("sm_100a", text).f(*operands, product.destination("f32"))
    assert np.all(got[3] == np.inf) and np.all(np.isnan(got[4]))
    (_, acc, magnitude), = Product(dense(17), Plain(np.where(np.isfinite(data), data, 0)), rhs).accumulators()
    owned = np.delete(np.arange(17), [3, 4])
    assert_within(got[owned], acc[owned], random_bound(acc, magnitude, 1024, 1)[owned], "f32")


def test_too_large_for_bf16(rng):
    """Weights that bf16 does not hold are infinite, as what they are multiplied to would be."""
    rhs = random_scaled(rng, (8, 32), "mxfp8_e5m2")
    rhs.codes[:], rhs.scales[:] = 0, 254
    rhs.codes[3, 5] = 0x7B  # 57344
    data = np.ones((2, 32), OUT["bf16"])
    text = matmul_text("f", "<dense>", "tensor<?x?xbf16>", scaled_type("mxfp8_e5m2"), "tensor<?x?xf32>")
    got = compile_kernels("sm_100a", text).f(data, rhs.store(), poison((2, 8), "f32"))
    assert np.all(got[:, 3] == np.inf) and not np.delete(got, 3, 1).any()


@pytest.mark.parametrize("n,split", [(16, 1), (64, 2), (256, 1)])
@pytest.mark.parametrize("profile", ["cutlass", "strict"])
def test_schedules(rng, n, split, profile):
    groups = ragged([3, 0, 70, 1], extra=3)
    product, data = plain_product(rng, groups, 136, 520, "nvfp4", "bf16")
    attrs = {**rows_on_n(n, split_k=split), "determinism": "relaxed"}
    text = plain_text("f", groups, "nvfp4", "bf16", "f32", attrs=attrs)
    (ends,), (_, weights) = product.arguments()
    for seed in range(16 if FULL else 2):
        run_schedule("sm_100a", "unscaled", text, [ends, data, *weights, product.destination("f32")],
                     seed, "--check=reference", "--exact", profile=profile)
