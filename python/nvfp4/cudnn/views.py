# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuDNN's views of memory as tensors of this package, and back."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from .. import _dlpack
from ..errors import ArgumentError
from ..tensors import ScaledTensor

_TYPES = {name: np.dtype(kind) for name, kind in (
    ("float32", np.float32), ("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16),
    ("float8_e4m3fn", ml_dtypes.float8_e4m3fn), ("float8_e5m2", ml_dtypes.float8_e5m2),
    ("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu), ("uint8", np.uint8), ("float4_e2m1fn_x2", np.uint8))}
FP8 = (_TYPES["float8_e4m3fn"], _TYPES["float8_e5m2"])


def dtype_of(kind: Any, what: str = "a type") -> np.dtype:
    """numpy's type for one of numpy, ml_dtypes or torch."""
    name = str(kind).removeprefix("torch.") if not isinstance(kind, (type, np.dtype)) else np.dtype(kind).name
    if name not in _TYPES:
        raise ArgumentError(f"expected {what} {', '.join(_TYPES)}, but got {kind}")
    return _TYPES[name]


def matrix(tensor: Any, name: str, writable: bool = False) -> np.ndarray:
    """``[rows, columns, 1]``, columns adjacent, as a matrix on the same memory."""
    array = _dlpack.asarray(tensor, writable=writable)
    if array.ndim != 3 or array.shape[2] != 1:
        raise ArgumentError(f"expected {name} of shape [rows, columns, 1], but got {array.shape}")
    plane = array[:, :, 0]
    if not plane.flags.c_contiguous:
        raise ArgumentError(f"expected {name} with adjacent columns, strides ({plane.shape[1]}, 1, .), but got "
                            f"{tuple(s // array.itemsize for s in array.strides)}")
    return plane


def stack(tensor: Any, name: str) -> np.ndarray:
    """``[N, K, L]``, K adjacent, as ``[L, N, K]`` on the same memory."""
    array = _dlpack.asarray(tensor)
    if array.ndim != 3:
        raise ArgumentError(f"expected {name} of shape [N, K, L], but got {array.shape}")
    planes = array.transpose(2, 0, 1)
    if not planes.flags.c_contiguous:
        raise ArgumentError(f"expected {name} to be K-major, strides (K, 1, N K), but got "
                            f"{tuple(s // array.itemsize for s in array.strides)}")
    return planes


def blocked(tensor: Any, name: str) -> np.ndarray:
    """Scales ``[32, 4, rows/128, 4, columns/4, L]`` as ``[L, rows/128, columns/4, 32, 4, 4]``, their order in memory."""
    array = _dlpack.asarray(tensor)
    if array.ndim != 6 or array.shape[:2] != (32, 4) or array.shape[3] != 4:
        raise ArgumentError(f"expected {name} of shape [32, 4, rows/128, 4, columns/4, L], but got {array.shape}")
    return array.transpose(5, 2, 4, 0, 1, 3)


def as_view(stored: np.ndarray) -> np.ndarray:
    """The 6-D view of blocked scales ``[L, rows/128, columns/4, 32, 4, 4]``."""
    return stored.transpose(3, 4, 1, 5, 2, 0)


def column_view(scales: np.ndarray, rows: int) -> np.ndarray:
    """Column scales ``[ceil(M/v), N]`` as the 6-D view of the blocked scales of the transpose."""
    blocks, columns = scales.shape
    padded = np.zeros((-(-columns // 128) * 128, -(-blocks // 4) * 4), np.uint8)
    padded[:columns, :blocks] = scales.view(np.uint8).T
    tiles = padded.reshape(-1, 4, 32, padded.shape[1] // 4, 4).transpose(0, 3, 2, 1, 4)
    return as_view(np.ascontiguousarray(tiles)[None].view(scales.dtype))


def format_of(values: np.dtype, scales: np.dtype, vector: int) -> str:
    """The block format that cuDNN means by types and vector size; ValueError as there for what it refuses."""
    e4m3 = scales == _TYPES["float8_e4m3fn"]
    if vector not in (16, 32):
        raise ArgumentError(f"expected sf_vec_size 16 or 32, but got {vector}")
    if not e4m3 and scales != _TYPES["float8_e8m0fnu"]:
        raise ArgumentError(f"expected scales float8_e8m0fnu or float8_e4m3fn, but got {scales}")
    if e4m3 and vector == 32:
        raise ArgumentError("expected sf_vec_size 16 for float8_e4m3fn scales, but got 32")
    if values in FP8:
        if vector == 16:
            raise ArgumentError(f"expected sf_vec_size 32 for {values}, but got 16")
        return "mxfp8_e4m3" if values == FP8[0] else "mxfp8_e5m2"
    if values != np.uint8:
        raise ArgumentError(f"expected A and B of float4_e2m1fn_x2, uint8, float8_e4m3fn or float8_e5m2, but got {values}")
    return "mxfp4" if vector == 32 else "nvfp4" if e4m3 else "nvfp4_e8m0"


def lhs_of(a: Any, sfa: Any, vector: int) -> ScaledTensor:
    """A with its scales. Buffers of scales may be longer than A."""
    values, scales = matrix(a, "a_tensor"), blocked(sfa, "sfa_tensor")[0]
    rows = -(-values.shape[0] // 128)
    if scales.shape[0] < rows:
        raise ArgumentError(f"expected sfa_tensor for {rows} blocks of 128 rows, but got {scales.shape[0]}")
    return ScaledTensor(values, scales[:rows], format_of(values.dtype, scales.dtype, vector), layout="blocked")


def rhs_of(b: Any, sfb: Any, vector: int) -> ScaledTensor:
    """Dense B with its scales."""
    values, scales = stack(b, "b_tensor"), blocked(sfb, "sfb_tensor")
    return ScaledTensor(values, scales, format_of(values.dtype, scales.dtype, vector), layout="blocked")


def pointers_of(pointers: Any, name: str, count: int | None = None) -> list[int]:
    """Addresses of the CPU in an int64 vector."""
    array = _dlpack.asarray(pointers)
    if array.dtype != np.int64 or array.ndim != 1:
        raise ArgumentError(f"expected {name} to be a vector of int64, but got {array.dtype} of shape {array.shape}")
    if count is not None and len(array) != count:
        raise ArgumentError(f"length mismatch: expected {count} pointers in {name}, but got {len(array)}")
    if (array == 0).any():
        raise ArgumentError(f"expected {name} without null pointers")
    return [int(address) for address in array]


def at(address: int, shape: tuple[int, ...], dtype: np.dtype = np.dtype(np.uint8)) -> np.ndarray:
    """Memory of the CPU at an address, which the caller keeps."""
    buffer = (ctypes.c_uint8 * (int(np.prod(shape)) * dtype.itemsize)).from_address(address)
    return np.ctypeslib.as_array(buffer).view(dtype).reshape(shape)


def rhs_at(values: list[int], scales: list[int], n: int, k_bytes: int, dtype: np.dtype, sf_dtype: np.dtype, vector: int,
           ) -> list[ScaledTensor]:
    """Weights of separate experts ``[N, K]`` at addresses."""
    fmt = format_of(dtype, sf_dtype, vector)
    columns = -(-(k_bytes * (2 if dtype == np.uint8 else 1)) // vector)
    shape = (-(-n // 128), -(-columns // 4), 32, 4, 4)

    return [ScaledTensor(at(v, (n, k_bytes)), at(s, shape), fmt, layout="blocked") for v, s in zip(values, scales)]
