# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of epilogues that hold for kernels of every target: those of the CPU's code,
whose modules the fixture `on_kernels` of the importing file compiles instead.
"""

import re

import numpy as np
import pytest

import test_epilogues as cases
from format_blocks import formula
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, unpack
from nvfp4_kernels import compile_kernels
from test_epilogues import (test_activation_parameters_of_each_group,  # noqa: F401
                            test_alpha_and_bias, test_amax_of_empty_groups_and_nan,
                            test_beta_and_addend, test_custom_region, test_every_term_at_once,
                            test_fast_math_is_what_the_specification_permits,
                            test_fused_and_separate_operations_give_the_same_bytes,
                            test_plain_activations_and_probability,
                            test_pre_activation_rounded_to_bf16,
                            test_quantised_results_to_the_byte,
                            test_scale_of_each_row)

# Activations of pairs, each in half of the gate layouts.
PAIRS = [(kind, gate) for i, kind in enumerate(cases.PAIRED) for gate in cases.GATES[i % 2::2]]

# Gates whose runs are shorter than a block of 32 pairs, or no runs; N, and a quantiser.
SHORT_RUNS = pytest.mark.parametrize("gate,n,quantizer,fmt", [
    ((1, 0), 128, "ue8m0_up", "mxfp8_e4m3"), ((1, 1), 0, "ocp", "mxfp4"),
    ((8, 0), 192, "ue8m0_up", "mxfp4"), ((16, 1), 0, "ocp", "mxfp8_e5m2"),
    ((0, 0), 0, "ue8m0_up", "mxfp8_e4m3"), ((3, 0), 192, "ocp", "mxfp8_e4m3")])


def compile_with_strategy(target, text, strategy):
    """What the tests of the CPU's code compile, with the strategy in every matmul."""
    chosen = f"strategy = {strategy}"
    text = re.sub(r" \{([^{}\n]+)\}\n      -> ", rf" {{\1, {chosen}}}\n      -> ", text)
    text = re.sub(r"(?<!\})\n      -> ", rf" {{{chosen}}}\n      -> ", text)
    return compile_kernels(target, text)


@pytest.fixture(autouse=True)
def kernels(monkeypatch, on_kernels):
    monkeypatch.setattr(cases, "compile_module", on_kernels)
    monkeypatch.setattr(cases, "RESULT_LAYOUT", ["linear", "blocked", "linear"])


def check_pair(rng, on_kernels, kind, gate):
    """The results of a pair, their maximum, and the pre-activation where its columns
    stay in place."""
    module = on_kernels(cases.text(
        "f", alpha="tensor<?x2xf32>", preact="tensor<?x?xf32>" if gate[0] else None, amax=True,
        activation=f"<{cases.PAIRED[kind][0]}, gate = {cases.gate_text(gate)}>"))
    product = cases.make(rng)
    alpha = np.abs(cases.powers(rng, len(cases.COUNTS), 2)) / 16
    stored = [product.destination("f32")] if gate[0] else []
    *pre, got, amax = cases.call(module, "f", product, alpha, *stored,
                                 product.destination("f32", 64),
                                 np.full(len(cases.COUNTS), np.nan, np.float32))
    cases.assert_paired(product, kind, gate, alpha, got, amax, *pre)
    assert np.all(is_poison(got[-3:]))


def check_blocks_of_32(rng, on_kernels, gate, n, quantizer, fmt):
    """Pairs in runs that hold no block of 32 of them, quantised: the bytes of the formula on
    what the same kernel makes as f32. N is known, or not."""
    activation = f"<swiglu, gate = {cases.gate_text(gate)}, limit = 10.0>"
    weights = scaled_type("nvfp4", 3, "blocked", shape=("?", n or "?", "?"))
    module = on_kernels("".join(
        matmul_text(name, cases.RAGGED, cases.ACT, weights, out, alpha="f32", activation=activation,
                    bias="tensor<?xf32>", **results)
        for name, out, results in [
            ("y", "tensor<?x?xf32>", {}),
            ("q", None, dict(quantizer=f"<{quantizer}>", quantized=scaled_type(fmt)))]))
    product, alpha = cases.make(rng, n or 192), np.float32(1 / 64)
    columns = product.n // 2
    bias = cases.quarters(rng, (product.n,))
    y = cases.call(module, "y", product, alpha, bias, product.destination("f32", columns))
    values, scales = cases.call(module, "q", product, alpha, bias)
    codes = unpack(FORMATS[fmt], values, columns)
    rows_g, rows_u = gate_rows(*gate, columns)
    for g, (index, acc, _) in enumerate(product.accumulators()):
        z = acc * alpha + bias
        exact = swiglu(z[:, rows_g], z[:, rows_u], limit=10.0)
        assert_within(y[index], exact, activation_bound(exact, z[:, rows_g]), "f32", f"group {g}")
        c, b = formula(quantizer)(y[index].reshape(-1, 32), fmt, None)
        assert_equal(codes[index], c.reshape(-1, columns), f"codes of group {g}")
        assert_equal(scales.view(np.uint8)[index], b.reshape(-1, columns // 32),
                     f"scales of group {g}")
    assert not codes[-3:].any()


def check_stochastic(rng, kernels, tail, attributes=""):
    """Quantised at random to the bytes of the CPU: random numbers depend on the place of an
    element alone; rows of no group are kept, or are zeros. Storage form, so that both are to
    be seen."""
    rows, n, k = cases.ROWS, 128, 96
    result = scaled_type("nvfp4", shape=(rows, n))
    operands = [f"memref<{rows}x{k // 2}xi8>", f"memref<{rows}x{k // 16}xf8E4M3FN>",
                f"memref<5x{n}x{k // 2}xi8>", f"memref<5x{n}x{k // 16}xf8E4M3FN>"]
    lhs, rhs = scaled_type("nvfp4", shape=(rows, k)), scaled_type("nvfp4", shape=(5, n, k))
    text = f"""func.func @f(%ends: memref<5xi32>, %a: {operands[0]}, %as: {operands[1]},
                   %b: {operands[2]}, %bs: {operands[3]}, %s: f32, %seed: i64,
                   %c: memref<{rows}x{n // 2}xi8>, %cs: memref<{rows}x{n // 16}xf8E4M3FN>) {{
  {DIALECT}.matmul <ragged_rows, ends> groups(%ends : memref<5xi32>)
      lhs(%a scaled_by %as : {operands[0]}, {operands[1]} as {lhs})
      rhs(%b scaled_by %bs : {operands[2]}, {operands[3]} as {rhs})
      quantizer = <te, rounding = stochastic> global_scale(%s : f32) seed(%seed)
      outs(%c scaled_by %cs : memref<{rows}x{n // 2}xi8>, memref<{rows}x{n // 16}xf8E4M3FN> as {result})
      {{tail = #{DIALECT}<tail {tail}>{attributes}}}
  return
}}
"""
    product = cases.make(rng)
    operand, arguments = product.arguments()
    results = []
    for target in ("cpu", kernels):
        codes = np.full((rows, n // 2), 0x5A, np.uint8)
        scales = np.full((rows, n // 16), 0x38, np.uint8)
        compile_kernels(target, text).f(
            *operand, *arguments, np.float32(97), np.int64(0x123456789ABCDEF), codes, scales)
        results.append((codes, scales))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    assert np.all(results[1][0][-3:] == (0 if tail == "zero" else 0x5A))
