# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations for torch: ``torch.ops.nvfp4.grouped_matmul`` and ``torch.ops.nvfp4.quantize``, on tensors of the CPU.

``import nvfp4.torch`` registers them; it needs torch. Tensors are shared, never copied; shapes are known to
``torch.compile`` through fake implementations.
"""

from __future__ import annotations

from typing import Optional

import torch

from . import matmul, quantization, tensors
from ._dlpack import asarray
from .options import Activation, Gate

__all__ = ["grouped_matmul", "quantize"]


def _scaled(values: torch.Tensor, scales: torch.Tensor, fmt: str, layout: str) -> tensors.ScaledTensor:
    return tensors.ScaledTensor(asarray(values), asarray(scales), fmt, layout=layout)


# Exported programs and callers know arguments by their place: a new one goes to the end.
@torch.library.custom_op("nvfp4::grouped_matmul", mutates_args=())
def grouped_matmul(lhs: torch.Tensor, lhs_scales: Optional[torch.Tensor], rhs: torch.Tensor, rhs_scales: torch.Tensor,
                   ends: torch.Tensor, alpha: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None,
                   format: str = "nvfp4", layout: str = "linear", activation: str = "identity", granularity: int = 0,
                   gate_first: bool = True, dtype: torch.dtype = torch.bfloat16,
                   prob: Optional[torch.Tensor] = None) -> torch.Tensor:
    """Ragged rows: ``lhs`` ``[R, K/2]`` bytes, or without ``lhs_scales`` ``[R, K]`` of bfloat16 or float16 (W4A16); ``rhs``
    ``[G, N, K/2]``, scales in ``layout``, ``ends`` ``[G]``, ``prob`` ``[R]``; ``[R, N]``, or ``[R, N/2]`` for ``swiglu`` and
    ``geglu_tanh``, whose gate layout is ``granularity`` (0: halves) and ``gate_first``. Rows of no group are zero. See
    :func:`nvfp4.grouped_matmul`."""
    out = _result(lhs, rhs, activation, dtype, torch.zeros)
    chosen = None
    if activation != "identity":
        gate = Gate(granularity, "gate_first" if gate_first else "up_first")
        chosen = Activation(activation, gate if activation in ("swiglu", "geglu_tanh") else None)
    rows = lhs if lhs_scales is None else _scaled(lhs, lhs_scales, format, layout)
    matmul.grouped_matmul(rows, _scaled(rhs, rhs_scales, format, layout), tensors.ragged_rows(ends), alpha=alpha, bias=bias,
                          prob=prob, activation=chosen, out=out)
    return out


def _result(lhs: torch.Tensor, rhs: torch.Tensor, activation: str, dtype: torch.dtype, make) -> torch.Tensor:
    columns = rhs.shape[1] // 2 if activation in ("swiglu", "geglu_tanh") else rhs.shape[1]
    return make((lhs.shape[0], columns), dtype=dtype, device=lhs.device)


@grouped_matmul.register_fake
def _(lhs, lhs_scales, rhs, rhs_scales, ends, alpha=None, bias=None, format="nvfp4", layout="linear",
      activation="identity", granularity=0, gate_first=True, dtype=torch.bfloat16, prob=None):
    return _result(lhs, rhs, activation, dtype, torch.empty)


@torch.library.custom_op("nvfp4::quantize", mutates_args=())
def quantize(x: torch.Tensor, global_scale: float = 1.0, quantizer: str = "trtllm") -> tuple[torch.Tensor, torch.Tensor]:
    """``x`` ``[R, K]`` in NVFP4: (bytes ``[R, K/2]``, linear scales ``[R, ceil(K/16)]`` as bytes). See
    :func:`nvfp4.quantize`."""
    result = quantization.quantize(asarray(x), quantizer=quantizer, global_scale=global_scale)
    return torch.from_numpy(result.values), torch.from_numpy(result.scales.view("uint8"))


@quantize.register_fake
def _(x, global_scale=1.0, quantizer="trtllm"):
    rows, columns = x.shape
    return (x.new_empty((rows, (columns + 1) // 2), dtype=torch.uint8),
            x.new_empty((rows, (columns + 15) // 16), dtype=torch.uint8))
