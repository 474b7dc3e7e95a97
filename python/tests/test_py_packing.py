# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose weights are packed for kernels compute what they did, against float64 from the bytes of the weights."""

import dataclasses

import ml_dtypes
import numpy as np
import pytest

import layer_oracle as oracle
import nvfp4
from nvfp4._layer_constants import LayerConstants
from nvfp4.options import parse_activation
from nvfp4_cases import swiglu
from nvfp4_formats import random_scaled

E, H, I, K = 4, 128, 64, 2


def make_weights(rng, fmt, gate, width=I):
    def one(n, k):
        return nvfp4.ScaledTensor(*random_scaled(rng, (E, n, k), fmt, codes="small").store(), fmt)
    m13, m2 = (np.exp2(rng.uniform(-8, -6, shape)).astype(np.float32) for shape in ((E, 2), E))
    bias13, bias2 = (rng.standard_normal((E, n)).astype(ml_dtypes.bfloat16) for n in (2 * width, H))
    return nvfp4.MoEWeights(one(2 * width, H), one(H, width), m13, m2, bias13=bias13, bias2=bias2,
                            activation=nvfp4.swiglu(gate))


def split(z, gate):
    """Gate and up columns."""
    size = gate.granularity or z.shape[-1] // 2
    blocks = z.reshape(*z.shape[:-1], -1, 2, size)
    parts = [blocks[..., i, :].reshape(*z.shape[:-1], -1) for i in (0, 1)]
    return parts if gate.order == "gate_first" else parts[::-1]


def expect(weights, gate, x, logits, act, error):
    """The oracle wants the gates first."""
    order = np.concatenate(split(np.arange(2 * weights.width), gate))
    w13 = nvfp4.ScaledTensor(weights.w13.values[:, order], weights.w13.scales[:, order], weights.w13.format)
    width = weights.width
    return oracle.layer(x.astype(float), logits, w13, weights.w2, K, lambda z: swiglu(z[:, :width], z[:, width:]),
                        weights.w13_multiplier, weights.w2_multiplier, 1.0, 1.0, weights.bias13[:, order].astype(float),
                        weights.bias2.astype(float), act, error)


def run_packed(packed, x, logits, act):
    constants = LayerConstants(packed, activation_format=act, dtype=np.float32)
    signature = constants.signature
    element = {"bfloat16": "bf16", "float16": "f16"}[x.dtype.name]
    weights, experts = nvfp4.route(logits, K)
    layer = signature.given(len(x), experts.shape, weights.shape, None, element=element, ids="i32", scores="f32")
    program = nvfp4.compile(layer.text(), "sm_90a+sim", memory="device", versions=1)
    return program.run(x, experts, weights, *constants.arguments)


@pytest.mark.parametrize("fmt, act, gate", [
    ("nvfp4", "bf16", nvfp4.Gate(0)), ("mxfp4", "bf16", nvfp4.Gate(1)), ("nvfp4", "f16", nvfp4.Gate(0, "up_first")),
    ("nvfp4", "bf16", nvfp4.Gate(64, "up_first"))], ids=str)
def test_packed_layers_are_the_same(rng, fmt, act, gate):
    weights = make_weights(rng, fmt, gate)
    packed = nvfp4.pack_layer(weights, activation_format=act)
    assert packed.w13.layout == packed.w2.layout == ("wgmma_f16" if act == "f16" else "wgmma")
    assert (packed.activation.gate == gate) == (gate.granularity == 1)
    x = rng.standard_normal((7, H)).astype(oracle.PLAIN[act])
    logits = rng.standard_normal((7, E)).astype(np.float32)
    bound = np.zeros((7, H))
    error = np.abs(run_packed(packed, x, logits, act) - expect(weights, gate, x, logits, act, bound))
    # The instruction cuts off what the oracle's sums round.
    assert (error <= 4 * bound).all(), (error / bound).max()
    assert nvfp4.pack_layer(packed, activation_format=act).w13.values is packed.w13.values


def test_gates_that_kernels_have_stay(rng):
    for run, width, wanted in ((8, 64, 8), (0, 48, 16), (3, 48, 16), (0, 36, 4)):
        packed = nvfp4.pack_layer(make_weights(rng, "nvfp4", nvfp4.Gate(run), width), activation_format="bf16")
        assert packed.activation.gate == nvfp4.Gate(wanted)
    weights = make_weights(rng, "nvfp4", nvfp4.Gate(0))
    wanted = nvfp4.swiglu(nvfp4.Gate(32, "up_first"), limit=7.0)
    for text in ("<swiglu, gate = <halves, up_first>, limit = 7.0>", "swiglu,gate=<halves,up_first>,limit=7.0"):
        weights = dataclasses.replace(weights, activation=text)
        assert nvfp4.pack_layer(weights, activation_format="bf16").activation == wanted


@pytest.mark.parametrize("text, fields", [
    ("relu2", nvfp4.Activation("relu2")), ("<silu, round_bf16>", nvfp4.Activation("silu", round_bf16=True)),
    ("reglu, gate = <8, up_first>", nvfp4.Activation("reglu", nvfp4.Gate(8, "up_first"))),
    ("swiglu, gate = <halves, gate_first>, alpha = 1.5, beta = 1.0", nvfp4.swiglu(nvfp4.Gate(0), alpha=1.5, beta=1.0)),
    ("swiglu", None), ("swiglu, gate = <halves, gate_first>> garbage", None), ("tanh", None)])
def test_activations_are_read_by_the_compiler(text, fields):
    assert parse_activation(text) == fields


def test_mistakes_in_packing_are_named(rng):
    weights = make_weights(rng, "mxfp4", nvfp4.Gate(0), 48)
    with pytest.raises(nvfp4.ArgumentError, match="expected target sm_90a, but got 'sm_80'"):
        nvfp4.pack_layer(weights, "sm_80")
    with pytest.raises(nvfp4.ArgumentError, match="activation_format nvfp4, .*, bf16, f16, but got 'fp32'"):
        nvfp4.pack_layer(weights, activation_format="fp32")
    with pytest.raises(nvfp4.ArgumentError, match="width divisible by 32 for .* blocks of 32, but got 48; use"):
        nvfp4.pack_layer(weights)
