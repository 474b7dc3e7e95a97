# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues of kernels for sm_100a: the tests of the CPU's code, on the simulator."""

import re

import numpy as np
import pytest

import test_epilogues as cases
from kernel_epilogues import *  # noqa: F403
from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import compile_kernels, simulated
from nvfp4_module import FULL

pytestmark = simulated("sm_100a")

# Rows on lanes and on columns of the accumulator, by one block and by two.
STRATEGIES = {"rows": "m = 128, n = 128", "pair": "m = 256, n = 128, ctas = 2",
              "turned": "m = 128, n = 16, swap_ab = true",
              "turned pair": "m = 256, n = 64, ctas = 2, swap_ab = true"}


@pytest.fixture(params=STRATEGIES if FULL else ["rows", "turned pair"])
def strategy(request):
    return f"#{DIALECT}.strategy<{STRATEGIES[request.param]}, k = 256>"


@pytest.fixture
def on_kernels(strategy):
    """Compiles what the tests of the CPU's code compile, with the strategy in every matmul."""
    def compile_text(text):
        chosen = f"strategy = {strategy}"
        text = re.sub(r" \{([^{}\n]+)\}\n      -> ", rf" {{\1, {chosen}}}\n      -> ", text)
        text = re.sub(r"(?<!\})\n      -> ", rf" {{{chosen}}}\n      -> ", text)
        return compile_kernels("sm_100a", text)
    return compile_text


@pytest.mark.parametrize("kind,gate", PAIRS)
def test_pairs(rng, on_kernels, kind, gate):
    check_pair(rng, on_kernels, kind, gate)


@pytest.mark.parametrize("tail", ["preserve", "zero"])
def test_stochastic_results_have_the_bytes_of_the_cpu(rng, strategy, tail):
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
      {{tail = #{DIALECT}<tail {tail}>, strategy = {strategy}}}
  return
}}
"""
    product = cases.make(rng)
    operand, arguments = product.arguments()
    results = []
    for target in ("cpu", "sm_100a"):
        codes = np.full((rows, n // 2), 0x5A, np.uint8)
        scales = np.full((rows, n // 16), 0x38, np.uint8)
        compile_kernels(target, text).f(
            *operand, *arguments, np.float32(97), np.int64(0x123456789ABCDEF), codes, scales)
        results.append((codes, scales))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    assert np.all(results[1][0][-3:] == (0 if tail == "zero" else 0x5A))
