#!/usr/bin/env python3
# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the inputs of the example: tokens and a checkpoint.

The checkpoint has one tensor a projection and expert, as training frameworks
export it, in one of two namings:

  modelopt            weight, weight_scale, weight_scale_2 (a multiplier),
                      input_scale (a multiplier)
  compressed-tensors  weight_packed, weight_scale, weight_global_scale and
                      input_global_scale (both reciprocals)

Weights are heavy-tailed with a few strong input channels, tokens have outlier
channels, and gate and up of one expert differ in their global scales.
"""

import argparse
import pathlib

import ml_dtypes
import numpy as np
from safetensors import deserialize
from safetensors.numpy import save_file

from nvfp4_numpy import quantize_weight

EXPERTS, HIDDEN, WIDTH = 16, 1024, 768
PREFIX = "model.layers.0.mlp"


def outlier_channels(rng, n, share, strength):
    gain = np.ones(n)
    strong = rng.choice(n, max(1, int(n * share)), replace=False)
    gain[strong] = strength * (1 + rng.random(strong.size))
    return gain


def make_tokens(rng, count):
    gain = outlier_channels(rng, HIDDEN, 0.01, 15.0)
    x = rng.standard_normal((count, HIDDEN)) * gain
    return x.astype(ml_dtypes.bfloat16)


def make_weight(rng, rows, columns, spread):
    w = rng.standard_t(5, (rows, columns)) * spread / np.sqrt(columns)
    return (w * outlier_channels(rng, columns, 0.005, 4.0)).astype(np.float32)


def add_projection(tensors, naming, name, weight, input_amax):
    packed, scales, multiplier = quantize_weight(weight)
    input_multiplier = np.float32(input_amax / (6 * 448))
    if naming == "modelopt":
        tensors[f"{name}.weight"] = packed
        tensors[f"{name}.weight_scale"] = scales
        tensors[f"{name}.weight_scale_2"] = np.array(multiplier, np.float32)
        tensors[f"{name}.input_scale"] = np.array(input_multiplier, np.float32)
    else:
        tensors[f"{name}.weight_packed"] = packed
        tensors[f"{name}.weight_scale"] = scales
        tensors[f"{name}.weight_global_scale"] = np.array([1 / multiplier], np.float32)
        tensors[f"{name}.input_global_scale"] = np.array([1 / input_multiplier], np.float32)


def write_inputs(directory, naming, token_count, seed):
    """Writes tokens.safetensors and checkpoint.safetensors."""
    rng = np.random.default_rng(seed)
    directory.mkdir(parents=True, exist_ok=True)
    tokens = make_tokens(rng, token_count)
    router = rng.standard_normal((EXPERTS, HIDDEN)) / np.sqrt(HIDDEN)
    tensors = {f"{PREFIX}.router.weight": router.astype(np.float32)}
    token_amax = float(np.abs(tokens.astype(np.float32)).max())
    for expert in range(EXPERTS):
        name = f"{PREFIX}.experts.{expert}"
        # Real checkpoints show gate/up ratios of global scales up to ten.
        ratio = 10 ** rng.uniform(-0.5, 0.5)
        gate = make_weight(rng, WIDTH, HIDDEN, 1.0)
        up = make_weight(rng, WIDTH, HIDDEN, ratio)
        down = make_weight(rng, HIDDEN, WIDTH, 1.0)
        add_projection(tensors, naming, f"{name}.gate_proj", gate, token_amax)
        add_projection(tensors, naming, f"{name}.up_proj", up, token_amax)
        # The value that calibration would have seen after SwiGLU.
        add_projection(tensors, naming, f"{name}.down_proj", down, 6.0 * token_amax)
    metadata = {"quant_algo": "NVFP4", "naming": naming}
    save_file(tensors, directory / "checkpoint.safetensors", metadata=metadata)
    save_file({"tokens": tokens}, directory / "tokens.safetensors")


def read_tokens(directory):
    ((_, tensor),) = deserialize((directory / "tokens.safetensors").read_bytes())
    return np.frombuffer(tensor["data"], ml_dtypes.bfloat16).reshape(tensor["shape"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--naming", choices=["modelopt", "compressed-tensors"], default="modelopt")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="directory")
    args = parser.parse_args()
    write_inputs(args.output, args.naming, args.tokens, args.seed)


if __name__ == "__main__":
    main()
