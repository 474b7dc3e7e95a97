# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles that two blocks share along K on sm_90a: the bits of tiles that one block has,
off the lattice, where the order of sums can be seen, on every schedule. With relaxed sums,
parts of K where tiles are few: their own sums added in ascending order."""

import pathlib
import pickle

import numpy as np
import pytest

import nvfp4_kernels
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, Scaled, random_scaled
from nvfp4_kernels import compile_kernels, run_schedule, simulated
from nvfp4_module import FULL, scratch
from test_sm90_every_lane import attempt

pytestmark = simulated("sm_90a")

SEEDS = range(1, 17 if FULL else 2)


def tile(n, m=96, k=128, **others):
    return nvfp4_kernels.tile(m, n, k, **others)


class Problem:
    def __init__(self, rng, groups, n, k, attrs, out="f32", product=None, **others):
        self.product = product or make_product(rng, groups, n, k, "nvfp4", lattice=False)
        rows = ["?"] * (2 if groups.kind in ("batched", "masked") else 1)
        weights = [len(groups)] * (groups.kind != "dense")
        self.text = matmul_text(
            "f", groups.attribute, scaled_type("nvfp4", shape=(*rows, k)),
            scaled_type("nvfp4", shape=(*weights, n, k)),
            f"tensor<{'x'.join(rows)}x{n}x{out}>", attrs=attrs, **others)
        # So many rows are expected that there are more tiles than any device has SMs.
        self.text = self.text.replace("{strategy = ", "{expected_rows = 100000, strategy = ")
        assert "expected_rows" in self.text
        # Rows outside every group as well.
        operand, operands = self.product.arguments()
        self.flat = operand + [part for pair in operands for part in pair]
        self.flat.append(self.product.destination(out))

    def run(self, seed, blocks):
        result = scratch() / "cut.npy"
        run_schedule("sm_90a", "cut", self.text, self.flat, seed, f"--outputs={result}",
                     blocks=blocks)
        return np.load(result)

    def check(self, seed, *blocks):
        """A block for each tile has all of its K; so few share some."""
        whole = self.run(1, 64)
        for count in blocks:
            got = self.run(seed, count)
            np.testing.assert_array_equal(got.view(np.uint8), whole.view(np.uint8))


def test_shared_tiles(rng):
    """8 tiles on 3, 5 and 6 blocks: whole tiles in front, in between and behind."""
    Problem(rng, ragged([17, 0, 100, 8]), 264, 4608, tile(256)).check(1, 3, 5, 6)


@pytest.mark.parametrize("attrs", [tile(128, 192), tile(256, 32, stages=2), tile(128, 64),
                                   tile(256, 32, 256), tile(128, 248)])
def test_tiles(rng, attrs):
    Problem(rng, ragged([33, 70, 9]), 264, 4608, attrs, "bf16").check(1, 4, 5)


@pytest.mark.parametrize("groups", [dense(130), batched(3, 20), masked([3, 20, 9], 24)])
def test_forms(rng, groups):
    Problem(rng, groups, 264, 3072, tile(256, 64)).check(1, 4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("attrs", [tile(256, stages=3), tile(128, 128)])
def test_schedules(rng, seed, attrs):
    Problem(rng, ragged([3, 0, 130, 40], extra=5), 264, 4608, attrs, "bf16").check(seed, 3, 5)


@pytest.mark.parametrize("k,is_cut", [(3072, True), (1792, False)])
def test_what_is_cut(rng, k, is_cut):
    """Three tiles on two blocks, with 24 stages of K and with 14: whether sums are loaded
    shows when the load cannot be done."""
    problem = Problem(rng, ragged([40, 9, 20]), 256, k, tile(256))
    case, broken = scratch() / "cut.pickle", scratch() / "broken.so"
    case.write_bytes(pickle.dumps(problem.flat))
    binary = pathlib.Path(compile_kernels("sm_90a", problem.text).path).read_bytes()
    load = b"ld.global.v4.f32"
    assert load in binary
    broken.write_bytes(binary.replace(load, load.replace(b"global", b"shared")))
    got = attempt(broken, case)
    if is_cut:
        assert isinstance(got, str) and "shared" in got, got
    else:
        assert_equal(got, problem.run(1, 64))


RELAXED = {"determinism": "relaxed"}


def expect_same(got, expected):
    np.testing.assert_array_equal(got.view(np.int32), expected.view(np.int32))


PARTS = [(tile(256, 32), blocks, parts) for blocks, parts in ((3, 1), (4, 2), (7, 3), (64, 5))]
PARTS += [(attrs, blocks, parts) for attrs in (tile(256, 96), tile(128, 192))
          for _, blocks, parts in (PARTS if FULL else PARTS[2:3])]


@pytest.mark.parametrize("attrs,blocks,parts", PARTS)
def test_order_of_parts(rng, attrs, blocks, parts):
    """Two tiles, 21 pairs of stages: at most five parts of four pairs or more."""
    m, n, steps = 22, 144 if attrs == tile(128, 192) else 264, 42
    fmt = FORMATS["nvfp4"]
    lhs, rhs = (random_scaled(rng, (rows, 128 * steps), "nvfp4", lattice=False) for rows in (m, n))

    def run_on(blocks, first, last, attrs):
        cut = [Scaled(fmt, side.codes[:, first:last],
                      side.scales[:, first // fmt.block:last // fmt.block]) for side in (lhs, rhs)]
        return Problem(rng, dense(m), n, last - first, attrs,
                       product=Product(dense(m), *cut)).run(1, blocks)

    edges = [256 * (i * steps // 2 // parts) for i in range(parts + 1)]
    expected = run_on(8, edges[0], edges[1], attrs)
    for first, last in zip(edges[1:], edges[2:]):
        expected = expected + run_on(8, first, last, attrs)
    expect_same(run_on(blocks, 0, 128 * steps, attrs | RELAXED), expected)
    if parts > 1:
        once = run_on(8, 0, 128 * steps, attrs)
        assert (once.view(np.int32) != expected.view(np.int32)).any(), "the order cannot be seen"


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules_of_parts(rng, seed):
    """Parts with an epilogue of 16 bits; more tiles than half the blocks are not in parts."""
    problem = Problem(rng, ragged([3, 0, 30, 9]), 264, 2304, tile(256, 64) | RELAXED, "bf16")
    expect = problem.run(1, 14)
    np.testing.assert_array_equal(problem.run(seed, 14), expect)
    np.testing.assert_array_equal(problem.run(seed, 4), problem.run(seed, 9))
