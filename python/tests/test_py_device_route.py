# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel of route chooses the experts of the CPU's code, and gives them weights of the same bits."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from test_py_device_operations import DTYPES, TARGETS, cross

METHODS = ["softmax_topk", "topk_softmax", "topk", "sigmoid_topk", "topk_sigmoid", "llama4", "sigmoid_renorm", "deepseek_v3", "minimax2"]
# Whole warps of experts, parts of one, as many experts as slots, one.
EXPERTS = [(128, 8), (40, 3), (256, 8), (4, 4), (5, 3), (1, 1), (384, 6), (33, 32), (1000, 2)]


def make_logits(rng, shape, element):
    """Scores with ties, of either sign, with zeros of both, infinities and NaN."""
    logits = np.round(rng.standard_normal(shape) * 4) / 4
    for value in (0.0, -0.0, np.inf, -np.inf, np.nan, 30.0):
        logits[rng.random(shape) < 1 / 50] = value
    return logits.astype(DTYPES[element])


def make_text(method, experts, slots, element, attributes="", is_biased=False):
    x, w, e = f"tensor<?x{experts}x{element}>", f"tensor<?x{slots}xf32>", f"tensor<?x{slots}xi32>"
    bias = f" bias(%b : tensor<{experts}xf32>)" if is_biased else ""
    return f"""func.func @f(%x: {x}, %b: tensor<{experts}xf32>, %w: {w}, %e: {e}) -> ({w}, {e}) {{
  %r:2 = grouped_scaled_gemm.route {method} (%x : {x}){bias} outs(%w, %e : {w}, {e}) {{{attributes}}} -> {w}, {e}
  return %r#0, %r#1 : {w}, {e}
}}"""


def check(text, target, *arguments):
    host, device = (nvfp4.compile(text, where, memory=memory).run(*arguments)
                    for where, memory in (("cpu", "host"), (target + "+sim", "device")))
    assert np.array_equal(host[1], device[1])
    # One NaN is as good as another.
    assert np.array_equal(np.nan_to_num(host[0], nan=77).view(np.int32), np.nan_to_num(device[0], nan=77).view(np.int32))


def make_arguments(rng, tokens, experts, slots, element):
    return [make_logits(rng, (tokens, experts), element), rng.standard_normal(experts).astype(np.float32),
            np.full((tokens, slots), np.nan, np.float32), np.full((tokens, slots), 99, np.int32)]


@pytest.mark.parametrize("method, sizes, tokens, element, target",
                         cross(METHODS, EXPERTS, [1, 9, 70, 0], list(DTYPES), TARGETS))
def test_route(rng, method, sizes, tokens, element, target):
    experts, slots = sizes[0], 1 if method == "llama4" else sizes[1]
    biased = method in ("deepseek_v3", "minimax2")
    check(make_text(method, experts, slots, element, is_biased=biased), target,
          *make_arguments(rng, tokens, experts, slots, element))


@pytest.mark.parametrize("experts, groups, kept, target", [
    (256, 8, 4, "sm_90a"), (64, 64, 10, "sm_100a"), (96, 2, 1, "sm_90a"), (60, 4, 3, "sm_100a"), (160, 5, 5, "sm_90a"),
    (40, 20, 4, "sm_100a")])
def test_groups_of_experts(rng, experts, groups, kept, target):
    """Groups of one expert, of parts of a warp and of several warps; scaled weights."""
    attributes = f"n_group = {groups} : i64, topk_group = {kept} : i64, routed_scaling = 2.5 : f32"
    text = make_text("deepseek_v3", experts, 8, "f32", attributes, is_biased=True)
    check(text, target, *make_arguments(rng, 21, experts, 8, "f32"))
