# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled operands in numpy: codes, scales, packing, scale layouts.

Written from the format tables alone; shares nothing with the C++ libraries.
A `Scaled` holds one code (uint8) a value and one scale byte a block, in logical
order; `store` makes the two arrays that compiled functions take.
"""

import dataclasses

import ml_dtypes
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6] + [-0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
E4M3 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
E5M2 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float64)
E8M0 = np.append(np.exp2(np.arange(255.0) - 127), np.nan)


@dataclasses.dataclass(frozen=True)
class Format:
    name: str
    block: int
    values: np.ndarray  # of each code
    scales: np.ndarray  # of each scale byte
    scale_type: str
    nan_scale: int
    padding_scale: int
    # The bytes of the scales 1, 2 and, where it exists, 3.
    lattice_scales: tuple

    @property
    def is_fp4(self):
        return len(self.values) == 16

    def codes_of(self, numbers):
        """Codes of numbers that the format has."""
        table = {}
        for code, value in enumerate(self.values):
            if not np.isnan(value):
                table.setdefault((value, np.signbit(value)), code)
        lookup = [table[(x, np.signbit(x))] for x in numbers]
        return np.array(lookup, np.uint8)


_UE4M3 = dict(scales=E4M3, scale_type="f8E4M3FN", nan_scale=0x7F, padding_scale=0,
              lattice_scales=(0x38, 0x40, 0x44))
_UE8M0 = dict(scales=E8M0, scale_type="f8E8M0FNU", nan_scale=0xFF, padding_scale=127,
              lattice_scales=(127, 128))
FORMATS = {
    "nvfp4": Format("nvfp4", 16, E2M1, **_UE4M3),
    "mxfp4": Format("mxfp4", 32, E2M1, **_UE8M0),
    "nvfp4_e8m0": Format("nvfp4_e8m0", 16, E2M1, **_UE8M0),
    "mxfp8_e4m3": Format("mxfp8_e4m3", 32, E4M3, **_UE8M0),
    "mxfp8_e5m2": Format("mxfp8_e5m2", 32, E5M2, **_UE8M0),
}
ROW_TILE = {"linear": 1, "blocked": 128, "blocked_8x4": 8}


def ceil_div(a, b):
    return -(-a // b)


def round_up(a, b):
    return ceil_div(a, b) * b


@dataclasses.dataclass
class Scaled:
    """codes [..., R, K] and scale bytes [..., R, C], one of each a place."""

    fmt: Format
    codes: np.ndarray
    scales: np.ndarray

    @property
    def shape(self):
        return self.codes.shape

    def values(self, dtype=np.float64):
        """Codes times scales; exact in float32 too, for bounded scales."""
        k = self.codes.shape[-1]
        table = self.fmt.values.astype(dtype)
        scales = self.fmt.scales.astype(dtype)[self.scales]
        return table[self.codes] * np.repeat(scales, self.fmt.block, -1)[..., :k]

    def __getitem__(self, index):
        return Scaled(self.fmt, self.codes[index], self.scales[index])

    def store(self, layout="linear", pieces=None, poison=None, filler=0):
        """(values, scales) as they lie in memory.

        `pieces` lists (first row, rows, row in the buffer, first scale column,
        scale columns, column in the buffer) and defaults to one that is
        everything. Padding scales are NaN unless `poison` says otherwise.
        `filler` is the unused nibble of an odd K: a function that takes any K
        reads it as one more value, one whose type says K must not.
        """
        if poison is None:
            poison = self.fmt.nan_scale
        return (pack(self.fmt, self.codes, filler),
                store_scales(self.scales, layout, pieces, poison))


@dataclasses.dataclass
class Plain:
    """Rows without scales, where an operand may be a Scaled."""

    data: np.ndarray

    @property
    def shape(self):
        return self.data.shape

    def values(self, dtype=np.float64):
        return self.data.astype(dtype)

    def __getitem__(self, index):
        return Plain(self.data[index])

    def store(self, layout="linear", pieces=None, poison=None, filler=0):
        return self.data


def pack(fmt, codes, filler=0):
    if not fmt.is_fp4:
        return codes
    k = codes.shape[-1]
    if k % 2:
        last = np.full(codes.shape[:-1] + (1,), filler, np.uint8)
        codes = np.concatenate([codes, last], -1)
    return codes[..., 0::2] | codes[..., 1::2] << 4


def unpack(fmt, data, k):
    """Codes [..., K] of packed values."""
    data = data.view(np.uint8)
    if not fmt.is_fp4:
        return data
    both = np.stack([data & 15, data >> 4], -1)
    return both.reshape(data.shape[:-1] + (2 * data.shape[-1],))[..., :k]


def scale_offsets(layout, rows, columns, total_columns):
    """Byte offsets of scales (rows x columns index arrays)."""
    i, j = rows[:, None], columns[None, :]
    tiles = ceil_div(total_columns, 4)
    if layout == "linear":
        return i * total_columns + j
    if layout == "blocked":
        return ((i // 128) * tiles + j // 4) * 512 + (i % 32) * 16 + (i % 128) // 32 * 4 + j % 4
    return ((i // 8) * tiles + j // 4) * 32 + (i % 8) * 4 + j % 4


def whole_piece(scales):
    return [(0, scales.shape[-2], 0, 0, scales.shape[-1], 0)]


def store_scales(scales, layout, pieces=None, poison=0):
    if scales.ndim == 3:
        assert pieces is None
        if not len(scales):
            return np.stack([store_scales(np.zeros(scales.shape[1:], np.uint8), layout)])[:0]
        return np.stack([store_scales(s, layout, None, poison) for s in scales])
    pieces = whole_piece(scales) if pieces is None else pieces
    tile = ROW_TILE[layout]
    rows = round_up(max((at + n for _, n, at, _, _, _ in pieces), default=0), tile)
    columns = max((at + n for _, _, _, _, n, at in pieces), default=0)
    if layout != "linear":
        columns = round_up(columns, 4)
    buffer = np.full(rows * columns, poison, np.uint8)
    for row, n_rows, row_at, column, n_columns, column_at in pieces:
        offsets = scale_offsets(layout, row_at + np.arange(n_rows),
                                column_at + np.arange(n_columns), columns)
        buffer[offsets] = scales[row:row + n_rows, column:column + n_columns]
    if layout == "linear":
        return buffer.reshape(rows, columns)
    inner = (32, 4, 4) if layout == "blocked" else (8, 4)
    return buffer.reshape((rows // tile, columns // 4) + inner)


def load_scales(stored, layout, rows, columns):
    """Logical scale bytes [rows, columns] of a stored matrix (starts = whole)."""
    flat = stored.view(np.uint8).reshape(-1)
    if layout == "linear":
        return flat.reshape(rows, columns)
    return flat[scale_offsets(layout, np.arange(rows), np.arange(columns), stored.shape[1] * 4)]


def row_pieces(starts, layout, begins, counts, columns, total_rows):
    """Pieces of the scales of ragged rows under a group-start rule."""
    if starts == "whole":
        return [(0, total_rows, 0, 0, columns, 0)]
    pieces, at = [], 0
    for group, (begin, count) in enumerate(zip(begins, counts)):
        if starts == "upper_bound":
            at = (begin + 127 * group) // 128 * 128
        pieces.append((begin, count, at, 0, columns, 0))
        at += round_up(count, ROW_TILE[layout])
    if layout == "linear":
        # The type says how many rows there are, those of no group included.
        pieces.append((0, 0, total_rows, 0, columns, 0))
    return pieces


def random_scaled(rng, shape, fmt, lattice=True, codes="full", scales="lattice3"):
    """An operand of `shape` (K last) and format name `fmt`.

    On a lattice, values come from the E2M1 table (|value| <= 1.5 for codes =
    "small") and scales from {1, 2, 3}; otherwise values are any finite codes
    and scales spread over many binades, with outliers.
    """
    fmt = FORMATS[fmt]
    blocks = shape[:-1] + (ceil_div(shape[-1], fmt.block),)
    if lattice:
        numbers = E2M1 if codes == "full" else E2M1[np.abs(E2M1) <= 1.5]
        palette = fmt.codes_of(numbers)
        allowed = np.array(fmt.lattice_scales[:2 if scales == "lattice2" else 3], np.uint8)
        return Scaled(fmt, palette[rng.integers(0, len(palette), shape)],
                      allowed[rng.integers(0, len(allowed), blocks)])
    if fmt.is_fp4:
        values = rng.integers(0, 16, shape, dtype=np.uint8)
    else:
        dtype = ml_dtypes.float8_e4m3fn if fmt.name == "mxfp8_e4m3" else ml_dtypes.float8_e5m2
        numbers = rng.standard_normal(shape, np.float32) * 64
        values = np.clip(numbers, -448, 448).astype(dtype).view(np.uint8)
    if fmt.name == "nvfp4":
        sizes = np.abs(rng.standard_normal(blocks)) * np.where(rng.random(blocks) < 0.02, 100, 1)
        bytes_ = np.clip(sizes, 2.0**-9, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    else:
        bytes_ = rng.integers(117, 130, blocks, dtype=np.uint8)
    return Scaled(fmt, values, bytes_)
