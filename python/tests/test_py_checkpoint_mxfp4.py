# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MXFP4 layers in the conventions of ModelOpt and compressed-tensors. Files are written by the safetensors package, and
numbers decoded here from the definitions of E2M1 and E8M0 (OCP Microscaling Formats 1.0) in float64."""

import ml_dtypes
import numpy as np
import pytest
from safetensors import deserialize
from safetensors.numpy import save_file

import nvfp4
from nvfp4 import checkpoint

N, K = 48, 96
CONVENTIONS = ("modelopt", "compressed-tensors")
WEIGHT = {"modelopt": "weight", "compressed-tensors": "weight_packed"}
GLOBAL = {"modelopt": "weight_scale_2", "compressed-tensors": "weight_global_scale"}


def decode(packed, scales):
    """[N, K/2] bytes and [N, K/32] bytes: the even column in the low nibble; sign, two exponent bits of bias 1, one bit of
    fraction, subnormals where the exponent is 0; times 2^(byte - 127) for each 32 columns."""
    codes = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1).astype(int)
    sign, exponent, fraction = codes >> 3, codes >> 1 & 3, (codes & 1) / 2
    magnitude = np.where(exponent == 0, fraction, (1 + fraction) * np.exp2(exponent - 1.0))
    return np.where(sign, -magnitude, magnitude) * np.repeat(np.exp2(scales.astype(float) - 127), 32, -1)


def random_codes(rng, shape, low=117, high=132):
    """Every code, and scales as bytes."""
    packed = rng.integers(0, 256, (*shape[:-1], shape[-1] // 2), dtype=np.uint8)
    return packed, rng.integers(low, high, (*shape[:-1], shape[-1] // 32), dtype=np.uint8)


def layer_of(convention, packed, scales, name="attn.o_proj"):
    return {f"{name}.{WEIGHT[convention]}": packed, f"{name}.weight_scale": scales}


def poison_around(tensors):
    """Other layers before, between and behind in the file, whose bytes are NaN in every format."""
    result = {}
    for i, (name, value) in enumerate(tensors.items()):
        result[f"poison{i}.weight_scale"] = np.full(64, 0xFF, np.uint8)
        result[name] = value
    return result | {"poison.weight": np.full(64, 0xFF, np.uint8)}


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_products_of_layers_that_were_read(rng, tmp_path, convention):
    packed, scales = random_codes(rng, (N, K))
    tensors = layer_of(convention, packed, scales) | {"attn.o_proj.bias": np.arange(N, dtype=np.float32)}
    save_file(poison_around(tensors), tmp_path / "m.safetensors")
    layer = checkpoint.load_linear(tmp_path / "m.safetensors", "attn.o_proj")
    assert layer.weight.format == "mxfp4" and layer.weight.shape == (N, K)
    assert layer.multiplier is None and layer.input_multiplier is None
    assert not layer.weight.values.flags.owndata and not layer.weight.scales.flags.owndata
    np.testing.assert_array_equal(layer.weight.dequantize().astype(float), decode(packed, scales))
    x = rng.integers(-8, 9, (5, K)).astype(ml_dtypes.bfloat16)
    out = np.full((5, N), np.nan, np.float32)
    nvfp4.grouped_matmul(x, layer.weight, alpha=layer.multiplier, bias=layer.bias, out=out)
    exact = x.astype(float) @ decode(packed, scales).T + np.arange(N)
    bound = np.abs(x.astype(float)) @ np.abs(decode(packed, scales)).T + N
    assert (np.abs(out - exact) <= 2.0**-20 * bound).all()


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_every_byte_of_a_scale_is_read(tmp_path, convention):
    """2^-127 to 2^127, and 255, which is NaN."""
    packed = np.full((256, 16), 0x22, np.uint8)  # ones
    scales = np.arange(256, dtype=np.uint8)[:, None]
    save_file(layer_of(convention, packed, scales), tmp_path / "m.safetensors")
    weight = checkpoint.load_linear(tmp_path / "m.safetensors", "attn.o_proj").weight
    got = weight.dequantize().astype(float)
    np.testing.assert_array_equal(got[:255], decode(packed, scales)[:255])
    assert np.isnan(got[255]).all()


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("layout", ["linear", "blocked"])
def test_files_that_are_written(rng, tmp_path, convention, layout):
    """The bytes, types and names that producers write, and nothing else."""
    packed, scales = random_codes(rng, (N, K))
    weight = nvfp4.relayout(nvfp4.ScaledTensor(packed, scales, "mxfp4"), layout=layout)
    bias = np.arange(N, dtype=np.float32)
    layers = {"a": checkpoint.LinearWeights(weight, np.float32(1), None, bias), "b": checkpoint.LinearWeights(weight)}
    checkpoint.save_linear(tmp_path / "w.safetensors", layers, convention=convention)
    written = dict(deserialize((tmp_path / "w.safetensors").read_bytes()))
    assert sorted(written) == sorted([*layer_of(convention, 0, 0, "a"), "a.bias", *layer_of(convention, 0, 0, "b")])
    for layer in "ab":
        for name, array in ((WEIGHT[convention], packed), ("weight_scale", scales)):
            tensor = written[f"{layer}.{name}"]
            assert (tensor["dtype"], tuple(tensor["shape"])) == ("U8", array.shape)
            assert bytes(tensor["data"]) == array.tobytes()
        again = checkpoint.load_linear(tmp_path / "w.safetensors", layer).weight
        np.testing.assert_array_equal(again.dequantize().astype(float), decode(packed, scales))


def test_scales_of_the_type_e8m0_are_bytes_too(rng):
    packed, scales = random_codes(rng, (N, K))
    layer = checkpoint.load_linear(layer_of("modelopt", packed, scales.view(ml_dtypes.float8_e8m0fnu)), "attn.o_proj")
    np.testing.assert_array_equal(layer.weight.dequantize().astype(float), decode(packed, scales))


def test_scale_of_activations_in_fp8(rng, tmp_path):
    """W4A8_MXFP4_FP8 of ModelOpt: amax / 448."""
    packed, scales = random_codes(rng, (N, K))
    tensors = layer_of("modelopt", packed, scales) | {"attn.o_proj.input_scale": np.array(0.125, np.float32)}
    layer = checkpoint.load_linear(tensors, "attn.o_proj")
    assert layer.input_multiplier == np.float32(0.125) and layer.multiplier is None
    checkpoint.save_linear(tmp_path / "w.safetensors", {"attn.o_proj": layer})
    written = checkpoint.Checkpoint(tmp_path / "w.safetensors")
    assert sorted(written) == sorted(tensors) and written["attn.o_proj.input_scale"] == np.float32(0.125)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("change,message", [
    (lambda w, s, g: {w: np.zeros((N, K), ml_dtypes.float8_e4m3fn)}, "two E2M1 codes each.*float8_e4m3fn"),
    (lambda w, s, g: {w: np.zeros((N, K // 8), np.int32)}, "two E2M1 codes each.*int32"),
    (lambda w, s, g: {w: np.zeros((2, N, K // 2), np.uint8)}, r"rank 2.*\(2, 48, 48\)"),
    (lambda w, s, g: {s: np.zeros((N, K // 32), np.float32)}, "float8_e8m0fnu or its bytes for mxfp4, but got float32"),
    (lambda w, s, g: {s: np.zeros((N, K // 16), ml_dtypes.float8_e4m3fn)}, "got float8_e4m3fn .NVFP4 would have weight_"),
    (lambda w, s, g: {s: np.zeros((N, K // 16), np.uint8)}, r"shape \(48, 3\) for mxfp4.*got \(48, 6\)"),
    (lambda w, s, g: {s: np.zeros((K // 32, N), np.uint8)}, r"shape \(48, 3\) for mxfp4.*got \(3, 48\)"),
    (lambda w, s, g: {s: np.zeros(N * K // 32, np.uint8)}, r"shape \(48, 3\) for mxfp4.*got \(144,\)"),
    (lambda w, s, g: {g: np.ones(1, np.float32)}, r"shape \(48, 6\) for nvfp4.*got \(48, 3\)"),
    (lambda w, s, g: {g: np.ones(1, np.float32), s: np.zeros((N, K // 16), ml_dtypes.float8_e8m0fnu)},
     "float8_e4m3fn or its bytes for nvfp4, but got float8_e8m0fnu"),
    (lambda w, s, g: {"q.pre_quant_scale": np.ones(K, np.float32)}, "has pre_quant_scale"),
    (lambda w, s, g: {"q.weight_zero_point": np.ones((N, K // 32), np.uint8)}, "has weight_zero_point")])
def test_what_is_no_layer_says_why(rng, convention, change, message):
    tensors = layer_of(convention, *random_codes(rng, (N, K)), "q")
    tensors |= change(*(f"q.{name}" for name in (WEIGHT[convention], "weight_scale", GLOBAL[convention])))
    with pytest.raises(nvfp4.CheckpointError, match=message):
        checkpoint.load_linear(tensors, "q")


def test_half_a_layer_is_named(rng):
    packed, scales = random_codes(rng, (N, K))
    with pytest.raises(nvfp4.CheckpointError, match="'q.weight_scale', but there is none"):
        checkpoint.load_linear({"q.weight_packed": packed}, "q")
    with pytest.raises(nvfp4.CheckpointError, match="'q.weight', but there is none"):
        checkpoint.load_linear({"q.weight_scale": scales}, "q")


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_layers_that_no_reader_could_take_are_not_written(rng, tmp_path, convention):
    whole = nvfp4.ScaledTensor(*random_codes(rng, (N, K)), "mxfp4")
    broken = nvfp4.quantize(rng.standard_normal((4, 48)).astype(np.float32), "mxfp4")
    stack = nvfp4.ScaledTensor(*random_codes(rng, (2, N, K)), "mxfp4")
    for layer, message in ((checkpoint.LinearWeights(whole, np.float32(0.5)), "no multiplier for q.*mxfp4.*0.5"),
                           (checkpoint.LinearWeights(broken), "K as a multiple of 32 for q in mxfp4, but got 48"),
                           (checkpoint.LinearWeights(stack), r"weight \[N, K\] for q")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            checkpoint.save_linear(tmp_path / "w.safetensors", {"q": layer}, convention=convention)
    assert not list(tmp_path.iterdir())


E, H, I = 3, 64, 32
SIDES = {"gate_proj": (I, H), "up_proj": (I, H), "down_proj": (H, I)}


def experts_of(rng, convention, prefix="model.layers.7.mlp"):
    """Tensors by name, and the weights of each projection in float64."""
    tensors, weights = {}, {side: [] for side in SIDES}
    for e in range(E):
        for side, shape in SIDES.items():
            packed, scales = random_codes(rng, shape)
            tensors |= layer_of(convention, packed, scales, f"{prefix}.experts.{e}.{side}")
            weights[side].append(decode(packed, scales))
    return tensors, [np.stack(weights[side]) for side in SIDES]


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("global_scales", ["exact", "single"])
def test_experts(rng, tmp_path, convention, global_scales):
    tensors, (gate, up, down) = experts_of(rng, convention)
    tensors["model.layers.7.mlp.shared_expert.gate_proj.weight_scale"] = np.array(3, np.float32)
    save_file(poison_around(tensors), tmp_path / "m.safetensors")
    layer = checkpoint.load_moe(tmp_path / "m.safetensors", "model.layers.7.mlp", global_scales=global_scales)
    assert layer.convention == convention and layer.report == () and "activation_format=" in layer.notes[0]
    w = layer.weights
    assert w.w13.format == w.w2.format == "mxfp4"
    assert w.w13_multiplier is None and w.w2_multiplier is None and w.input_multiplier is None
    np.testing.assert_array_equal(w.w13.dequantize().astype(float), np.concatenate([gate, up], 1))
    np.testing.assert_array_equal(w.w2.dequantize().astype(float), down)
    x = rng.integers(-2, 3, (4, H)).astype(ml_dtypes.bfloat16)
    logits = rng.permutation(np.arange(4 * E)).reshape(4, E).astype(np.float32)
    got = nvfp4.moe_layer(x, w, logits, top_k=1, activation_format="bf16", dtype=np.float32)
    for token, e in enumerate(logits.argmax(1)):
        z, u = gate[e] @ x[token].astype(float), up[e] @ x[token].astype(float)
        h = (z * np.exp(-np.logaddexp(0, -z)) * u).astype(np.float32).astype(ml_dtypes.bfloat16).astype(float)
        # A product of a GLU may round to the other neighbour in bfloat16.
        bound = np.abs(down[e]) @ np.abs(h) * 2.0**-8
        assert (np.abs(got[token] - down[e] @ h) <= bound + 1e-30).all()


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_experts_are_written_as_they_were_read(rng, tmp_path, convention):
    tensors, _ = experts_of(rng, convention, "m")
    checkpoint.save_moe(tmp_path / "w.safetensors", checkpoint.load_moe(tensors, "m").weights, "m", convention=convention)
    written = dict(deserialize((tmp_path / "w.safetensors").read_bytes()))
    assert sorted(written) == sorted(tensors)
    for name, array in tensors.items():
        assert written[name]["dtype"] == "U8" and bytes(written[name]["data"]) == array.tobytes(), name


@pytest.mark.parametrize("change,message", [
    (lambda t: t.pop("m.experts.1.up_proj.weight_scale"), "'m.experts.1.up_proj.weight_scale', but there is none"),
    (lambda t: [t.pop(n) for n in list(t) if "experts.1.up_proj" in n], "up projection of expert 1"),
    # One expert of NVFP4 among others, and one of another width.
    (lambda t: t.update({"m.experts.2.down_proj.weight_scale_2": np.float32(1)}), "'m.experts.0.gate_proj.weight_scale_2'"),
    (lambda t: t.update(layer_of("modelopt", np.zeros((I, 16), np.uint8), np.zeros((I, 1), np.uint8),
                                 "m.experts.1.up_proj")),
     r"m.experts.1.up_proj with codes of shape \(32, 32\), as m.experts.0.gate_proj has, but got \(32, 16\)"),
    (lambda t: t.update({"m.experts.0.down_proj.weight": np.zeros((H, I), ml_dtypes.float8_e4m3fn)}),
     "experts.0.down_proj.weight as bytes of two E2M1 codes")])
def test_experts_that_are_not_alike_are_named(rng, change, message):
    tensors, _ = experts_of(rng, "modelopt", "m")
    change(tensors)
    with pytest.raises(nvfp4.CheckpointError, match=message):
        checkpoint.load_moe(tensors, "m")


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_experts_that_no_reader_could_take_are_not_written(rng, tmp_path, convention):
    w13, w2 = (nvfp4.ScaledTensor(*random_codes(rng, shape), "mxfp4") for shape in ((E, 2 * I, H), (E, H, I)))
    scaled = nvfp4.MoEWeights(w13, w2, w13_multiplier=np.full((E, 2), 0.5, np.float32))
    mixed = nvfp4.MoEWeights(w13, nvfp4.quantize(np.ones((E, H, I), np.float32)))
    for weights, message in ((scaled, "no multiplier for experts.0.gate_proj"), (mixed, "alike, but got mxfp4 and nvfp4")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            checkpoint.save_moe(tmp_path / "w.safetensors", weights, convention=convention)
    assert not list(tmp_path.iterdir())


def test_scales_of_gpt_oss_have_one_shape(rng):
    packed, scales = random_codes(rng, (E, 2 * I, H))
    tensors = {"b.mlp1_weight.blocks": packed.reshape(E, 2 * I, -1, 16), "b.mlp1_weight.scales": scales.transpose(0, 2, 1)}
    with pytest.raises(nvfp4.CheckpointError, match=r"b.mlp1_weight.scales of shape \(3, 64, 2\).*got \(3, 2, 64\)"):
        checkpoint.load_moe(tensors, "b")
