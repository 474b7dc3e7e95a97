# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled tensors, and how products group their rows.

The words are those of the dialect's types and attributes (docs/Dialects/GroupedScaledGemm.md).
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from . import _dlpack, _words
from ._scalars import check_count
from .errors import ArgumentError, check_one_of

__all__ = ["Format", "FORMATS", "LAYOUTS", "ScaledTensor", "Grouping", "dense", "batched", "ragged_rows", "masked",
           "ragged_k"]


@dataclasses.dataclass(frozen=True)
class Format:
    """A block-scaled format: ``block`` values share a scale; ``padding`` is the byte of a scale that is none."""

    name: str
    bits: int
    block: int
    values: np.dtype
    scales: np.dtype
    padding: int

    @property
    def element(self) -> str:
        return {4: "i8"}.get(self.bits, "f8E4M3FN" if self.name == "mxfp8_e4m3" else "f8E5M2")

    @property
    def scale_element(self) -> str:
        return "f8E4M3FN" if self.name == "nvfp4" else "f8E8M0FNU"


_U8, _E4M3, _E5M2, _E8M0 = map(np.dtype, (np.uint8, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
                                          ml_dtypes.float8_e8m0fnu))
FORMATS: dict[str, Format] = {f.name: f for f in (
    Format("nvfp4", 4, 16, _U8, _E4M3, 0), Format("mxfp4", 4, 32, _U8, _E8M0, 127),
    Format("nvfp4_e8m0", 4, 16, _U8, _E8M0, 127), Format("mxfp8_e4m3", 8, 32, _E4M3, _E8M0, 127),
    Format("mxfp8_e5m2", 8, 32, _E5M2, _E8M0, 127))}
# Rows and columns of a tile of scales.
LAYOUTS: dict[str, tuple[int, int]] = {"linear": (1, 1), "blocked": (128, 4), "blocked_8x4": (8, 4)}
# Layouts of packed weights for sm_90a, whose scales lie among their values.
CODED = ("wgmma", "wgmma_f16")
_STARTS = _words.GROUP_START


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


@dataclasses.dataclass(frozen=True)
class ScaledType:
    """A block-scaled type: ``shape`` with -1 for any extent, the words of ScaledTensor, and the dimension that blocks lie
    along. Its text is that of MLIR."""

    shape: tuple[int, ...]
    format: str
    layout: str
    starts: str
    axis: int

    def __str__(self) -> str:
        text = f"!grouped_scaled_gemm.scaled<{dims_of(self.shape)}, {self.format}"
        text += f", {self.layout}" if self.layout != "linear" else ""
        text += f", starts = {self.starts}" if self.starts != "whole" else ""
        text += f", axis = {self.axis}" if self.axis != len(self.shape) - 1 else ""
        return text + ">"


@dataclasses.dataclass(frozen=True, eq=False)
class ScaledTensor:
    """Values and their scales: element = code * scale of its block.

    ``values`` are bytes of two E2M1 codes (even index in the low nibble) of shape ``[..., R, ceil(K/2)]``, or 8-bit
    floats ``[..., R, K]``. Blocks of 16 (``nvfp4``, ``nvfp4_e8m0``) or 32 lie along ``axis``, the last one unless said.
    ``scales`` are UE4M3 (``nvfp4``) or UE8M0 in one of the layouts ``linear`` ``[..., R, C]``, ``blocked``
    ``[..., ceil(R/128), ceil(C/4), 32, 4, 4]`` or ``blocked_8x4`` ``[..., ceil(R/8), ceil(C/4), 8, 4]``, C = ceil(K/block).
    Weights for sm_90a have the layout ``wgmma``, or ``wgmma_f16`` for rows of float16, which :func:`nvfp4.relayout` makes:
    ``values`` are then bytes ``[..., ceil(N/64), 2*ceil(K/128), 2304]`` (4352 of 8-bit floats), ``scales`` float32 ``[G]``
    or ``[1]``, and ``shape`` has to be given.
    ``starts`` says where the scales of ragged groups start: ``whole``, ``compact`` or ``upper_bound``.

    Takes any DLPack tensor without a copy; 8-bit floats and scales may come as raw bytes. ``shape`` is the logical
    shape, needed only where K is odd. Values ``[..., R, K]`` as an array of ``ml_dtypes.float4_e2m1fn``, which has one
    value a byte, are packed into a new one for formats of 4 bits; their shape is the logical one. ArgumentError says
    which type or extent does not fit.
    """

    values: np.ndarray
    scales: np.ndarray
    format: str = "nvfp4"
    shape: tuple[int, ...] = ()
    layout: str = "linear"
    starts: str = "whole"
    axis: int = -1

    def __post_init__(self) -> None:
        check_one_of("format", self.format, FORMATS)
        check_one_of("layout", self.layout, (*LAYOUTS, *CODED))
        check_one_of("starts", self.starts, _STARTS)
        if self.layout in CODED:
            self._check_coded()
            return
        fmt, put = self.info, lambda name, value: object.__setattr__(self, name, value)
        for name, dtype in (("values", fmt.values), ("scales", fmt.scales)):
            array = _dlpack.asarray(getattr(self, name))
            if name == "values" and fmt.bits == 4 and array.dtype == _dlpack.FLOAT4 and array.ndim:
                if self.shape and tuple(self.shape) != array.shape:
                    raise ArgumentError(f"expected values of shape {tuple(self.shape)}, but got {array.dtype} of shape "
                                        f"{array.shape}")
                put("shape", array.shape)
                array = _dlpack.pack(array)
            array = _dlpack.as_stored(array, dtype, f"{name} of {self.format}")
            put(name, array if array.flags.c_contiguous else np.ascontiguousarray(array))
        if not 1 <= self.values.ndim <= 3:
            raise ArgumentError(f"expected values of rank 1, 2 or 3, but got shape {self.values.shape}")
        stored = self.values.shape
        shape = tuple(map(int, self.shape)) or stored[:-1] + (stored[-1] * 8 // fmt.bits,)
        put("shape", shape)
        put("axis", axis_of(self.axis, len(shape)))
        expected = values_shape(shape, self.format)
        if stored != expected:
            raise ArgumentError(f"expected values of shape {expected} for {self.format} of shape {shape}, but got "
                                f"{stored}")
        self._check_scales()

    def _check_coded(self) -> None:
        shape = tuple(map(int, self.shape))
        if len(shape) not in (2, 3) or 0 in shape[-2:] or self.starts != "whole" or self.axis not in (-1, len(shape) - 1):
            raise ArgumentError(f"expected shape [N, K] or [G, N, K] of weights in layout {self.layout}, starts whole and "
                                f"the last axis, but got {shape}, {self.starts} and {self.axis}")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "axis", len(shape) - 1)
        for name, dtype, expected in (("values", _U8, values_shape(shape, self.format, self.layout)),
                                      ("scales", np.dtype(np.float32), scales_shape(shape, self.format, self.layout))):
            array = _dlpack.asarray(getattr(self, name))
            if name == "values":
                array = _dlpack.as_stored(array, dtype, f"{name} in layout {self.layout}")
            elif array.dtype != dtype:
                raise ArgumentError(f"expected {name} in layout {self.layout} as {dtype}, but got {array.dtype}")
            if array.shape != expected:
                raise ArgumentError(f"expected {name} of shape {expected} for {self.format} of shape {shape} in layout "
                                    f"{self.layout}, but got {array.shape}")
            object.__setattr__(self, name, np.ascontiguousarray(array))

    def _check_scales(self) -> None:
        expected = scales_shape(self.shape, self.format, self.layout, self.axis)
        found = self.scales.shape
        if self.starts == "whole" and found != expected and self.scales.size == math.prod(expected):
            # The same bytes under another shape, such as cuDNN's 6-D view flattened.
            object.__setattr__(self, "scales", self.scales.reshape(expected))
        elif len(found) != len(expected) or self.starts == "whole" and found != expected:
            raise ArgumentError(f"expected scales of shape {expected} for {self.format} of shape {self.shape} in layout "
                                f"{self.layout}, but got {found}")

    @property
    def info(self) -> Format:
        """The traits of the format."""
        return FORMATS[self.format]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a code: ``float4_e2m1fn`` or an 8-bit float of ml_dtypes."""
        return _dlpack.FLOAT4 if self.info.bits == 4 else self.info.values

    @property
    def nbytes(self) -> int:
        """Bytes of values and scales."""
        return self.values.nbytes + self.scales.nbytes

    def __len__(self) -> int:
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        """Whether type, shape, layout and all bytes are equal; the bytes of NaN are as good as others."""
        if not isinstance(other, ScaledTensor):
            return NotImplemented
        names = "format", "shape", "layout", "starts", "axis"
        return all(getattr(self, name) == getattr(other, name) for name in names) and all(
            a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in ((self.values, other.values), (self.scales, other.scales)))

    #: Bytes may change.
    __hash__: ClassVar[None]  # type: ignore[assignment]
    __hash__ = None

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The extents that the type has to say, -1 for others: K where it is odd, for it does not follow from the bytes, and
        N and K of packed weights."""
        if self.layout in CODED:
            return known_shape(self.shape)
        is_odd = self.info.bits == 4 and self.shape[-1] % 2
        return (-1,) * (self.ndim - 1) + (self.shape[-1] if is_odd else -1,)

    def type(self, shape: tuple[int, ...] | None = None) -> str:
        """The type in MLIR, with ``shape`` (-1 for any extent) or else that of ``static_shape``."""
        return str(ScaledType(shape or self.static_shape, self.format, self.layout, self.starts, self.axis))

    @classmethod
    def of_type(cls, type_: ScaledType, values: np.ndarray, scales: np.ndarray) -> ScaledTensor:
        """Pairs values and scales under a type."""
        if type_.layout in CODED:
            return cls(values, scales, type_.format, (*values.shape[:-3], *type_.shape[-2:]), type_.layout)
        # An odd K does not follow from the bytes.
        is_odd = type_.shape[-1] > 0 and type_.shape[-1] % 2 and FORMATS[type_.format].bits == 4
        shape = (*values.shape[:-1], type_.shape[-1]) if is_odd else ()
        return cls(values, scales, type_.format, shape, type_.layout, type_.starts, type_.axis)

    @property
    def _place(self) -> tuple[tuple[Any, ...], int, int]:
        """All that the type in MLIR and the shapes of both arrays depend on, and the addresses of the arrays."""
        place = self.__dict__.get("_known_place")
        if place is None:
            kind = (self.format, self.shape, self.layout, self.starts, self.axis, self.values.shape, self.scales.shape)
            place = self.__dict__["_known_place"] = kind, _dlpack.address_of(self.values), _dlpack.address_of(self.scales)
        return place

    def __getstate__(self) -> dict[str, Any]:
        """A copy has arrays of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_known_place"}

    def dequantize(self, **options: Any) -> np.ndarray:
        """See :func:`nvfp4.dequantize`."""
        from .quantization import dequantize
        return dequantize(self, **options)

    def __getitem__(self, index: Any) -> ScaledTensor:
        """One matrix or a slice of a stack, or a slice of the rows of a matrix with linear scales, on the same memory
        (but for steps between rows)."""
        if self.ndim == 2 and isinstance(index, slice) and self.layout == "linear" and self.axis == 1:
            values = self.values[index]
            return ScaledTensor(values, self.scales[index], self.format, (len(values), self.shape[1]), starts=self.starts)
        if self.ndim != 3:
            raise ArgumentError(f"expected a stack of matrices to index, or a slice of rows of a matrix with linear scales "
                                f"along K, but got {index} of {self!r}")
        if isinstance(index, tuple):
            raise ArgumentError("expected one index or slice, of the first dimension")
        values = self.values[index]
        if self.layout in CODED:
            if values.ndim not in (3, 4):
                raise ArgumentError("expected one index or slice, of the first dimension")
            return ScaledTensor(values, self.scales[index].reshape(-1), self.format,
                                (*values.shape[:-3], *self.shape[1:]), self.layout)
        if values.ndim not in (2, 3):
            raise ArgumentError("expected one index or slice, of the first dimension")
        # The logical K survives where it is odd.
        shape = values.shape[:-1] + (self.shape[-1],)
        axis = self.axis - 3 + values.ndim
        return ScaledTensor(values, self.scales[index], self.format, shape, self.layout, self.starts, axis)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """ArgumentError: the numbers are those of :meth:`dequantize`, the bytes ``values`` and ``scales``."""
        raise ArgumentError(f"expected an array, but got {self!r}; its numbers are those of dequantize(), its bytes "
                            "values and scales")

    def __repr__(self) -> str:
        return f"ScaledTensor({self.type(self.shape)})"


def axis_of(axis: Any, rank: int) -> int:
    """Which of the last two axes of a tensor of ``rank`` blocks lie along, from 0 on; -1 and -2 count from the end."""
    legal = (-1, -2)[:rank]
    try:
        found = operator.index(axis)
    except TypeError:
        found = rank
    if found not in legal and found - rank not in legal:
        both = (*(rank + number for number in reversed(legal)), *legal)
        raise ArgumentError(f"expected axis {', '.join(map(str, both))} for rank {rank}, but got {axis!r}")
    return found % rank


def values_shape(shape: tuple[int, ...], fmt: str, layout: str = "linear") -> tuple[int, ...]:
    """The storage shape of values."""
    if layout in CODED:
        # Blocks of 64 x 64 with 256 bytes of scales behind each.
        return (*shape[:-2], _ceil(shape[-2], 64), 2 * _ceil(shape[-1], 128), 512 * FORMATS[fmt].bits + 256)
    return shape[:-1] + (_ceil(shape[-1] * FORMATS[fmt].bits, 8),)


def scales_shape(shape: tuple[int, ...], fmt: str, layout: str = "linear", axis: int = -1) -> tuple[int, ...]:
    """The storage shape of scales with ``starts = whole``."""
    if layout in CODED:
        return shape[:-2] or (1,)
    extents = list(shape)
    extents[axis] = _ceil(extents[axis], FORMATS[fmt].block)
    if layout == "linear":
        return tuple(extents)
    columns = extents.pop()
    rows = extents.pop() if extents else 1
    tile_rows, tile_columns = LAYOUTS[layout]
    inner = (32, 4, 4) if layout == "blocked" else (8, 4)
    return (*extents, _ceil(rows, tile_rows), _ceil(columns, tile_columns), *inner)


def known_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """``(-1, N, K)``, or ``(N, K)``."""
    return (-1,) * (len(shape) - 2) + shape[-2:]


def dims_of(shape: tuple[int, ...]) -> str:
    """Extents in MLIR, ``?`` for -1."""
    return "x".join("?" if extent < 0 else str(extent) for extent in shape)


@dataclasses.dataclass(frozen=True)
class Grouping:
    """Which rows, or which part of K, belong to which group; made by :func:`dense`, :func:`batched`,
    :func:`ragged_rows`, :func:`masked` and :func:`ragged_k`."""

    kind: str
    groups: np.ndarray | None = None
    offsets: str = "ends"
    align: int = 1

    @property
    def attribute(self) -> str:
        """The attribute in MLIR."""
        if not self.kind.startswith("ragged"):
            return f"<{self.kind}>"
        return f"<{self.kind}, {self.offsets}" + (f", align = {self.align}>" if self.align != 1 else ">")

    def __len__(self) -> int:
        """The number of groups; 1 for dense, 0 where only the operands know it."""
        if self.groups is None:
            return 1 if self.kind == "dense" else 0
        return len(self.groups) - (self.offsets == "starts" and self.kind.startswith("ragged"))

    def ranges(self) -> list[tuple[int, int]]:
        """(first, end) of each ragged group, or of the valid rows of each masked one."""
        if self.groups is None:
            raise ArgumentError(f"expected groups with offsets, but got {self.kind}")
        numbers = [int(n) for n in self.groups]
        if self.kind == "masked":
            return [(0, n) for n in numbers]
        if self.offsets == "starts":
            return list(zip(numbers, numbers[1:]))
        firsts = [0] + [_ceil(n, self.align) * self.align for n in numbers[:-1]]
        return [(first, max(first, end)) for first, end in zip(firsts, numbers)]


def _offsets(ends: Any, starts: Any, sizes: Any, align: int) -> tuple[np.ndarray, str]:
    if [ends is None, starts is None, sizes is None].count(False) != 1:
        raise ArgumentError("expected one of ends= (one a group), starts= (one a group and one behind the last) and sizes= "
                            "(one a group)")
    align = check_count("align=", align)
    if sizes is None:
        return _index_vector(_dlpack.asarray(starts if ends is None else ends)), "starts" if ends is None else "ends"
    counts = _index_vector(_dlpack.asarray(sizes))
    if (counts < 0).any():
        first = int(np.argmax(counts < 0))
        raise ArgumentError(f"expected sizes= of 0 or more, but got {counts[first]} for group {first}")
    ends, end = [], 0
    for count in counts.tolist():
        # An empty group repeats the end before it: its aligned start may lie past the buffer.
        end = _ceil(end, align) * align + count if count else end
        ends.append(end)
    if end > np.iinfo(counts.dtype).max:
        raise ArgumentError(f"expected sizes= whose ends {counts.dtype} holds, but got the end {end}")
    return np.array(ends, counts.dtype), "ends"


def _index_vector(array: np.ndarray) -> np.ndarray:
    if array.dtype not in (np.int32, np.int64) or array.ndim != 1:
        if array.ndim == 1 and array.size == 0:
            return array.astype(np.int32)
        raise ArgumentError(f"expected a vector of int32 or int64 offsets, but got {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(array)


def dense() -> Grouping:
    """One product: lhs ``[M, K]``, rhs ``[N, K]``, result ``[M, N]``."""
    return Grouping("dense")


def batched() -> Grouping:
    """Equal products: lhs ``[L, M, K]``, rhs ``[L, N, K]``, result ``[L, M, N]``."""
    return Grouping("batched")


def ragged_rows(ends: Any = None, *, starts: Any = None, sizes: Any = None, align: int = 1) -> Grouping:
    """Groups of rows one after another: lhs ``[R, K]``, rhs ``[G, N, K]``, result ``[R, N]``.

    ``ends`` (int32 or int64, ``[G]``): where each group ends; it starts at the end of the one before, rounded up to
    ``align``. ``starts`` (``[G+1]``): where each starts, multiples of ``align``, and the end of the last. ``sizes``
    (``[G]``): how many rows each has, from which ends are made here. Groups may be empty and the buffers longer; offsets
    are read where the product runs, DataError if they lie outside.
    """
    return Grouping("ragged_rows", *_offsets(ends, starts, sizes, align), align)


def masked(counts: Any) -> Grouping:
    """Groups of up to Mmax rows: lhs ``[G, Mmax, K]``, rhs ``[G, N, K]``, result ``[G, Mmax, N]``, of which the first
    ``counts[g]`` rows are computed."""
    return Grouping("masked", _index_vector(_dlpack.asarray(counts)))


def ragged_k(ends: Any = None, *, starts: Any = None, sizes: Any = None, align: int = 1) -> Grouping:
    """Groups along K, as a weight gradient has them: lhs ``[M, Ktot]``, rhs ``[N, Ktot]``, result ``[G, M, N]``; offsets
    as for :func:`ragged_rows`."""
    return Grouping("ragged_k", *_offsets(ends, starts, sizes, align), align)
