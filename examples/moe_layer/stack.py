#!/usr/bin/env python3
# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stacks the experts of a checkpoint into the arguments of layer.mlir.

Understands the ModelOpt and the compressed-tensors naming. Values and block
scales are copied byte for byte; gate and up keep their own global scales, as
alpha[expert, 2], so nothing is re-rounded.
"""

import argparse
import pathlib

import ml_dtypes
import numpy as np
from safetensors import deserialize
from safetensors.numpy import save_file

PREFIX = "model.layers.0.mlp"
DTYPES = {"U8": np.uint8, "F8_E4M3": ml_dtypes.float8_e4m3fn, "F32": np.float32}


class Checkpoint:
    def __init__(self, path):
        # deserialize() gives bytes; the numpy front end knows no float8.
        self.tensors = dict(deserialize(path.read_bytes()))
        self.names = set(self.tensors)

    def get(self, name):
        tensor = self.tensors[name]
        return np.frombuffer(tensor["data"], DTYPES[tensor["dtype"]]).reshape(tensor["shape"])

    def projection(self, name):
        """(packed values, block scales, weight multiplier, input multiplier)"""
        scales = self.get(f"{name}.weight_scale")
        if f"{name}.weight_packed" in self.names:  # compressed-tensors: reciprocals
            weight = 1 / self.get(f"{name}.weight_global_scale").reshape(()).astype(np.float32)
            inputs = 1 / self.get(f"{name}.input_global_scale").reshape(()).astype(np.float32)
            return self.get(f"{name}.weight_packed"), scales, weight, inputs
        if f"{name}.weight_scale_2" in self.names:  # ModelOpt: multipliers
            weight = self.get(f"{name}.weight_scale_2").reshape(())
            inputs = self.get(f"{name}.input_scale").reshape(())
            return self.get(f"{name}.weight"), scales, weight, inputs
        raise SystemExit(f"stack: {name}: expected weight_packed (compressed-tensors) or weight_scale_2 (ModelOpt)")


def stack(checkpoint):
    experts = 1 + max(int(n.split(".experts.")[1].split(".")[0]) for n in checkpoint.names if ".experts." in n)
    names = [f"{PREFIX}.experts.{e}" for e in range(experts)]
    gate, up, down = ([checkpoint.projection(f"{n}.{p}_proj") for n in names] for p in ("gate", "up", "down"))
    # One scale quantises the input of all experts: the largest of theirs.
    input13 = np.float32(max(p[3] for p in gate + up))
    input2 = np.float32(max(p[3] for p in down))
    return {
        "router": checkpoint.get(f"{PREFIX}.router.weight"),
        "w13.values": np.stack([np.concatenate([g[0], u[0]]) for g, u in zip(gate, up)]),
        "w13.scales": np.stack([np.concatenate([g[1], u[1]]) for g, u in zip(gate, up)]),
        "w13.alpha": np.array([[g[2] * input13, u[2] * input13] for g, u in zip(gate, up)], np.float32),
        "w13.encode": np.array([1 / input13], np.float32),
        "w2.values": np.stack([d[0] for d in down]),
        "w2.scales": np.stack([d[1] for d in down]),
        "w2.alpha": np.array([d[2] * input2 for d in down], np.float32),
        "w2.encode": np.array([1 / input2], np.float32),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    args = parser.parse_args()
    save_file(stack(Checkpoint(args.checkpoint)), args.output)


if __name__ == "__main__":
    main()
