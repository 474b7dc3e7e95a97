# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues of kernels for sm_100a: the tests of the CPU's code, on the simulator."""

import functools
import re
import sys

import numpy as np
import pytest

import test_epilogues as cases
from nvfp4_cases import *  # noqa: F403
from nvfp4_module import FULL, compile_module
from test_epilogues import (rng, test_activation_parameters_of_each_group,  # noqa: F401
                            test_alpha_and_bias, test_amax_of_empty_groups_and_nan,
                            test_beta_and_addend, test_custom_region, test_every_term_at_once,
                            test_fast_math_is_what_the_specification_permits,
                            test_fused_and_separate_operations_give_the_same_bytes,
                            test_plain_activations_and_probability,
                            test_pre_activation_rounded_to_bf16,
                            test_quantised_results_to_the_byte)
from test_sm100 import pytestmark  # noqa: F401


# Rows on lanes and on columns of the accumulator, by one block and by two.
STRATEGIES = {"rows": "m = 128, n = 128", "pair": "m = 256, n = 128, ctas = 2",
              "turned": "m = 128, n = 16, swap_ab = true",
              "turned pair": "m = 256, n = 64, ctas = 2, swap_ab = true"}
strategy = ""


def on_kernels(text):
    chosen = f"strategy = #{DIALECT}.strategy<{strategy}, k = 256>"
    text = re.sub(r" \{([^{}\n]+)\}\n      -> ", rf" {{\1, {chosen}}}\n      -> ", text)
    text = re.sub(r"(?<!\})\n      -> ", rf" {{{chosen}}}\n      -> ", text)
    return compile_module(text, "--target=sm_100a")


@pytest.fixture(autouse=True, params=STRATEGIES if FULL else ["rows", "turned pair"])
def kernels(request, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "strategy", STRATEGIES[request.param])
    monkeypatch.setattr(cases, "compile_module", on_kernels)
    monkeypatch.setattr(cases, "RESULT_LAYOUT", ["linear", "blocked", "linear"])
    # Tiles read padding scales, which must not be NaN.
    monkeypatch.setattr(Product, "arguments",
                        functools.partialmethod(Product.arguments, poison=0))


def gate_module(kind, gate):
    op = "geglu_tanh" if kind == "geglu_tanh" else "swiglu"
    preact = "tensor<?x?xf32>" if gate[0] else None
    return on_kernels(cases.text("f", alpha="tensor<?x2xf32>", preact=preact, amax=True,
                                 activation=f"<{op}, gate = {cases.gate_text(gate)}"
                                            f"{cases.PAIRED[kind]}>"))


@pytest.mark.parametrize("kind,gate", [(k, g) for i, k in enumerate(cases.PAIRED)
                                       for g in cases.GATES[i % 2::2]])
def test_pairs(rng, kind, gate):
    """Gate layouts; the stored pre-activation where its columns stay in place."""
    product = cases.make(rng)
    alpha = np.abs(cases.powers(rng, len(cases.COUNTS), 2)) / 16
    stored = [product.destination("f32")] if gate[0] else []
    *pre, got, amax = cases.call(gate_module(kind, gate), "f", product, alpha, *stored,
                                 product.destination("f32", 64),
                                 np.full(len(cases.COUNTS), np.nan, np.float32))
    rows_g, rows_u = gate_rows(*gate, 64)
    expected_pre = product.destination("f32")
    for i, (index, acc, _) in enumerate(product.accumulators()):
        factor = np.empty(128)
        factor[rows_g], factor[rows_u] = alpha[i]
        z = acc * factor
        expected_pre[index] = z
        y = cases.paired(kind, z[:, rows_g], z[:, rows_u])
        bound = cases.paired_bound(kind, y, z[:, rows_g], z[:, rows_u])
        assert_within(got[index], y, bound, "f32", f"group {i}")
        assert amax[i] == np.abs(got[index]).max(initial=0)
    if pre:
        assert_equal(pre[0], expected_pre, "pre-activation")
    assert np.all(is_poison(got[-3:]))


@pytest.mark.parametrize("tail", ["preserve", "zero"])
def test_stochastic_results_have_the_bytes_of_the_cpu(rng, tail):
    """Random numbers depend on the place of an element alone; rows of no group are
    kept, or are zeros. Storage form, so that both are to be seen."""
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
      {{tail = #{DIALECT}<tail {tail}>, strategy = #{DIALECT}.strategy<{strategy}, k = 256>}}
  return
}}
"""
    product = cases.make(rng)
    operand, arguments = product.arguments()
    results = []
    for target in ("cpu", "sm_100a"):
        codes = np.full((rows, n // 2), 0x5A, np.uint8)
        scales = np.full((rows, n // 16), 0x38, np.uint8)
        compile_module(text, f"--target={target}").f(
            *operand, *arguments, np.float32(97), np.int64(0x123456789ABCDEF), codes, scales)
        results.append((codes, scales))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    assert np.all(results[1][0][-3:] == (0 if tail == "zero" else 0x5A))
