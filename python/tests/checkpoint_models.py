# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small random models of Transformers as the producers of checkpoints in 4 bits write them, quantised by the formulas of
test/python, and what their numbers are in float64."""

import dataclasses
import json
import pathlib
import re

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

from format_formulas import modelopt, ue8m0_up
from nvfp4_formats import FORMATS, pack

SIZES = dict(vocab_size=64, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=64, moe_intermediate_size=64, num_experts_per_tok=2, max_position_embeddings=64)
_DEEP = dict(n_routed_experts=4, n_shared_experts=1, n_group=1, topk_group=1, first_k_dense_replace=1)
MODELS = {"mixtral": dict(num_local_experts=4), "qwen3_moe": dict(num_experts=4, head_dim=16),
          "gpt_oss": dict(num_local_experts=4, head_dim=16), "glm4_moe": _DEEP | dict(head_dim=16),
          "deepseek_v3": _DEEP | dict(q_lora_rank=16, num_key_value_heads=4, kv_lora_rank=32, qk_rope_head_dim=16,
                                      qk_nope_head_dim=16, v_head_dim=16)}
EXPERT = re.compile(r"\.experts\.(\d+)\.(\w+)$")
DENSE = re.compile(r"\.(self_attn\.(q|k|v|o|q_a|q_b|kv_b)_proj|kv_a_proj_with_mqa|(shared_experts|mlp)\.\w+_proj)$")
SIDES = {"gate_proj": 0, "w1": 0, "up_proj": 1, "w3": 1, "down_proj": 2, "w2": 2}


@dataclasses.dataclass
class Made:
    """A checkpoint in ``folder``, one with its dequantised values in float64 in ``exact``, and by the name of a layer its
    values, and the multiplier of its input."""

    folder: pathlib.Path
    exact: pathlib.Path
    values: dict
    inputs: dict


def quantise(matrix, fmt, multiplier=1.0):
    """Codes, scale bytes and values in float64 of ``[N, K]``."""
    info = FORMATS[fmt]
    blocks = matrix.astype(np.float32).reshape(-1, info.block)
    codes, scales = (modelopt if fmt == "nvfp4" else ue8m0_up)(blocks, fmt, np.float32(multiplier))
    values = info.values[codes] * info.scales[scales][:, None] * np.float64(multiplier)
    codes, scales = codes.reshape(matrix.shape), scales.reshape(len(matrix), -1)
    return pack(info, codes), scales, values.reshape(matrix.shape)


def _layer(matrix, convention, input_multiplier):
    """Fields of a layer of NVFP4, and its values."""
    multiplier = np.float32(np.abs(matrix).max() / 2688)
    stored = multiplier
    if convention == "compressed-tensors":
        stored = np.float32(1) / multiplier
        multiplier = np.float32(1) / stored
    codes, scales, values = quantise(matrix, "nvfp4", multiplier)
    codes, scales = torch.from_numpy(codes), torch.from_numpy(scales).view(torch.float8_e4m3fn)
    if convention == "modelopt":
        return dict(weight=codes, weight_scale=scales, weight_scale_2=torch.tensor(stored),
                    input_scale=torch.tensor(input_multiplier)), values
    return dict(weight_packed=codes, weight_scale=scales, weight_global_scale=torch.tensor([stored]),
                input_global_scale=torch.tensor([np.float32(1) / input_multiplier])), values


def _nvfp4(tensors, convention, made, rng):
    """The tensors of a checkpoint in NVFP4, and in float64."""
    written, exact = {}, {}
    shared = {}
    for name, tensor in tensors.items():
        layer = name.removesuffix(".weight")
        expert = EXPERT.search(layer)
        if not name.endswith(".weight") or not (expert or DENSE.search(layer)):
            written[name], exact[name] = tensor, tensor.double()
            continue
        # One input for the gate and up rows of all experts.
        common = expert and SIDES[expert[2]] < 2
        key = layer[:expert.start()] if common else layer
        inputs = shared.setdefault(key, np.float32(rng.uniform(3, 6) / 2688 * (1 if common or not expert else 2)))
        fields, values = _layer(tensor.float().numpy(), convention, inputs)
        written |= {f"{layer}.{field}": value for field, value in fields.items()}
        exact[name] = torch.from_numpy(values)
        made.values[layer.replace("block_sparse_moe", "mlp")] = values
        made.inputs[layer.replace("block_sparse_moe", "mlp")] = float(inputs if convention == "modelopt" else
                                                                     np.float32(1) / (np.float32(1) / inputs))
    return written, exact


def _gpt_oss(tensors, made):
    written, exact = {}, {}
    for name, tensor in tensors.items():
        if not name.endswith((".experts.gate_up_proj", ".experts.down_proj")):
            written[name], exact[name] = tensor, tensor.double()
            continue
        stack = tensor.float().transpose(1, 2).numpy()
        parts = [quantise(matrix, "mxfp4") for matrix in stack]
        codes, scales, values = (np.stack(each) for each in zip(*parts))
        written[f"{name}_blocks"] = torch.from_numpy(codes.reshape(*codes.shape[:2], -1, 16))
        written[f"{name}_scales"] = torch.from_numpy(scales)
        exact[name] = torch.from_numpy(values).transpose(1, 2).contiguous()
        made.values[name] = values
    return written, exact


QUANTISATION = {
    "modelopt": dict(quant_method="modelopt", quant_algo="NVFP4", ignore=["lm_head", "*.mlp.gate"]),
    "compressed-tensors": dict(quant_method="compressed-tensors", format="nvfp4-pack-quantized", ignore=["lm_head"],
                               config_groups={"group_0": dict(targets=["Linear"], weights=dict(
                                   num_bits=4, type="float", strategy="tensor_group", group_size=16))}),
    "gpt-oss": dict(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn", "lm_head"])}


def make_checkpoint(folder, name, convention, **sizes):
    torch.manual_seed(7)
    config = transformers.AutoConfig.for_model(name, **(SIZES | MODELS[name] | sizes))
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.15)
    made = Made(folder / "packed", folder / "exact", {}, {})
    for place in (made.folder, made.exact):
        model.save_pretrained(place)
    tensors = load_file(made.folder / "model.safetensors")
    written, exact = (_gpt_oss(tensors, made) if convention == "gpt-oss" else
                      _nvfp4(tensors, convention, made, np.random.default_rng(5)))
    save_file(written, made.folder / "model.safetensors", {"format": "pt"})
    save_file(exact, made.exact / "model.safetensors", {"format": "pt"})
    edit_config(made.folder, QUANTISATION[convention])
    return made


def edit_config(folder, quantisation):
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = quantisation
    (folder / "config.json").write_text(json.dumps(config))


def edit_tensors(folder, change):
    """Applies a function to the dictionary of a checkpoint's tensors."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
