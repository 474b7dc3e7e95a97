# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The quantisers of the oracle on matrices: blocks along rows or columns, squares, and stochastic rounding.

The formulas are those of test/python/format_formulas.py, which take blocks.
"""

import contextlib

import numpy as np

import format_formulas
from nvfp4_formats import FORMATS, ceil_div, round_up

_MAGNITUDES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def _philox(counter, key):
    """Philox 4x32-10; counter [n] as the first word, key of 64 bits."""
    low = np.uint64(0xFFFFFFFF)
    zero = np.zeros_like(counter)
    c, k = [counter, zero, zero, zero], [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        even, odd = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(odd >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), odd & low,
             (even >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), even & low]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return np.stack(c, axis=1)


def uniforms(seed, elements):
    """r of the elements with these row-major numbers: four neighbours share a counter."""
    flat = elements.ravel()
    words = _philox((flat // 4).astype(np.uint64), seed)[np.arange(flat.size), flat % 4] if flat.size else flat
    return ((words.astype(np.uint64) >> np.uint64(8)).astype(np.float64) * 2.0**-24).reshape(elements.shape)


@contextlib.contextmanager
def _stochastic(draws):
    """Within it the formulas round elements by `draws`, one for each."""
    nearest = format_formulas.elements

    def rounded(x, fmt):
        magnitude = np.minimum(np.abs(x.astype(np.float64)), 6)
        ulp = np.select([magnitude < 2, magnitude < 4], [0.5, 1.0], 2.0)
        value = np.minimum(np.floor(magnitude / ulp + draws) * ulp, 6)
        codes = np.searchsorted(_MAGNITUDES, value).astype(np.uint8) | np.signbit(x).astype(np.uint8) * np.uint8(8)
        return np.where(np.isnan(x), nearest(x, fmt), codes).astype(np.uint8)

    format_formulas.elements = rounded
    try:
        yield
    finally:
        format_formulas.elements = nearest


def numbers_of_elements(shape, along_rows):
    """The index of each element in stochastic rounding: row-major indices, of the transposed matrices with blocks along rows."""
    if not along_rows:
        return np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    transposed = shape[:-2] + (shape[-1], shape[-2])
    return np.arange(np.prod(shape, dtype=np.int64)).reshape(transposed).swapaxes(-1, -2)


def transform(x, signs=0x5A31):
    """Runs of 16 of each line by a Hadamard matrix with signs, normalised, in f32; after the end of a line are zeros."""
    padded = np.zeros((x.shape[0], round_up(x.shape[1], 16)), np.float32)
    padded[:, :x.shape[1]] = x
    shape = x.shape[0], padded.shape[1] // 16, 16
    runs = padded.reshape(shape) * np.where(signs >> np.arange(16) & 1, np.float32(-1), np.float32(1))
    for distance in (1, 2, 4, 8):
        pairs = runs.reshape(*shape[:2], 8 // distance, 2, distance)
        runs = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], -2)
        runs = runs.reshape(shape)
    return (runs * np.float32(0.25)).reshape(padded.shape)[:, :x.shape[1]]


def _blocks(x, block):
    padded = np.zeros((x.shape[0], round_up(x.shape[1], block)), x.dtype)
    padded[:, :x.shape[1]] = x
    return padded.reshape(-1, block)


def quantize(y, quantizer, fmt, *, along_rows=False, factor=1.0, mode="plain", draws=None):
    """Codes and scale bytes of a matrix; `draws` are the random numbers of stochastic rounding, one for each element."""
    block, formula = FORMATS[fmt].block, getattr(format_formulas, quantizer)
    factor = np.float32(factor)
    if mode == "two_d":
        return _squares(y, formula, fmt, factor, along_rows)
    lines = np.ascontiguousarray(y.T if along_rows else y).astype(np.float32)
    with np.errstate(all="ignore"), contextlib.ExitStack() as stack:
        if mode == "stochastic":
            stack.enter_context(_stochastic(_blocks(np.ascontiguousarray(draws.T if along_rows else draws), block)))
        codes, scales = formula(_blocks(lines, block), fmt, factor)
    across = ceil_div(lines.shape[1], block)
    codes = codes.reshape(lines.shape[0], across * block)[:, :lines.shape[1]]
    if mode == "flush":
        codes = np.where(codes == 8, 0, codes)
    scales = scales.reshape(lines.shape[0], across)
    return (codes.T, scales.T) if along_rows else (codes, scales)


def _squares(y, formula, fmt, factor, along_rows):
    """Squares of a block by a block share a scale, which stands in each of its lines."""
    block, (rows, columns) = FORMATS[fmt].block, y.shape
    down, across = ceil_div(rows, block), ceil_div(columns, block)
    padded = np.zeros((down * block, across * block), np.float32)
    padded[:rows, :columns] = y
    squares = padded.reshape(down, block, across, block).transpose(0, 2, 1, 3).reshape(-1, block * block)
    with np.errstate(all="ignore"):
        codes, scales = formula(squares, fmt, factor)
    codes = codes.reshape(down, across, block, block).transpose(0, 2, 1, 3).reshape(padded.shape)[:rows, :columns]
    scales = scales.reshape(down, across)
    if along_rows:
        return codes, np.repeat(scales, block, axis=1)[:, :columns]
    return codes, np.repeat(scales, block, axis=0)[:rows]
