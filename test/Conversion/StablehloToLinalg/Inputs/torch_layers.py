# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers as users write them in torch, behind the routing. Run as a script where torch and torch-mlir are installed, it
writes beside itself what torch.export and torch-mlir make of each: upstream's linalg."""

import importlib.metadata
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

from layer_inputs import E2M1, EXPERTS, HIDDEN, arguments


def halves(codes):
    return torch.stack([codes & 15, codes >> 4], -1).flatten(-2)


class Mixtral(torch.nn.Module):
    """Weights looked up for each token."""

    def decode(self, codes, scales):
        table = torch.tensor(E2M1, dtype=torch.bfloat16)
        values = table[halves(codes).long()].float().unflatten(-1, (scales.shape[-1], -1))
        return (values * scales.float()[..., None]).flatten(-2)

    def forward(self, x, ids, probs, w13, s13, w2, s2):
        h = torch.einsum("tk,tsnk->tsn", x.float(), self.decode(w13, s13)[ids])
        gate, up = h.chunk(2, -1)
        h = (F.silu(gate) * up).to(torch.bfloat16)
        y = torch.einsum("tsk,tsnk->tsn", h.float(), self.decode(w2, s2)[ids])
        return (y * probs[..., None]).sum(1)


class GptOss(torch.nn.Module):
    """All experts for all tokens, weighted by scores of which most are zero."""

    def decode(self, codes, scales):
        table = torch.tensor(E2M1, dtype=torch.bfloat16)
        low, high = table[(codes & 15).long()], table[(codes >> 4).long()]
        values = torch.stack([low, high], -1).flatten(-2).unflatten(-1, (scales.shape[-1], -1))
        return torch.ldexp(values, scales.int()[..., None] - 127).flatten(-2)

    def forward(self, x, scores, w13, s13, b13, w2, s2, b2):
        rows = x.repeat(EXPERTS, 1).view(EXPERTS, -1, HIDDEN).float()
        h = torch.bmm(rows, self.decode(w13, s13).float().transpose(1, 2)) + b13[:, None]
        gate, up = h[..., ::2].clamp(max=7.0), h[..., 1::2].clamp(-7.0, 7.0)
        h = ((up + 1) * (gate * torch.sigmoid(gate * 1.702))).to(torch.bfloat16)
        y = torch.bmm(h.float(), self.decode(w2, s2).float().transpose(1, 2)) + b2[:, None]
        return (y * scores.T[..., None]).sum(0)


LAYERS = {"torch_mixtral": Mixtral, "torch_gpt_oss": GptOss}
TYPES = {"bfloat16": torch.bfloat16, "float8_e4m3fn": torch.float8_e4m3fn}


def to_torch(array):
    if array.dtype.name in TYPES:
        return torch.from_numpy(array.view(f"u{array.itemsize}")).view(TYPES[array.dtype.name])
    return torch.from_numpy(array)


def export(name):
    from torch_mlir import fx
    given = tuple(map(to_torch, arguments(name, np.random.default_rng(0))))
    module = fx.export_and_import(torch.export.export(LAYERS[name](), given), output_type="linalg-on-tensors")
    return module.operation.get_asm()


if __name__ == "__main__":
    for name in LAYERS:
        path = pathlib.Path(__file__).parent / f"{name}.mlir"
        versions = " and ".join(f"{package} {importlib.metadata.version(package)}" for package in ("torch", "torch-mlir"))
        path.write_text(f"// Written by torch_layers.py with {versions}.\n{export(name)}")
