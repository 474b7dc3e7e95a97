# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues of kernels for sm_90a: the tests of the CPU's code, on the simulator."""

import functools

import pytest

from kernel_epilogues import *  # noqa: F403
from nvfp4_kernels import compile_kernels, simulated

pytestmark = simulated("sm_90a")


@pytest.fixture
def on_kernels():
    return functools.partial(compile_kernels, "sm_90a")


# Gate rows come in runs of up to 32: the two halves of a pair of runs of 64 would be in two
# warpgroups.
@pytest.mark.parametrize("kind,gate", [(kind, gate) for kind, gate in PAIRS if gate[0] <= 32])
def test_pairs(rng, on_kernels, kind, gate):
    check_pair(rng, on_kernels, kind, gate)


@SHORT_RUNS
def test_short_runs_to_blocks_of_32(rng, on_kernels, gate, n, quantizer, fmt):
    check_blocks_of_32(rng, on_kernels, gate, n, quantizer, fmt)


@pytest.mark.parametrize("tail", ["preserve", "zero"])
def test_stochastic_results_have_the_bytes_of_the_cpu(rng, tail):
    check_stochastic(rng, "sm_90a", tail)
