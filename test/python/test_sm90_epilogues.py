# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues of kernels for sm_90a: the tests of the CPU's code, on the simulator."""

import functools

import numpy as np
import pytest

import test_epilogues as cases
from nvfp4_cases import *  # noqa: F403
from nvfp4_module import compile_module
from test_epilogues import (rng, test_activation_parameters_of_each_group,  # noqa: F401
                            test_alpha_and_bias, test_amax_of_empty_groups_and_nan,
                            test_beta_and_addend, test_custom_region, test_every_term_at_once,
                            test_fast_math_is_what_the_specification_permits,
                            test_fused_and_separate_operations_give_the_same_bytes,
                            test_plain_activations_and_probability,
                            test_pre_activation_rounded_to_bf16,
                            test_quantised_results_to_the_byte)
from test_sm90 import pytestmark  # noqa: F401


def on_kernels(text):
    return compile_module(text, "--target=sm_90a")


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
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
                                       for g in cases.GATES[i % 2::2] if g[0] <= 32])
def test_pairs(rng, kind, gate):
    """Gate layouts; the stored pre-activation where its columns stay in place. Runs of 64 cannot
    be: the two halves of a pair would be in two warpgroups."""
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
