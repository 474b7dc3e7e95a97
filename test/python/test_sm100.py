# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as kernels for sm_100a: the tests of every target, and those of its tiles."""

import pytest

import nvfp4_kernels
from kernel_products import *  # noqa: F403
from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import check_schedule, compile_kernels, simulated
from nvfp4_module import FULL

pytestmark = simulated("sm_100a")

SEEDS = range(1, 17 if FULL else 2)


@pytest.fixture
def target():
    return "sm_100a"


def tile(n, m=128, k=256, **others):
    return nvfp4_kernels.tile(m, n, k, **others)


def check(rng, *arguments, **options):
    nvfp4_kernels.check(rng, "sm_100a", *arguments, **options)


@pytest.mark.parametrize("n", [64, 128, 192, 256])
@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e4m3"])
def test_tiles(rng, n, fmt):
    k = 128 if fmt.startswith("mxfp8") else 256
    check(rng, ragged([3, 129]), 424, 544, fmt, attrs=tile(n, k=k))


@pytest.mark.parametrize("n", [128, 192, 256])
@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e4m3"])
def test_pairs(rng, n, fmt):
    """Two blocks a tile: a group that fills one of them, both, and neither."""
    k = 128 if fmt.startswith("mxfp8") else 256
    check(rng, ragged([3, 300, 129]), 424, 544, fmt, attrs=tile(n, m=256, k=k, ctas=2))


@pytest.mark.parametrize("n,ctas", [(8, 1), (16, 1), (32, 1), (64, 1), (128, 1), (192, 1),
                                    (256, 1), (16, 2), (32, 2), (64, 2), (128, 2), (192, 2),
                                    (256, 2)])
@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e4m3"] if FULL else ["nvfp4"])
def test_weights_on_m(rng, n, ctas, fmt):
    k = 128 if fmt.startswith("mxfp8") else 256
    attrs = tile(n, m=128 * ctas, k=k, ctas=ctas, swap_ab="true")
    check(rng, ragged([3, 129, 0, 17]), 424, 544, fmt, attrs=attrs, out="bf16")
    check(rng, masked([0, 7, 61], 70), 72, 96, fmt, attrs=attrs)


def test_chosen_tiles(rng):
    """The choice of the cost model for known shapes: small M, and large M."""
    for rows in (1, 20, 260):
        product = make_product(rng, dense(rows), 520, 320, "nvfp4")
        text = matmul_text("f", "<dense>", scaled_type("nvfp4", shape=(rows, 320)),
                           scaled_type("nvfp4", shape=(520, 320)), f"tensor<{rows}x520xbf16>")
        _, operands = product.arguments()
        got = compile_kernels("sm_100a", text).f(*operands, product.destination("bf16"))
        assert_equal(got, expected_result(product, "bf16"), rows)


def test_stages(rng):
    check(rng, dense(130), 136, 2048, attrs=tile(128, stages=1))
    check(rng, dense(130), 136, 2048, attrs=tile(128, stages=2, accumulator_stages=1))
    check(rng, dense(130), 264, 2048, attrs=tile(128, stages=3, scale_stages=1))


SCHEDULED = {"rows": tile(128, stages=3), "wide rows": tile(256),
             "pair": tile(192, m=256, ctas=2), "turned": tile(8, swap_ab="true"),
             "wide turned": tile(64, stages=2, swap_ab="true"),
             "turned pair": tile(32, m=256, ctas=2, swap_ab="true")}


@pytest.mark.parametrize("kernel", SCHEDULED)
@pytest.mark.parametrize("seed", SEEDS)
def test_schedules(rng, seed, kernel):
    """Not even a copy of a register of tcgen05.ld comes before its wait (profile strict)."""
    check_schedule(rng, "sm_100a", seed, SCHEDULED[kernel], profile="strict")
