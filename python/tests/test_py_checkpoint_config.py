# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The quantisation in the files of a model, in the words of each producer, and tensors that contradict it."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import nvfp4
from nvfp4 import checkpoint
from nvfp4.checkpoint import _gpt_oss

FOUR_BITS = {"num_bits": 4, "type": "float", "strategy": "group", "symmetric": True, "dynamic": False}
MXFP4 = {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized", "ignore": ["lm_head", "re:.*self_attn.*"],
         "config_groups": {"group_0": {"format": "mxfp4-pack-quantized", "targets": ["Linear"], "input_activations": None,
                                       "weights": FOUR_BITS | {"group_size": 32, "scale_dtype": "torch.uint8"}}}}
TWO = {"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": {
    "group_0": {"format": "nvfp4-pack-quantized", "targets": ["Linear"], "weights": FOUR_BITS | {"group_size": 16}},
    "group_1": {"format": "mxfp4-pack-quantized", "targets": ["re:.*mlp.*"], "weights": FOUR_BITS | {"group_size": 32}}}}
MODELOPT = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "mxfp4", "kv_cache_quant_algo": None,
                                                               "exclude_modules": ["lm_head", "model.layers.0.*"]}}
MIXED = {"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
    "a.q_proj": {"quant_algo": "NVFP4", "group_size": 16}, "a.o_proj": {"quant_algo": "W4A8_MXFP4_FP8", "group_size": 0},
    "a.v_proj": {"quant_algo": "FP8"}}}}


def write(folder, config=None, modelopt=None, layer=None):
    """A folder with one layer, called a.o_proj unless said, in MXFP4 of the ModelOpt convention."""
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    if modelopt is not None:
        (folder / "hf_quant_config.json").write_text(json.dumps(modelopt))
    tensors = layer or {"a.o_proj.weight": np.full((4, 16), 0x22, np.uint8),
                        "a.o_proj.weight_scale": np.full((4, 1), 127, np.uint8)}
    save_file(tensors | {"lm_head.weight": np.ones((4, 4), np.float32)}, folder / "model.safetensors")
    return checkpoint.Checkpoint(folder)


def formats(config, *layers):
    schemes = [config.scheme_of(layer) for layer in layers]
    return [scheme and scheme.format for scheme in schemes]


def test_compressed_tensors(tmp_path):
    source = write(tmp_path, {"quantization_config": MXFP4})
    config = source.quantization
    assert config.convention == "compressed-tensors" and config.file == tmp_path / "config.json"
    assert formats(config, "a.o_proj", "lm_head", "model.layers.1.self_attn.q_proj") == ["mxfp4", None, None]
    assert config.ignores("model.layers.1.self_attn.q_proj") == "re:.*self_attn.*"
    assert (checkpoint.load_linear(source, "a.o_proj").weight.dequantize() == 1).all()
    with pytest.raises(nvfp4.CheckpointError, match="got lm_head.weight; 'lm_head' of the model's config leaves this layer"):
        checkpoint.load_linear(source, "lm_head")


def test_formats_by_name_come_before_those_by_class(tmp_path):
    config = write(tmp_path, {"text_config": {"quantization_config": TWO}}).quantization
    assert formats(config, "m.mlp.up_proj", "m.attn.q_proj") == ["mxfp4", "nvfp4"]


def test_presets_are_names(tmp_path):
    preset = {"quant_method": "compressed-tensors", "format": "dense",
              "config_groups": {"MXFP4A16": ["Linear"], "FP8": ["a.b"]}}
    config = write(tmp_path, {"quantization_config": preset}).quantization
    assert formats(config, "a.o_proj", "a.b") == ["mxfp4", None]


def test_modelopt(tmp_path):
    """Names of formats in either case, as its own exporter and other tools write them; also in config.json."""
    source = write(tmp_path, modelopt=MODELOPT)
    config = source.quantization
    assert config.convention == "modelopt" and config.file == tmp_path / "hf_quant_config.json"
    assert formats(config, "a.o_proj", "lm_head", "model.layers.0.mlp.up_proj") == ["mxfp4", None, None]
    assert (checkpoint.load_linear(tmp_path, "a.o_proj").weight.dequantize() == 1).all()
    other = {"quant_method": "modelopt", "quant_algo": "MXFP4", "ignore": ["lm_head"], "group_size": 32}
    config = write(tmp_path, {"quantization_config": other}).quantization
    assert formats(config, "a.o_proj", "lm_head") == ["mxfp4", None]


def test_modelopt_with_a_format_for_each_layer(tmp_path):
    config = write(tmp_path, modelopt=MIXED).quantization
    assert formats(config, "a.q_proj", "a.o_proj", "a.v_proj", "a.k_proj") == ["nvfp4", "mxfp4", None, None]
    assert checkpoint.load_linear(tmp_path, "a.o_proj").weight.format == "mxfp4"


def test_gpt_oss_and_others(tmp_path):
    gpt_oss = {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}
    config = write(tmp_path, {"quantization_config": gpt_oss}).quantization
    assert config.convention == "gpt-oss" and formats(config, "x", "lm_head") == ["mxfp4", None]
    config = write(tmp_path, {"quantization_config": {"quant_method": "gptq", "bits": 4}}).quantization
    assert config.convention == "gptq" and formats(config, "x") == [None]
    cache = write(tmp_path, {"quantization_config": {"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}})
    assert formats(cache.quantization, "a.o_proj") == [None] and checkpoint.load_linear(cache, "a.o_proj")


def test_folders_that_say_nothing(tmp_path):
    assert write(tmp_path, {"hidden_size": 64}).quantization is None
    assert checkpoint.Checkpoint(tmp_path / "model.safetensors").quantization is None


@pytest.mark.parametrize("algorithm,size,message", [
    ("NVFP4", 16, "expected a.o_proj in nvfp4, as quantisation 'NVFP4' says, but its tensors are mxfp4"),
    ("MXFP4", 16, "expected a group size of 32 for a.o_proj in mxfp4, but got 16")])
def test_tensors_that_contradict_are_an_error(tmp_path, algorithm, size, message):
    config = {"quantization": {"quant_algo": algorithm, "group_size": size}}
    with pytest.raises(nvfp4.CheckpointError, match=f"hf_quant_config.json: {message}"):
        checkpoint.load_linear(write(tmp_path, modelopt=config), "a.o_proj")


def test_experts_that_contradict_are_an_error(tmp_path):
    layer = {f"m.experts.0.{side}.{name}": np.full(shape, 127, np.uint8) for side in ("w1", "w2", "w3")
             for name, shape in (("weight_packed", (32, 16)), ("weight_scale", (32, 1)))}
    source = write(tmp_path, {"quantization_config": MXFP4}, layer=layer)
    assert checkpoint.load_moe(source, "m").weights.w2.format == "mxfp4"
    wrong = MXFP4 | {"config_groups": {"NVFP4": ["re:m.experts.*"]}}
    with pytest.raises(nvfp4.CheckpointError, match="m.experts.0.w1 in nvfp4, as quantisation 'NVFP4' says"):
        checkpoint.load_moe(write(tmp_path, {"quantization_config": wrong}, layer=layer), "m")


@pytest.fixture(params=[0, 1])
def stacked(request):
    """Experts as gpt-oss stacks them, in either naming, below m; what it calls a projection, and the module around it."""
    w13, s13, _, w2, s2, _ = (f"m.{name}" for name in _gpt_oss.NAMES[request.param])
    shapes = {w13: (1, 64, 1, 16), s13: (1, 64, 1), w2: (1, 32, 1, 16), s2: (1, 32, 1)}
    layer = {name: np.full(shape, 127, np.uint8) for name, shape in shapes.items()}
    return layer, *[("m.mlp2_weight", "m"), ("m.experts.down_proj", "m.experts")][request.param]


def all_in(*schemes):
    return {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": dict(schemes)}}


def test_stacked_experts_that_contradict_are_an_error(tmp_path, stacked):
    layer, projection, module = stacked
    gpt_oss = {"quant_method": "mxfp4", "modules_to_not_convert": ["m.self_attn", "lm_head"]}
    modelopt = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    either = all_in(("NVFP4", [module]), ("MXFP4", ["m.*mlp?_weight", "m.experts.*_proj"]))
    for right in ({"quantization_config": gpt_oss}, all_in(("NVFP4", ["Linear"])), all_in(("NVFP4", ["m.q_proj"])), either,
                  {"quantization_config": modelopt | {"ignore": [module]}}):
        assert checkpoint.load_moe(write(tmp_path, right, layer=layer), "m").weights.w2.format == "mxfp4"
    for wrong in (all_in(("NVFP4", [projection])), all_in(("NVFP4", [module])), {"quantization_config": modelopt}):
        with pytest.raises(nvfp4.CheckpointError, match="config.json: expected m.* in nvfp4, as quantisation 'NVFP4' says, "
                                                        "but its tensors are mxfp4"):
            checkpoint.load_moe(write(tmp_path, wrong, layer=layer), "m")


@pytest.mark.parametrize("file,text,message", [
    *(("config.json", *case) for case in [
        ('{"quantization_config": 3}', "quant_method"),
        ('{"quantization_config": {"quant_method": "compressed-tensors"}}', "config_groups"),
        ('{"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"g": {"format": "x"}}}}',
         "targets"),
        ('{"quantization_config": {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}}', "quantized_layers"),
        ('{"quantization_config": {"quant_method": "modelopt", "quant_algo": "MXFP4", "ignore": ["re:("]}}',
         "behind 're:'")]),
    *(("hf_quant_config.json", f'{{"quantization": {value}}}', message) for value, message in [
        ("3", "expected quantization to be an object, but got int"), ("null", "but got NoneType"), ("[]", "but got list"),
        ('{"quant_algo": "MIXED_PRECISION"}', "quantized_layers"),
        ('{"quant_algo": "MXFP4", "exclude_modules": ["re:("]}', "behind 're:'")]),
    *((file, *case) for file in ("config.json", "hf_quant_config.json") for case in [
        ("{", "expected JSON"), ("[]", "expected an object, but got list"), ("[" * 100000, "expected JSON")])])
def test_broken_configs_are_errors(tmp_path, file, text, message):
    write(tmp_path)
    (tmp_path / file).write_text(text)
    with pytest.raises(nvfp4.CheckpointError, match=f"/{file}: .*{message}"):
        checkpoint.load_linear(tmp_path, "a.o_proj")


LIST = "expected a list of names, but got"


@pytest.mark.parametrize("config,message", [
    ({"quant_method": "modelopt", "quant_algo": "MXFP4", "exclude_modules": "lm_head"}, f"{LIST} 'lm_head'"),
    ({"quant_method": "mxfp4", "modules_to_not_convert": "*"}, f"{LIST} '[*]'"),
    (MXFP4 | {"ignore": {"lm_head": 1}}, LIST), (MXFP4 | {"ignore": [3]}, f"{LIST} .3."),
    (MXFP4 | {"config_groups": {"g": {"targets": "Linear"}}}, f"{LIST} 'Linear'"),
    (MXFP4 | {"config_groups": {"g": {"targets": [3]}}}, f"{LIST} .3."),
    (MXFP4 | {"config_groups": {"MXFP4": [3]}}, f"{LIST} .3."),
    ({"quant_method": "modelopt", "quant_algo": "MXFP4", "group_size": float("inf")}, "whole number, but got inf"),
    ({"quant_method": "modelopt", "quant_algo": "MXFP4", "group_size": 32.7}, "whole number, but got 32.7"),
    ({"quant_method": "modelopt", "quant_algo": "MXFP4", "group_size": "32"}, "whole number, but got '32'")])
def test_fields_of_another_type_are_errors(tmp_path, config, message):
    """A name in the place of a list is not a list of its letters, of which '*' would leave out every layer."""
    with pytest.raises(nvfp4.CheckpointError, match=f"/config.json: .*{message}"):
        checkpoint.load_linear(write(tmp_path, {"quantization_config": config}), "a.o_proj")


@pytest.mark.parametrize("config", [
    MXFP4 | {"config_groups": {"g": {"format": 3, "targets": ["Linear"]}}},
    {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"a.o_proj": {"quant_algo": None}}}])
def test_formats_that_are_no_names_are_unknown(tmp_path, config):
    assert formats(write(tmp_path, {"quantization_config": config}).quantization, "a.o_proj") == [None]


@pytest.mark.parametrize("text", ["{", "{}", '{"weight_map": [1]}', '{"weight_map": {"a": 1}}'])
def test_broken_indices_are_errors(tmp_path, text):
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(nvfp4.CheckpointError, match="index.json: expected"):
        checkpoint.Checkpoint(tmp_path)
