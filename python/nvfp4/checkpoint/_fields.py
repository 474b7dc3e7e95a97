# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors of one linear layer, or of one projection of an expert, in the conventions that name them alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _dlpack
from .._scalars import scalar
from ..errors import ArgumentError, CheckpointError
from ..quantization import relayout
from ..tensors import FORMATS, ScaledTensor, scales_shape
from ._files import Checkpoint

# Names of codes, block scales, global scale and global scale of the activations. MXFP4 has no global scale, and its block
# scales are stored as the bytes of E8M0, U8. Where the code of producers and readers says so:
# - compressed-tensors (github.com/vllm-project/compressed-tensors), src/compressed_tensors/compressors: nvfp4/base.py,
#   mxfp4/base.py (names), mx_utils.py (2^(byte - 127)), nvfp4/helpers.py (the even column in the low nibble).
# - ModelOpt (github.com/NVIDIA/Model-Optimizer), modelopt/torch: quantization/qtensor/mxfp4_tensor.py (nibbles, bytes,
#   blocks of 32 along K), export/unified_export_hf.py (weight_scale_2 for NVFP4 alone; beside MXFP4 weights, input_scale
#   is that of activations in FP8, and only there if it was calibrated: quant_algo W4A8_MXFP4_FP8).
# - vLLM, vllm/model_executor/layers/quantization/compressed_tensors: schemes/compressed_tensors_w4a4_mxfp4.py and
#   compressed_tensors_moe/compressed_tensors_moe_w4a4_mxfp4.py (shapes, U8). TensorRT-LLM,
#   tensorrt_llm/_torch/modules/linear.py (W4A8MXFP4FP8LinearMethod: no other type than U8).
FIELDS = {"modelopt": ("weight", "weight_scale", "weight_scale_2", "input_scale"),
          "compressed-tensors": ("weight_packed", "weight_scale", "weight_global_scale", "input_global_scale")}
# Fields that change the numbers of a layer and are not applied here: AWQ and SVDQuant of ModelOpt (export/unified_export_hf.py),
# asymmetric weights and activation order of compressed-tensors.
_BEYOND = ("pre_quant_scale", "svdquant_lora_a", "svdquant_lora_b", "weight_zero_point", "weight_g_idx")


class Fields:
    """The tensors below ``layer`` in a convention, checked as they are asked for."""

    def __init__(self, tensors: Mapping[str, Any], layer: str, convention: str):
        self.layer, self.convention = layer, convention
        self._tensors = tensors
        self._values, self._scales, self._global, self._input = (f"{layer}.{name}" for name in FIELDS[convention])

    @property
    def has_multiplier(self) -> bool:
        return self._global in self._tensors

    @property
    def has_input(self) -> bool:
        return self._input in self._tensors

    def get(self, name: str) -> np.ndarray:
        """A tensor by its whole name."""
        if name not in self._tensors:
            raise CheckpointError(f"expected a tensor called '{name}', but there is none")
        return _dlpack.asarray(self._tensors[name])

    def codes(self, format: str) -> tuple[np.ndarray, np.ndarray]:
        """Values ``[N, K/2]`` and scales ``[N, K/block]``."""
        beyond = [name for name in _BEYOND if f"{self.layer}.{name}" in self._tensors]
        if beyond:
            raise CheckpointError(f"expected {self.layer} with codes and scales alone, but it has {beyond[0]}, which is "
                                  "not applied here")
        if isinstance(self._tensors, Checkpoint) and self._tensors.quantization is not None:
            self._tensors.quantization.check(self.layer, format)
        hint = "" if format == "nvfp4" else f" (NVFP4 would have {self._global.rpartition('.')[2]} beside it)"
        return checked(self.get(self._values), self.get(self._scales), format, 2, (self._values, self._scales), hint)

    def multiplier(self) -> np.float32:
        return self._multiplier(self._global)

    def input_multiplier(self) -> np.float32:
        return self._multiplier(self._input)

    def _multiplier(self, name: str) -> np.float32:
        value = self.get(name)
        if value.size != 1 or not np.isfinite(number := np.float32(value.reshape(-1)[0])) or number <= 0:
            raise CheckpointError(f"expected {name} to be one positive number, but got {value}")
        return np.float32(1) / number if self.convention == "compressed-tensors" else number


def checked(values: np.ndarray, scales: np.ndarray, format: str, rank: int, names: tuple[str, str],
            hint: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Codes and linear scales, if they are of the types and shapes that a format has."""
    info = FORMATS[format]
    if values.dtype != np.uint8 or values.ndim != rank:
        raise CheckpointError(f"expected {names[0]} as bytes of two E2M1 codes each, of rank {rank}, but got "
                              f"{values.dtype} of shape {values.shape}")
    if scales.dtype not in (info.scales, np.uint8):
        raise CheckpointError(f"expected {names[1]} as {info.scales} or its bytes for {format}, but got "
                              f"{scales.dtype}{hint}")
    expected = scales_shape((*values.shape[:-1], 2 * values.shape[-1]), format)
    if scales.shape != expected:
        raise CheckpointError(f"expected {names[1]} of shape {expected} for {format} codes of shape {values.shape}, but "
                              f"got {scales.shape}")
    return values, scales.view(info.scales)


def put(result: dict[str, Any], layer: str, convention: str, format: str, values: np.ndarray, scales: np.ndarray,
        multiplier: Any, input_multiplier: Any) -> None:
    """Adds the tensors of a layer; multipliers may be None."""
    value_name, scale_name, global_name, input_name = (f"{layer}.{name}" for name in FIELDS[convention])
    result[value_name], result[scale_name] = values, scales if format == "nvfp4" else scales.view(np.uint8)
    if format == "nvfp4":
        result[global_name] = _stored(1 if multiplier is None else multiplier, convention)
    elif multiplier is not None and multiplier != 1:
        raise ArgumentError(f"expected no multiplier for {layer}, for {format} has no global scale, but got {multiplier}")
    if input_multiplier is not None:
        result[input_name] = _stored(input_multiplier, convention)


def _stored(multiplier: Any, convention: str) -> np.ndarray:
    """The inverse of Fields.multiplier."""
    number = scalar(multiplier, np.dtype(np.float32), "a multiplier")
    if convention == "compressed-tensors":
        return np.array([np.float32(1) / number], np.float32)
    return number


def linear(tensor: ScaledTensor, what: str, gate: Any = None) -> ScaledTensor:
    """A tensor as files have it: linear scales, and whole blocks, for readers count K / block of them."""
    if tensor.format not in ("nvfp4", "mxfp4"):
        raise ArgumentError(f"expected weights in nvfp4 or mxfp4 for {what}, but got {tensor.format}")
    if tensor.shape[-1] % tensor.info.block:
        raise ArgumentError(f"expected K as a multiple of {tensor.info.block} for {what} in {tensor.format}, but got "
                            f"{tensor.shape[-1]}")
    return relayout(tensor, layout="linear", starts="whole", gate=gate)
