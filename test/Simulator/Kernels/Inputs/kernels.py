# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and expected results of the third-party kernels in this folder.

usage: kernels.py prepare|check KERNEL DIRECTORY

The expected results are computed in float64 from the decoded operands; the
operands are small enough that every sum is exact in f32, so results must be
equal to the bit (after rounding to the output type).
"""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6,
                 -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def unpack_fp4(packed):
    """Two codes a byte, even column in the low nibble."""
    codes = np.stack([packed & 15, packed >> 4], axis=-1)
    return E2M1[codes.reshape(packed.shape[0], -1)]


def blocked_scales(scales):
    """Linear [rows, blocks] to 512-byte atoms [rows/128, blocks/4, 512]."""
    rows, blocks = scales.shape
    atoms = scales.reshape(rows // 128, 4, 32, blocks // 4, 4)
    return np.ascontiguousarray(
        atoms.transpose(0, 3, 2, 1, 4)).reshape(rows // 128, blocks // 4, 512)


def dense(rng, rows, k, dtype):
    return rng.integers(-4, 5, (rows, k)).astype(dtype)


def fp4(rng, rows, k):
    return rng.integers(0, 256, (rows, k // 2), dtype=np.uint8)


def powers(rng, rows, blocks):
    """UE4M3 codes of powers of two from 1/4 to 4."""
    return (rng.integers(5, 10, (rows, blocks)) << 3).astype(np.uint8)


def scaled(values, scales, block):
    return values * np.repeat(scales, block, axis=1)


def make(kernel):
    """Arrays by file name; `expected` is the result."""
    rng = np.random.default_rng(7)
    if kernel in ("one_f16", "one_bf16_m64"):
        size = 128 if kernel == "one_f16" else 64
        dtype = np.float16 if kernel == "one_f16" else ml_dtypes.bfloat16
        a, b = (dense(rng, size, 64, dtype) for _ in range(2))
        expected = a.astype(np.float64) @ b.astype(np.float64).T
        return dict(a=a.view(np.uint16), b=b.view(np.uint16),
                    expected=expected.astype(np.float32))
    if kernel == "one_nvfp4":
        a, b = (fp4(rng, 128, 128) for _ in range(2))
        sa, sb = (powers(rng, 128, 8) for _ in range(2))
        fp8 = ml_dtypes.float8_e4m3fn
        expected = scaled(unpack_fp4(a), sa.view(fp8).astype(float), 16) @ \
            scaled(unpack_fp4(b), sb.view(fp8).astype(float), 16).T
        return dict(a=a, sa=sa, b=b, sb=sb,
                    expected=expected.astype(np.float32))
    if kernel == "one_mxfp8":
        fp8 = ml_dtypes.float8_e4m3fn
        a, b = (dense(rng, 128, 128, np.float32).astype(fp8) for _ in range(2))
        sa, sb = (rng.integers(125, 130, (128, 4)).astype(np.uint8)
                  for _ in range(2))
        expected = scaled(a.astype(float), np.exp2(sa.astype(float) - 127), 32) @ \
            scaled(b.astype(float), np.exp2(sb.astype(float) - 127), 32).T
        return dict(a=a.view(np.uint8), sa=sa, b=b.view(np.uint8), sb=sb,
                    expected=expected.astype(np.float32))
    if kernel == "tma_nvfp4_128x128x256":
        m, n, k = 256, 128, 1280
        a, b = fp4(rng, m, k), fp4(rng, n, k)
        sa, sb = powers(rng, m, k // 16), powers(rng, n, k // 16)
        fp8 = ml_dtypes.float8_e4m3fn
        expected = scaled(unpack_fp4(a), sa.view(fp8).astype(float), 16) @ \
            scaled(unpack_fp4(b), sb.view(fp8).astype(float), 16).T
        return dict(a=a, b=b,
                    sa=blocked_scales(sa).reshape(1, m // 128, k // 64, 2, 256),
                    sb=blocked_scales(sb).reshape(1, n // 128, k // 64, 2, 256),
                    expected=expected.astype(np.float16))
    if kernel == "persistent_f16_swp":
        m, n, k = 640, 256, 320
        a, b = dense(rng, m, k, np.float16), dense(rng, n, k, np.float16)
        expected = a.astype(np.float64) @ b.astype(np.float64).T
        return dict(a=a, b=b, expected=expected.astype(np.float16))
    if kernel == "tma_reduce_add":
        x = rng.standard_normal((200, 100)).astype(np.float32)
        y = rng.standard_normal((200, 100)).astype(np.float32)
        return dict(a=x, b=y, expected=x + y)
    raise SystemExit(f"unknown kernel {kernel}")


def main():
    action, kernel, directory = sys.argv[1:]
    directory = Path(directory)
    arrays = make(kernel)
    if action == "prepare":
        directory.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            np.save(directory / f"{name}.npy", array)
        return
    expected = arrays["expected"]
    actual = np.load(directory / "c.npy")
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise SystemExit(f"expected {expected.shape} {expected.dtype}, "
                         f"but got {actual.shape} {actual.dtype}")
    wrong = np.argwhere(actual != expected)
    if len(wrong):
        where = tuple(wrong[0])
        raise SystemExit(f"{len(wrong)} of {expected.size} wrong, the first at "
                         f"{where}: expected {expected[where]}, but got "
                         f"{actual[where]}")
    print(f"{kernel}: all {expected.size} equal")


main()
