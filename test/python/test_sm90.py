# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as kernels for sm_90a, run by the simulator with its checker on.

Inputs lie on a lattice, so the answer is exact and every schedule gives its bits.
Rows that no group owns hold NaN scales; destinations hold a sentinel. The
simulator is opened once a process, so other seeds run in processes of their own.
"""

import os
import zlib

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_module import BUILD_DIR, FULL, compile_module, run, scratch, tool, uses_processes
from nvfp4_module import write_inputs

os.environ.setdefault("NVFP4_DEVICE", "sim")
os.environ.setdefault("NVFP4_SIM_OPTIONS", "--check --arch sm_90a")
# So that a block has several tiles.
os.environ.setdefault("NVFP4_MAX_BLOCKS", "3")

pytestmark = pytest.mark.skipif(
    uses_processes() or not (BUILD_DIR / "lib" / "libnvfp4_sim.so").exists()
    or "--arch sm_90a" not in os.environ["NVFP4_SIM_OPTIONS"],
    reason="the simulator of this process is missing or of another architecture:"
    " run the tests of sm_90a in a process of their own")

SEEDS = range(1, 17 if FULL else 4)


@pytest.fixture
def rng(request):
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


def kernel_module(*texts, options=()):
    return compile_module("".join(texts), "--target=sm_90a", *options)


def tile(n, m=96, k=128, **others):
    words = [f"m = {m}", f"n = {n}", f"k = {k}"] + [f"{a} = {b}" for a, b in others.items()]
    return {"strategy": "<" + ", ".join(words) + ">"}


def check(rng, groups, n, k, fmt="nvfp4", out="f32", lhs_layout="linear", lhs_starts="whole",
          rhs_layout="linear", attrs=None, index="i32"):
    product = make_product(rng, groups, n, k, fmt)
    rank3 = groups.kind in ("batched", "masked")
    text = matmul_text("f", groups.attribute,
                       scaled_type(fmt, 3 if rank3 else 2, lhs_layout, lhs_starts),
                       scaled_type(fmt, 2 if groups.kind == "dense" else 3, rhs_layout),
                       f"tensor<{'x'.join('?' * (3 if rank3 else 2))}x{out}>",
                       alpha="f32", attrs=attrs, index=index)
    # Tiles read padding scales, which must not be NaN.
    operand, operands = product.arguments(lhs_layout, lhs_starts, rhs_layout, poison=0)
    got = kernel_module(text).f(*operand, *operands, np.float32(0.5), product.destination(out))
    expected = expected_result(product, out, epilogue=lambda acc, g, i: 0.5 * acc)
    assert_equal(got, expected, (groups, n, k, fmt))


@pytest.mark.parametrize("m,n,k", [(128, 128, 256), (256, 128, 512), (1, 8, 64), (130, 136, 288),
                                   (5, 264, 1024), (128, 33, 32), (3, 1, 0)])
def test_dense(rng, m, n, k):
    check(rng, dense(m), n, k)


@pytest.mark.parametrize("out", ["bf16", "f16"])
def test_result_types(rng, out):
    check(rng, dense(40), 72, 96, out=out)
    check(rng, dense(40), 71, 96, out=out)


@pytest.mark.parametrize("offsets,align", [("ends", 1), ("ends", 4), ("starts", 1),
                                           ("ends", 128), ("starts", 128)])
def test_ragged_rows(rng, offsets, align):
    check(rng, ragged([3, 0, 130, 1, 0], offsets, align, extra=7), 136, 288)
    check(rng, ragged([0, 0], offsets, align), 40, 64)


def test_ragged_rows_of_64_bit_offsets(rng):
    check(rng, ragged([3, 0, 130], dtype=np.int64), 40, 64, index="i64")


@pytest.mark.parametrize("layout,starts", [("linear", "compact"), ("blocked", "whole"),
                                           ("blocked", "compact"), ("blocked", "upper_bound"),
                                           ("blocked_8x4", "whole")])
def test_scale_layouts(rng, layout, starts):
    check(rng, ragged([5, 0, 64, 129]), 72, 160, lhs_layout=layout, lhs_starts=starts,
          rhs_layout="blocked")


def test_masked_and_batched(rng):
    check(rng, masked([0, 7, 130], 140), 72, 96)
    check(rng, batched(3, 9), 136, 64)


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
    got = kernel_module(text).f(*operand, *operands, alpha, product.destination(out))
    expected = expected_result(product, out, epilogue=lambda acc, g, i: alpha[g] * acc)
    assert_equal(got, expected, (n, out))


def test_stages(rng):
    check(rng, dense(130), 136, 2048, attrs=tile(256, stages=2))
    check(rng, dense(130), 136, 2048, attrs=tile(128, 128, stages=2))
    check(rng, dense(130), 264, 1920, attrs=tile(256, 64, stages=5))


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules(rng, seed):
    """The command line, other schedules, and the interpreter as the oracle."""
    groups = ragged([3, 0, 130, 40], extra=5)
    product = make_product(rng, groups, 264, 800, "nvfp4")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4", 3),
                       "tensor<?x?xbf16>", alpha="tensor<?xf32>", attrs=tile(256, stages=3))
    operand, operands = product.arguments()
    alpha = rng.choice([0.5, 1, 2], len(groups)).astype(np.float32)
    flat = operand + [part for pair in operands for part in pair]
    source = scratch() / f"schedule{seed}.mlir"
    source.write_text(text)
    inputs = write_inputs(flat + [alpha, product.destination("bf16")])
    code, output, error = run(
        tool("nvfp4-run"), source, "--device=sim", "--target=sm_90a",
        "--check=reference", "--exact",
        "--inputs=" + ",".join(inputs),
        env={"NVFP4_SIM_OPTIONS": f"--check --seed {seed} --delays adversarial",
             "NVFP4_MAX_BLOCKS": "2"})
    assert code == 0, output + error


def test_weights_of_separate_operands(rng):
    groups = ragged([3, 0, 130])
    product = make_product(rng, groups, 72, 96, "nvfp4", weights="discrete")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4"),
                       "tensor<?x?xf32>", weights=len(groups))
    operand, operands = product.arguments()
    got = kernel_module(text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_list(rng):
    """Problems with their own M, N and K."""
    products = [make_product(rng, dense(m), n, k, "nvfp4")
                for m, n, k in [(80, 136, 512), (1, 8, 32), (130, 64, 96)]]
    text = list_text("f", len(products), "nvfp4", "tensor<?x?xf16>", "tensor<?xf32>", "f32")
    alpha = np.array([1, 0.5, 2], np.float32)
    pairs = [product.arguments()[1] for product in products]
    outs = [product.destination("f16", value=13) for product in products]
    got = kernel_module(text).f(*[a for a, _ in pairs], *[b for _, b in pairs], alpha,
                                np.float32(2), *outs)
    for g, product, factor in zip(got, products, alpha):
        expected = expected_result(product, "f16",
                                   epilogue=lambda acc, *_: factor * acc + 2 * 13)
        assert_equal(g, expected)


def test_offsets_outside_the_operand_write_nothing_there(rng):
    """Without run-time checks offsets are cut to the rows there are."""
    groups = ragged([3, 40])
    product = make_product(rng, groups, 40, 64, "nvfp4")
    groups.operand = np.array([3, 1000], np.int32)
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4", 3),
                       "tensor<?x?xf32>")
    operand, operands = product.arguments()
    got = kernel_module(text, options=("--runtime-checks=false",)).f(
        *operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_run_time_checks_come_first(rng):
    groups = ragged([3, 40])
    product = make_product(rng, groups, 40, 64, "nvfp4")
    groups.operand = np.array([3, 1000], np.int32)
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), scaled_type("nvfp4", 3),
                       "tensor<?x?xf32>")
    operand, operands = product.arguments()
    with pytest.raises(RuntimeError, match=r"ends\[1\].*grouping_c6"):
        kernel_module(text).f(*operand, *operands, product.destination("f32"))
