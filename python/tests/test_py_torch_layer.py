# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MoELayer on the CPU, and its path to a GPU on the simulator. Skipped where torch is missing."""

import copy
import re

import numpy as np
import pytest

import layer_oracle as oracle
import nvfp4
from conftest import ROOT
from test_py_packing import E, H, K, expect, make_weights

torch = pytest.importorskip("torch")

import nvfp4.torch  # noqa: E402
from nvfp4 import _torch_layer  # noqa: E402
from torch_sim import SimulatedDevice  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


@pytest.fixture
def simulator(monkeypatch):
    device = SimulatedDevice()
    monkeypatch.setattr(_torch_layer, "_run", lambda *arguments: _torch_layer._on_device(device, *arguments))
    return device


def make_inputs(rng, act, tokens=7):
    x = rng.standard_normal((tokens, H)).astype(oracle.PLAIN[act])
    logits = rng.standard_normal((tokens, E)).astype(np.float32)
    tensor = torch.from_numpy(x.view(np.int16)).view(TYPES[act])
    return x, logits, tensor, torch.from_numpy(logits)


def on_kernels(weights, **options):
    """The module as it is after a move to a GPU."""
    layer = nvfp4.torch.MoELayer(weights, **options)
    layer._repack(True)
    return layer


@pytest.mark.parametrize("fmt, act, gate", [("nvfp4", "bf16", nvfp4.Gate(0)), ("mxfp4", "f16", nvfp4.Gate(1))], ids=str)
def test_packed_layer(rng, simulator, fmt, act, gate):
    weights = make_weights(rng, fmt, gate)
    layer = on_kernels(weights, top_k=K, activation_format=act, dtype=torch.float32)
    for tokens in (7, 1, 0, 7):
        x, logits, tensor, scores = make_inputs(rng, act, tokens)
        bound = np.zeros((tokens, H))
        wanted = expect(weights, gate, x, logits, act, bound)
        factors, chosen = (torch.from_numpy(each) for each in nvfp4.route(logits, K))
        results = [layer(tensor, scores), layer(tensor, topk_ids=chosen, topk_weights=factors)]
        for got in results:
            assert (np.abs(got.numpy() - wanted) <= 4 * bound).all()
        # -1, E, and on a GPU every other id: a slot that is not there.
        for none in (-1, E, E + 7, -2):
            more = torch.cat([chosen, torch.full_like(chosen[:, :1], none)], 1).long()
            got = layer(tensor, topk_ids=more, topk_weights=torch.cat([factors, factors[:, :1] * torch.nan], 1))
            assert torch.equal(got, results[1])
    assert simulator.launches == 4 * 6


def test_quantised_activations_on_kernels(rng, simulator):
    """A value next to a rounding boundary may fall to the other side of it."""
    weights = make_weights(rng, "nvfp4", nvfp4.Gate(0))
    weights.input_multiplier, weights.w2_input_multiplier = 2.0**-7, np.exp2(rng.integers(-4, -2, E)).astype(np.float32)
    _, _, tensor, scores = make_inputs(rng, "bf16", 9)
    got = on_kernels(weights, top_k=K)(tensor, scores)
    wanted = nvfp4.moe_layer(tensor, weights, scores, top_k=K)
    assert got.dtype == wanted.dtype == torch.bfloat16
    error = (got.float() - wanted.float()).abs()
    assert (error <= 2.0**-7 * wanted.float().abs() + 2.0**-9).float().mean() > 0.99
    assert error.max() <= wanted.float().abs().max() / 8


def test_layers_of_one_signature_keep_their_weights_apart(rng, simulator):
    """Constants are not looked at again, so another layer, or other memory, must be seen as such."""
    _, _, tensor, scores = make_inputs(rng, "bf16")
    layers = [on_kernels(make_weights(rng, "nvfp4", nvfp4.Gate(1)), top_k=K, activation_format="bf16")
              for _ in range(2)]
    first = [layer(tensor, scores) for layer in layers]
    assert not torch.equal(*first)
    assert all(torch.equal(layer(tensor, scores), wanted) for layer, wanted in zip(layers, first))
    layers[0].w2 = layers[1].w2.clone()
    assert not torch.equal(layers[0](tensor, scores), first[0])


def test_kernels_are_not_loaded_while_a_graph_captures(rng, simulator):
    _, _, tensor, scores = make_inputs(rng, "bf16")
    weights = make_weights(rng, "nvfp4", nvfp4.Gate(2, "up_first"))
    layer = on_kernels(weights, top_k=K, activation_format="bf16")
    nvfp4.cache_clear()
    simulator.capturing = True
    with pytest.raises(RuntimeError, match="capturing"):
        layer(tensor, scores)
    simulator.capturing = False
    wanted = layer(tensor, scores)
    simulator.capturing = True
    assert torch.equal(layer(tensor, scores), wanted)


@pytest.mark.parametrize("act", ["bf16", "f16", None])
def test_layer_on_the_cpu(rng, act):
    """The bits of nvfp4.moe_layer, as a module, compiled, copied, and after a round trip through packed weights."""
    weights = make_weights(rng, "nvfp4", nvfp4.Gate(0))
    _, logits, tensor, scores = make_inputs(rng, act or "bf16")
    layer = nvfp4.torch.MoELayer(weights, top_k=K, activation_format=act)
    wanted = nvfp4.moe_layer(tensor, weights, logits, top_k=K, activation_format=act, dtype=str(tensor.dtype)[6:])
    assert layer(tensor, scores).dtype == tensor.dtype and layer.w13.data_ptr() == weights.w13.values.ctypes.data
    factors, chosen = (torch.from_numpy(each) for each in nvfp4.route(logits, K))
    for call in (layer, torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True), copy.deepcopy(layer)):
        assert torch.equal(call(tensor, scores), wanted)
        assert torch.equal(call(tensor, topk_ids=chosen.long(), topk_weights=factors), wanted)
    for again in (nvfp4.torch.moe_layer(tensor, weights, scores, top_k=K, activation_format=act),
                  nvfp4.torch.moe_layer(tensor, layer, scores), layer.half()(tensor, scores)):
        assert torch.equal(again, wanted)
    layer._repack(True)
    assert layer.w13.shape != torch.Size(weights.w13.values.shape)
    layer._repack(False)
    assert torch.equal(layer(tensor, scores), wanted)


def test_example_of_the_tutorial(rng):
    text = (ROOT / "docs" / "Python.md").read_text()
    source, = re.findall(r"^```py\n(import nvfp4.torch\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    w13, w2, wq = (nvfp4.quantize(rng.standard_normal(shape).astype(np.float32))
                   for shape in ((8, 128, 128), (8, 128, 64), (3, 32, 64)))
    scope = dict(nvfp4=nvfp4, np=np, weights=nvfp4.MoEWeights(w13, w2), wq=wq)
    exec(source, scope)
    assert scope["y"].shape == (10, 128) and scope["z"].shape == (6, 32) and scope["codes"].shape == (10, 64)


def test_state_goes_to_another_layer(rng):
    weights, other = (make_weights(rng, "nvfp4", nvfp4.Gate(0)) for _ in range(2))
    _, _, tensor, scores = make_inputs(rng, "bf16")
    layers = [nvfp4.torch.MoELayer(each, top_k=K) for each in (weights, other)]
    wanted = layers[0](tensor, scores)
    assert not torch.equal(layers[1](tensor, scores), wanted)
    layers[1].load_state_dict(layers[0].state_dict())
    assert torch.equal(layers[1](tensor, scores), wanted)


def test_exported_programs_hold_the_operation(rng):
    layer = nvfp4.torch.MoELayer(make_weights(rng, "nvfp4", nvfp4.Gate(0)), top_k=K)
    _, _, tensor, scores = make_inputs(rng, "bf16")
    exported = torch.export.export(layer, (tensor, scores), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},) * 2)
    assert any("nvfp4.moe_layer" in str(node.target) for node in exported.graph.nodes)
    _, _, tensor, scores = make_inputs(rng, "bf16", 12)
    assert torch.equal(exported.module()(tensor, scores), layer(tensor, scores))


def test_layers_of_weights_are_kept_with_them(rng):
    """One for each set of options, arrays among them, as long as the weights live."""
    weights, cpu = make_weights(rng, "nvfp4", nvfp4.Gate(0)), torch.device("cpu")
    bias = rng.standard_normal(E).astype(np.float32)
    options = dict(routing="deepseek_v3", routing_bias=bias, n_group=1, topk_group=1)
    first = _torch_layer._layer_of(weights, cpu, dict(options))
    assert _torch_layer._layer_of(weights, cpu, dict(options)) is first
    other = _torch_layer._layer_of(weights, cpu, options | dict(routing_bias=bias + 1))
    assert other is not first and not torch.equal(other.routing_bias, first.routing_bias)
    assert _torch_layer._layer_of(weights, cpu, {}) is not first
    key = id(weights)
    assert len(_torch_layer._layers[key]) == 3
    del weights
    assert key not in _torch_layer._layers


def test_operation_is_as_it_says(rng):
    layer = nvfp4.torch.MoELayer(make_weights(rng, "nvfp4", nvfp4.Gate(0)), top_k=K)
    _, _, tensor, scores = make_inputs(rng, "bf16")
    constants = [getattr(layer, name) for name in layer._names]
    torch.library.opcheck(torch.ops.nvfp4.moe_layer.default,
                          (tensor, [scores], constants, layer._scalars, K, None, layer._signature),
                          test_utils=("test_schema", "test_faketensor"))


IDS, WEIGHTS = torch.zeros(7, 2, dtype=torch.int32), torch.ones(7, 2)


@pytest.mark.parametrize("arguments, message", [
    (dict(), "expected either logits"), (dict(topk_ids=IDS), "expected either logits"),
    (dict(logits=torch.zeros(7, E), topk_ids=IDS, topk_weights=WEIGHTS), "expected either logits"),
    (dict(logits=torch.zeros(7, E + 1)), "logits of shape"), (dict(logits=torch.zeros(6, E)), "logits of shape"),
    (dict(logits=torch.zeros(7, E), top_k=E + 1), "top_k as a whole number from 1 to 4, .*, but got 5"),
    (dict(logits=torch.zeros(7, E, dtype=torch.int32)), "logits of float32, float16, bfloat16, but got int32"),
    (dict(topk_ids=IDS.short(), topk_weights=WEIGHTS), "topk_ids of int32, int64, but got int16"),
    (dict(topk_ids=IDS, topk_weights=WEIGHTS[:, :1]), "topk_weights of the shape of topk_ids"),
    (dict(topk_ids=IDS[:3], topk_weights=WEIGHTS[:3]), "topk_ids of shape .* T = 7"),
    (dict(topk_ids=IDS, topk_weights=WEIGHTS, top_k=3), "top_k 2 as topk_ids has, or none, but got 3"),
    (dict(logits=torch.zeros(7, E, requires_grad=True)), "without requires_grad")], ids=str)
def test_mistakes_are_named(rng, arguments, message):
    """By the run, and by fake tensors before it."""
    layer = nvfp4.torch.MoELayer(make_weights(rng, "nvfp4", nvfp4.Gate(0)), top_k=K)
    x = torch.zeros(7, H, dtype=torch.bfloat16)
    with pytest.raises(nvfp4.ArgumentError, match=message):
        layer(x, **arguments)
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, pytest.raises(nvfp4.ArgumentError, match=message):
        layer(mode.from_tensor(x), **arguments)


def test_mistakes_of_a_module_are_named(rng):
    weights = make_weights(rng, "nvfp4", nvfp4.Gate(0))
    x, scores = torch.zeros(7, H, dtype=torch.bfloat16), torch.zeros(7, E)
    layer = nvfp4.torch.MoELayer(weights, top_k=K)
    for call, message in ((lambda: nvfp4.torch.MoELayer((1, 2)), r"MoEWeights\(w13, w2, ...\), but got tuple"),
                          (lambda: nvfp4.torch.MoELayer(weights, dtype=torch.int8), "or None, but got torch.int8"),
                          (lambda: nvfp4.torch.MoELayer(weights)(x, scores), "top_k=, the number of experts"),
                          (lambda: layer(x.to("meta"), scores), "x on cpu, where the weights are, but got it on meta"),
                          (lambda: layer(x.requires_grad_(), scores), "without requires_grad"),
                          (lambda: nvfp4.torch.moe_layer(x, layer, scores, dtype=torch.float32), "no dtype beside"),
                          (lambda: nvfp4.torch.MoELayer(weights, routing="topk")(
                              torch.zeros_like(x), topk_ids=IDS, topk_weights=WEIGHTS), "no routing with topk_ids")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            call()
    with torch.no_grad():
        assert layer(x, scores).shape == x.shape
    with pytest.raises(nvfp4.DataError, match="sort_tokens_c6"):
        layer(torch.zeros_like(x), topk_ids=IDS + E + 1, topk_weights=WEIGHTS)
