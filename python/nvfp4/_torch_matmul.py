# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.ops.nvfp4.grouped_matmul`` and ``quantize``: one implementation for the CPU and GPUs, and its fake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import matmul, packing, quantization
from ._torch_calls import find_call
from ._torch_device import Device, find_device
from ._torch_gradient import PAIRS, Product, register
from ._torch_library import library
from .errors import ArgumentError

__all__ = ["ARGUMENTS", "result_shape"]

# Exported programs and callers know arguments by their place: a new one goes to the end.
ARGUMENTS = ("Tensor lhs, Tensor? lhs_scales, Tensor rhs, Tensor rhs_scales, Tensor? ends=None, Tensor? alpha=None, "
             "Tensor? bias=None, str format='nvfp4', str layout='linear', str activation='identity', "
             "int granularity=0, bool gate_first=True, ScalarType dtype=bfloat16, Tensor? prob=None, "
             "str grouping='ragged_rows', str offsets='ends', int align=1, str starts='whole', int columns=0")


def result_shape(lhs: torch.Tensor, rhs: torch.Tensor, ends: torch.Tensor | None, layout: str, activation: str,
                 grouping: str, offsets: str, columns: int) -> tuple[int, ...]:
    """The shape of a product."""
    if packing.is_packed(layout) and columns < 1:
        raise ArgumentError(f"expected columns=, the N of packed weights, of 1 or more, but got {columns}")
    width = columns if packing.is_packed(layout) else rhs.shape[-2]
    if activation in PAIRS:
        width //= 2
    if grouping != "ragged_k":
        return (*lhs.shape[:-1], width)
    if ends is None:
        raise ArgumentError("expected ends, where each group along K ends, but got None")
    return (ends.shape[0] - (offsets == "starts"), lhs.shape[0], width)


def _by_group(alpha: torch.Tensor | None, lhs: torch.Tensor, ends: torch.Tensor | None, grouping: str,
              offsets: str) -> torch.Tensor | None:
    """alpha as numbers of float32 in memory: one a group where it is a single number."""
    if alpha is None:
        return None
    if alpha.ndim == 0:
        count = 1 if grouping == "dense" else lhs.shape[0]
        if grouping.startswith("ragged") and ends is not None:
            count = ends.shape[0] - (offsets == "starts")
        alpha = alpha.reshape(1).expand(count)
    return alpha.float().contiguous()


def _check_for_kernels(layout: str) -> None:
    if not packing.is_packed(layout):
        raise ArgumentError(f"expected packed weights on a GPU (nvfp4.torch.PackedWeights, of layout wgmma), but got "
                            f"layout {layout}")


def _new(shape: Sequence[int], dtype: torch.dtype, like: torch.Tensor, grouping: str) -> torch.Tensor:
    """A destination, whose rows of no group are zero."""
    make = torch.empty if grouping in ("dense", "batched") else torch.zeros
    return make(tuple(shape), dtype=dtype, device=like.device)


def _multiply(device: Device | None, lhs: torch.Tensor, lhs_scales: torch.Tensor | None, rhs: torch.Tensor,
              rhs_scales: torch.Tensor, ends: torch.Tensor | None = None, alpha: torch.Tensor | None = None,
              bias: torch.Tensor | None = None, format: str = "nvfp4", layout: str = "linear",
              activation: str = "identity", granularity: int = 0, gate_first: bool = True,
              dtype: torch.dtype = torch.bfloat16, prob: torch.Tensor | None = None, grouping: str = "ragged_rows",
              offsets: str = "ends", align: int = 1, starts: str = "whole", columns: int = 0) -> torch.Tensor:
    out = _new(result_shape(lhs, rhs, ends, layout, activation, grouping, offsets, columns), dtype, lhs, grouping)
    tensors = [lhs, lhs_scales, rhs, rhs_scales, ends, _by_group(alpha, lhs, ends, grouping, offsets), bias,
               None if prob is None else prob.float(), out]
    tensors = [each if each is None else each.contiguous() for each in tensors]
    options = format, layout, activation, granularity, gate_first, grouping, offsets, align, starts, columns

    def state(stand_ins: Sequence[Any]) -> Any:
        if device is not None:
            _check_for_kernels(layout)
        *operands, some_prob, place = stand_ins
        product = Product(*operands, *options[:5], some_prob, *options[5:])
        return matmul.plan_matmul(product.rows(), product.weights(), product.grouping(), alpha=operands[5],
                                  bias=operands[6], prob=some_prob, activation=product.activation(), out=place).call

    find_call(device, options, tensors, state)(tensors)
    return out


def _quantize(device: Device | None, x: torch.Tensor, global_scale: float = 1.0,
              quantizer: str = "trtllm") -> tuple[torch.Tensor, torch.Tensor]:
    x = x.contiguous()
    values, scales = _quantized(x)

    def state(stand_ins: Sequence[Any]) -> Any:
        source, *parts = stand_ins
        out = quantization.ScaledTensor(*parts, shape=source.shape)
        return quantization.quantize_call(source, quantizer=quantizer, global_scale=global_scale, out=out)[0]

    find_call(device, ("quantize", global_scale, quantizer), [x, values, scales], state)([x, values, scales])
    return values, scales


def _quantized(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if not 1 <= x.ndim <= 3:
        raise ArgumentError(f"expected a tensor of rank 1, 2 or 3, but got shape {tuple(x.shape)}")
    rows, columns = x.shape[:-1], x.shape[-1]
    return (x.new_empty((*rows, (columns + 1) // 2), dtype=torch.uint8),
            x.new_empty((*rows, (columns + 15) // 16), dtype=torch.uint8))


def _implement(name: str, function: Callable[..., Any]) -> None:
    def on_gpu(first: torch.Tensor, *rest: Any, **options: Any) -> Any:
        return function(find_device(first), first, *rest, **options)

    library.impl(name, lambda *arguments, **options: function(None, *arguments, **options), "CPU")
    library.impl(name, on_gpu, "CUDA")


# grouped_matmul has gradients, which cost each call; grouped_matmul_forward has none.
for _name in ("grouped_matmul", "grouped_matmul_forward"):
    library.define(f"{_name}({ARGUMENTS}) -> Tensor")
    _implement(_name, _multiply)
library.define("quantize(Tensor x, float global_scale=1.0, str quantizer='trtllm') -> (Tensor, Tensor)")
_implement("quantize", _quantize)


@torch.library.register_fake("nvfp4::grouped_matmul", lib=library)
@torch.library.register_fake("nvfp4::grouped_matmul_forward", lib=library)
def _(lhs, lhs_scales, rhs, rhs_scales, ends=None, alpha=None, bias=None, format="nvfp4", layout="linear",
      activation="identity", granularity=0, gate_first=True, dtype=torch.bfloat16, prob=None, grouping="ragged_rows",
      offsets="ends", align=1, starts="whole", columns=0):
    if lhs.is_cuda:
        _check_for_kernels(layout)
    shape = result_shape(lhs, rhs, ends, layout, activation, grouping, offsets, columns)
    return torch.empty(shape, dtype=dtype, device=lhs.device)


register("nvfp4::grouped_matmul", library)


@torch.library.register_fake("nvfp4::quantize", lib=library)
def _(x, global_scale=1.0, quantizer="trtllm"):
    return _quantized(x)
