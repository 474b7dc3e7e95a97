# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Into block-scaled form, out of it, and from one layout to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _dlpack
from ._calls import DIALECT, FLOATS, Call, new_scaled, write_groups
from ._repeats import repeat
from ._scalars import check_flag
from .errors import ArgumentError, check_one_of
from .options import GateLike, Hadamard, QuantizerLike, gate_of, quantizer_of
from .tensors import (_STARTS, CODED, FORMATS, LAYOUTS, Grouping, ScaledTensor, _ceil, axis_of, scales_shape,
                      values_shape)

__all__ = ["quantize", "dequantize", "relayout", "encode_scale", "amax"]


def encode_scale(x: Any, *, by_expert: bool = False, per_row: bool = False) -> Any:
    """The encode scale S = 448 * 6 / max|x| of NVFP4 as float32, 1 where x is zero; with ``by_expert`` one for each
    matrix of a stack ``[E, R, K]``, with ``per_row`` one for each row ``[..., K]``. The multiplier of a product (``alpha``,
    or ``row_scale``) is its reciprocal."""
    array, by_expert = _dlpack.asarray(x), check_flag("by_expert", by_expert)
    if check_flag("per_row", per_row) and by_expert:
        raise ArgumentError("expected by_expert or per_row, but got both")
    axes = -1 if per_row else (1, 2) if by_expert else None
    magnitude = np.abs(array).max(axes, initial=0).astype(np.float32)
    scale = np.float32(2688) / np.where(magnitude == 0, np.float32(2688), magnitude)
    return scale.astype(np.float32) if by_expert or per_row else float(scale)


def stored_scales(shape: tuple[int, ...], fmt: str, layout: str, starts: str, axis: int,
                  groups: Grouping | None) -> tuple[int, ...]:
    """The storage shape of scales, whose extent along the groups depends on where those start."""
    check_one_of("format", fmt, FORMATS)
    check_one_of("layout", layout, LAYOUTS)
    axis_of(axis, len(shape))
    whole = list(scales_shape(shape, fmt, layout, axis))
    if starts == "whole":
        return tuple(whole)
    if groups is None:
        raise ArgumentError(f"expected groups= for starts = {starts}, which depends on them")
    rows, columns = LAYOUTS[layout]
    ranges, block = groups.ranges(), FORMATS[fmt].block
    if groups.kind == "ragged_k" or axis not in (-1, len(shape) - 1):
        # Blocks start anew in each group.
        total = sum(_ceil(_ceil(end - first, block), columns) for first, end in ranges)
        whole[axis if layout == "linear" else 1] = total
        return tuple(whole)
    at, end_tile = 0, 0
    for index, (first, end) in enumerate(ranges):
        tiles = _ceil(end - first, rows)
        if starts == "upper_bound":
            at = (first + (rows - 1) * index) // rows
        if tiles:
            end_tile = max(end_tile, at + tiles)
        at += tiles
    whole[0] = end_tile
    return tuple(whole)


def _write_groups(call: Call, groups: Grouping | None, global_scale: Any, per_row: bool, rank: int) -> None:
    write_groups(call, groups)
    if global_scale is not None:
        operand = call.floats("global_scale", global_scale, "global_scale", rank - 1 if per_row else None)
        call.write(f" global_scale({operand})", "global_scale")


def scaled_destination(out: ScaledTensor | None, shape: tuple[int, ...], fmt: str, layout: str, starts: str, axis: int,
                 scales: tuple[int, ...]) -> ScaledTensor:
    if out is None:
        return new_scaled(shape, fmt, layout, starts, axis, scales)
    wanted = (fmt, shape, layout, starts, axis % len(shape))
    found = (out.format, out.shape, out.layout, out.starts, out.axis)
    if wanted != found:
        raise ArgumentError(f"expected out of format, shape, layout, starts, axis {wanted}, but got {found}")
    for array in (out.values, out.scales):
        _dlpack.asarray(array, writable=True)
    return out


_QUANTIZE = ("x", "format", "quantizer", "global_scale", "layout", "starts", "axis", "groups", "seed", "out", "transposed",
             "hadamard", "per_row")


def quantize(x: Any, format: str = "nvfp4", *, quantizer: QuantizerLike | None = None, global_scale: Any = None,
             layout: str = "linear", starts: str = "whole", axis: int = -1, groups: Grouping | None = None,
             seed: int | None = None, out: ScaledTensor | None = None, transposed: bool = False,
             hadamard: Hadamard | None = None, per_row: bool = False) -> ScaledTensor:
    """Quantises ``x`` ``[..., R, K]`` (float32, float16, bfloat16), byte for byte as the named quantiser does.

    ``global_scale`` is the second-level scale in the quantiser's convention (see QUANTIZERS; :func:`encode_scale` makes
    one), a number, or one a group (without groups: one for each matrix of a stack); None is 1. ``per_row``: it is one a
    row, ``[R]`` (``[G, R]``), as :func:`encode_scale` with ``per_row`` makes them; ``row_scale`` of :func:`grouped_matmul`
    has their reciprocals. ``axis`` -1 or -2 is that
    of the blocks; ``layout`` and ``starts`` are those of the scales. With ``groups`` blocks never cross groups, and what
    lies outside every group is zero, or with ``out`` kept. ``seed`` goes with stochastic rounding. ``transposed`` quantises
    ``x`` with its last two dimensions exchanged: from activations ``[R, K]`` the operand ``[K, R]`` of a gradient of
    weights, whose groups are those of :func:`ragged_k`. ``hadamard`` transforms runs of 16 along the blocks before; what is
    behind the end of a group counts as zeros there.

    Raises CompileError for what the dialect refuses, such as a quantiser that does not write the format's scales.
    """
    given = x, format, quantizer, global_scale, layout, starts, axis, groups, seed, out, transposed, hadamard, per_row
    return repeat("quantize", _QUANTIZE, given, lambda: (*quantize_call(*given), "cpu", None))


def quantize_call(x: Any, format: str = "nvfp4", quantizer: QuantizerLike | None = None, global_scale: Any = None,
                  layout: str = "linear", starts: str = "whole", axis: int = -1, groups: Grouping | None = None,
                  seed: int | None = None, out: ScaledTensor | None = None, transposed: bool = False,
                  hadamard: Hadamard | None = None, per_row: bool = False) -> tuple[Call, ScaledTensor]:
    """The operation of :func:`quantize`, and its result, which is not computed yet."""
    array = _dlpack.asarray(x)
    check_one_of("format", format, FORMATS)
    quant = quantizer_of(quantizer, format)
    if not 1 <= array.ndim <= 3:
        raise ArgumentError(f"expected a tensor of rank 1, 2 or 3, but got shape {array.shape}")
    shape = tuple(array.shape)
    if check_flag("transposed", transposed):
        if array.ndim < 2:
            raise ArgumentError(f"expected a tensor of rank 2 or 3 with transposed, but got shape {shape}")
        shape = (*shape[:-2], shape[-1], shape[-2])
    scales = stored_scales(shape, format, layout, starts, axis, groups)
    result = scaled_destination(out, shape, format, layout, starts, axis, scales)
    call = Call("quantize")
    call.write(f"{DIALECT}.quantize ")
    call.write(str(quant), "quantizer")
    call.write(f"({call.memref('x', array, 'x', FLOATS)})", "x")
    write_hadamard(call, hadamard)
    _write_groups(call, groups, global_scale, check_flag("per_row", per_row), array.ndim)
    if seed is not None:
        call.scalar("seed", seed, "i64")
        call.write(" seed(%seed)", "seed")
    call.write(f" outs({call.scaled('out', result)})", "out")
    flags = [name for name, is_set in (("transposed", transposed), ("per_row", per_row)) if is_set]
    call.write(f" {{{', '.join(flags)}}}" if flags else "", flags[-1] if flags else "")
    return call, result


def amax(x: Any, *, hadamard: Hadamard | None = None, transposed: bool = False, out: Any = None,
         per_row: bool = False) -> Any:
    """max ``|x|`` of ``[M, N]`` as float32, or of each matrix of ``[G, M, N]``; 0 without elements, NaN if one is NaN.
    With ``per_row`` that of each row, ``[M]`` or ``[G, M]``.

    With ``hadamard`` it is that of the numbers which :func:`quantize` with the same ``hadamard`` and ``transposed`` rounds.
    A number without ``out``, which has the shape of the result.
    """
    array = _dlpack.asarray(x)
    if array.ndim not in (2, 3):
        raise ArgumentError(f"expected x of shape [M, N] or [G, M, N], but got {array.shape}")
    if check_flag("per_row", per_row):
        if check_flag("transposed", transposed):
            raise ArgumentError("expected per_row or transposed, but got both")
        # Each row is a matrix.
        rows = _dlpack.destination(out, array.shape[:-1], np.float32)
        if rows.shape != array.shape[:-1]:
            raise ArgumentError(f"expected out of shape {array.shape[:-1]} with per_row, but got {rows.shape}")
        if not rows.flags.c_contiguous:
            raise ArgumentError("expected out without gaps with per_row, but got one with strides")
        amax(array.reshape(rows.size, 1, array.shape[-1]), hadamard=hadamard, out=rows.reshape(-1))
        return rows
    call = Call("amax")
    call.write(f"{DIALECT}.amax({call.memref('x', array, 'x', FLOATS)})", "x")
    write_hadamard(call, hadamard)
    result = _dlpack.destination(out, array.shape[:-2], np.float32)
    call.write(f" outs({call.memref('out', result, 'out', ('f32',), writes=True)})", "out")
    call.write(" {transposed}" if check_flag("transposed", transposed) else "", "transposed")
    call.run()
    return result if out is not None or result.ndim else np.float32(result)


def write_hadamard(call: Call, hadamard: Hadamard | None, argument: str = "") -> None:
    """The clause of a transform; ``argument`` is where the caller gave it, if not as ``hadamard``."""
    if hadamard is None:
        return
    if not isinstance(hadamard, Hadamard):
        name = f"{argument}.hadamard" if argument else "hadamard"
        raise ArgumentError(f"expected {name} of type nvfp4.Hadamard or None, but got {hadamard!r}")
    call.write(f" hadamard = {hadamard}", argument or "hadamard")


def dequantize(x: ScaledTensor, *, global_scale: Any = None, dtype: Any = None, groups: Grouping | None = None,
               out: Any = None, per_row: bool = False) -> np.ndarray:
    """``code * scale * global_scale`` as an array of ``x.shape`` and of ``dtype`` (float32, the default, float16, bfloat16).

    The product of code and scale is exact; that with ``global_scale`` (a number, or one a group or matrix, or one a row with ``per_row``) is rounded to
    float32 and then to ``dtype``. With ``groups`` rows outside every group are zero, or with ``out`` kept.
    """
    call = Call("dequantize")
    call.write(f"{DIALECT}.dequantize({call.scaled('x', x)})", "x")
    result = _dlpack.destination(out, x.shape, dtype)
    _write_groups(call, groups, global_scale, check_flag("per_row", per_row), len(x.shape))
    call.write(f" outs({call.memref('out', result, 'out', FLOATS, writes=True)})", "out")
    call.write(" {per_row}" if per_row else "", "per_row")
    call.run()
    return result


def relayout(x: Any, *, layout: str | None = None, starts: str | None = None, groups: Grouping | None = None,
             gate: tuple[GateLike, GateLike] | None = None) -> Any:
    """A copy of ``x`` in another layout; numbers do not change.

    ``layout`` and ``starts`` move the scales of a ScaledTensor; ``groups`` is needed where either side starts by group.
    ``gate`` is (from, to), Gates or names of GATES, and permutes the rows of a GLU weight with their scales, or the last
    dimension of an array such as a bias. Layouts ``wgmma`` and ``wgmma_f16`` are of weights ``[N, K]`` or ``[G, N, K]``
    for sm_90a, of which products on that target need no more re-laying; DataError if the scales of a matrix are too far
    apart for them.
    """
    if not isinstance(x, ScaledTensor):
        if gate is None or layout is not None or starts is not None or groups is not None:
            raise ArgumentError("expected gate= alone for a tensor without scales")
        return _relayout_array(_dlpack.asarray(x), gate)
    if gate is not None:
        x = _relayout_weight(x, gate)
    layout, starts = layout or x.layout, starts or x.starts
    check_one_of("layout", layout, (*LAYOUTS, *CODED))
    check_one_of("starts", starts, _STARTS)
    if (layout, starts) == (x.layout, x.starts):
        if groups is not None:
            raise ArgumentError(f"expected another layout or starts than {layout} and {starts} with groups, for nothing moves")
        return x
    if layout in CODED or x.layout in CODED:
        return _lay_out(x, layout, starts, groups)
    scales = stored_scales(x.shape, x.format, layout, starts, x.axis, groups)
    result = new_scaled(x.shape, x.format, layout, starts, x.axis, scales)
    result = ScaledTensor(x.values, result.scales, x.format, x.shape, layout, starts, x.axis)
    call = Call("relayout")
    call.write(f"{DIALECT}.relayout_scales({call.scaled('x', x)})", "x")
    write_groups(call, groups)
    type_ = Call.scales_type(result, result.static_shape[-1] >= 0)
    call.add("out", result.scales, type_)
    call.write(f" outs(%out : {type_} as {result.type()})")
    call.run()
    return result


def _lay_out(x: ScaledTensor, layout: str, starts: str, groups: Grouping | None) -> ScaledTensor:
    """Weights for sm_90a, or back from there."""
    if starts != "whole" or groups is not None:
        raise ArgumentError(f"expected starts = whole and no groups for layout {layout}, but got {starts}")
    if x.layout in CODED and layout in CODED or x.layout not in CODED and (x.layout, x.starts) != ("linear", "whole"):
        return relayout(relayout(x, layout="linear", starts="whole"), layout=layout)
    if layout not in CODED and layout != "linear":
        return relayout(relayout(x, layout="linear"), layout=layout)
    if x.ndim not in (2, 3) or x.axis != x.ndim - 1 or 0 in x.shape[-2:]:
        raise ArgumentError(f"expected weights [N, K] or [G, N, K] with blocks along the last axis for layout {layout}, "
                            f"but got shape {x.shape} and axis {x.axis}")
    if layout in CODED:
        values = np.zeros(values_shape(x.shape, x.format, layout), np.uint8)
        result = ScaledTensor(values, np.zeros(scales_shape(x.shape, x.format, layout), np.float32), x.format, x.shape,
                              layout)
    else:
        result = new_scaled(x.shape, x.format, layout, starts, -1, scales_shape(x.shape, x.format))
    call = Call("relayout")
    call.write(f"{DIALECT}.relayout_weights({call.known('x', x)})", "x")
    call.write(f" outs({call.known('out', result)})")
    call.run()
    return result


def _gates(gate: tuple[GateLike, GateLike]) -> str:
    return f"from {gate_of(gate[0])} to {gate_of(gate[1])}"


def _relayout_array(array: np.ndarray, gate: tuple[GateLike, GateLike]) -> np.ndarray:
    result = np.empty(array.shape, array.dtype)
    call = Call("relayout")
    call.write(f"{DIALECT}.relayout_gate({call.memref('x', array, 'x', FLOATS)})", "x")
    call.write(f" {_gates(gate)}", "gate")
    call.write(f" outs({call.memref('out', result, 'out')})")
    call.run()
    return result


def _relayout_weight(x: ScaledTensor, gate: tuple[GateLike, GateLike]) -> ScaledTensor:
    result = new_scaled(x.shape, x.format, x.layout, x.starts, x.axis, x.scales.shape)
    call = Call("relayout")
    call.write(f"{DIALECT}.relayout_gate({call.scaled('x', x)})", "x")
    call.write(f" {_gates(gate)}", "gate")
    call.write(f" outs({call.scaled('out', result)})")
    call.run()
    return result
