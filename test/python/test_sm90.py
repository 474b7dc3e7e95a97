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
    check(rng, ragged([rows, 2]), 72, 160)


@pytest.mark.parametrize("rows", [70, 90, 100, 120, 130, 150, 170, 190])
def test_widths_of_two_warpgroups(rng, rows):
    check(rng, dense(rows), 136, 160, attrs=tile(128, 192))


@pytest.mark.parametrize("out", ["bf16", "f16"])
@pytest.mark.parametrize("n", [72, 256, 320])
def test_known_columns(rng, n, out):
    """Results that are products times a factor are stored without the general epilogue."""
    groups = ragged([3, 70, 0, 33])
    product = make_product(rng, groups, n, 160, "nvfp4")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"),
                       scaled_type("nvfp4", shape=(4, n, 160)), f"tensor<?x{n}x{out}>",
                       alpha="tensor<4xf32>")
    operand, operands = product.arguments()
    alpha = np.array([0.5, 2, 1, 0.25], np.float32)
    got = compile_kernels("sm_90a", text).f(*operand, *operands, alpha, product.destination(out))
    expected = expected_result(product, out, epilogue=lambda acc, g, i: alpha[g] * acc)
    assert_equal(got, expected, (n, out))


def test_stages(rng):
    check(rng, dense(130), 136, 2048, attrs=tile(256, stages=2))
    check(rng, dense(130), 136, 2048, attrs=tile(128, 128, stages=2))
    check(rng, dense(130), 264, 1920, attrs=tile(256, 64, stages=5))


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules(rng, seed):
    check_schedule(rng, "sm_90a", seed, tile(256, stages=3))
