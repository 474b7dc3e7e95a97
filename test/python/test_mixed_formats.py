# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose activations and weights differ in their element type, compiled
and compared with products in f64."""

import itertools

import numpy as np
import pytest

from nvfp4_cases import (assert_equal, assert_within, dense, expected_result, matmul_text,
                         poison_rows, Product, ragged, random_bound, scaled_type)
from nvfp4_formats import random_scaled
from nvfp4_module import compile_module

MX = ("mxfp4", "mxfp8_e4m3", "mxfp8_e5m2")
PAIRS = [pair for pair in itertools.product(MX, MX) if pair[0] != pair[1]]


def module():
    return compile_module("".join(
        matmul_text(f"dense_{a}_{b}", "<dense>", scaled_type(a), scaled_type(b, 2, "blocked"),
                    "tensor<?x?xf32>") +
        matmul_text(f"ragged_{a}_{b}", "<ragged_rows, ends>", scaled_type(a, 2, "blocked"),
                    scaled_type(b, 3), "tensor<?x?xf32>")
        for a, b in PAIRS))


def call(name, product, lhs_layout="linear", rhs_layout="linear"):
    groups, operands = product.arguments(lhs_layout, "whole", rhs_layout)
    return module().call(name, *groups, *operands, product.destination("f32"))


@pytest.mark.parametrize("a,b", PAIRS)
@pytest.mark.parametrize("m,n,k", [(1, 1, 32), (5, 65, 96), (17, 130, 320), (0, 8, 32), (3, 4, 0)])
def test_dense(a, b, m, n, k):
    rng = np.random.default_rng(m + n + k)
    product = Product(dense(m), random_scaled(rng, (m, k), a), random_scaled(rng, (n, k), b))
    assert_equal(call(f"dense_{a}_{b}", product, rhs_layout="blocked"),
                 expected_result(product, "f32"))


@pytest.mark.parametrize("a,b", PAIRS)
def test_ragged_rows(a, b):
    """Groups of every size up to 17, an empty one, and a buffer longer than the
    last offset, whose rows hold NaN and stay as they were."""
    rng = np.random.default_rng(17)
    groups = ragged([*range(18)], extra=3)
    lhs = poison_rows(random_scaled(rng, (groups.extent, 96), a), groups)
    product = Product(groups, lhs, random_scaled(rng, (len(groups), 66, 96), b))
    assert_equal(call(f"ragged_{a}_{b}", product, lhs_layout="blocked"),
                 expected_result(product, "f32"))


@pytest.mark.parametrize("a,b", PAIRS)
def test_random_values_within_the_bound(a, b):
    rng = np.random.default_rng(3)
    product = Product(dense(33), random_scaled(rng, (33, 512), a, lattice=False),
                      random_scaled(rng, (70, 512), b, lattice=False))
    got = call(f"dense_{a}_{b}", product, rhs_layout="blocked")
    for index, acc, magnitude in product.accumulators():
        # One operand is FP8, so block sums may round at every addition.
        assert_within(got[index], acc, random_bound(acc, magnitude, 512, 1), "f32")
