# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FP8 results with scales of rows and of columns, as cuDNN quantises and lays them out."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack
from ..errors import ArgumentError
from ..options import Quantizer
from ..quantization import quantize, relayout
from ..tensors import FORMATS, Grouping, ScaledTensor
from . import views

_TILE = 128


def quantise(y: np.ndarray, grouping: Grouping, d: np.ndarray, sfd_row: Any, d_col: Any, sfd_col: Any, norm_const: Any,
             compat: str | None, discrete: bool) -> None:
    """y as FP8 with scales of rows, and again with scales of columns; ``discrete`` packs those of columns by group."""
    fmt = "mxfp8_e4m3" if d.dtype == views.FP8[0] else "mxfp8_e5m2"
    constant = float(_dlpack.asarray(norm_const).reshape(-1)[0])
    by_row = _quantised(y, fmt, constant, grouping, -1, compat)
    by_column = _quantised(y, fmt, constant, grouping, -2, compat)
    valid = rows_of(y, grouping)
    d[valid] = by_row.values[valid]
    _dlpack.asarray(sfd_row, writable=True)[...] = views.as_view(by_row.scales[None])
    if d_col is not None:
        views.matrix(d_col, "d_col_tensor", writable=True)[valid] = by_column.values[valid]
    _store_columns(by_column, grouping, sfd_col, discrete)


def rows_of(y: np.ndarray, grouping: Grouping) -> np.ndarray:
    """For each row, whether it is in a group."""
    valid = np.zeros(len(y), bool)
    for first, end in grouping.ranges():
        valid[first:end] = True
    return valid


def quantise_columns(y: np.ndarray, grouping: Grouping, d: np.ndarray, scales: Any, norm_const: Any, discrete: bool) -> None:
    """y as FP8 with scales of columns."""
    fmt = "mxfp8_e4m3" if d.dtype == views.FP8[0] else "mxfp8_e5m2"
    result = _quantised(y, fmt, float(_dlpack.asarray(norm_const).reshape(-1)[0]), grouping, -2, None)
    valid = rows_of(y, grouping)
    d[valid] = result.values[valid]
    _store_columns(result, grouping, scales, discrete)


def _store_columns(result: ScaledTensor, grouping: Grouping, sfd_col: Any, discrete: bool) -> None:
    target = _dlpack.asarray(sfd_col, writable=True)
    if discrete:
        _store_by_group(result.scales, grouping, target)
    else:
        target[...] = views.column_view(result.scales, len(result.values))


def _store_by_group(scales: np.ndarray, grouping: Grouping, target: np.ndarray) -> None:
    """Column scales of each group as a blocked tensor of their own, at the tiles before its first row."""
    stored = views.blocked(target, "sfd_col_tensor")
    if not stored.flags.c_contiguous:
        raise ArgumentError("expected sfd_col_tensor without gaps for discrete_col_sfd, but got strides "
                            f"{target.strides}")
    flat, tile_rows = stored.reshape(-1), -(-scales.shape[1] // _TILE)
    for first, end in grouping.ranges():
        if end == first:
            continue
        if first % _TILE:
            raise ArgumentError(f"expected groups that start at multiples of {_TILE} rows for discrete_col_sfd, but got "
                                f"one at {first}")
        tiles = views.blocked(views.column_view(scales[first // 32:end // 32], end - first), "scales").reshape(-1)
        at = first // _TILE * tile_rows * 512
        flat[at:at + tiles.size] = tiles


def _quantised(y: np.ndarray, fmt: str, constant: float, grouping: Grouping, axis: int, compat: str | None,
               ) -> ScaledTensor:
    """By cuDNN's formula: scale up(A / limit * c), value x * c / scale. Blocks of columns need groups of whole blocks."""
    if axis == -2 and any(first % 32 or end % 32 for first, end in grouping.ranges()):
        raise ArgumentError("expected groups of multiples of 32 rows for scales of columns, but got "
                            f"{grouping.offsets} {[] if grouping.groups is None else grouping.groups.tolist()}")
    layout = "blocked" if axis == -1 else "linear"
    if compat == "cudnn" and fmt == "mxfp8_e5m2":
        return _with_limit(y, fmt, constant, axis, layout, 128.0)
    return quantize(y, fmt, quantizer=Quantizer("cutlass"), global_scale=constant, layout=layout, axis=axis)


def _with_limit(y: np.ndarray, fmt: str, constant: float, axis: int, layout: str, limit: float) -> ScaledTensor:
    """The formula with another limit than the largest number of the format."""
    y = y if axis == -1 else y.T
    blocks = np.pad(y, ((0, 0), (0, -y.shape[1] % 32))).reshape(len(y), -1, 32)
    wanted = np.abs(blocks).max(-1) * np.float32(1 / limit) * np.float32(constant)
    mantissa, exponent = np.frexp(wanted)
    # frexp's mantissa is in [0.5, 1): a power of two is 0.5.
    power = np.where(mantissa == 0.5, exponent - 1, exponent)
    stored = np.where(wanted == 0, 0, np.clip(power + 127, 0, 254)).astype(np.uint8)
    factor = np.float32(constant) * np.exp2(127 - stored.astype(np.float32))
    largest = FORMATS[fmt].values
    values = np.clip(blocks * factor[..., None], -57344, 57344).astype(largest).reshape(len(y), -1)[:, :y.shape[1]]
    if axis == -2:
        return ScaledTensor(np.ascontiguousarray(values.T), np.ascontiguousarray(stored.T), fmt, axis=0)
    return relayout(ScaledTensor(np.ascontiguousarray(values), stored, fmt), layout=layout)
