# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations for torch, on tensors of the CPU and of GPUs of compute capability 9.0.

``import nvfp4.torch`` registers ``torch.ops.nvfp4.grouped_matmul``, ``quantize`` and ``moe_layer``; it needs torch.
Tensors are used in place and work goes into the current stream; shapes are known to ``torch.compile`` through fake
implementations. Products have gradients of what is not quantised.
"""

from __future__ import annotations

from typing import Any, Optional, Union

import torch

from . import _device_programs, _torch_gradient, _torch_matmul  # noqa: F401
from ._torch_layer import MoELayer, moe_layer
from ._torch_linear import PackedLinear
from ._torch_packed import PackedWeights
from ._torch_scaled_mm import enable_scaled_mm
from .errors import ArgumentError

__all__ = ["MoELayer", "PackedLinear", "PackedWeights", "check", "enable_scaled_mm", "grouped_matmul", "grouped_matmul_scaled",
           "moe_layer", "quantize"]


def check() -> None:
    """:class:`nvfp4.DataError` if kernels of an operation or layer of this module have found bad data in memory of a GPU since
    the last such question: group offsets that decrease, experts that do not exist. It waits for nothing, so synchronise before
    to be sure; graphs that captured the operations are meant as well."""
    _device_programs.check()


def grouped_matmul(lhs: torch.Tensor, lhs_scales: Optional[torch.Tensor], rhs: Union[torch.Tensor, PackedWeights],
                   rhs_scales: Optional[torch.Tensor] = None, ends: Optional[torch.Tensor] = None,
                   alpha: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None, format: str = "nvfp4",
                   layout: str = "linear", activation: str = "identity", granularity: int = 0, gate_first: bool = True,
                   dtype: Optional[torch.dtype] = None, prob: Optional[torch.Tensor] = None,
                   grouping: str = "ragged_rows", offsets: str = "ends", align: int = 1, starts: str = "whole",
                   columns: int = 0, addend: Optional[torch.Tensor] = None, beta: Optional[float] = None,
                   activation_params: Optional[torch.Tensor] = None, swiglu_alpha: Optional[float] = None,
                   swiglu_beta: Optional[float] = None, swiglu_limit: Optional[float] = None,
                   round_bf16: bool = False, row_scale: Optional[torch.Tensor] = None,
                   out: Optional[torch.Tensor] = None) -> torch.Tensor:
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

    ``rhs`` is :class:`PackedWeights`, which say their scales, format and layout, or values beside ``rhs_scales``. A GPU
    takes packed ones: values in the layout ``wgmma`` or ``wgmma_f16`` with ``columns``, their N, beside rows without
    scales or with linear ones of the same format.

    K is that of numbers: two to a byte of FP4. ``lhs`` without ``lhs_scales`` is of bfloat16 or float16 (W4A16), or of
    float32 and rounded to bfloat16 (float16 for layout ``wgmma_f16``). Scales are in ``layout``; those of ``lhs``, and for
    ``ragged_k`` those of ``rhs`` too, start where ``starts`` says. ``offsets`` says whether ``ends`` holds ``ends`` or
    ``starts``, of groups that begin at multiples of ``align``. ``prob`` has one number a row, and so has ``row_scale``, the
    second-level scale of each row of ``lhs``. The gate layout of ``swiglu``, ``geglu_tanh`` and ``reglu``, which halve N,
    is ``granularity`` (0: halves) and ``gate_first``. ``beta * addend``, of the shape before the activation, is added
    (``beta`` 1 unless said);
    ``swiglu_alpha``, ``swiglu_beta`` and ``swiglu_limit`` are those of :func:`nvfp4.swiglu`, or ``activation_params``
    ``[G, 3]`` those of each group; ``round_bf16`` rounds to bfloat16 before the activation. Rows of no group are zero.
    See :func:`nvfp4.grouped_matmul`. The result is of ``dtype``, bfloat16 (the default), float16 or float32; with ``out``, a
    tensor without gaps in memory of its own, it is written there, and is of its type.

    ``lhs`` of bfloat16 or float16, ``alpha``, ``bias`` and ``prob`` have gradients, computed in float32 from dequantised
    weights on the CPU; quantised operands and scales have none, nor have products with an addend, a ``row_scale`` or
    parameters of the activation, which is an error where one is asked for.
    """
    if isinstance(rhs, PackedWeights) or rhs_scales is None:
        rhs, rhs_scales, format, layout, columns = _weights(rhs, rhs_scales, format, layout, columns)
    if dtype is None:
        dtype = torch.bfloat16 if out is None else out.dtype
    return _torch_matmul.multiply(
        (lhs, lhs_scales, rhs, rhs_scales, ends, alpha, bias, addend, activation_params, prob, row_scale),
        (format, layout, activation, granularity, gate_first, grouping, offsets, align, starts, columns, beta, swiglu_alpha,
         swiglu_beta, swiglu_limit, round_bf16), dtype, out)


def _weights(rhs: Union[torch.Tensor, PackedWeights], scales: Optional[torch.Tensor], format: str, layout: str,
             columns: int) -> tuple[torch.Tensor, torch.Tensor, str, str, int]:
    """Values, scales, format, layout and columns of weights."""
    if isinstance(rhs, PackedWeights):
        if scales is not None or columns or layout != "linear":
            raise ArgumentError("expected no rhs_scales, layout and columns beside PackedWeights, which say them")
        return rhs.values, rhs.scales, rhs.format, rhs.layout, rhs.shape[-2] if rhs.layout != "linear" else 0
    if scales is None:
        raise ArgumentError("expected rhs_scales, or rhs as PackedWeights, but got None")
    return rhs, scales, format, layout, columns


def grouped_matmul_scaled(lhs: torch.Tensor, lhs_scales: Optional[torch.Tensor],
                          rhs: Union[torch.Tensor, PackedWeights], rhs_scales: Optional[torch.Tensor] = None,
                          ends: Optional[torch.Tensor] = None, *, out_format: str = "nvfp4",
                          global_scale: Optional[float] = None,
                          quantizer: Optional[str] = None, format: str = "nvfp4", layout: str = "linear",
                          columns: int = 0, out: Optional[tuple[torch.Tensor, torch.Tensor]] = None,
                          **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """:func:`grouped_matmul`, whose other options it takes, with a result in ``out_format``: values and linear scales
    as bytes, by ``quantizer`` with ``global_scale`` as for :func:`nvfp4.grouped_matmul`. It has no gradient. Rows of no
    group are zero. With ``out``, two tensors without gaps, they are written there."""
    values, scales, format, layout, columns = _weights(rhs, rhs_scales, format, layout, columns)
    lhs = _torch_matmul.as_rows(lhs, lhs_scales, layout)
    if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad
                                       for each in (lhs, *options.values())):
        raise ArgumentError("expected tensors without requires_grad, for a quantised result has no gradient; use "
                            "torch.no_grad() or detach()")
    arguments = out_format, global_scale, quantizer, lhs, lhs_scales, values, scales, ends
    options.update(format=format, layout=layout, columns=columns)
    if out is None:
        return torch.ops.nvfp4.grouped_matmul_scaled(*arguments, **options)
    found = _pair(out)
    torch.ops.nvfp4.grouped_matmul_scaled.out(*arguments, **options, values=found[0], scales=found[1])
    return found


def _pair(out: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and scales to write to."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise ArgumentError(f"expected out as two tensors, values and scales, but got {type(out).__name__}")
    return out[0], out[1]


def quantize(x: torch.Tensor, global_scale: float = 1.0, quantizer: str = "trtllm", *,
             out: Optional[tuple[torch.Tensor, torch.Tensor]] = None) -> tuple[torch.Tensor, torch.Tensor]:
    """``x`` ``[..., R, K]`` (float32, float16, bfloat16; of one to three dimensions) in NVFP4: bytes
    ``[..., R, ceil(K/2)]`` and linear scales ``[..., R, ceil(K/16)]`` as bytes, which have no gradient; new ones, or with
    ``out``, two tensors without gaps, those. See :func:`nvfp4.quantize`."""
    return _torch_matmul.quantize(x, global_scale, quantizer, None if out is None else _pair(out))
