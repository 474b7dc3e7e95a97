# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations for torch: ``torch.ops.nvfp4.grouped_matmul`` and ``torch.ops.nvfp4.quantize``, on tensors of the CPU.

``import nvfp4.torch`` registers them; it needs torch. Tensors are shared, never copied; shapes are known to
``torch.compile`` through fake implementations. Products have gradients of what is not quantised.
"""

from __future__ import annotations

from typing import Optional

import torch

from . import _torch_gradient, matmul, quantization
from ._dlpack import asarray
from ._torch_gradient import Product
from ._torch_layer import MoELayer, moe_layer
from .errors import ArgumentError

__all__ = ["MoELayer", "grouped_matmul", "moe_layer", "quantize"]


# Exported programs and callers know arguments by their place: a new one goes to the end.
@torch.library.custom_op("nvfp4::grouped_matmul", mutates_args=())
def grouped_matmul(lhs: torch.Tensor, lhs_scales: Optional[torch.Tensor], rhs: torch.Tensor, rhs_scales: torch.Tensor,
                   ends: Optional[torch.Tensor] = None, alpha: Optional[torch.Tensor] = None,
                   bias: Optional[torch.Tensor] = None, format: str = "nvfp4", layout: str = "linear",
                   activation: str = "identity", granularity: int = 0, gate_first: bool = True,
                   dtype: torch.dtype = torch.bfloat16, prob: Optional[torch.Tensor] = None,
                   grouping: str = "ragged_rows", offsets: str = "ends", align: int = 1,
                   starts: str = "whole") -> torch.Tensor:
    """A grouped product, whose shapes follow from ``grouping``:

    ===============  ===============  ===============  ==================================  ===============
    ``grouping``     ``lhs``          ``rhs``          ``ends``                            result
    ===============  ===============  ===============  ==================================  ===============
    ``ragged_rows``  ``[R, K]``       ``[G, N, K]``    ``[G]``, ``starts``: ``[G+1]``       ``[R, N]``
    ``dense``        ``[M, K]``       ``[N, K]``       None                                ``[M, N]``
    ``batched``      ``[G, M, K]``    ``[G, N, K]``    None                                ``[G, M, N]``
    ``masked``       ``[G, M, K]``    ``[G, N, K]``    ``[G]``, the number of valid rows   ``[G, M, N]``
    ``ragged_k``     ``[M, K]``       ``[N, K]``       as for ``ragged_rows``, along K     ``[G, M, N]``
    ===============  ===============  ===============  ==================================  ===============

    K is that of numbers: two to a byte of FP4. ``lhs`` without ``lhs_scales`` is of bfloat16 or float16 (W4A16). Scales are
    in ``layout``; those of ``lhs``, and for ``ragged_k`` those of ``rhs`` too, start where ``starts`` says. ``offsets``
    says whether ``ends`` holds ``ends`` or ``starts``, of groups that begin at multiples of ``align``. ``prob`` has one
    number a row. The gate layout of ``swiglu``, ``geglu_tanh`` and ``reglu``, which halve N, is ``granularity`` (0: halves) and
    ``gate_first``. Rows of no group are zero. See :func:`nvfp4.grouped_matmul`.

    ``lhs`` of bfloat16 or float16, ``alpha``, ``bias`` and ``prob`` have gradients, computed in float32 from dequantised
    weights; quantised operands and scales have none, which is an error where one is asked for.
    """
    product = Product(lhs, lhs_scales, rhs, rhs_scales, ends, alpha, bias, format, layout, activation, granularity,
                      gate_first, prob, grouping, offsets, align, starts)
    out = torch.zeros(_shape(lhs, rhs, ends, activation, grouping, offsets), dtype=dtype, device=lhs.device)
    matmul.grouped_matmul(product.rows(), product.weights(), product.grouping(), alpha=alpha, bias=bias, prob=prob,
                          activation=product.activation(), out=out)
    return out


def _shape(lhs: torch.Tensor, rhs: torch.Tensor, ends: Optional[torch.Tensor], activation: str, grouping: str,
           offsets: str) -> tuple[int, ...]:
    columns = rhs.shape[-2] // 2 if activation in _torch_gradient.PAIRS else rhs.shape[-2]
    if grouping != "ragged_k":
        return (*lhs.shape[:-1], columns)
    if ends is None:
        raise ArgumentError("expected ends, where each group along K ends, but got None")
    return (ends.shape[0] - (offsets == "starts"), lhs.shape[0], columns)


@grouped_matmul.register_fake
def _(lhs, lhs_scales, rhs, rhs_scales, ends=None, alpha=None, bias=None, format="nvfp4", layout="linear",
      activation="identity", granularity=0, gate_first=True, dtype=torch.bfloat16, prob=None, grouping="ragged_rows",
      offsets="ends", align=1, starts="whole"):
    return torch.empty(_shape(lhs, rhs, ends, activation, grouping, offsets), dtype=dtype, device=lhs.device)


_torch_gradient.register(grouped_matmul)


@torch.library.custom_op("nvfp4::quantize", mutates_args=())
def quantize(x: torch.Tensor, global_scale: float = 1.0, quantizer: str = "trtllm") -> tuple[torch.Tensor, torch.Tensor]:
    """``x`` ``[R, K]`` in NVFP4: (bytes ``[R, K/2]``, linear scales ``[R, ceil(K/16)]`` as bytes), which have no
    gradient. See :func:`nvfp4.quantize`."""
    result = quantization.quantize(asarray(x), quantizer=quantizer, global_scale=global_scale)
    return torch.from_numpy(result.values), torch.from_numpy(result.scales.view("uint8"))


@quantize.register_fake
def _(x, global_scale=1.0, quantizer="trtllm"):
    rows, columns = x.shape
    return (x.new_empty((rows, (columns + 1) // 2), dtype=torch.uint8),
            x.new_empty((rows, (columns + 15) // 16), dtype=torch.uint8))
