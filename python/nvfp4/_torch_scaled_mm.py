# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.nn.functional.scaled_mm and scaled_grouped_mm for FP4 and MX recipes on the CPU, where torch has none.

The operations of torch are replaced for tensors of the CPU in the process, while this is enabled; other recipes go to the kernel
that torch had, if it had one. Numbers of recipes and swizzles are those of torch.nn.functional.ScalingType and SwizzleType.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import _torch_matmul  # noqa: F401  (registers the operation that is called)
from .errors import ArgumentError

__all__ = ["ScaledMM", "enable_scaled_mm"]

_TENSOR_WISE, _BY_16, _BY_32 = 0, 2, 3
_NO_SWIZZLE, _TILES = 0, 1
_FP4 = getattr(torch, "float4_e2m1fn_x2", None)
#: Formats by recipe and type of the values, and the type of their scales.
_FORMATS = {(_BY_16, _FP4): ("nvfp4", torch.float8_e4m3fn), (_BY_32, _FP4): ("mxfp4", torch.float8_e8m0fnu),
            (_BY_32, torch.float8_e4m3fn): ("mxfp8_e4m3", torch.float8_e8m0fnu),
            (_BY_32, torch.float8_e5m2): ("mxfp8_e5m2", torch.float8_e8m0fnu)}
_RESULTS = (torch.bfloat16, torch.float16, torch.float32)


def _is_ours(mat: torch.Tensor, recipes: Sequence[int]) -> bool:
    return bool(recipes) and (recipes[0], mat.dtype) in _FORMATS


class _Operand:
    """Values [.., R, K] as bytes, their scales as our layouts have them, and the factor of the tensor or of each group."""

    def __init__(self, name: str, mat: torch.Tensor, scales: Sequence[torch.Tensor], recipes: Sequence[int],
                 swizzles: Sequence[int], is_ragged: bool):
        self.format, scale_type = _FORMATS[recipes[0], mat.dtype]
        if not mat.is_contiguous():
            raise ArgumentError(f"expected {name} whose K is contiguous, but got strides {tuple(mat.stride())} along its rows")
        wanted = [recipes[0]] if self.format != "nvfp4" or len(recipes) == 1 else [_BY_16, _TENSOR_WISE]
        if list(recipes) != wanted or len(scales) != len(wanted):
            raise ArgumentError(f"expected as many scales of {name} as recipes: one of blocks, and for blocks of 16 perhaps one "
                                f"that is TensorWise, but got recipes {list(recipes)} and {len(scales)} scales")
        swizzle = swizzles[0] if swizzles else _NO_SWIZZLE
        if swizzle not in (_NO_SWIZZLE, _TILES):
            raise ArgumentError(f"expected swizzle NO_SWIZZLE (0) or SWIZZLE_32_4_4 (1) of {name}, but got {swizzle}")
        if scales[0].dtype != scale_type:
            raise ArgumentError(f"expected scales of {name} of {scale_type}, but got {scales[0].dtype}")
        self.values = mat.view(torch.uint8)
        self.layout = "blocked" if swizzle == _TILES else "linear"
        block = 16 if self.format == "nvfp4" else 32
        columns = mat.shape[-1] * (2 if mat.dtype == _FP4 else 1) // block
        self.scales = self._place(name, scales[0].view(torch.uint8), mat.shape[:-1], columns, is_ragged)
        self.factor = scales[1].float().flatten() if len(scales) > 1 else None

    def _place(self, name: str, scales: torch.Tensor, rows: Sequence[int], columns: int, is_ragged: bool) -> torch.Tensor:
        if self.layout == "linear":
            shape: tuple[int, ...] = (*rows, columns)
        else:
            # Each group of ragged rows begins with a tile: their number follows from the offsets.
            across = -(-columns // 4)
            tiles = scales.numel() // (across * 512) if is_ragged and across else -(-rows[-1] // 128)
            shape = (*rows[:-1], tiles, across, 32, 4, 4)
        count = 1
        for extent in shape:
            count *= extent
        if scales.numel() != count:
            raise ArgumentError(f"expected {count} scales of {name}, as {'x'.join(map(str, shape))}, but got {scales.numel()}")
        return scales.contiguous().view(shape)


def _multiply(lhs: _Operand, rhs: _Operand, grouping: str, offs: torch.Tensor | None, bias: torch.Tensor | None,
              dtype: torch.dtype | None) -> torch.Tensor:
    if lhs.format != rhs.format or lhs.layout != rhs.layout:
        raise ArgumentError(f"expected operands of one format and swizzle, but got {lhs.format}, {lhs.layout} and {rhs.format}, "
                            f"{rhs.layout}")
    dtype = torch.bfloat16 if dtype is None else dtype
    if dtype not in _RESULTS:
        raise ArgumentError(f"expected output_dtype torch.bfloat16, torch.float16 or torch.float32, but got {dtype}")
    factors = [each.factor for each in (lhs, rhs) if each.factor is not None]
    alpha = None
    if factors:
        alpha = factors[0] * factors[1] if len(factors) == 2 else factors[0]
    starts = "compact" if grouping == "ragged_rows" and lhs.layout == "blocked" else "whole"
    return torch.ops.nvfp4.grouped_matmul_forward(
        lhs.values, lhs.scales, rhs.values, rhs.scales, offs, alpha, bias, lhs.format, lhs.layout, "identity", 0, True, dtype, None,
        grouping, "ends", 1, starts, 0, None, None, None, None, None, None, False)


def _check_contraction(dims: Sequence[int], rank_a: int, rank_b: int) -> None:
    if dims and (len(dims) != 2 or dims[0] % rank_a != rank_a - 1 or dims[1] % rank_b != rank_b - 2):
        raise ArgumentError(f"expected contraction_dim () or (-1, -2), but got {tuple(dims)}")


def _scaled_mm(a: torch.Tensor, b: torch.Tensor, scale_a: Sequence[torch.Tensor], recipe_a: Sequence[int],
               swizzle_a: Sequence[int], scale_b: Sequence[torch.Tensor], recipe_b: Sequence[int], swizzle_b: Sequence[int],
               bias: torch.Tensor | None, out_dtype: torch.dtype | None, contraction_dim: Sequence[int]) -> torch.Tensor:
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        raise ArgumentError(f"expected matrices [M, K] and [K, N], but got {tuple(a.shape)} and {tuple(b.shape)}")
    _check_contraction(contraction_dim, 2, 2)
    lhs = _Operand("mat_a", a, scale_a, recipe_a, swizzle_a, False)
    rhs = _Operand("mat_b", b.transpose(0, 1), scale_b, recipe_b, swizzle_b, False)
    return _multiply(lhs, rhs, "dense", None, bias, out_dtype)


def _scaled_grouped_mm(a: torch.Tensor, b: torch.Tensor, scale_a: Sequence[torch.Tensor], recipe_a: Sequence[int],
                       swizzle_a: Sequence[int], scale_b: Sequence[torch.Tensor], recipe_b: Sequence[int],
                       swizzle_b: Sequence[int], offs: torch.Tensor | None, bias: torch.Tensor | None,
                       out_dtype: torch.dtype | None, contraction_dim: Sequence[int]) -> torch.Tensor:
    if bias is not None:
        raise ArgumentError("expected no bias for scaled_grouped_mm, as torch")
    if b.dim() != 3 or a.dim() not in (2, 3) or a.shape[-1] != b.shape[1] or (a.dim() == 3 and a.shape[0] != b.shape[0]):
        raise ArgumentError("expected mat_a [R, K] or [G, M, K] and mat_b [G, K, N], but got "
                            f"{tuple(a.shape)} and {tuple(b.shape)}")
    is_ragged = a.dim() == 2
    if is_ragged != (offs is not None):
        raise ArgumentError("expected offs with mat_a of two dimensions, and none with three")
    if offs is not None and (offs.dtype != torch.int32 or tuple(offs.shape) != (b.shape[0],)):
        raise ArgumentError(f"expected offs of torch.int32 and shape ({b.shape[0]},), where groups end, but got {offs.dtype} of "
                            f"{tuple(offs.shape)}")
    _check_contraction(contraction_dim, a.dim(), 3)
    lhs = _Operand("mat_a", a, scale_a, recipe_a, swizzle_a, is_ragged)
    rhs = _Operand("mat_b", b.transpose(1, 2), scale_b, recipe_b, swizzle_b, False)
    return _multiply(lhs, rhs, "ragged_rows" if is_ragged else "batched", offs, None, out_dtype)


def _replace(library: torch.library.Library, name: str, count: int, ours: Callable[[tuple[Any, ...]], torch.Tensor]) -> None:
    """Puts a kernel in the place of that of torch, which it calls for recipes of others; `count` is that of the arguments."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CPU")
    theirs = torch.library.get_kernel(f"aten::{name}", "CPU") if has_kernel else None
    defaults: tuple[Any, ...] = (None, None, None, (), False)

    def run(keyset: Any, *arguments: Any) -> torch.Tensor:
        missing = count - len(arguments)
        arguments = (*arguments, *(defaults[-missing:] if missing else ()))
        if _is_ours(arguments[0], arguments[3]) and _is_ours(arguments[1], arguments[6]):
            return ours(arguments)
        if theirs is None:
            raise NotImplementedError(f"expected a recipe of blocks of 16 or 32 with values of FP4 or FP8 for {name} on the CPU, "
                                      f"where torch has no kernel, but got recipes {list(arguments[3])} and {list(arguments[6])} "
                                      f"of {arguments[0].dtype} and {arguments[1].dtype}")
        return theirs.call_boxed(keyset, *arguments)

    library.impl(name, run, "CPU", with_keyset=True)


class ScaledMM:
    """The replacement of torch's operations, in place until :meth:`disable` of the last object, or the end of its block."""

    _library: torch.library.Library | None = None
    _holders = 0
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._is_held = True
        with ScaledMM._lock:
            ScaledMM._holders += 1
            if ScaledMM._library is None:
                ScaledMM._library = torch.library.Library("aten", "IMPL")
                _replace(ScaledMM._library, "_scaled_mm_v2", 12, lambda a: _scaled_mm(*a[:11]))
                _replace(ScaledMM._library, "_scaled_grouped_mm_v2", 13, lambda a: _scaled_grouped_mm(*a[:12]))

    def disable(self) -> None:
        """Brings torch's own kernels back, if no other object holds ours; again it does nothing."""
        with ScaledMM._lock:
            ScaledMM._holders -= self._is_held
            self._is_held = False
            if ScaledMM._holders == 0 and ScaledMM._library is not None:
                ScaledMM._library._destroy()
                ScaledMM._library = None

    def __enter__(self) -> ScaledMM:
        return self

    def __exit__(self, *_: object) -> None:
        self.disable()


def enable_scaled_mm() -> ScaledMM:
    """Makes ``torch.nn.functional.scaled_mm`` and ``scaled_grouped_mm`` take FP4 and MX recipes on the CPU, for the process.

    Recipes are ``BlockWise1x16`` of ``float4_e2m1fn_x2`` with scales of ``float8_e4m3fn`` (NVFP4), alone or with a factor
    ``TensorWise``, and ``BlockWise1x32`` of ``float4_e2m1fn_x2``, ``float8_e4m3fn`` or ``float8_e5m2`` with scales of
    ``float8_e8m0fnu``; scales lie as ``NO_SWIZZLE`` or ``SWIZZLE_32_4_4`` says. Groups are those of rows, ``[R, K]`` by
    ``[G, K, N]`` with ``offs``, of any size, or of matrices, ``[G, M, K]`` by ``[G, K, N]``. Results are bfloat16, float16 or
    float32; sums are exact to the bound of docs/Spec.md, whatever ``use_fast_accum`` is. Everything else, gradients of weights
    (``[M, K]`` by ``[K, N]`` with ``offs``) among it, is torch's. Returns an object to disable it with, also as a context.
    """
    return ScaledMM()
