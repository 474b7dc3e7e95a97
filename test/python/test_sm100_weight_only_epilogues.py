# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues of kernels for sm_100a whose rows have no scales: the tests of scaled rows, on the
same numbers in bf16."""

import numpy as np
import pytest

import test_epilogues as cases
from kernel_epilogues import *  # noqa: F403
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import Plain
from nvfp4_kernels import simulated
from nvfp4_module import FULL

pytestmark = simulated("sm_100a")

# Whole accumulators, and two that share half of their columns.
TILES = {"narrow": "n = 16", "chunks": "n = 64", "shared": "n = 256", "parts": "n = 64, split_k = 2"}


@pytest.fixture(params=TILES if FULL else ["narrow", "shared", "parts"])
def strategy(request):
    relaxed = f", determinism = #{DIALECT}<determinism relaxed>" if request.param == "parts" else ""
    return f"#{DIALECT}.strategy<m = 128, {TILES[request.param]}, k = 128, swap_ab = true>" + relaxed


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    """Rows of the operands as bf16, which holds their values; NaN where no group has any."""
    scaled = cases.make

    def make(*arguments, **extents):
        product = scaled(*arguments, **extents)
        data = product.lhs.values()
        owned = np.zeros(len(data), bool)
        for begin, count in zip(product.groups.begins, product.groups.counts):
            owned[begin:begin + count] = True
        data[~owned] = np.nan
        return Product(product.groups, Plain(data.astype(OUT["bf16"])), product.rhs)

    def spoil_row(lhs, row):
        lhs.data[row, 0] = np.nan

    monkeypatch.setattr(cases, "make", make)
    monkeypatch.setattr(cases, "spoil_row", spoil_row)
    monkeypatch.setattr(cases, "ACT", "tensor<?x?xbf16>")


@pytest.fixture
def on_kernels(strategy):
    return lambda text: compile_with_strategy("sm_100a", text, strategy)


@pytest.mark.parametrize("kind,gate", PAIRS)
def test_pairs(rng, on_kernels, kind, gate):
    check_pair(rng, on_kernels, kind, gate)


@SHORT_RUNS
def test_short_runs_to_blocks_of_32(rng, on_kernels, gate, n, quantizer, fmt):
    check_blocks_of_32(rng, on_kernels, gate, n, quantizer, fmt)
