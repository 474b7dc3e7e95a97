# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and expected results of the kernels in this folder.

usage: cases.py prepare|check CASE DIRECTORY

Expected results are computed in float64 from the decoded operands. Scales are
powers of two near 1, so every sum is exact in f32 and results must be equal to
the bit."""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6,
                 -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
FP8 = ml_dtypes.float8_e4m3fn


def unpack(packed):
    """Two codes a byte, even column in the low nibble."""
    codes = np.stack([packed & 15, packed >> 4], axis=-1)
    return E2M1[codes.reshape(packed.shape[0], -1)]


def atoms(scales):
    """Linear [rows, blocks] to atoms [rows/128, blocks/4, 512]; rows and blocks
    are padded with zeros."""
    rows, blocks = scales.shape
    padded = np.zeros((-(-rows // 128) * 128, -(-blocks // 4) * 4), np.uint8)
    padded[:rows, :blocks] = scales
    rows, blocks = padded.shape
    split = padded.reshape(rows // 128, 4, 32, blocks // 4, 4)
    return np.ascontiguousarray(split.transpose(0, 3, 2, 1, 4)).reshape(
        rows // 128, blocks // 4, 512)


def operand(rng, rows, k):
    """Packed values, scale codes, and the decoded matrix."""
    packed = rng.integers(0, 256, (rows, k // 2), dtype=np.uint8)
    codes = (rng.integers(5, 10, (rows, k // 16)) << 3).astype(np.uint8)
    scales = codes.view(FP8).astype(np.float64)
    return packed, codes, unpack(packed) * np.repeat(scales, 16, axis=1)


def gemm(m, n, k):
    rng = np.random.default_rng(11)
    a, sa, decoded_a = operand(rng, m, k)
    b, sb, decoded_b = operand(rng, n, k)
    return dict(a=a, b=b, sa=atoms(sa).view(np.uint16),
                sb=atoms(sb).view(np.uint16),
                expected=(decoded_a @ decoded_b.T).astype(np.float32))


def quantise(rows, k):
    """Groups of ragged rows; scales of each group start at their own 128 rows."""
    rng = np.random.default_rng(12)
    total = sum(rows)
    x = rng.standard_normal((total, k)).astype(ml_dtypes.bfloat16)
    x[1, :16] = 0
    blocks = x.astype(np.float32).reshape(total, k // 16, 16)
    amax = np.abs(blocks).max(axis=2)
    scales = (amax * np.float32(0.16666667)).astype(FP8)
    with np.errstate(divide="ignore"):
        factors = np.where(scales == 0, np.float32(0),
                           np.float32(1) / scales.astype(np.float32))
    values = (blocks * factors[..., None]).reshape(total, k)
    codes = np.clip(values, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    packed = (codes[:, 0::2] & 15) | (codes[:, 1::2] & 15) << 4
    tiles = [-(-r // 128) for r in rows]
    ends = np.cumsum(rows)
    # Kept whole: more rows of codes than there are tokens.
    expected = np.zeros((total + 3, k // 2), np.uint8)
    expected[:total] = packed
    parts = [atoms(scales.view(np.uint8)[end - r:end])
             for r, end in zip(rows, ends) if r]
    return dict(x=x.view(np.uint16), ends=ends.astype(np.int32),
                atoms=np.cumsum([0] + tiles[:-1]).astype(np.int32),
                expected=expected,
                expected_s=np.concatenate(parts).view(np.uint16))


def decode(code, element):
    """Rows of each scale code, all codes of elements in order, as bits of bf16 or f16."""
    kind, scale = code.split("_")
    scales = np.arange(256, dtype=np.uint8)
    codes = np.arange(256, dtype=np.uint8)
    if kind == "e2m1":
        codes = codes[:8] * 2 | (codes[:8] * 2 + 1) << 4
        values = unpack(codes[None])[0]
    else:
        values = codes.view(FP8 if kind == "e4m3" else ml_dtypes.float8_e5m2).astype(np.float64)
    # The sign of UE4M3 is ignored.
    factors = ((scales & 0x7F).view(FP8) if scale == "ue4m3"
               else scales.view(ml_dtypes.float8_e8m0fnu)).astype(np.float64)
    exponent = {"e2m1_ue4m3": 0, "e2m1_ue8m0": -2, "e4m3_ue8m0": 3, "e5m2_ue8m0": 10}[code]
    type = ml_dtypes.bfloat16 if element == "bf16" else np.float16
    with np.errstate(all="ignore"):
        exact = values * factors[:, None] * 2.0**exponent
        rounded = exact.astype(type)
        limit = 2.0**128 if element == "bf16" else 2.0**16
        wrong = (rounded.astype(np.float64) != exact) & (np.abs(exact) < limit)
    assert not (wrong & ~np.isnan(exact)).any(), "bits are lost"
    expected = rounded.view(np.uint16).copy()
    expected[np.isnan(exact)] = 0x7FFF
    return dict(codes=codes, scales=scales, expected=expected)


CASES = {
    # More groups than one warp counts at a time.
    "quantise": lambda: quantise([130, 0, 1, 200] + [0] * 40 + [128, 5], 192),
    "one_tile": lambda: gemm(128, 128, 1024),
    # Accumulators are reused, slots of the ring are not.
    "accumulators": lambda: gemm(512, 128, 256),
    "pairs": lambda: gemm(512, 256, 1536),
    "tiles": lambda: gemm(384, 256, 1536),
    **{f"decode_{code}_{element}": lambda code=code, element=element: decode(code, element)
       for code, element in (("e2m1_ue4m3", "bf16"), ("e2m1_ue4m3", "f16"), ("e2m1_ue8m0", "bf16"),
                             ("e4m3_ue8m0", "bf16"), ("e5m2_ue8m0", "bf16"))},
}


def main():
    action, case, directory = sys.argv[1:]
    directory = Path(directory)
    arrays = CASES[case]()
    if action == "prepare":
        directory.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            np.save(directory / f"{name}.npy", array)
        return
    for name in arrays:
        if name.startswith("expected"):
            compare(case, arrays[name],
                    np.load(directory / (name.replace("expected", "d") + ".npy")))


def compare(case, expected, actual):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        raise SystemExit(f"expected {expected.shape} {expected.dtype}, "
                         f"but got {actual.shape} {actual.dtype}")
    wrong = np.argwhere(~((actual == expected) |
                          (np.isnan(actual) & np.isnan(expected))))
    if len(wrong):
        where = tuple(wrong[0])
        raise SystemExit(f"{len(wrong)} of {expected.size} wrong, the first at "
                         f"{where}: expected {expected[where]}, but got "
                         f"{actual[where]}")
    print(f"{case}: all {expected.size} equal")


main()
