# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as kernels for sm_90a: the tests of every target, and those of its tiles."""

import numpy as np
import pytest

import nvfp4_kernels
from kernel_products import *  # noqa: F403
from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import check_schedule, compile_kernels, simulated
from nvfp4_module import FULL

pytestmark = simulated("sm_90a")

SEEDS = range(1, 17 if FULL else 4)


@pytest.fixture
def target():
    return "sm_90a"


def tile(n, m=96, k=128, **others):
    return nvfp4_kernels.tile(m, n, k, **others)


def check(rng, *arguments, **options):
    nvfp4_kernels.check(rng, "sm_90a", *arguments, **options)


@pytest.mark.parametrize("m,n", [(8, 256), (40, 256), (64, 128), (96, 256), (128, 128),
                                 (192, 128)])
def test_tiles(rng, m, n):
    check(rng, ragged([3, 129, 0, 70]), 424, 544, attrs=tile(n, m))


@pytest.mark.parametrize("rows", [1, 9, 17, 31, 40, 47, 56, 64, 65, 81, 96, 97])
def test_widths(rng, rows):
    """Every width of a tile, and two tiles where one is not enough."""
    check(rng, ragged([rows, 2]), 72, 160, attrs=tile(256))


@pytest.mark.parametrize("rows", [70, 90, 100, 120, 130, 150, 170, 190])
def test_widths_of_two_warpgroups(rng, rows):
    check(rng, dense(rows), 136, 160, attrs=tile(128, 192))


def check_plain(rng, rows, n, k, out, attrs=None):
    """Columns and K are known, and results are products times a factor."""
    groups = ragged(rows)
    product = make_product(rng, groups, n, k, "nvfp4")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4", shape=("?", k)),
                       scaled_type("nvfp4", shape=(len(rows), n, k)), f"tensor<?x{n}x{out}>",
                       alpha=f"tensor<{len(rows)}xf32>", attrs=attrs)
    operand, operands = product.arguments()
    alpha = np.array([0.5, 2, 1, 0.25] * len(rows), np.float32)[:len(rows)]
    got = compile_kernels("sm_90a", text).f(*operand, *operands, alpha, product.destination(out))
    expected = expected_result(product, out, epilogue=lambda acc, g, i: alpha[g] * acc)
    assert_equal(got, expected, (rows, n, k, out))


@pytest.mark.parametrize("out", ["bf16", "f16"])
@pytest.mark.parametrize("n", [72, 256, 320])
def test_known_columns(rng, n, out):
    """Stored without the general epilogue."""
    check_plain(rng, [3, 70, 0, 33], n, 160, out)


@pytest.mark.parametrize("m,n,k", [(32, 256, 256), (64, 256, 256), (88, 256, 128),
                                   (248, 128, 128), (160, 128, 128)])
@pytest.mark.parametrize("depth", [768, 1024])
def test_deep_and_wide_tiles(rng, m, n, k, depth):
    """Long K with an odd number of stages, and with an even one."""
    check_plain(rng, [3, 250, 0, 40], 264, depth, "bf16", tile(n, m, k))


@pytest.mark.parametrize("groups", [1, 7, 31, 32, 33, 70])
def test_tiles_are_dealt_out(rng, groups):
    """By falling cost up to 32 groups, and then as they come; each tile once."""
    rows = rng.integers(0, 40, groups)
    check(rng, ragged([*rows]), 264, 96, attrs=tile(256, 8))


def test_stages(rng):
    check(rng, dense(130), 136, 2048, attrs=tile(256, stages=2))
    check(rng, dense(130), 136, 2048, attrs=tile(128, 128, stages=2))
    check(rng, dense(130), 264, 1920, attrs=tile(256, 64, stages=5))


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules(rng, seed):
    check_schedule(rng, "sm_90a", seed, tile(256, stages=3))
