# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of products for tensors of torch, packed for a GPU where they are on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from . import _dlpack, packing
from .errors import ArgumentError
from .quantization import relayout
from .tensors import ScaledTensor

__all__ = ["PackedWeights"]


class PackedWeights:
    """Weights ``[N, K]`` or ``[G, N, K]`` as two tensors of torch, ``values`` and ``scales``, with their ``format``,
    ``shape`` and ``layout``: operands of :func:`grouped_matmul`.

    ``weights`` is a :class:`nvfp4.ScaledTensor` in any layout. On a GPU they have the layout ``wgmma``, or with
    ``rows`` torch.float16 ``wgmma_f16``, for rows of that type; on the CPU they are linear. :meth:`to` moves and
    re-lays them on the host. ArgumentError for weights that are no ScaledTensor, DataError where scales are too far
    apart to be packed.
    """

    format: str
    shape: tuple[int, ...]
    layout: str
    rows: torch.dtype
    values: torch.Tensor
    scales: torch.Tensor

    def __init__(self, weights: ScaledTensor, device: Any = "cpu", *, rows: torch.dtype = torch.bfloat16):
        if not isinstance(weights, ScaledTensor):
            raise ArgumentError(f"expected weights as ScaledTensor (see nvfp4.quantize), but got "
                                f"{type(weights).__name__}")
        if rows not in (torch.bfloat16, torch.float16):
            raise ArgumentError(f"expected rows torch.bfloat16 or torch.float16, but got {rows}")
        place = torch.device(device)
        wanted = "linear" if place.type == "cpu" else packing.packed_layout("f16" if rows == torch.float16 else "bf16")
        laid = relayout(weights, layout=wanted)
        self.format, self.shape, self.layout, self.rows = laid.format, laid.shape, laid.layout, rows
        scales = laid.scales if laid.scales.dtype == np.float32 else laid.scales.view(np.uint8)
        self.values, self.scales = (_dlpack.like(np.ascontiguousarray(part), torch.empty(0)).to(place)
                                    for part in (laid.values.view(np.uint8), scales))

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.values.device

    @property
    def nbytes(self) -> int:
        """Bytes of values and scales."""
        return self.values.nbytes + self.scales.nbytes

    def to(self, device: Any) -> PackedWeights:
        """The same weights on another device, themselves where they are there."""
        place = torch.device(device)
        if place == self.device or place.type == self.device.type and place.index is None:
            return self
        values, scales = (_dlpack.asarray(part.cpu()) for part in (self.values, self.scales))
        host = ScaledTensor(values, scales, self.format, self.shape, self.layout)
        return PackedWeights(host, place, rows=self.rows)

    def __repr__(self) -> str:
        return f"PackedWeights({self.format}, {tuple(self.shape)}, {self.layout}, {self.device})"
