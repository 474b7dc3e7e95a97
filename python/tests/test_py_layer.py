# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""moe_layer and its parts against numpy.

Between the two products activations are quantised, and a value next to a rounding boundary may fall to the other side in
float64. So almost all numbers must agree to a rounding of the result, and all within the effect of a few such flips.
"""

import re

import ml_dtypes
import numpy as np
import pytest

import layer_oracle as oracle
import nvfp4
from nvfp4_cases import geglu_tanh, swiglu
from nvfp4_formats import random_scaled

E, H, I, K = 6, 64, 32, 3


def weights_of(rng, fmt):
    def one(n, k):
        return nvfp4.ScaledTensor(*random_scaled(rng, (E, n, k), fmt, codes="small").store(), fmt)
    return one(2 * I, H), one(H, I)


def agree(got, expected, flip):
    """Within bfloat16's rounding, but for one number in two hundred, which is within `flip`."""
    error = np.abs(got.astype(float) - expected)
    close = error <= np.abs(expected) * 2.0**-8 + np.abs(expected).max() * 2.0**-18
    assert close.mean() > 0.995, (close.mean(), error.max(), np.abs(expected).max())
    assert error.max() <= flip, (error.max(), flip)


def halves(function):
    return lambda z: function(z[:, :I], z[:, I:])


def interleaved(z):
    return swiglu(z[:, 0::2], z[:, 1::2], float(np.float32(1.702)), 1, 7)


@pytest.mark.parametrize("tokens", [1, 40])
def test_layer_with_scales_of_every_level(rng, tokens):
    w13, w2 = weights_of(rng, "nvfp4")
    x = rng.standard_normal((tokens, H)).astype(ml_dtypes.bfloat16)
    logits = rng.standard_normal((tokens, E)).astype(np.float32)
    m13 = np.exp2(rng.uniform(-8, -6, (E, 2))).astype(np.float32)
    m2 = np.exp2(rng.uniform(-6, -5, E)).astype(np.float32)
    in2 = np.exp2(rng.integers(-9, -6, E)).astype(np.float32)
    weights = nvfp4.MoEWeights(w13, w2, m13, m2, 2.0**-7, in2)
    got = nvfp4.moe_layer(x, weights, logits, top_k=K)
    assert got.dtype == ml_dtypes.bfloat16 and got.shape == (tokens, H)
    expected = oracle.layer(x.astype(float), logits, w13, w2, K, halves(swiglu), m13, m2, 2.0**7, 1 / in2,
                            np.zeros((E, 2 * I)), np.zeros((E, H)), "nvfp4")
    agree(got, expected, np.abs(expected).max() / 8)


def test_layer_as_in_gpt_oss(rng):
    w13, w2 = weights_of(rng, "mxfp4")
    x = rng.standard_normal((24, H)).astype(ml_dtypes.bfloat16)
    router = rng.standard_normal((E, H)).astype(np.float32)
    logits = x.astype(np.float32) @ router.T
    bias13 = (rng.standard_normal((E, 2 * I))).astype(ml_dtypes.bfloat16)
    bias2 = (rng.standard_normal((E, H))).astype(ml_dtypes.bfloat16)
    weights = nvfp4.MoEWeights(w13, w2, bias13=bias13, bias2=bias2, activation=nvfp4.gpt_oss_swiglu())
    got = nvfp4.moe_layer(x, weights, router=router, top_k=4, dtype=np.float32)
    one = np.ones((E, 2))
    expected = oracle.layer(x.astype(float), logits, w13, w2, 4, interleaved, one, one[:, 0], 1.0, 1.0,
                            bias13.astype(float), bias2.astype(float), "mxfp8_e4m3")
    agree(got, expected, np.abs(expected).max() / 8)


@pytest.mark.parametrize("act", oracle.PLAIN)
@pytest.mark.parametrize("fmt", ["mxfp4", "nvfp4"])
def test_layer_without_quantised_activations(rng, fmt, act):
    """W4A16. Scales of the activations that a checkpoint has are not used, and no value is rounded to another type."""
    w13, w2 = weights_of(rng, fmt)
    x = rng.standard_normal((24, H)).astype(oracle.PLAIN[act])
    logits = rng.standard_normal((24, E)).astype(np.float32)
    bias13, bias2 = (rng.standard_normal((E, n)).astype(ml_dtypes.bfloat16) for n in (2 * I, H))
    m13, m2 = np.exp2(rng.uniform(-8, -6, (E, 2))).astype(np.float32), np.exp2(rng.uniform(-6, -5, E)).astype(np.float32)
    weights = nvfp4.MoEWeights(w13, w2, m13, m2, 2.0**-7, 0.5, bias13, bias2)
    got = nvfp4.moe_layer(x, weights, logits, top_k=K, activation_format=act, dtype=np.float32)

    def expected(rounded, error=None):
        return oracle.layer(x.astype(float), logits, w13, w2, K, halves(swiglu), m13, m2, 1.0, 1.0, bias13.astype(float),
                            bias2.astype(float), rounded, error)

    bound = np.zeros(got.shape)
    error = np.abs(got - expected(act, bound))
    assert (error <= bound).all(), (error / bound).max()
    other, = oracle.PLAIN.keys() - {act}
    assert (np.abs(expected(other) - got) > bound).mean() > 0.75


@pytest.mark.parametrize("ids", [np.int32, np.int64])
@pytest.mark.parametrize("scores", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_experts_that_the_caller_chose(rng, ids, scores):
    """The choice of route gives the bits of its logits; a slot of -1 or E is one that is not there."""
    w13, w2 = weights_of(rng, "nvfp4")
    weights, x = nvfp4.MoEWeights(w13, w2), rng.standard_normal((9, H)).astype(ml_dtypes.bfloat16)
    logits = rng.standard_normal((9, E)).astype(np.float32)
    factors, chosen = nvfp4.route(logits, K)
    if scores == np.float32:
        got = nvfp4.moe_layer(x, weights, topk_ids=chosen.astype(ids), topk_weights=factors, dtype=np.float32)
        np.testing.assert_array_equal(got, nvfp4.moe_layer(x, weights, logits, top_k=K, dtype=np.float32))
    factors = factors.astype(scores)
    first = np.ascontiguousarray(chosen[:, :1]), np.ascontiguousarray(factors[:, :1])
    one = nvfp4.moe_layer(x, weights, topk_ids=first[0], topk_weights=first[1].astype(np.float32), dtype=np.float32)
    some = chosen.astype(ids)
    some[:, 1], some[:, 2], factors[:, 1:] = -1, E, np.nan
    got = nvfp4.moe_layer(x, weights, topk_ids=some, topk_weights=factors, dtype=np.float32)
    assert np.abs(one).max() > 0
    np.testing.assert_array_equal(got, one)
    none = nvfp4.moe_layer(x, weights, topk_ids=np.full((9, 1), E, ids), topk_weights=first[1])
    assert none.shape == x.shape and not none.any()


@pytest.mark.parametrize("entry", [-2, E + 1, 2**32, -2**32 - 1, 2**63 - 1, -2**63])
def test_ids_that_are_no_expert(rng, entry):
    ids = np.array([[0, 1], [entry, 2]], np.int64)
    with pytest.raises(nvfp4.DataError) as error:
        nvfp4.moe_layer(np.ones((2, H), np.float32), nvfp4.MoEWeights(*weights_of(rng, "nvfp4")), topk_ids=ids,
                        topk_weights=np.ones((2, 2), np.float32))
    assert error.value.constraint == "sort_tokens_c6"


@pytest.mark.parametrize("change, message", [
    (dict(topk_ids=np.zeros((3, 2), np.uint8)), "topk_ids of i32, i64, but got uint8"),
    (dict(topk_ids=np.zeros((2, 2), np.int32)), r"topk_ids of shape \[T, top_k\] with T = 3, but got \(2, 2\)"),
    (dict(topk_weights=np.ones((3, 1), np.float32)), r"topk_weights of the shape of topk_ids, .*, but got \(3, 1\)"),
    (dict(topk_weights=None), "topk_weights of the shape of topk_ids.* but got None"),
    (dict(topk_ids=None), "either logits="),
    (dict(logits=np.zeros((3, E), np.float32)), "either logits="), (dict(top_k=3), "expected top_k 2 as topk_ids has"),
    (dict(routing="topk_softmax"), "no routing with topk_ids"),
    (dict(routed_scaling=2.0), "no routed_scaling with topk_ids"),
    (dict(routing_bias=np.zeros(E, np.float32)), "no routing_bias with topk_ids")], ids=str)
def test_mistakes_in_a_choice_are_named(rng, change, message):
    options = dict(topk_ids=np.zeros((3, 2), np.int32), topk_weights=np.ones((3, 2), np.float32)) | change
    with pytest.raises(nvfp4.ArgumentError, match=message):
        nvfp4.moe_layer(np.zeros((3, H), np.float32), nvfp4.MoEWeights(*weights_of(rng, "nvfp4")), **options)


def test_one_program_for_any_number_of_tokens(rng):
    nvfp4.cache_clear()
    w13, w2 = weights_of(rng, "nvfp4")
    weights = nvfp4.MoEWeights(w13, w2)
    for tokens in (0, 1, 5):
        x = rng.standard_normal((tokens, H)).astype(np.float32)
        assert nvfp4.moe_layer(x, weights, np.zeros((tokens, E), np.float32), top_k=2).shape == (tokens, H)
    assert nvfp4.cache_info() == {"programs": 1}


def test_mistakes_in_a_layer_are_named(rng):
    w13, w2 = weights_of(rng, "nvfp4")
    weights = nvfp4.MoEWeights(w13, w2)
    x = np.zeros((3, H), np.float32)
    with pytest.raises(nvfp4.ArgumentError, match=r"\[E, 2I, H\]"):
        nvfp4.MoEWeights(w2, w13)
    with pytest.raises(nvfp4.ArgumentError, match="logits of shape"):
        nvfp4.moe_layer(x, weights, np.zeros((3, E + 1), np.float32), top_k=2)
    with pytest.raises(nvfp4.ArgumentError, match="either logits"):
        nvfp4.moe_layer(x, weights, top_k=2)
    for router in (np.zeros((H, E), np.float32), np.zeros(E, np.float32), np.zeros((E, H + 1), np.float32)):
        with pytest.raises(nvfp4.ArgumentError, match=re.escape(f"router of shape [E, H], here {(E, H)}, but got {router.shape}")):
            nvfp4.moe_layer(x, weights, router=router, top_k=2)
    with pytest.raises(nvfp4.ArgumentError, match=re.escape(f"x of shape [T, {H}], but got {(3, H - 1)}")):
        nvfp4.moe_layer(x[:, 1:], weights, router=np.zeros((E, H), np.float32), top_k=2)
    with pytest.raises(nvfp4.ArgumentError, match="deepseek_v3"):
        nvfp4.moe_layer(x, weights, np.zeros((3, E), np.float32), top_k=2, routing="best")
    with pytest.raises(nvfp4.ArgumentError, match="mxfp8_e5m2, bf16, f16, but got 'int8'"):
        nvfp4.moe_layer(x, weights, np.zeros((3, E), np.float32), top_k=2, activation_format="int8")
    with pytest.raises(nvfp4.ArgumentError, match="x of bfloat16 for activations of bf16, but got float16"):
        nvfp4.moe_layer(x.astype(np.float16), weights, np.zeros((3, E), np.float32), top_k=2, activation_format="bf16")
    with pytest.raises(nvfp4.ArgumentError, match="no quantizer"):
        nvfp4.moe_layer(x, weights, np.zeros((3, E), np.float32), top_k=2, activation_format="f16", quantizer="trtllm")
    for top_k in (0, -1, E + 1, 2.0, True, "2"):
        text = f"top_k as a whole number from 1 to {E}, the number of experts, but got {top_k!r}"
        with pytest.raises(nvfp4.ArgumentError, match=re.escape(text)):
            nvfp4.moe_layer(x, weights, np.zeros((3, E), np.float32), top_k=top_k)
    assert nvfp4.moe_layer(x, weights, np.zeros((3, E), np.float32), top_k=np.int64(2)).shape == x.shape
    for top_k in (0, -1, 2.0):
        with pytest.raises(nvfp4.ArgumentError, match=f"top_k as a whole number of 1 or more, but got {top_k!r}"):
            nvfp4.route(x, top_k)
    for call in (nvfp4.moe_layer, nvfp4.moe_program):
        with pytest.raises(nvfp4.ArgumentError, match=r"weights as MoEWeights\(w13, w2, ...\), but got tuple"):
            call(x, (w13, w2), np.zeros((3, E), np.float32), top_k=2)
    for name, pair in (("w13", (w13.dequantize(), w2)), ("w2", (w13, w2.dequantize().astype(ml_dtypes.bfloat16)))):
        with pytest.raises(nvfp4.ArgumentError, match=f"{name} as ScaledTensor .* but got ndarray"):
            nvfp4.MoEWeights(*pair)
    with pytest.raises(TypeError, match="an option of moe_layer, such as top_k, topk_ids, but got 'topk'"):
        nvfp4.moe_layer(x, weights, np.zeros((3, E), np.float32), topk=2)


@pytest.mark.parametrize("method,scores,weight", [
    ("topk_softmax", lambda l: l, lambda l, c: oracle.softmax(np.take_along_axis(l, c, 1))),
    ("softmax_topk", oracle.softmax, lambda l, c: np.take_along_axis(oracle.softmax(l), c, 1)),
    ("topk", lambda l: l, lambda l, c: np.take_along_axis(l, c, 1))])
def test_routing(rng, method, scores, weight):
    logits = rng.integers(-4, 5, (33, 16)).astype(np.float32)  # with ties
    weights, experts = nvfp4.route(logits, 4, method)
    chosen = oracle.top_k(logits, 4)
    np.testing.assert_array_equal(experts, chosen)
    np.testing.assert_allclose(weights, weight(logits.astype(float), chosen), rtol=2.0**-21)


def test_deepseek_routing_keeps_to_its_groups():
    bias = np.array([2.5, 1.5, .5, -1.5, 0, -.1, -.2, -.3], np.float32)
    weights, experts = nvfp4.route(np.zeros((1, 8), np.float32), 4, "deepseek_v3", bias=bias, n_group=2, topk_group=1,
                                   routed_scaling=2.5)
    assert sorted(experts[0]) == [0, 1, 2, 3]
    np.testing.assert_allclose(weights, 2.5 / 4, rtol=2.0**-20)


@pytest.mark.parametrize("align", [1, 4])
def test_sort_permute_combine(rng, align):
    experts = rng.integers(-1, 5, (20, 3)).astype(np.int32)
    ends, token_of_row, row_of_slot = nvfp4.sort_tokens(experts, 5, align=align)
    at, expected_rows = 0, {}
    for e in range(5):
        at = -(-at // align) * align
        for slot in np.flatnonzero(experts.reshape(-1) == e):
            expected_rows[slot] = at
            at += 1
        assert ends[e] == at
    expected = np.full(60, -1)
    for slot, row in expected_rows.items():
        expected[slot] = row
        assert token_of_row[row] == slot // 3
    np.testing.assert_array_equal(row_of_slot.reshape(-1), expected)
    x = rng.standard_normal((20, 8)).astype(np.float32)
    rows = nvfp4.permute(x, token_of_row, out=np.full((len(token_of_row), 8), np.nan, np.float32))
    np.testing.assert_array_equal(rows, np.where(token_of_row[:, None] >= 0, x[token_of_row], 0))
    weights = rng.standard_normal((20, 3)).astype(np.float32)
    got = nvfp4.combine(rows, row_of_slot, weights)
    used = np.where(row_of_slot >= 0, weights, 0).astype(float).sum(1)
    np.testing.assert_allclose(got, used[:, None] * x, rtol=1e-5, atol=1e-5 * np.abs(x).max())
    with pytest.raises(nvfp4.DataError) as error:
        nvfp4.permute(x, np.array([20], np.int32))
    assert error.value.constraint == "permute_c4"


def test_activation_alone(rng):
    z = rng.standard_normal((9, 32)).astype(np.float32)
    got = nvfp4.glu(z, nvfp4.swiglu("vllm"), out=np.full((9, 16), np.nan, np.float32))
    np.testing.assert_allclose(got, swiglu(z[:, :16].astype(float), z[:, 16:]), rtol=2.0**-20)
    got = nvfp4.glu(z, nvfp4.geglu_tanh(nvfp4.Gate(1, "up_first")))
    np.testing.assert_allclose(got, geglu_tanh(z[:, 1::2].astype(float), z[:, 0::2]), rtol=2.0**-16, atol=2.0**-22)


@pytest.mark.parametrize("normalized", [False, True])
def test_hadamard(normalized):
    x = np.arange(64, dtype=np.float32).reshape(2, 32)
    signs = np.where(np.arange(16) & 4, -1, 1)
    mask = sum(1 << i for i in range(16) if signs[i] < 0)
    matrix = np.array([[(-1) ** bin(i & j).count("1") for j in range(16)] for i in range(16)])
    expected = (x.reshape(-1, 16) * signs) @ matrix / (4 if normalized else 1)
    got = nvfp4.hadamard(x, normalized=normalized, sign_mask=mask)
    np.testing.assert_array_equal(got, expected.reshape(2, 32))
