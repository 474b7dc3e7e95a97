# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of ModelOpt, compressed-tensors and gpt-oss through ``from_pretrained`` of Transformers, against models in
float64 with the dequantised values, and layers against an oracle that quantises rows. Skipped where torch or transformers
is missing."""

import copy
import json
import os
import pathlib
import re
import tracemalloc

import numpy as np
import pytest

import nvfp4
from layer_oracle import quantised

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5")

from safetensors.torch import load_file, save_file  # noqa: E402

import nvfp4.transformers as backend  # noqa: E402
from checkpoint_models import SIDES, edit_config, edit_tensors, make_checkpoint  # noqa: E402

FULL = os.environ.get("NVFP4_FULL_TESTS") == "1"
CASES = [("mixtral", "compressed-tensors"), ("qwen3_moe", "modelopt"), ("gpt_oss", "gpt-oss"), ("glm4_moe", "modelopt"),
         ("deepseek_v3", "compressed-tensors")]
if FULL:
    CASES += [("mixtral", "modelopt"), ("qwen3_moe", "compressed-tensors"), ("glm4_moe", "compressed-tensors"),
              ("deepseek_v3", "modelopt")]
Model = transformers.AutoModelForCausalLM


def load(made, activation_format=None, dtype=torch.bfloat16, **options):
    config = backend.packed_config(made.folder, activation_format=activation_format)
    return Model.from_pretrained(made.folder, config=config, dtype=dtype, **options)


def packed_of(model):
    return {name: module for name, module in model.named_modules()
            if isinstance(module, (backend.PackedExperts, nvfp4.torch.PackedLinear))}


def tokens_of(count=7):
    return torch.randint(0, 64, (2, count), generator=torch.Generator().manual_seed(11))


@torch.no_grad()
def logits_of(model, tokens):
    """Results of all tokens at once, and of the last three one by one behind the others."""
    whole = model(tokens).logits.double()
    step = model(tokens[:, :-3], use_cache=True)
    parts = [step.logits.double()]
    for i in range(tokens.shape[1] - 3, tokens.shape[1]):
        step = model(tokens[:, i:i + 1], past_key_values=step.past_key_values, use_cache=True)
        parts.append(step.logits.double())
    return whole, torch.cat(parts, 1)


@pytest.mark.parametrize("name, convention", CASES)
def test_logits_are_those_of_the_dequantised_model(name, convention, tmp_path):
    """As near to it in float64 as twice what the same model costs in float16 by Transformers' own code."""
    made = make_checkpoint(tmp_path, name, convention)
    model, tokens = load(made, dtype=torch.float16), tokens_of()
    exact = Model.from_pretrained(made.exact, dtype=torch.float64, experts_implementation="eager")
    plain = Model.from_pretrained(made.exact, dtype=torch.float16, experts_implementation="eager")
    wanted, _ = logits_of(exact, tokens)
    cost = (logits_of(plain, tokens)[0] - wanted).abs().max()
    assert 0 < cost < 2**-6 * wanted.abs().max()
    for got in logits_of(model, tokens):
        assert (got - wanted).abs().max() <= 2 * cost
    written = model.generate(tokens, max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=None)
    chosen = exact(written[:, :-1]).logits[:, -4:]
    taken = chosen.gather(2, written[:, -4:, None])[..., 0]
    assert (taken >= chosen.max(-1).values - 4 * cost).all()


def rows(x, fmt, multiplier):
    """Rows as a layer reads them, in float64."""
    if fmt is None:
        return x
    encode = np.float32(1) / np.float32(multiplier)
    return quantised(x, fmt, encode) / np.float64(encode)


def linear_oracle(made, name, x, fmt, bias):
    x = rows(x.double().reshape(-1, x.shape[-1]).numpy(), fmt, made.inputs.get(name, 1))
    return x @ made.values[name].T + (0 if bias is None else bias.double().numpy())


def experts_oracle(made, name, original, x, ids, weights, fmt, biases):
    """The experts called ``name``; ``original`` are those of Transformers, whose activation is used."""
    parts = {SIDES[key.rpartition(".")[2]]: key.rpartition(".")[2] for key in made.values
             if key.startswith(name + ".0.")}
    inputs = [made.inputs.get(f"{name}.0.{parts[0]}", 1)] if parts else [1]
    out = np.zeros(x.shape)
    xq = rows(x.double().numpy(), fmt, inputs[0])
    for t, row in enumerate(ids.tolist()):
        for slot, e in enumerate(row):
            if parts:
                gate, up, down = (made.values[f"{name}.{e}.{parts[side]}"] for side in range(3))
                w13, second = np.concatenate([gate, up]), made.inputs[f"{name}.{e}.{parts[2]}"]
            else:
                w13, down, second = made.values[name + ".gate_up_proj"][e], made.values[name + ".down_proj"][e], 1
            z = w13 @ xq[t] + (0 if biases is None else biases[0][e])
            h = original._apply_gate(torch.from_numpy(z)[None]).numpy()
            h = rows(h, fmt, second) if fmt else torch.from_numpy(h).bfloat16().double().numpy()
            out[t] += weights[t, slot].item() * (down @ h[0] + (0 if biases is None else biases[1][e]))
    return out


@pytest.mark.parametrize("name, convention", CASES)
@pytest.mark.parametrize("quantises", [False, True])
@torch.no_grad()
def test_layers_are_those_of_an_oracle(name, convention, quantises, tmp_path):
    """Each packed layer, on what it gets in a batch and in decoding."""
    made = make_checkpoint(tmp_path, name, convention)
    fmt = ("mxfp4" if convention == "gpt-oss" else "nvfp4") if quantises else None
    model = load(made, fmt)
    exact = Model.from_pretrained(made.exact, dtype=torch.float64)
    packed, seen = packed_of(model), []
    layers = {key.partition(".experts.")[0] + ".experts" if ".experts." in key else key for key in made.values}
    assert set(packed) == layers
    for key, module in packed.items():
        module.register_forward_hook(lambda module, given, result, key=key: seen.append((key, module, given, result)))
    logits_of(model, tokens_of(5))
    assert {key for key, *_ in seen} == set(packed)
    for key, module, given, result in seen:
        original = exact.get_submodule(key)
        if isinstance(module, nvfp4.torch.PackedLinear):
            wanted = linear_oracle(made, key, given[0], fmt, original.bias).reshape(result.shape)
        else:
            biases = [original.gate_up_proj_bias.numpy(), original.down_proj_bias.numpy()] if original.has_bias else None
            wanted = experts_oracle(made, key, original, *given, fmt, biases)
        # Results are rounded to bfloat16; sums and what is between the products of W4A16 are next to that.
        assert np.abs(result.double().numpy() - wanted).max() <= 2**-7 * np.abs(wanted).max(), key


def test_experts_are_never_there_in_full(tmp_path):
    """No tensor of floats with the numbers of the experts of a layer; and at the peak half the bytes of bfloat16."""
    made = make_checkpoint(tmp_path, "qwen3_moe", "modelopt", hidden_size=128, moe_intermediate_size=128, num_experts=16)
    stack, numbers = 16 * 128 * 128, 2 * 3 * 16 * 128 * 128
    largest = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), options=None):
            result = function(*arguments, **(options or {}))
            largest.extend(each.numel() for each in torch.utils._pytree.tree_leaves(result)
                           if isinstance(each, torch.Tensor) and each.is_floating_point() and each.device.type != "meta")
            return result

    load(made)  # imports and caches
    tracemalloc.start()
    with Watch():
        model = load(made)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept = sum(each.nbytes for module in packed_of(model).values() for each in module.buffers())
    assert 0 < max(largest) < stack / 2
    assert kept < 0.30 * 2 * numbers
    # Two layers, and the parts of one of them.
    assert kept / 2 < peak < 0.5 * 2 * numbers


@torch.no_grad()
def test_model_is_moved_copied_compiled_and_not_written(tmp_path):
    made = make_checkpoint(tmp_path, "qwen3_moe", "modelopt")
    model, tokens = load(made), tokens_of()
    wanted = model(tokens).logits
    again = copy.deepcopy(model)
    for module in packed_of(again).values():
        module.to("cpu", torch.float32)  # bytes stay
    assert torch.equal(again.to("cpu")(tokens).logits, wanted)
    compiled = torch.compile(model.model.layers[0].mlp.experts, backend="aot_eager", fullgraph=True)
    x, ids, weights = torch.randn(9, 64).bfloat16(), torch.randint(0, 5, (9, 2)), torch.rand(9, 2)
    assert torch.equal(compiled(x, ids, weights), model.model.layers[0].mlp.experts(x, ids, weights))
    with pytest.raises(ValueError, match="not serializable"):
        model.save_pretrained(tmp_path / "again")
    assert not model.hf_quantizer.is_trainable


def test_example_of_the_tutorial(tmp_path, monkeypatch):
    text = (pathlib.Path(__file__).parents[2] / "docs" / "Python.md").read_text()
    source, = re.findall(r"^```py\n(import nvfp4.transformers\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    make_checkpoint(tmp_path, "qwen3_moe", "modelopt").folder.rename(tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    exec(source, scope := {})
    assert packed_of(scope["model"]) and scope["model"].dtype == torch.bfloat16


def test_modelopt_needs_no_config_argument(tmp_path):
    """Neither in config.json, nor in the file that ModelOpt wrote before."""
    made = make_checkpoint(tmp_path, "qwen3_moe", "modelopt")
    model, tokens = load(made), tokens_of()
    wanted = model(tokens).logits
    assert torch.equal(Model.from_pretrained(made.folder)(tokens).logits, wanted)
    config = json.loads((made.folder / "config.json").read_text())
    quantisation = config.pop("quantization_config")
    (made.folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(nvfp4.CheckpointError, match="quantization_config in config.json, or hf_quant_config.json"):
        load(made)
    quantisation.pop("quant_method")
    quantisation["exclude_modules"] = quantisation.pop("ignore")
    (made.folder / "hf_quant_config.json").write_text(json.dumps(dict(producer={}, quantization=quantisation)))
    assert torch.equal(load(made)(tokens).logits, wanted)


def test_models_of_several_files_and_without_a_head(tmp_path):
    """Experts of one layer lie in two files; the names of the base model have no prefix in it."""
    made = make_checkpoint(tmp_path, "mixtral", "compressed-tensors")
    tokens = tokens_of()
    wanted = load(made)(tokens, output_hidden_states=True)
    config = backend.packed_config(made.folder)
    base = transformers.AutoModel.from_pretrained(made.folder, config=config, dtype=torch.bfloat16)
    assert torch.equal(base(tokens).last_hidden_state, wanted.hidden_states[-1])
    tensors = load_file(made.folder / "model.safetensors")
    (made.folder / "model.safetensors").unlink()
    names = sorted(tensors)
    places = {name: f"model-{i % 2 + 1:05}-of-00002.safetensors" for i, name in enumerate(names)}
    for file in set(places.values()):
        save_file({name: tensors[name] for name in names if places[name] == file}, made.folder / file, {"format": "pt"})
    (made.folder / "model.safetensors.index.json").write_text(json.dumps(dict(metadata={}, weight_map=places)))
    assert torch.equal(load(made)(tokens).logits, wanted.logits)


def test_layers_that_stayed_are_those_of_transformers(tmp_path):
    """Experts of one layer, and projections, in bfloat16."""
    made = make_checkpoint(tmp_path, "qwen3_moe", "modelopt")
    exact = Model.from_pretrained(made.exact, dtype=torch.bfloat16)

    def unpack(tensors):
        for name in [name for name in tensors if "layers.1.mlp.experts" in name or "layers.0.self_attn.q_proj" in name]:
            layer, _, field = name.rpartition(".")
            if field == "weight":
                tensors[name] = torch.from_numpy(made.values[layer]).bfloat16()
            else:
                del tensors[name]

    edit_tensors(made.folder, unpack)
    model = load(made)
    stayed = model.model.layers[1].mlp.experts
    assert type(stayed) is type(exact.model.layers[1].mlp.experts)
    assert torch.equal(stayed.gate_up_proj, exact.model.layers[1].mlp.experts.gate_up_proj)
    assert isinstance(model.model.layers[0].mlp.experts, backend.PackedExperts)
    assert type(model.model.layers[0].self_attn.q_proj) is torch.nn.Linear


EXPERT = "model.layers.1.mlp.experts.2.up_proj"
PROJECTION = "model.layers.0.self_attn.k_proj"


def rename(name, change):
    def edit(tensors):
        tensors[name] = change(tensors[name]) if change else None
        if not change:
            del tensors[name]
    return edit


@pytest.mark.parametrize("edit, message", [
    (rename(f"{EXPERT}.weight_scale", None), f"expected a tensor called '{EXPERT}.weight_scale'"),
    (rename(f"{EXPERT}.weight_scale_2", None), f"expected a tensor called '{EXPERT}.weight_scale_2'"),
    (rename(f"{PROJECTION}.weight_scale", None), f"expected a tensor called '{PROJECTION}.weight_scale'"),
    (rename(f"{PROJECTION}.weight_scale_2", None), f"expected {PROJECTION}.weight_scale as float8_e8m0fnu|"
     f"{PROJECTION} in nvfp4, as quantisation 'NVFP4' says"),
    (rename(f"{EXPERT}.weight", lambda codes: codes[:32]), r"with codes of shape \(64, 32\)|of shape \(32, 4\)"),
    (rename(f"{PROJECTION}.weight", lambda codes: codes[:, :16].contiguous()), f"{PROJECTION}.weight_scale of shape"),
    (rename(f"{EXPERT}.weight_scale", lambda scales: scales.float()), f"{EXPERT}.weight_scale as float8_e4m3fn"),
    (rename("model.layers.0.mlp.gate.weight", lambda gate: gate.to(torch.uint8)), "quantised tensors of experts and "
     "linear layers, but got 'model.layers.0.mlp.gate.weight' of model.layers.0.mlp.gate, a Qwen3MoeTopKRouter")])
def test_bad_tensors_are_named(edit, message, tmp_path):
    made = make_checkpoint(tmp_path, "qwen3_moe", "modelopt")
    edit_tensors(made.folder, edit)
    with pytest.raises(nvfp4.CheckpointError, match=message):
        load(made)


@pytest.mark.parametrize("quantisation, message", [
    (dict(quant_method="gptq", bits=4), "expected quant_method modelopt, compressed-tensors, mxfp4, but got 'gptq'"),
    (dict(quant_method="modelopt", quant_algo="FP8"), "expected a quantisation to nvfp4 or mxfp4, but got FP8"),
    (dict(quant_method="modelopt"), "to nvfp4 or mxfp4, but got none"),
    (dict(quant_method="modelopt", quant_algo="MXFP4"), "in mxfp4, as quantisation 'MXFP4' says, but its tensors are "
     "nvfp4"),
    (dict(quant_method="compressed-tensors"), "expected a quantisation config with quant_method and what belongs to it"),
    (dict(quant_method="mxfp4"), "mlp1_weight.blocks")])
def test_bad_configs_are_refused(quantisation, message, tmp_path):
    made = make_checkpoint(tmp_path, "qwen3_moe", "modelopt")
    edit_config(made.folder, quantisation)
    with pytest.raises(nvfp4.CheckpointError, match=message):
        load(made)


def test_bad_models_and_arguments_are_refused(tmp_path):
    made = make_checkpoint(tmp_path, "gpt_oss", "gpt-oss")
    with pytest.raises(nvfp4.ArgumentError, match="activation_format .*nvfp4.*, but got 'nvfp5'"):
        load(made, "nvfp5")
    with pytest.raises(nvfp4.ArgumentError, match="bfloat16 or torch.float16, or activation_format=.* torch.float32"):
        load(made, dtype=torch.float32)
    config = backend.packed_config(made.folder)
    with pytest.raises(nvfp4.CheckpointError, match="not quantised|quantization_config in config.json"):
        backend.packed_config(made.exact)
    with pytest.raises(nvfp4.CheckpointError, match="quantised tensors of the model's experts .*, but got none"):
        Model.from_pretrained(made.exact, config=config, dtype=torch.bfloat16)
    with pytest.raises(nvfp4.ArgumentError, match="checkpoint in 4 bits; .*quantize_experts"):
        Model.from_pretrained(made.exact, quantization_config=backend.PackedConfig(config.quantization_config["checkpoint"]))
    wider = copy.deepcopy(config)
    wider.intermediate_size = 96
    with pytest.raises(nvfp4.CheckpointError, match="192 gate and up rows in .*experts.*, but got 4, 64 and 128"):
        Model.from_pretrained(made.folder, config=wider, dtype=torch.bfloat16)
    edit_tensors(made.folder, rename("model.layers.1.mlp.experts.down_proj_bias", None))
    with pytest.raises(nvfp4.CheckpointError, match="expected down_proj_bias in 'model.layers.1.mlp.experts'"):
        load(made)
    layer = nvfp4.checkpoint.LinearWeights(nvfp4.quantize(np.ones((8, 32), np.float32), "mxfp4"))
    with pytest.raises(nvfp4.ArgumentError, match="activation_format None for a linear layer in mxfp4.* got mxfp4"):
        nvfp4.torch.PackedLinear(layer, activation_format="mxfp4")
    linear = nvfp4.torch.PackedLinear(layer)
    with pytest.raises(nvfp4.ArgumentError, match=r"x of shape \[..., 32\]"):
        linear(torch.ones(2, 16, dtype=torch.bfloat16))
    with pytest.raises(nvfp4.ArgumentError, match="without requires_grad"):
        linear(torch.ones(2, 32, dtype=torch.bfloat16, requires_grad=True))
