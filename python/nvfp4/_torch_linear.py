# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linear layer of torch with packed weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from . import _dlpack
from ._torch_matmul import multiply, quantize
from ._torch_packed import PackedWeights
from .checkpoint import LinearWeights
from .errors import ArgumentError

__all__ = ["PackedLinear"]


class PackedLinear(torch.nn.Module):
    """``x`` ``[..., K]`` of bfloat16, float16 or float32 to ``[..., N]`` of its type, by :class:`nvfp4.checkpoint.LinearWeights`
    in NVFP4 or MXFP4, on the CPU or packed for a GPU of compute capability 9.0. Inference only.

    With ``activation_format`` None rows are not quantised (W4A16), but those of float32 rounded to 16 bits. With ``nvfp4``,
    beside weights of that format alone, they are, by the quantiser ``trtllm`` with the multiplier of the layer's input (1
    where it has none). ``dtype`` is the type of unquantised rows on a GPU, bfloat16 unless said. ArgumentError for another
    format.
    """

    activation_format: str | None
    out_features: int
    in_features: int

    def __init__(self, layer: LinearWeights, *, activation_format: str | None = None, device: Any = None,
                 dtype: torch.dtype = torch.bfloat16):
        super().__init__()
        if activation_format not in (None, layer.weight.format if layer.weight.format == "nvfp4" else None):
            raise ArgumentError(f"expected activation_format None for a linear layer in {layer.weight.format}, or nvfp4 "
                                f"for one in nvfp4, but got {activation_format}")
        self.activation_format, self.out_features, self.in_features = activation_format, *layer.weight.shape
        inputs = np.float32(1 if layer.input_multiplier is None else layer.input_multiplier)
        alpha = np.float32(1 if layer.multiplier is None else layer.multiplier)
        self._encode = float(1 / inputs)
        self._packed = PackedWeights(layer.weight, rows=dtype if activation_format is None else torch.bfloat16)
        self.register_buffer("alpha", torch.tensor([alpha * inputs if activation_format else alpha]))
        self.register_buffer("bias", None if layer.bias is None else
                             _dlpack.like(np.ascontiguousarray(layer.bias), torch.empty(0)))
        self._take(self._packed)
        if device is not None:
            self.to(device)

    def _take(self, packed: PackedWeights) -> None:
        self._packed = packed
        self.register_buffer("values", packed.values)
        self.register_buffer("scales", packed.scales)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> PackedLinear:
        """Moves bytes: a change of floating-point types is none of theirs."""
        place = fn(torch.empty(0, dtype=torch.uint8, device=self._packed.device)).device
        if place != self._packed.device:
            self._take(self._packed.to(place))
        for name in ("alpha", "bias"):
            buffer = self._buffers[name]
            if buffer is not None:
                self._buffers[name] = buffer.to(place)
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """ArgumentError for other shapes, types and devices, and for ``x`` that requires a gradient."""
        if x.shape[-1] != self.in_features:
            raise ArgumentError(f"expected x of shape [..., {self.in_features}], but got {tuple(x.shape)}")
        if torch.is_grad_enabled() and x.requires_grad:
            raise ArgumentError("expected x without requires_grad, for a packed layer has no gradient; use "
                                "torch.no_grad() or detach()")
        rows, scales, dtype = x.reshape(-1, self.in_features), None, x.dtype
        if self.activation_format is not None:
            rows, scales = quantize(rows, self._encode, "trtllm")
        packed, columns = self._packed, self.out_features if self._packed.layout != "linear" else 0
        y = multiply((rows, scales, self.values, self.scales, None, self.alpha, self.bias, None, None, None, None),
                     (packed.format, packed.layout, "identity", 0, True, "dense", "ends", 1, "whole", columns, *[None] * 4, False),
                     dtype)
        return y.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return (f"in_features={self.in_features}, out_features={self.out_features}, format={self._packed.format}, "
                f"activation_format={self.activation_format}")
