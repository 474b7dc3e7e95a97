# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of problems with their own M, N and K: one kernel for sm_100a has the tiles
of all of them."""

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import EXACT, compile_kernels, run_schedule, simulated
from nvfp4_module import FULL, run, scratch, tool

pytestmark = simulated("sm_100a")

SHAPES = [(80, 136, 512), (0, 40, 64), (1, 8, 32), (130, 64, 96), (7, 0, 64), (5, 33, 0)]


def check(rng, shapes, fmt="nvfp4", out="f32", attrs=None, alpha=True):
    products = [make_product(rng, dense(m), n, k, fmt) for m, n, k in shapes]
    text = list_text("f", len(shapes), fmt, f"tensor<?x?x{out}>",
                     "tensor<?xf32>" if alpha else None, "f32", attrs=attrs)
    factors = rng.choice([0.5, 1, 2], len(shapes)).astype(np.float32)
    pairs = [product.arguments()[1] for product in products]
    outs = [product.destination(out, value=13) for product in products]
    module = compile_kernels("sm_100a", text)
    got = module.f(*[a for a, _ in pairs], *[b for _, b in pairs], *([factors] if alpha else []),
                   np.float32(2), *outs)
    for i, (result, product) in enumerate(zip(got, products)):
        factor = factors[i] if alpha else 1
        expected = expected_result(product, out,
                                   epilogue=lambda acc, *_, f=factor: f * acc + 2 * 13)
        assert_equal(result, expected, shapes[i])


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_formats(rng, fmt):
    check(rng, SHAPES, fmt)


@pytest.mark.parametrize("out", ["bf16", "f16"])
def test_results(rng, out):
    check(rng, SHAPES, out=out)


@pytest.mark.parametrize("strategy", ["m = 128, n = 64, k = 256", "m = 128, n = 256, k = 256",
                                      "m = 256, n = 192, k = 256, ctas = 2",
                                      "m = 128, n = 8, k = 256, swap_ab = true",
                                      "m = 256, n = 64, k = 256, ctas = 2, swap_ab = true"])
def test_tiles(rng, strategy):
    check(rng, SHAPES + [(300, 264, 800)], attrs={"strategy": f"<{strategy}>"})


def test_more_problems_than_lanes(rng):
    """The search for a tile's problem goes on past 32 of them."""
    check(rng, [(1 + i % 3 * 64, 8 + i % 5, 32) for i in range(40)], alpha=False)


def test_nothing_at_all(rng):
    check(rng, [(0, 8, 32), (8, 0, 32)])


def test_results_of_two_types(rng):
    """One kernel for each problem then."""
    products = [make_product(rng, dense(m), n, k, "nvfp4") for m, n, k in SHAPES[:1] * 2]
    text = list_text("f", 2, "nvfp4", "tensor<?x?xf32>")
    text = text.replace("%c1: tensor<?x?xf32>", "%c1: tensor<?x?xbf16>")
    text = text.replace("tensor<?x?xf32>, tensor<?x?xf32>", "tensor<?x?xf32>, tensor<?x?xbf16>")
    pairs = [product.arguments()[1] for product in products]
    got = compile_kernels("sm_100a", text).f(
        *[a for a, _ in pairs], *[b for _, b in pairs], products[0].destination("f32"),
        products[1].destination("bf16"))
    for result, product, out in zip(got, products, ("f32", "bf16")):
        assert_equal(result, expected_result(product, out))


def test_one_kernel():
    text = list_text("f", 3, "nvfp4", "tensor<?x?xf32>")
    source = scratch() / "list.mlir"
    source.write_text(text)
    code, output, error = run(tool("nvfp4-compile"), source, "--target=sm_100a", "--emit=ptx",
                              "-o", "-")
    assert code == 0, error
    assert output.count(".entry") == 1


@pytest.mark.parametrize("seed", range(1, 17 if FULL else 3))
@pytest.mark.parametrize("strategy", ["m = 128, n = 64, k = 256",
                                      "m = 256, n = 128, k = 256, ctas = 2",
                                      "m = 128, n = 32, k = 256, swap_ab = true"])
def test_schedules(rng, seed, strategy):
    """TMA overwrites bytes of the destinations that threads read (profile strict)."""
    shapes = SHAPES + [(200, 264, 800)]
    products = [make_product(rng, dense(m), n, k, "nvfp4") for m, n, k in shapes]
    text = list_text("f", len(shapes), "nvfp4", "tensor<?x?xbf16>", beta="f32",
                     attrs={"strategy": f"<{strategy}>"})
    pairs = [product.arguments()[1] for product in products]
    flat = [part for side in (0, 1) for pair in pairs for part in pair[side]]
    flat += [np.float32(2)] + [product.destination("bf16", value=13) for product in products]
    run_schedule("sm_100a", "list_schedule", text, flat, seed, *EXACT, profile="strict")
