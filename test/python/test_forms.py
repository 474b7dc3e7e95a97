# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every grouping form, format and scale layout on small awkward shapes.

Inputs lie on a lattice unless a test says otherwise, so the answer is exact.
Rows and scales that no group owns are NaN; destinations hold poison.
"""

import itertools

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, random_scaled
from nvfp4_module import compile_module, set_threads

ROW_LAYOUTS = [("linear", "whole"), ("linear", "compact"), ("blocked", "whole"),
               ("blocked", "compact"), ("blocked", "upper_bound"), ("blocked_8x4", "whole"),
               ("blocked_8x4", "compact")]
LAYOUTS = ["linear", "blocked", "blocked_8x4"]
OFFSETS = list(itertools.product(["ends", "starts"], [1, 4, 128]))
SIZES = [list(range(1, 18)), [0, 5, 0, 0, 130, 0, 3], [0, 0, 0], [1], [], [33, 0]]
# K: a multiple of every block; none; one; odd; not a multiple of a block.
EXTENTS = [(40, 64), (1, 33), (17, 96), (9, 0), (33, 1), (16, 135)]


def compact_name(*parts):
    return "_".join(str(p) for p in parts)


def ragged_cases(fmt):
    """(offsets, align, lhs layout, starts, rhs layout): all of NVFP4, and for
    other formats each grouping and each layout at least once."""
    every = [(o, a, layout, starts, LAYOUTS[i % 3])
             for i, ((o, a), (layout, starts)) in enumerate(itertools.product(OFFSETS,
                                                                              ROW_LAYOUTS))]
    return every if fmt == "nvfp4" else every[::6]


def ragged_module(fmt):
    texts = [matmul_text(compact_name("f", o, a, layout, starts), attribute("ragged_rows", o, a),
                         scaled_type(fmt, 2, layout, starts), scaled_type(fmt, 3, rhs),
                         "tensor<?x?xf32>")
             for o, a, layout, starts, rhs in ragged_cases(fmt)]
    return compile_module("".join(texts))


@pytest.mark.parametrize("fmt,case", [(f, c) for f in FORMAT_NAMES for c in ragged_cases(f)],
                         ids=lambda x: compact_name(*x) if isinstance(x, tuple) else x)
def test_ragged_rows(rng, fmt, case):
    offsets, align, layout, starts, rhs = case
    module = ragged_module(fmt)
    for index, counts in enumerate(SIZES):
        for n, k in (EXTENTS[index], EXTENTS[(index + 3) % 6]):
            groups = ragged(counts, offsets, align, extra=(0, 3)[index % 2])
            product = make_product(rng, groups, n, k, fmt)
            operand, operands = product.arguments(layout, starts, rhs)
            got = module.call(compact_name("f", *case[:4]), *operand, *operands,
                              product.destination("f32"))
            assert_equal(got, expected_result(product, "f32"), f"{counts} n {n} k {k}")


def small_module(fmt):
    """One function a form; layouts differ between the operands."""
    rank2, rank3 = scaled_type(fmt), scaled_type(fmt, 3)
    blocked2, blocked3 = scaled_type(fmt, 2, "blocked"), scaled_type(fmt, 3, "blocked")
    eight2, eight3 = scaled_type(fmt, 2, "blocked_8x4"), scaled_type(fmt, 3, "blocked_8x4")
    out2, out3 = "tensor<?x?xf32>", "tensor<?x?x?xf32>"
    return compile_module(
        matmul_text("dense_linear", "<dense>", rank2, rank2, out2) +
        matmul_text("dense_blocked", "<dense>", blocked2, eight2, out2) +
        matmul_text("dense_blocked_8x4", "<dense>", eight2, blocked2, out2) +
        matmul_text("batched_linear", "<batched>", rank3, blocked3, out3) +
        matmul_text("batched_blocked", "<batched>", blocked3, rank3, out3) +
        matmul_text("batched_blocked_8x4", "<batched>", eight3, eight3, out3) +
        matmul_text("masked_linear", "<masked>", rank3, eight3, out3, index="i64") +
        matmul_text("masked_blocked", "<masked>", blocked3, rank3, out3) +
        matmul_text("masked_zero", "<masked>", rank3, rank3, out3, attrs={"tail": "zero"}) +
        matmul_text("ragged_zero", "<ragged_rows, ends, align = 4>", rank2, rank3, out2,
                    attrs={"tail": "zero"}) +
        matmul_text("ragged_i64", "<ragged_rows, starts>", rank2, rank3, out2, index="i64") +
        matmul_text("discrete_ragged", "<ragged_rows, ends>", rank2, blocked2, out2, weights=4) +
        matmul_text("discrete_masked", "<masked>", rank3, rank2, out3, weights=3) +
        matmul_text("discrete_batched", "<batched>", rank3, rank2, out3, weights=3) +
        list_text("list", 5, fmt, out2) +
        list_text("list_scaled", 3, fmt, out2, "tensor<?xf32>", "f32"))


def check(module, name, product, lhs=("linear", "whole"), rhs="linear", value=None):
    operand, operands = product.arguments(*lhs, rhs)
    got = module.call(name, *operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32", value=value), f"{name} {product.groups}")


RHS_OF = {"dense": {"linear": "linear", "blocked": "blocked_8x4", "blocked_8x4": "blocked"},
          "batched": {"linear": "blocked", "blocked": "linear", "blocked_8x4": "blocked_8x4"},
          "masked": {"linear": "blocked_8x4", "blocked": "linear"}}


def odd_module(fmt):
    return compile_module("".join(
        matmul_text(f"k{k}", "<ragged_rows, ends>", scaled_type(fmt, shape=("?", k)),
                    scaled_type(fmt, layout="blocked", shape=("?", n, k)), f"tensor<?x{n}xf32>")
        for n, k in ODD))


ODD = [(5, 1), (1, 15), (16, 33), (3, 135)]


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("n,k", ODD)
def test_odd_k_in_the_type_ignores_the_last_nibble(rng, fmt, n, k):
    for counts in ([1], [3, 0, 17]):
        product = make_product(rng, ragged(counts), n, k, fmt)
        operand, operands = product.arguments(rhs_layout="blocked", filler=15)
        got = odd_module(fmt).call(f"k{k}", *operand, *operands, product.destination("f32"))
        assert_equal(got, expected_result(product, "f32"))


RAGGED_K = [(o, a, layout, starts) for (o, a), (layout, starts) in itertools.product(
    OFFSETS, [("linear", "whole"), ("linear", "compact"), ("blocked", "whole"),
              ("blocked", "compact"), ("blocked_8x4", "compact")]) if starts != "whole" or a == 128]
# Groups that start within four scales of a tiled layout.
RAGGED_K += [(o, 32, layout, "whole") for o, layout in itertools.product(["ends", "starts"], LAYOUTS)]


# --- Arithmetic --------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dense_and_batched(rng, fmt, layout):
    for (n, k), m in zip(EXTENTS * 2, [0, 1, 5, 2, 140, 17, 31, 3, 1, 4, 1, 16]):
        for groups in (dense(m), batched(3, m), batched(0, m)):
            kind = groups.kind
            check(small_module(fmt), f"{kind}_{layout}", make_product(rng, groups, n, k, fmt),
                  (layout, "whole"), RHS_OF[kind][layout])


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_every_row_count_to_17(rng, fmt):
    for m in range(1, 18):
        for n, k in ((m, 64), (35, 2 * m + 63)):
            check(small_module(fmt), "dense_linear", make_product(rng, dense(m), n, k, fmt))


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("layout", ["linear", "blocked"])
def test_masked(rng, fmt, layout):
    for counts, most in (([0, 7, 20, 1], 20), ([0, 0], 5), ([130, 129], 131), ([], 4), ([0], 0)):
        for n, k in (EXTENTS[0], EXTENTS[1], EXTENTS[3], EXTENTS[5]):
            groups = masked(counts, most, np.int64 if layout == "linear" else np.int32)
            check(small_module(fmt), f"masked_{layout}", make_product(rng, groups, n, k, fmt),
                  (layout, "whole"), RHS_OF["masked"][layout])


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_tail_zero(rng, fmt):
    for n, k in EXTENTS:
        product = make_product(rng, masked([0, 3, 9], 9), n, k, fmt)
        check(small_module(fmt), "masked_zero", product, value=0)
        product = make_product(rng, ragged([5, 0, 2, 9], align=4, extra=6), n, k, fmt)
        check(small_module(fmt), "ragged_zero", product, value=0)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_rows_before_the_first_start(rng, fmt):
    """Starts need not begin at 0: rows before the first belong to no group."""
    groups = ragged([9, 0, 4], "starts", extra=2, dtype=np.int64)
    groups.begins = [b + 5 for b in groups.begins]
    groups.operand += 5
    groups.extent += 5
    check(small_module(fmt), "ragged_i64", make_product(rng, groups, 21, 96, fmt))


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_discrete_weights(rng, fmt):
    for n, k in EXTENTS:
        for groups, name, layout in ((ragged([3, 0, 18, 1]), "ragged", "blocked"),
                                     (masked([4, 0, 6], 6), "masked", "linear"),
                                     (batched(3, 2), "batched", "linear")):
            product = make_product(rng, groups, n, k, fmt, "discrete")
            check(small_module(fmt), f"discrete_{name}", product, rhs=layout)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_list_of_problems(rng, fmt):
    problems = [(5, 7, 64), (0, 5, 33), (5, 0, 33), (5, 7, 0), (130, 1, 135)]
    a = [random_scaled(rng, (m, k), fmt) for m, _, k in problems]
    b = [random_scaled(rng, (n, k), fmt) for _, n, k in problems]
    exact = [x.values() @ w.values().T for x, w in zip(a, b)]
    out = [np.full(e.shape, np.nan, np.float32) for e in exact]
    got = small_module(fmt).list(*[x.store() for x in a], *[w.store() for w in b], *out)
    for d, e, problem in zip(got, exact, problems):
        assert_equal(d, e.astype(np.float32), str(problem))
    alpha = np.array([0.5, 0, -2], np.float32)
    out = [rng.integers(-99, 99, e.shape).astype(np.float32) for e in exact[2:]]
    got = small_module(fmt).list_scaled(*[x.store() for x in a[2:]], *[w.store() for w in b[2:]],
                                        alpha, np.float32(4), *out)
    for d, e, c, factor in zip(got, exact[2:], out, alpha):
        assert_equal(d, (factor * e + 4 * c).astype(np.float32))


RAGGED_K = [(o, a, layout, starts) for (o, a), (layout, starts) in itertools.product(
    OFFSETS, [("linear", "whole"), ("linear", "compact"), ("blocked", "whole"),
              ("blocked", "compact"), ("blocked_8x4", "compact")]) if starts != "whole" or a == 128]
# Groups that start within four scales of a tiled layout.
RAGGED_K += [(o, 32, layout, "whole") for o, layout in itertools.product(["ends", "starts"], LAYOUTS)]


def ragged_k_module(fmt):
    texts = []
    for o, a, layout, starts in RAGGED_K:
        sides = scaled_type(fmt, 2, layout, starts)
        texts.append(matmul_text(compact_name("f", o, a, layout, starts),
                                 attribute("ragged_k", o, a), sides, sides, "tensor<?x?x?xf32>",
                                 beta="f32" if a == 4 else None))
    return compile_module("".join(texts))


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("case", RAGGED_K, ids=lambda c: compact_name(*c))
def test_ragged_k(rng, fmt, case):
    """Weight gradients: groups at any offset along K, odd ones included."""
    offsets, align, layout, starts = case
    for counts in ([0, 16, 48, 0, 7, 33], [0, 0], [1], [5, 3, 129]):
        for m, n in ((5, 9), (1, 1), (18, 34), (0, 3)):
            groups = ragged(counts, offsets, align, extra=5, kind="ragged_k")
            product = make_product(rng, groups, n, None, fmt, m=m)
            operand, operands = product.arguments(layout, starts, layout, starts)
            start = rng.integers(-99, 99, product.out_shape()).astype(np.float32)
            beta = [np.float32(0.5)] if align == 4 else []
            got = ragged_k_module(fmt).call(compact_name("f", *case), *operand, *operands, *beta,
                                            start)
            expected = expected_result(product, "f32") + (0.5 * start if beta else 0)
            assert_equal(got, expected.astype(np.float32), f"{counts} {m} {n}")


# --- Arithmetic --------------------------------------------------------------


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_random_values_within_the_bound(rng, fmt):
    block = FORMATS[fmt].block
    for m, n, k in ((33, 65, 2048), (3, 40, 5000), (17, 9, 100)):
        product = make_product(rng, dense(m), n, k, fmt, lattice=False)
        _, operands = product.arguments("blocked", "whole", "blocked_8x4")
        got = small_module(fmt).dense_blocked(*operands, product.destination("f32"))
        (_, acc, magnitude), = product.accumulators()
        # Block sums of FP8 products may round, one addition a product.
        rounded = 1 if FORMATS[fmt].is_fp4 else block
        assert_within(got, acc, random_bound(acc, magnitude, k, block / rounded), "f32")


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "nvfp4_e8m0"])
def test_blocks_accumulate_in_order_by_fused_multiply_add(rng, fmt):
    """acc = fma(block sum, scale product, acc): the definition, to the bit."""
    product = make_product(rng, dense(16), 48, 1024, fmt, lattice=False)
    _, operands = product.arguments()
    got = small_module(fmt).dense_linear(*operands, product.destination("f32"))
    f = product.lhs.fmt
    a = f.values[product.lhs.codes].reshape(16, -1, f.block)
    b = f.values[product.rhs.codes].reshape(48, -1, f.block)
    sums = np.einsum("mck,nck->cmn", a, b)
    scales = np.einsum("mc,nc->cmn", f.scales[product.lhs.scales], f.scales[product.rhs.scales])
    acc = np.zeros((16, 48), np.float32)
    for block, scale in zip(sums, scales):
        exact = block.astype(np.longdouble) * scale + acc
        acc = exact.astype(np.float32)
    # Every step but the one to f32 is exact: block sums times scales are multiples of 2^-22 and
    # sums of 64 of them stay below 2^36, so they fit the 64 bits of a long double.
    assert_equal(got, acc)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_nan_scales_poison_their_rows_and_columns_only(rng, fmt):
    groups = ragged([6, 0, 9, 4])
    product = make_product(rng, groups, 20, 128, fmt)
    product.lhs.scales[2, 1] = FORMATS[fmt].nan_scale
    product.rhs.scales[2, 7, 0] = FORMATS[fmt].nan_scale
    product.rhs.scales[1] = FORMATS[fmt].nan_scale
    module = ragged_module(fmt)
    offsets, align, layout, starts, rhs = next(c for c in ragged_cases(fmt)
                                               if c[:2] == ("ends", 1))
    operand, operands = product.arguments(layout, starts, rhs)
    name = compact_name("f", offsets, align, layout, starts)
    got = module.call(name, *operand, *operands, product.destination("f32"))
    poisoned = np.zeros((19, 20), bool)
    poisoned[2] = True
    poisoned[6:15, 7] = True
    assert np.array_equal(np.isnan(got), poisoned)
    assert not is_poison(got).any()
    expected = expected_result(product, "f32")
    assert_equal(got, np.where(poisoned, np.float32(np.nan), expected))


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e4m3"])
def test_same_bytes_for_any_threads_and_instruction_set(rng, fmt):
    act, w = scaled_type(fmt, 2, "blocked", "compact"), scaled_type(fmt, 3, "blocked")
    text = matmul_text("f", "<ragged_rows, ends>", act, w, alpha="tensor<?x2xf32>",
                       activation="<swiglu, gate = <8, gate_first>>",
                       quantizer="<trtllm>" if fmt == "nvfp4" else "<ocp>",
                       quantized=scaled_type(fmt), preact="tensor<?x?xf32>", amax=True)
    groups = ragged([33, 0, 300, 7])
    product = make_product(rng, groups, 192, 320, fmt, lattice=False)
    operand, operands = product.arguments("blocked", "compact", "blocked")
    alpha = rng.random((4, 2)).astype(np.float32)
    results = []
    for isa in ("native", "generic", "avx2"):
        module = compile_module(text, f"--isa={isa}")
        for threads in (1, 2, 5):
            set_threads(threads)
            results.append(module.f(*operand, *operands, alpha, product.destination("f32"),
                                    np.full(4, np.nan, np.float32)))
    set_threads(0)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert a.tobytes() == b.tobytes()
