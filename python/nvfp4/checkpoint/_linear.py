# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _dlpack
from ..errors import ArgumentError, CheckpointError
from ..tensors import ScaledTensor
from ._fields import FIELDS, Fields, linear, put
from ._files import Checkpoint, other_names, write_safetensors


@dataclasses.dataclass(frozen=True)
class LinearWeights:
    """A linear layer: ``weight`` ``[N, K]`` in NVFP4 or MXFP4, the global scale of NVFP4 and that of the activations as
    multipliers (None: 1), ``bias`` ``[N]`` or None. ``grouped_matmul(x, layer.weight, alpha=layer.multiplier,
    bias=layer.bias)`` is the layer for ``x`` of bfloat16."""

    weight: ScaledTensor
    multiplier: np.float32 | None = None
    input_multiplier: np.float32 | None = None
    bias: np.ndarray | None = None


def load_linear(source: str | os.PathLike[str] | Mapping[str, Any], prefix: str, *,
                convention: str = "auto") -> LinearWeights:
    """Reads the layer called ``prefix`` (such as ``model.layers.3.self_attn.o_proj``) from a file, a folder, or a mapping.

    ``convention`` is ``modelopt``, ``compressed-tensors`` or ``auto``, to tell by the names. A layer with a global scale
    is NVFP4 and one without is MXFP4. Values and scales stay in the file. CheckpointError for a layer that is not there,
    is of neither format, such as one that was left in bfloat16, or is said to be of another by the folder's
    configuration (:attr:`Checkpoint.quantization`).
    """
    tensors: Mapping[str, Any] = source if isinstance(source, Mapping) else Checkpoint(source)
    if convention == "auto":
        convention = _detect(tensors, prefix)
    if convention not in FIELDS:
        raise ArgumentError(f"expected convention auto, {', '.join(FIELDS)}, but got '{convention}'")
    fields = Fields(tensors, prefix, convention)
    values, scales = fields.codes(fmt := "nvfp4" if fields.has_multiplier else "mxfp4")
    bias = _dlpack.asarray(tensors[f"{prefix}.bias"]) if f"{prefix}.bias" in tensors else None
    return LinearWeights(ScaledTensor(values, scales, fmt), fields.multiplier() if fields.has_multiplier else None,
                         fields.input_multiplier() if fields.has_input else None, bias)


def _detect(tensors: Mapping[str, Any], prefix: str) -> str:
    if f"{prefix}.weight_packed" in tensors:
        return "compressed-tensors"
    if f"{prefix}.weight_scale" in tensors:
        return "modelopt"
    names = sorted(name for name in tensors if name.startswith(prefix + "."))
    pattern = None
    if isinstance(tensors, Checkpoint) and tensors.quantization is not None:
        pattern = tensors.quantization.ignores(prefix)
    raise CheckpointError(f"expected {prefix}.weight_scale or {prefix}.weight_packed, but got "
                          f"{', '.join(names[:8]) or other_names(tensors)}"
                          + ("" if pattern is None else f"; '{pattern}' of the model's config leaves this layer out"))


def save_linear(path: str | os.PathLike[str], layers: Mapping[str, LinearWeights], *, convention: str = "modelopt") -> None:
    """Writes layers by name, each in NVFP4 or MXFP4, as a ``.safetensors`` file that :func:`load_linear` and the producers'
    loaders read. ArgumentError where a convention cannot hold a layer: another format, a K of broken blocks, or a
    multiplier of MXFP4."""
    if convention not in FIELDS:
        raise ArgumentError(f"expected convention {', '.join(FIELDS)}, but got '{convention}'")
    result: dict[str, Any] = {}
    for name, layer in layers.items():
        if layer.weight.ndim != 2:
            raise ArgumentError(f"expected a weight [N, K] for {name}, but got {layer.weight}")
        weight = linear(layer.weight, name)
        put(result, name, convention, weight.format, weight.values, weight.scales, layer.multiplier, layer.input_multiplier)
        if layer.bias is not None:
            result[f"{name}.bias"] = _dlpack.asarray(layer.bias)
    write_safetensors(path, result)
