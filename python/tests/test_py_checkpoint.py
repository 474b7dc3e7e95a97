# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints in the conventions of three producers, written and read by the safetensors package and by ours."""

import dataclasses
import json
import re
import struct

import ml_dtypes
import numpy as np
import pytest
from safetensors import deserialize
from safetensors.numpy import load_file, save_file

import nvfp4
from layer_oracle import values_of
from nvfp4 import checkpoint
from nvfp4.checkpoint import _gpt_oss
from nvfp4_formats import random_scaled

E, H, I = 3, 64, 32
PREFIX = "model.layers.7.mlp"


def experts_of(rng, fmt="nvfp4"):
    """{projection: (values [N, K/2], scales [N, C])} of each expert."""
    return [{name: random_scaled(rng, shape, fmt, lattice=False).store() for name, shape in
             (("gate_proj", (I, H)), ("up_proj", (I, H)), ("down_proj", (H, I)))} for _ in range(E)]


def multipliers_of(rng):
    return np.exp2(rng.uniform(-12, -9, (E, 3))).astype(np.float32)


def modelopt(experts, multipliers, inputs=None, names=("gate_proj", "up_proj", "down_proj")):
    tensors = {"model.norm.weight": np.ones(4, np.float32)}
    for e, parts in enumerate(experts):
        for i, side in enumerate(("gate_proj", "up_proj", "down_proj")):
            at = f"{PREFIX}.experts.{e}.{names[i]}."
            tensors[at + "weight"] = parts[side][0]
            tensors[at + "weight_scale"] = parts[side][1].view(ml_dtypes.float8_e4m3fn)
            tensors[at + "weight_scale_2"] = np.array(multipliers[e, i], np.float32)
            if inputs is not None:
                tensors[at + "input_scale"] = np.array(inputs[e, i], np.float32)
    return tensors


def compressed(experts, multipliers):
    tensors = {}
    for e, parts in enumerate(experts):
        for i, side in enumerate(("gate_proj", "up_proj", "down_proj")):
            at = f"{PREFIX}.experts.{e}.{side}."
            tensors[at + "weight_packed"] = parts[side][0]
            tensors[at + "weight_scale"] = parts[side][1].view(ml_dtypes.float8_e4m3fn)
            tensors[at + "weight_global_scale"] = np.array([1 / np.float64(multipliers[e, i])], np.float32)
    return tensors


def real_weights(weights):
    """Gate, up and down of each expert in float64, with their global scales."""
    w13, w2 = values_of(weights.w13), values_of(weights.w2)
    m13, m2 = weights.w13_multiplier.astype(float), weights.w2_multiplier.astype(float)
    return w13[:, :I] * m13[:, :1, None], w13[:, I:] * m13[:, 1:, None], w2 * m2[:, None, None]


def expected_weights(experts, multipliers):
    result = []
    for i, side in enumerate(("gate_proj", "up_proj", "down_proj")):
        tensors = [values_of(nvfp4.ScaledTensor(*parts[side])) * np.float64(multipliers[e, i])
                   for e, parts in enumerate(experts)]
        result.append(np.stack(tensors))
    return result


@pytest.mark.parametrize("names", [("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2")])
def test_modelopt_keeps_both_global_scales(rng, tmp_path, names):
    experts, multipliers = experts_of(rng), multipliers_of(rng)
    inputs = multipliers_of(rng)
    save_file(modelopt(experts, multipliers, inputs, names), tmp_path / "m.safetensors")
    layer = checkpoint.load_moe(tmp_path / "m.safetensors", PREFIX)
    assert layer.convention == "modelopt" and layer.report == ()
    for got, expected in zip(real_weights(layer.weights), expected_weights(experts, multipliers)):
        np.testing.assert_array_equal(got, expected)
    assert layer.weights.input_multiplier == inputs[:, :2].max()
    np.testing.assert_array_equal(layer.weights.w2_input_multiplier, inputs[:, 2])
    assert "the largest" in layer.notes[0]


def test_compressed_tensors_store_reciprocals(rng, tmp_path):
    experts, multipliers = experts_of(rng), multipliers_of(rng)
    save_file(compressed(experts, multipliers), tmp_path / "c.safetensors")
    layer = checkpoint.load_moe(tmp_path / "c.safetensors", PREFIX)
    assert layer.convention == "compressed-tensors" and "no input_global_scale" in layer.notes[0]
    for got, expected in zip(real_weights(layer.weights), expected_weights(experts, multipliers)):
        np.testing.assert_allclose(got, expected, rtol=2.0**-22)


def test_one_global_scale_is_reported(rng, tmp_path):
    experts = experts_of(rng)
    for parts in experts:  # no subnormal scales, whose error is larger
        for _, scales in parts.values():
            scales[scales < 0x18] = 0x18
    multipliers = np.array([[2, 1, 1], [0.75, 1, 1], [1, 1, 1]], np.float32)
    save_file(modelopt(experts, multipliers), tmp_path / "m.safetensors")
    layer = checkpoint.load_moe(tmp_path / "m.safetensors", PREFIX, global_scales="single")
    np.testing.assert_array_equal(layer.weights.w13_multiplier, [[2, 2], [1, 1], [1, 1]])
    assert [(r.expert, r.half, r.ratio) for r in layer.report] == [(0, "up", 0.5), (1, "gate", 0.75)]
    gate, up, _ = real_weights(layer.weights)
    expected = expected_weights(experts, multipliers)
    np.testing.assert_array_equal(gate[[0, 2]], expected[0][[0, 2]])
    np.testing.assert_array_equal(up[1:], expected[1][1:])
    # E4M3 has four significant bits.
    assert layer.report[1].max_relative_error <= 2.0**-4
    normal = np.abs(expected[0][1]) > 0
    worst = np.abs(gate[1][normal] / expected[0][1][normal] - 1).max()
    assert worst == pytest.approx(layer.report[1].max_relative_error)


def test_scales_that_vanish_are_warned_about(rng, tmp_path):
    experts = experts_of(rng)
    experts[0]["up_proj"][1][0, 0] = 1  # the smallest E4M3
    multipliers = np.ones((E, 3), np.float32)
    multipliers[0, 1] = 0.125
    save_file(modelopt(experts, multipliers), tmp_path / "m.safetensors")
    with pytest.warns(UserWarning, match="became 0"):
        layer = checkpoint.load_moe(tmp_path / "m.safetensors", PREFIX, global_scales="single")
    assert layer.report[0].underflows >= 1 and not layer.report[0].exact


@pytest.mark.parametrize("naming", [0, 1])
def test_gpt_oss_weights_stay_in_the_file(rng, tmp_path, naming):
    names = _gpt_oss.NAMES[naming]
    w13 = random_scaled(rng, (E, 2 * I, H), "mxfp4", lattice=False)
    w2 = random_scaled(rng, (E, H, I), "mxfp4", lattice=False)
    bias13 = rng.standard_normal((E, 2 * I)).astype(ml_dtypes.bfloat16)
    tensors = dict(zip((f"block.0.{n}" for n in names), (
        w13.store()[0].reshape(E, 2 * I, -1, 16), w13.store()[1], bias13, w2.store()[0].reshape(E, H, -1, 16),
        w2.store()[1])))
    save_file(tensors, tmp_path / "g.safetensors")
    layer = checkpoint.load_moe(tmp_path / "g.safetensors", "block.0")
    np.testing.assert_array_equal(values_of(layer.weights.w13), w13.values())
    np.testing.assert_array_equal(values_of(layer.weights.w2), w2.values())
    np.testing.assert_array_equal(layer.weights.bias13, bias13)
    assert layer.weights.bias2 is None and layer.weights.activation == nvfp4.gpt_oss_swiglu()
    assert not layer.weights.w13.values.flags.owndata and not layer.weights.w13.values.flags.writeable
    x = rng.standard_normal((4, H)).astype(np.float32)
    assert np.isfinite(nvfp4.moe_layer(x, layer.weights, np.zeros((4, E), np.float32), top_k=2).astype(float)).all()


@pytest.mark.parametrize("convention", ["modelopt", "compressed-tensors", "gpt-oss"])
@pytest.mark.parametrize("layout", ["linear", "blocked"])
def test_what_is_written_is_read_back(rng, tmp_path, convention, layout):
    fmt = "mxfp4" if convention == "gpt-oss" else "nvfp4"
    w13, w2 = (nvfp4.ScaledTensor(*random_scaled(rng, s, fmt, lattice=False).store(layout), fmt, layout=layout)
               for s in ((E, 2 * I, H), (E, H, I)))
    gate = "gpt-oss" if convention == "gpt-oss" else "vllm"
    multipliers = {} if fmt == "mxfp4" else dict(w13_multiplier=np.exp2(rng.integers(-9, -5, (E, 2))).astype(np.float32),
                                                 w2_multiplier=np.full(E, 0.5, np.float32), input_multiplier=0.25)
    activation = nvfp4.gpt_oss_swiglu if convention == "gpt-oss" else nvfp4.swiglu
    weights = nvfp4.MoEWeights(w13, w2, activation=activation("cudnn"), **multipliers)
    checkpoint.save_moe(tmp_path / "w.safetensors", weights, PREFIX, convention=convention)
    assert deserialize((tmp_path / "w.safetensors").read_bytes())
    layer = checkpoint.load_moe(tmp_path / "w.safetensors", PREFIX)
    assert layer.convention == convention and layer.weights.activation == activation(gate)
    again = nvfp4.relayout(layer.weights.w13, gate=(gate, "cudnn"))
    np.testing.assert_array_equal(values_of(again), values_of(nvfp4.relayout(w13, layout="linear")))
    np.testing.assert_array_equal(values_of(layer.weights.w2), values_of(nvfp4.relayout(w2, layout="linear")))
    if multipliers:
        np.testing.assert_array_equal(layer.weights.w13_multiplier, weights.w13_multiplier)
        assert layer.weights.input_multiplier == 0.25


@pytest.mark.parametrize("convention", ["modelopt", "compressed-tensors"])
def test_linear_layers(rng, tmp_path, convention):
    """Read as producers write them, and by the safetensors package as we write them."""
    values, scales = random_scaled(rng, (I, H), "nvfp4", lattice=False).store()
    number, of_input = np.float32(2.0**-11), np.float32(2.0**-7)
    fields = ("weight", "weight_scale", "weight_scale_2", "input_scale") if convention == "modelopt" else (
        "weight_packed", "weight_scale", "weight_global_scale", "input_global_scale")
    stored = [number, of_input] if convention == "modelopt" else [1 / number, 1 / of_input]
    tensors = {f"attn.o_proj.{name}": np.array(value) for name, value in zip(
        fields, (values, scales.view(ml_dtypes.float8_e4m3fn), *stored))}
    tensors |= {"attn.o_proj.bias": np.arange(I, dtype=np.float32), "attn.q_norm.weight": np.ones(4, np.float32)}
    save_file(tensors, tmp_path / "m.safetensors")
    layer = checkpoint.load_linear(tmp_path / "m.safetensors", "attn.o_proj")
    assert layer.multiplier == number and layer.input_multiplier == of_input
    x = rng.integers(-8, 9, (5, H)).astype(ml_dtypes.bfloat16)
    got = nvfp4.grouped_matmul(x, layer.weight, alpha=layer.multiplier, bias=layer.bias)
    exact = x.astype(float) @ values_of(nvfp4.ScaledTensor(values, scales)).T * float(number) + np.arange(I)
    np.testing.assert_allclose(got, exact, rtol=2.0**-20, atol=np.abs(exact).max() * 2.0**-20)
    checkpoint.save_linear(tmp_path / "n.safetensors", {"attn.o_proj": layer}, convention=convention)
    written, given = (dict(deserialize((tmp_path / name).read_bytes())) for name in ("n.safetensors", "m.safetensors"))
    assert sorted(written) == sorted(n for n in tensors if n.startswith("attn.o_proj"))
    for name, tensor in written.items():
        assert tensor["dtype"] == given[name]["dtype"] and bytes(tensor["data"]) == bytes(given[name]["data"]), name


def test_linear_layers_that_are_none_are_named(rng, tmp_path):
    tensors = {"q.weight": np.ones((4, 16), np.float32), "o.weight_scale_2": np.float32(1), "o.weight": np.ones(3, np.uint8)}
    with pytest.raises(nvfp4.CheckpointError, match="q.weight_scale or q.weight_packed, but got q.weight"):
        checkpoint.load_linear(tensors, "q")
    with pytest.raises(nvfp4.CheckpointError, match="but got no such name among 3, such as o.weight, o.weight_scale_2, q.weight$"):
        checkpoint.load_linear(tensors, "k")
    with pytest.raises(nvfp4.CheckpointError, match="'o.weight_scale'"):
        checkpoint.load_linear(tensors, "o", convention="modelopt")
    with pytest.raises(nvfp4.ArgumentError, match="modelopt, compressed-tensors, but got 'gpt-oss'"):
        checkpoint.load_linear(tensors, "o", convention="gpt-oss")
    other = checkpoint.LinearWeights(nvfp4.quantize(np.ones((4, 32), np.float32), format="mxfp8_e4m3"))
    with pytest.raises(nvfp4.ArgumentError, match="nvfp4 or mxfp4 for o, but got mxfp8_e4m3"):
        checkpoint.save_linear(tmp_path / "x.safetensors", {"o": other})
    assert not (tmp_path / "x.safetensors").exists()


def test_files_of_both_libraries_are_one_format(rng, tmp_path):
    tensors = {"a": rng.standard_normal((3, 5)).astype(np.float32), "b": np.zeros((0, 4), np.int64),
               "c": np.array(3, np.uint8), "d": np.ones(3, ml_dtypes.bfloat16)}
    checkpoint.write_safetensors(tmp_path / "ours.safetensors", tensors, {"format": "np"})
    theirs = load_file(tmp_path / "ours.safetensors")
    ours = checkpoint.Checkpoint(tmp_path / "ours.safetensors")
    assert sorted(ours) == sorted(theirs) == sorted(tensors)
    for name, array in tensors.items():
        for found in (ours[name], theirs[name]):
            assert found.dtype == array.dtype and found.shape == array.shape
            np.testing.assert_array_equal(found, array)


def test_folders_with_an_index(rng, tmp_path):
    experts, multipliers = experts_of(rng), multipliers_of(rng)
    tensors = modelopt(experts, multipliers)
    names = sorted(tensors)
    index = {"weight_map": {}}
    for number, part in enumerate((names[::2], names[1::2])):
        file = f"model-{number}.safetensors"
        save_file({name: tensors[name] for name in part}, tmp_path / file)
        index["weight_map"].update({name: file for name in part})
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    layer = checkpoint.load_moe(tmp_path, PREFIX)
    for got, expected in zip(real_weights(layer.weights), expected_weights(experts, multipliers)):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("change,message", [
    (lambda t: t.pop(f"{PREFIX}.experts.1.up_proj.weight_scale_2"), "up_proj.weight_scale_2"),
    (lambda t: [t.pop(n) for n in list(t) if ".experts.1." in n], r"got \[0, 2\]"),
    (lambda t: t.update({f"{PREFIX}.experts.0.up_proj.weight_scale_2": np.array(np.nan, np.float32)}), "positive"),
    (lambda t: t.update({f"{PREFIX}.experts.0.up_proj.weight_scale_2": np.ones(2, np.float32)}), "one positive"),
    (lambda t: t.clear(), "below 'model.layers.7.mlp', but got no tensors$")])
def test_incomplete_checkpoints_are_named(rng, change, message):
    tensors = modelopt(experts_of(rng), multipliers_of(rng))
    change(tensors)
    with pytest.raises((nvfp4.CheckpointError, KeyError), match=message):
        checkpoint.load_moe(tensors, PREFIX)


@pytest.mark.parametrize("data", [b"", b"short", struct.pack("<Q", 1 << 60) + b"{}", struct.pack("<Q", 2) + b"[]",
                                  struct.pack("<Q", 3) + b"{]}", b"\x05" + bytes(7) + b'{"a":',
                                  *(struct.pack("<Q", len(h)) + h.encode() for h in (
                                      '{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}',
                                      '{"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,0]}}',
                                      '{"a":{"dtype":"Q7","shape":[],"data_offsets":[0,0]}}', '{"a":[]}',
                                      '{"a":{"dtype":"U8","shape":[99999999999,99999999999],"data_offsets":[0,0]}}'))])
def test_broken_files_are_errors(tmp_path, data):
    (tmp_path / "broken.safetensors").write_bytes(data)
    with pytest.raises(nvfp4.CheckpointError, match="broken.safetensors"):
        checkpoint.Checkpoint(tmp_path / "broken.safetensors")
    with pytest.raises(nvfp4.CheckpointError):
        checkpoint.Checkpoint(tmp_path / "missing.safetensors")


def test_a_prefix_of_no_layer_names_what_there_is(rng):
    tensors = modelopt(experts_of(rng), multipliers_of(rng))
    with pytest.raises(nvfp4.CheckpointError, match=f"below 'model.layers.8', but got no such name among {len(tensors)}, such "
                       f"as {PREFIX}.experts.0.down_proj.weight, "):
        checkpoint.load_moe(tensors, "model.layers.8")
    with pytest.raises(nvfp4.CheckpointError, match="below 'model.norm', but got names that end in weight$"):
        checkpoint.load_moe(tensors, "model.norm")


@pytest.mark.parametrize("data,message", [
    (b"", "expected a header length of 8 bytes, but the file ends after 0"),
    (b"<html>no model</html>", "expected a header of at most 100000000 bytes, but got "
                               f"{int.from_bytes(b'<html>no', 'little')}"),
    (struct.pack("<Q", 3) + b"{]}", "expected JSON, but got a syntax error at byte 2")])
def test_what_is_no_file_of_tensors_is_named_once(tmp_path, data, message):
    file = tmp_path / "e.safetensors"
    file.write_bytes(data)
    for load in (checkpoint.load_linear, checkpoint.load_moe):
        with pytest.raises(nvfp4.CheckpointError, match=f"^{re.escape(f'{file}: {message}')}") as error:
            load(file, "o_proj")
        assert str(error.value).count("expected") == 1


def test_conventions_refuse_what_they_cannot_hold(rng, tmp_path):
    w13, w2 = (nvfp4.ScaledTensor(*random_scaled(rng, s, "nvfp4").store()) for s in ((E, 2 * I, H), (E, H, I)))
    weights = nvfp4.MoEWeights(w13, w2, bias2=np.zeros((E, H), np.float32))
    with pytest.raises(nvfp4.ArgumentError, match="mxfp4"):
        checkpoint.save_moe(tmp_path / "x.safetensors", weights, convention="gpt-oss")
    with pytest.raises(nvfp4.ArgumentError, match="biases"):
        checkpoint.save_moe(tmp_path / "x.safetensors", weights)
    with pytest.raises(nvfp4.ArgumentError, match="convention"):
        checkpoint.save_moe(tmp_path / "x.safetensors", weights, convention="gguf")
    assert not list(tmp_path.iterdir())


OTHER = [("modelopt", nvfp4.geglu_tanh("cudnn"), "<geglu_tanh, gate = <32, gate_first>>"),
         ("compressed-tensors", nvfp4.gpt_oss_swiglu("vllm"), "alpha = 1.702, beta = 1.0, limit = 7.0>"),
         ("compressed-tensors", "swiglu, gate = <halves, gate_first>, limit = 7.0", "limit = 7.0>"),
         ("modelopt", nvfp4.swiglu(round_bf16=True), "round_bf16>"),
         ("gpt-oss", nvfp4.swiglu("gpt-oss"), "<swiglu, gate = <1, gate_first>>"),
         ("gpt-oss", nvfp4.swiglu("gpt-oss", alpha=1.702, beta=1.0), "beta = 1.0>")]


def of_activation(rng, activation):
    w13, w2 = (nvfp4.ScaledTensor(*random_scaled(rng, s, "mxfp4").store(), "mxfp4") for s in ((E, 2 * I, H), (E, H, I)))
    return nvfp4.MoEWeights(w13, w2, activation=activation)


@pytest.mark.parametrize("convention,activation,words", OTHER)
def test_activations_that_no_reader_would_give_back_are_named(rng, tmp_path, convention, activation, words):
    weights, gate = of_activation(rng, activation), "gpt-oss" if convention == "gpt-oss" else "vllm"
    written = nvfp4.GATES["cudnn"] if "32" in words else gate
    meant = "gpt_oss_swiglu" if convention == "gpt-oss" else "swiglu"
    with pytest.raises(nvfp4.ArgumentError, match=f"expected activation {meant} <swiglu.* which {convention} means.*"
                       f"{re.escape(words)}; drop_activation=True .*load_moe.activation=") as error:
        checkpoint.save_moe(tmp_path / "w.safetensors", weights, convention=convention, gate=written)
    assert str(error.value).endswith(f"gate = {nvfp4.GATES[gate]}") and not list(tmp_path.iterdir())
    # Left out and passed to the reader, with its gate: the layer that was written.
    checkpoint.save_moe(tmp_path / "w.safetensors", weights, convention=convention, gate=written, drop_activation=True)
    if isinstance(activation, nvfp4.Activation):
        activation = dataclasses.replace(activation, gate=nvfp4.GATES[gate])
    again = checkpoint.load_moe(tmp_path / "w.safetensors", activation=activation).weights
    assert again.activation == activation
    x, logits = rng.standard_normal((4, H)).astype(np.float32), rng.standard_normal((4, E)).astype(np.float32)
    got, expected = (nvfp4.moe_layer(x, w, logits, top_k=2) for w in (again, weights))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("convention,activation", [
    ("modelopt", "swiglu, gate = <8, up_first>"), ("modelopt", nvfp4.swiglu("deepgemm", alpha=1, beta=0)),
    ("gpt-oss", str(nvfp4.gpt_oss_swiglu("deepgemm"))), ("gpt-oss", nvfp4.gpt_oss_swiglu("trtllm-cutlass"))])
def test_an_activation_is_the_same_with_another_gate(rng, tmp_path, convention, activation):
    gate = nvfp4.Gate(8) if isinstance(activation, str) else None
    checkpoint.save_moe(tmp_path / "w.safetensors", of_activation(rng, activation), convention=convention, gate=gate)
    loaded = checkpoint.load_moe(tmp_path / "w.safetensors").weights.activation
    assert loaded == (nvfp4.gpt_oss_swiglu() if convention == "gpt-oss" else nvfp4.swiglu())
