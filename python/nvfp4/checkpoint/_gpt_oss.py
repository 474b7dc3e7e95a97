# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts as gpt-oss stacks them: MXFP4, gate and up rows interleaved, in both of its namings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _dlpack
from ..errors import CheckpointError
from ..layer import MoEWeights
from ..options import ActivationLike, Gate, gpt_oss_swiglu
from ..quantization import relayout
from ..tensors import ScaledTensor
from ._fields import checked, linear
from ._files import Checkpoint

NAMES = (("mlp1_weight.blocks", "mlp1_weight.scales", "mlp1_bias", "mlp2_weight.blocks", "mlp2_weight.scales",
          "mlp2_bias"),
         ("experts.gate_up_proj_blocks", "experts.gate_up_proj_scales", "experts.gate_up_proj_bias",
          "experts.down_proj_blocks", "experts.down_proj_scales", "experts.down_proj_bias"))


def load_gpt_oss(tensors: Mapping[str, Any], prefix: str, activation: ActivationLike | None) -> MoEWeights:
    dot = prefix + "." if prefix and not prefix.endswith(".") else prefix
    for names in NAMES:
        if dot + names[0] in tensors:
            break
    else:
        raise CheckpointError(f"expected {dot}{NAMES[0][0]} or {dot}{NAMES[1][0]}, but there is neither")

    def get(name: str) -> np.ndarray:
        if dot + name not in tensors:
            raise CheckpointError(f"expected a tensor called '{dot}{name}', but there is none")
        return _dlpack.asarray(tensors[dot + name])

    def scaled(blocks: str, scales: str) -> ScaledTensor:
        _check_config(tensors, dot + blocks[:-len(".blocks")])
        values = get(blocks)
        if values.ndim != 4 or values.shape[3] != 16:
            raise CheckpointError(f"expected {dot}{blocks} of shape [E, N, K/32, 16], but got {values.shape}")
        values = values.reshape(*values.shape[:2], -1)
        return ScaledTensor(*checked(values, get(scales), "mxfp4", 3, (dot + blocks, dot + scales)), "mxfp4")

    def bias(name: str) -> np.ndarray | None:
        return get(name) if dot + name in tensors else None

    return MoEWeights(scaled(*names[:2]), scaled(*names[3:5]), bias13=bias(names[2]), bias2=bias(names[5]),
                      activation=activation or gpt_oss_swiglu())


def _check_config(tensors: Mapping[str, Any], projection: str) -> None:
    """A configuration names a projection, or the module that holds those of all experts: no linear layer."""
    config = tensors.quantization if isinstance(tensors, Checkpoint) else None
    names = projection, projection.rpartition(".")[0]
    if config is None or any(config.ignores(name) is not None for name in names):
        return
    for name in names:
        if config.scheme_of(name, linear=False) is not None:
            return config.check(name, "mxfp4", linear=False)


def gpt_oss_tensors(weights: MoEWeights, prefix: str, gate: Any) -> dict[str, np.ndarray]:
    w13, w2 = linear(weights.w13, "w13", (gate, Gate(1))), linear(weights.w2, "w2")
    names = NAMES[1]
    result = {}
    for tensor, (blocks, scales) in ((w13, names[:2]), (w2, names[3:5])):
        result[prefix + blocks] = tensor.values.reshape(*tensor.shape[:2], -1, 16)
        result[prefix + scales] = tensor.scales.view(np.uint8)
    if weights.bias13 is not None:
        result[prefix + names[2]] = relayout(weights.bias13, gate=(gate, Gate(1)))
    if weights.bias2 is not None:
        result[prefix + names[5]] = _dlpack.asarray(weights.bias2)
    return result
