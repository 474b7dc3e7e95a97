# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles whose K is cut into parts, each on a block of its own, on sm_100a: exact on a
lattice, elsewhere the parts' own sums added in ascending order, whoever was first."""

import os
import re

import numpy as np
import pytest

import nvfp4_kernels
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, Scaled, random_scaled
from nvfp4_kernels import check_schedule, compile_kernels, run_schedule, simulated
from nvfp4_module import FULL, _runtime, run, scratch, tool, write_inputs
from test_sm100_list import check as check_list

pytestmark = simulated("sm_100a")


def parts(n, split, m=128, k=256, **others):
    return {**nvfp4_kernels.tile(m, n, k, split_k=split, **others), "determinism": "relaxed"}


def check(rng, *arguments, **options):
    nvfp4_kernels.check(rng, "sm_100a", *arguments, **options)


@pytest.mark.parametrize("split", [2, 3, 8, 16])
def test_parts(rng, split):
    """As many stages as parts, more, fewer, and none at all."""
    attrs = parts(64, split)
    check(rng, dense(40), 72, 256 * split, attrs=attrs)
    check(rng, dense(3), 8, 256 * split + 64, attrs=attrs, out="bf16")
    check(rng, dense(3), 8, 320, attrs=attrs)
    check(rng, dense(3), 8, 0, attrs=attrs)


TILES = {"wide rows": dict(n=256), "uneven rows": dict(n=192), "pair": dict(n=192, m=256, ctas=2),
         "one accumulator": dict(n=128, accumulator_stages=1, stages=2),
         "turned": dict(n=8, swap_ab="true"), "wide turned": dict(n=64, swap_ab="true"),
         "turned pair": dict(n=32, m=256, ctas=2, swap_ab="true")}


@pytest.mark.parametrize("kernel", TILES)
def test_tiles(rng, kernel):
    attrs = parts(split=3, **TILES[kernel])
    check(rng, ragged([3, 0, 270, 17], extra=4), 424, 1100, attrs=attrs, out="bf16")
    check(rng, masked([0, 7, 61], 70), 72, 600, attrs=attrs)


def test_chosen_parts(rng):
    """Few tiles and a long K: the cost model cuts it where the order of sums is free."""
    product = make_product(rng, dense(16), 256, 6144, "nvfp4")
    types = [scaled_type("nvfp4", shape=(rows, 6144)) for rows in (16, 256)]
    text = matmul_text("f", "<dense>", *types, "tensor<16x256xf32>",
                       attrs={"determinism": "relaxed"})
    source = scratch() / "chosen.mlir"
    source.write_text(text)
    code, output, error = run(tool("nvfp4-compile"), source, "--target=sm_100a", "--explain")
    assert code == 0, error
    chosen = re.search(r"strategy <([^>]*)>", output + error)[1]
    assert re.search(r"split_k = [248]", chosen), chosen
    _, operands = product.arguments()
    got = compile_kernels("sm_100a", text).f(*operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


@pytest.mark.parametrize("fmt", ["mxfp4", "mxfp8_e4m3"])
def test_formats(rng, fmt):
    check(rng, batched(2, 30), 72, 1056, fmt,
          attrs=parts(128, 4, k=128 if fmt.startswith("mxfp8") else 256))


@pytest.mark.parametrize("attrs", [parts(64, 2), parts(16, 3, swap_ab="true")])
def test_lists(rng, attrs):
    """Each problem has parts of its own K."""
    check_list(rng, [(80, 136, 1100), (0, 40, 64), (1, 8, 32), (130, 64, 600), (5, 33, 0)],
               attrs=attrs)


@pytest.fixture
def one_block():
    _runtime().nvfp4_launch_set_max_blocks(1)
    yield
    _runtime().nvfp4_launch_set_max_blocks(0)


@pytest.mark.parametrize("rows,tile", [(64, dict(n=8, swap_ab="true")),
                                       (128, dict(n=16, m=256, ctas=2, swap_ab="true"))])
def test_offsets_that_go_back_write_nothing_outside(rng, one_block, rows, tile):
    """Unchecked, they ask for more tiles than there is memory for sums of parts. Groups that
    share rows would race for them on several blocks; what rows hold is not said."""
    product = make_product(rng, ragged([rows] + [0] * 9), 40, 512, "nvfp4")
    product.groups.operand = np.array([rows, 0] * 5, np.int32)
    text = matmul_text("f", product.groups.attribute, scaled_type("nvfp4"),
                       scaled_type("nvfp4", 3), "tensor<?x?xf32>", attrs=parts(split=2, **tile))
    operand, operands = product.arguments()
    compile_kernels("sm_100a", text, "--runtime-checks=false").f(
        *operand, *operands, product.destination("f32"))


def test_blocks_without_a_place_are_an_error(rng):
    """Blocks of parts wait for one another: a launch of more than run at once does not
    begin. Others take their turn."""
    if os.environ["NVFP4_DEVICE"] != "sim":
        pytest.skip("the number of multiprocessors is the simulator's")
    product = make_product(rng, dense(20), 264, 512, "nvfp4")
    _, operands = product.arguments()
    flat = [part for pair in operands for part in pair] + [product.destination("f32")]
    source = scratch() / "places.mlir"
    for attrs, is_refused in ((nvfp4_kernels.tile(128, 64, 256), False), (parts(64, 2), True)):
        source.write_text(matmul_text("f", "<dense>", scaled_type("nvfp4"), scaled_type("nvfp4"),
                                      "tensor<?x?xf32>", attrs=attrs))
        code, output, error = run(
            tool("nvfp4-run"), source, "--device=sim", "--target=sm_100a", "--check=reference",
            "--inputs=" + ",".join(write_inputs(flat)),
            env={"NVFP4_SIM_OPTIONS": "--check --sms 2", "NVFP4_MAX_BLOCKS": "3"})
        assert (code != 0) == is_refused, output + error
        if is_refused:
            assert ("expected at most 2 blocks in a cooperative launch, 1 on each of 2 "
                    "multiprocessors, but got 3") in error


@pytest.mark.parametrize("kernel", [dict(n=64), dict(n=16, swap_ab="true")])
@pytest.mark.parametrize("seed", range(1, 17 if FULL else 3))
def test_order_of_sums(rng, kernel, seed):
    """Away from a lattice sums depend on the order: it is that of the parts, whatever the
    schedule. Those of one part alone are the sums of a kernel that has only its K."""
    m, n, split, stages = 20, 40, 4, 3
    k = 256 * stages * split
    fmt = FORMATS["nvfp4"]
    lhs, rhs = (random_scaled(rng, (rows, k), "nvfp4", lattice=False) for rows in (m, n))

    def product(first, last, attrs):
        blocks = slice(first // fmt.block, last // fmt.block)
        cut = [Scaled(fmt, side.codes[:, first:last], side.scales[:, blocks])
               for side in (lhs, rhs)]
        return Product(dense(m), *cut), attrs

    def run_on(seed, blocks, one, attrs):
        text = matmul_text("f", "<dense>", scaled_type("nvfp4"), scaled_type("nvfp4"),
                           "tensor<?x?xf32>", attrs=attrs)
        result = scratch() / "order.npy"
        _, operands = one.arguments()
        flat = [part for pair in operands for part in pair] + [one.destination("f32")]
        run_schedule("sm_100a", "order", text, flat, seed, f"--outputs={result}", blocks=blocks)
        return np.load(result)

    whole = nvfp4_kernels.tile(128, k=256, **kernel)
    sums = [run_on(1, 3, *product(first, first + 256 * stages, whole))
            for first in range(0, k, 256 * stages)]
    expected = sums[0]
    for part in sums[1:]:
        expected = expected + part
    cut = product(0, k, parts(split=split, **kernel))
    for blocks in (1, 2, 5):
        got = run_on(seed, blocks, *cut)
        np.testing.assert_array_equal(got.view(np.int32), expected.view(np.int32))
    once = run_on(1, 3, *product(0, k, whole))
    assert (once.view(np.int32) != expected.view(np.int32)).any(), "the order cannot be seen"


SCHEDULED = {"rows": parts(128, 2, stages=3), "wide rows": parts(256, 3),
             "pair": parts(192, 4, m=256, ctas=2), "turned": parts(8, 4, swap_ab="true"),
             "turned pair": parts(32, 2, m=256, ctas=2, swap_ab="true")}


@pytest.mark.parametrize("kernel", SCHEDULED)
@pytest.mark.parametrize("seed", range(1, 17 if FULL else 2))
def test_schedules(rng, seed, kernel):
    check_schedule(rng, "sm_100a", seed, SCHEDULED[kernel])


def test_groups_along_k_are_refused():
    side = scaled_type("nvfp4", starts="compact")
    text = matmul_text("f", "<ragged_k, ends>", side, side, "tensor<?x?x?xf32>",
                       attrs=parts(64, 2))
    with pytest.raises(RuntimeError, match="expected split_k = 1 for ragged_k"):
        compile_kernels("sm_100a", text)
