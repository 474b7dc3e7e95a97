# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues of kernels for sm_100a: the tests of the CPU's code, on the simulator."""

import numpy as np
import pytest

import test_epilogues as cases
from kernel_epilogues import *  # noqa: F403
from nvfp4_cases import *  # noqa: F403
from nvfp4_kernels import simulated
from nvfp4_module import FULL

pytestmark = simulated("sm_100a")

# Rows on lanes and on columns of the accumulator, by one block and by two.
STRATEGIES = {"rows": "m = 128, n = 128", "pair": "m = 256, n = 128, ctas = 2",
              "turned": "m = 128, n = 16, swap_ab = true",
              "turned pair": "m = 256, n = 64, ctas = 2, swap_ab = true",
              "parts": "m = 128, n = 128, split_k = 2"}


@pytest.fixture(params=STRATEGIES if FULL else ["rows", "turned pair", "parts"])
def strategy(request):
    relaxed = f", determinism = #{DIALECT}<determinism relaxed>" if request.param == "parts" else ""
    return f"#{DIALECT}.strategy<{STRATEGIES[request.param]}, k = 256>" + relaxed


@pytest.fixture
def on_kernels(strategy):
    return lambda text: compile_with_strategy("sm_100a", text, strategy)


@pytest.mark.parametrize("kind,gate", PAIRS)
def test_pairs(rng, on_kernels, kind, gate):
    check_pair(rng, on_kernels, kind, gate)


@SHORT_RUNS
def test_short_runs_to_blocks_of_32(rng, on_kernels, gate, n, quantizer, fmt):
    check_blocks_of_32(rng, on_kernels, gate, n, quantizer, fmt)


@pytest.mark.parametrize("tail", ["preserve", "zero"])
def test_stochastic_results_have_the_bytes_of_the_cpu(rng, strategy, tail):
    check_stochastic(rng, "sm_100a", tail, f", strategy = {strategy}")
