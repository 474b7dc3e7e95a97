# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gate layouts on sm_100a. Where no tile holds one, weights are moved, and columns of an
addend and of the stored pre-activation are not."""

import numpy as np
import pytest

import test_epilogues as cases
from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import compile_kernels, simulated
from nvfp4_module import FULL

pytestmark = simulated("sm_100a")

# Granularity (0: halves), columns, and a tile.
LAYOUTS = [(0, 128, "m = 128, n = 128, k = 256"), (0, 192, "m = 128, n = 64, k = 256"),
           (0, 48, "m = 128, n = 64, k = 256"), (0, 6, "m = 128, n = 64, k = 256"),
           (3, 48, "m = 128, n = 64, k = 256"), (128, 512, "m = 128, n = 256, k = 256"),
           (64, 512, "m = 128, n = 256, k = 256"),  # in place; accumulators share 128 columns
           (48, 192, "m = 256, n = 128, k = 256, ctas = 2"),
           (96, 192, "m = 128, n = 8, k = 256, swap_ab = true"),
           (0, 264, "m = 256, n = 32, k = 256, ctas = 2, swap_ab = true")]


@pytest.mark.parametrize("q,n,tile", LAYOUTS)
@pytest.mark.parametrize("up_first", [0, 1] if FULL else [0])
@pytest.mark.parametrize("known", [False, True])
def test_columns_of_addend_and_pre_activation(rng, q, n, tile, up_first, known):
    if not known and (q, n) in ((0, 192), (48, 192)):
        up_first = 1
    product = make_product(rng, ragged(cases.COUNTS, extra=3), n, 96, "nvfp4")
    weights = scaled_type("nvfp4", shape=("?", n, "?")) if known else scaled_type("nvfp4", 3)
    text = matmul_text(
        "f", "<ragged_rows, ends>", scaled_type("nvfp4"), weights,
        f"tensor<?x{n // 2 if known else '?'}xf32>", alpha="tensor<?x2xf32>",
        addend=f"tensor<?x{n if known else '?'}xbf16>", bias=f"tensor<{n if known else '?'}xf32>",
        preact=f"tensor<?x{n if known else '?'}xf16>",
        activation=f"<swiglu, gate = {cases.gate_text((q, up_first))}>",
        attrs={"strategy": f"<{tile}>"})
    alpha = np.abs(cases.powers(rng, len(cases.COUNTS), 2)) / 16
    addend = cases.quarters(rng, (cases.ROWS, n), OUT["bf16"])
    bias = cases.quarters(rng, (n,))
    operand, operands = product.arguments()
    pre, got = compile_kernels("sm_100a", text).f(
        *operand, *operands, alpha, addend, bias, product.destination("f16"),
        product.destination("f32", n // 2))
    rows_g, rows_u = gate_rows(q, up_first, n // 2)
    expected_pre, unwritten = product.destination("f16"), product.destination("f32", n // 2)
    for i, (index, acc, _) in enumerate(product.accumulators()):
        factor = np.empty(n)
        factor[rows_g], factor[rows_u] = alpha[i]
        z = acc * factor + addend[index].astype(np.float64) + bias
        expected_pre[index] = round_to(z, "f16")
        y = swiglu(z[:, rows_g], z[:, rows_u], 1, 0, np.inf)
        bound = activation_bound(y, z[:, rows_g], 1.702)
        assert_within(got[index], y, bound, "f32", f"group {i}")
        unwritten[index] = got[index]
    assert_equal(got, unwritten, "rows of no group")
    assert_equal(pre, expected_pre, "pre-activation")


@pytest.mark.parametrize("inner,outer,n", [(8, 0, 128), (32, 4, 192), (0, 8, 48)])
def test_layout_that_the_program_names(rng, inner, outer, n):
    """Weights and bias in one layout, an addend and the pre-activation in another."""
    product = make_product(rng, ragged(cases.COUNTS, extra=3), n, 96, "nvfp4")
    text = matmul_text(
        "f", "<ragged_rows, ends>", scaled_type("nvfp4"), scaled_type("nvfp4", shape=("?", n, "?")),
        f"tensor<?x{n // 2}xf32>", addend=f"tensor<?x{n}xbf16>", bias=f"tensor<{n}xf32>",
        preact=f"tensor<?x{n}xf16>",
        activation=f"<swiglu, gate = {cases.gate_text((inner, 0))}> "
                   f"outer_gate = {cases.gate_text((outer, 0))}",
        attrs={"strategy": "<m = 128, n = 64, k = 256>"})
    addend = cases.quarters(rng, (cases.ROWS, n), OUT["bf16"])
    bias = cases.quarters(rng, (n,))
    operand, operands = product.arguments()
    pre, got = compile_kernels("sm_100a", text).f(
        *operand, *operands, addend, bias, product.destination("f16"),
        product.destination("f32", n // 2))
    expected_pre = product.destination("f16")
    for i, (index, acc, _) in enumerate(product.accumulators()):
        # The gate, then up, of all pairs.
        pair = []
        for weights, columns in zip(gate_rows(inner, 0, n // 2), gate_rows(outer, 0, n // 2)):
            z = acc[:, weights] + addend[index].astype(np.float64)[:, columns] + bias[weights]
            whole = expected_pre[index]
            whole[:, columns] = round_to(z, "f16")
            expected_pre[index] = whole
            pair.append(z)
        y = swiglu(*pair, 1, 0, np.inf)
        assert_within(got[index], y, activation_bound(y, pair[0], 1.702), "f32", f"group {i}")
    assert_equal(pre, expected_pre, "pre-activation")


@pytest.mark.parametrize("out", ["bf16", "f32"])
@pytest.mark.parametrize("q,n", [(32, 448), (64, 384), (0, 400)])
@pytest.mark.parametrize("columns", [256, 128])
def test_long_runs_in_boxes(rng, q, n, columns, out):
    """Runs of 32 and longer, finished 16 pairs at a time: whole rows of a tile leave in
    boxes, others and the last columns alone. Accumulators of 256 columns share some."""
    product = make_product(rng, ragged([130, 0, 40, 256], extra=3), n, 96, "nvfp4")
    text = matmul_text(
        "f", "<ragged_rows, ends>", scaled_type("nvfp4"), scaled_type("nvfp4", shape=("?", n, "?")),
        f"tensor<?x{n // 2}x{out}>", alpha="tensor<?x2xf32>", bias=f"tensor<{n}xf32>",
        activation=f"<swiglu, gate = {cases.gate_text((q, 0))}>",
        attrs={"strategy": f"<m = 128, n = {columns}, k = 256>"})
    alpha = np.abs(cases.powers(rng, 4, 2)) / 16
    bias = cases.quarters(rng, (n,))
    operand, operands = product.arguments()
    got = compile_kernels("sm_100a", text).f(*operand, *operands, alpha, bias,
                                             product.destination(out, n // 2))
    rows_g, rows_u = gate_rows(q, 0, n // 2)
    unwritten = product.destination(out, n // 2)
    for i, (index, acc, _) in enumerate(product.accumulators()):
        factor = np.empty(n)
        factor[rows_g], factor[rows_u] = alpha[i]
        z = acc * factor + bias
        y = swiglu(z[:, rows_g], z[:, rows_u], 1, 0, np.inf)
        assert_within(got[index], y, activation_bound(y, z[:, rows_g], 1.702), out, f"group {i}")
        unwritten[index] = got[index]
    assert_equal(got, unwritten, "rows of no group")
