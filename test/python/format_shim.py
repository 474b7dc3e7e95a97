# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads the C++ formats (unittests/Format/FormatShim.cpp) for the tests.

The build tree is $NVFP4_BUILD_DIR, or build/ of the repository.
"""

import ctypes
import os
import pathlib

import numpy as np

_ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR = pathlib.Path(os.environ.get("NVFP4_BUILD_DIR", _ROOT / "build"))
_LIBRARY = ctypes.CDLL(str(BUILD_DIR / "lib" / "libnvfp4_format_c.so"))

_CASTS = {
    "decode_e2m1": (np.uint8, np.float32),
    "decode_e4m3": (np.uint8, np.float32),
    "decode_e5m2": (np.uint8, np.float32),
    "decode_e8m0": (np.uint8, np.float32),
    "decode_bf16": (np.uint16, np.float32),
    "decode_f16": (np.uint16, np.float32),
    "encode_e2m1": (np.float32, np.uint8),
    "encode_e4m3": (np.float32, np.uint8),
    "encode_e5m2": (np.float32, np.uint8),
    "encode_e5m2_sat": (np.float32, np.uint8),
    "encode_e8m0_nearest": (np.float32, np.uint8),
    "encode_e8m0_up": (np.float32, np.uint8),
    "encode_e8m0_down": (np.float32, np.uint8),
    "encode_bf16": (np.float32, np.uint16),
    "encode_f16": (np.float32, np.uint16),
}


class Options(ctypes.Structure):
    """ShimOptions of FormatShim.cpp."""

    _fields_ = [
        ("quantizer", ctypes.c_int32),
        ("format", ctypes.c_int32),
        ("layout", ctypes.c_int32),
        ("rounding", ctypes.c_int32),
        ("negative_zero", ctypes.c_int32),
        ("block_error", ctypes.c_int32),
        ("square", ctypes.c_int32),
        ("global_scale", ctypes.c_float),
        ("amax_floor", ctypes.c_float),
        ("seed", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
    ]


def _pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def cast(name, values):
    """One of _CASTS on a one-dimensional array."""
    source, target = _CASTS[name]
    values = np.ascontiguousarray(values, source)
    out = np.empty(values.shape, target)
    getattr(_LIBRARY, "nvfp4_" + name)(
        _pointer(values), _pointer(out), ctypes.c_int64(values.size))
    return out


def encode_e2m1_stochastic(values, uniforms):
    values = np.ascontiguousarray(values, np.float32)
    uniforms = np.ascontiguousarray(uniforms, np.float32)
    out = np.empty(values.shape, np.uint8)
    _LIBRARY.nvfp4_encode_e2m1_stochastic(
        _pointer(values), _pointer(uniforms), _pointer(out),
        ctypes.c_int64(values.size))
    return out


def philox_uniform(seed, offset, first, count):
    out = np.empty(count, np.float32)
    _LIBRARY.nvfp4_philox_uniform(
        ctypes.c_uint64(seed), ctypes.c_uint64(offset), ctypes.c_uint64(first),
        _pointer(out), ctypes.c_int64(count))
    return out


def parse(kind, name):
    return _LIBRARY.nvfp4_parse(kind.encode(), name.encode())


def scale_bytes(layout, rows, columns):
    function = _LIBRARY.nvfp4_scale_bytes
    function.restype = ctypes.c_int64
    return function(parse("layout", layout), ctypes.c_int64(rows),
                    ctypes.c_int64(columns))


def _options(quantizer, fmt, layout, **fields):
    return Options(quantizer=parse("quantizer", quantizer),
                   format=parse("format", fmt), layout=parse("layout", layout),
                   **{"negative_zero": -1, "global_scale": 1.0, **fields})


def quantize(quantizer, fmt, x, layout="linear", **fields):
    """(packed codes [rows, bytes], scale bytes) of a float32 matrix."""
    x = np.ascontiguousarray(x, np.float32)
    rows, columns = x.shape
    block = 16 if fmt.startswith("nvfp4") else 32
    row_bytes = columns if fmt.startswith("mxfp8") else (columns + 1) // 2
    codes = np.full((rows, row_bytes), 0xEE, np.uint8)
    scales = np.full(scale_bytes(layout, rows, -(-columns // block)), 0x7F,
                     np.uint8)
    message = ctypes.create_string_buffer(256)
    options = _options(quantizer, fmt, layout, **fields)
    failed = _LIBRARY.nvfp4_quantize(
        ctypes.byref(options), _pointer(x), ctypes.c_int64(rows),
        ctypes.c_int64(columns), _pointer(codes), ctypes.c_int64(codes.size),
        _pointer(scales), ctypes.c_int64(scales.size), message,
        ctypes.c_int64(256))
    if failed:
        raise ValueError(message.value.decode())
    return codes, scales


def dequantize(fmt, codes, scales, columns, layout="linear", multiplier=1.0):
    """float64 [rows, columns] from what quantize returns."""
    rows = codes.shape[0]
    out = np.full((rows, columns), np.nan)
    message = ctypes.create_string_buffer(256)
    options = _options("te", fmt, layout, global_scale=multiplier)
    failed = _LIBRARY.nvfp4_dequantize(
        ctypes.byref(options), ctypes.c_int64(rows), ctypes.c_int64(columns),
        _pointer(codes), ctypes.c_int64(codes.size), _pointer(scales),
        ctypes.c_int64(scales.size), _pointer(out), message,
        ctypes.c_int64(256))
    if failed:
        raise ValueError(message.value.decode())
    return out


def gate_rows(granularity, up_first, columns):
    gate = np.empty(columns, np.int64)
    up = np.empty(columns, np.int64)
    _LIBRARY.nvfp4_gate_rows(
        ctypes.c_int64(granularity), int(up_first), ctypes.c_int64(columns),
        _pointer(gate), _pointer(up))
    return gate, up


def hadamard(x, normalized, sign_mask):
    x = np.array(x, np.float32)
    assert _LIBRARY.nvfp4_hadamard(_pointer(x), ctypes.c_int64(x.size),
                                   int(normalized), sign_mask)
    return x
