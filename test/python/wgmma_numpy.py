# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVFP4 weights in the layout `wgmma`, whole arrays at a time: docs/Rationale/Hopper.md, "Weights, byte by byte"."""

import numpy as np

# The bits of the fourth register that stay in the first word of a pair.
POOL = np.uint32(0x06030603)


def rotate(words, by):
    """To the left."""
    by %= 32
    return (words << np.uint32(by)) | (words >> np.uint32(32 - by)) if by else words


def code_elements(codes):
    """[rows, K] codes to [strips, blocks, 2048] bytes; rows in 64s, K in 128s."""
    rows, columns = codes.shape
    # strip, warp, upper row, row, block, step, right column, thread, which of two
    c = codes.astype(np.uint32).reshape(rows // 64, 4, 2, 8, columns // 64, 4, 2, 4, 2)
    even, odd = c[..., 0], c[..., 1]
    placed = (even & 8) << 12 | (even & 7) << 6 | (odd & 8) << 28 | (odd & 7) << 22

    def registers(step):
        return [placed[:, :, i % 2, :, :, step, i // 2, :] for i in range(4)]

    words = []
    for step in (0, 2):
        first, second = registers(step), registers(step + 1)
        pooled = rotate(first[3], 26) | rotate(second[3], 20)
        for r, rest in ((first, pooled & POOL), (second, rotate(pooled & ~POOL, 30))):
            words.append(r[0] | rotate(r[1], 28) | rotate(r[2], 22) | rest)
    # strip, warp, row, block, thread, word -> strip, block, warp, row, thread, word
    data = np.ascontiguousarray(np.stack(words, -1).transpose(0, 3, 1, 2, 4, 5))
    return data.view(np.uint8).reshape(rows // 64, columns // 64, 2048)


def code_scales(scales):
    """[rows, K / 16] bytes of E4M3 without sign to [strips, blocks, 256] bytes."""
    byte = np.arange(128, dtype=np.uint32)
    exponent, mantissa = byte >> 3, byte & 7
    shift = np.where(mantissa >= 4, 1, np.where(mantissa >= 2, 2, 3)).astype(np.uint32)
    subnormal = (16 - shift) << 3 | (mantissa << shift & 7)
    table = np.where(exponent > 0, (exponent + 15) << 3 | mantissa, subnormal).astype(np.uint32)
    table[0], table[127] = 0, 0xFF
    rows, columns = scales.shape
    # strip, warp, upper row, row, block, pair of steps, step
    f = table[scales].reshape(rows // 64, 4, 2, 8, columns // 4, 2, 2)
    upper, lower = f[:, :, 1], f[:, :, 0]
    words = rotate(lower[..., 0] | upper[..., 1] << 8 | upper[..., 0] << 16 | lower[..., 1] << 24, 4)
    return np.ascontiguousarray(words.transpose(0, 3, 1, 2, 4)).view(np.uint8).reshape(rows // 64, columns // 4, 256)


def code(values, scales):
    """Packed values [experts, N, K / 2] and scales [experts, N, K / 16], bytes; N in 64s, K in 128s."""
    parts = []
    for packed, bytes_ in zip(values, scales):
        codes = np.stack([packed & 15, packed >> 4], -1).reshape(len(packed), -1)
        # An element with the scale zero is zero, whatever its code.
        codes = np.where(np.repeat(bytes_ == 0, 16, axis=-1), 0, codes)
        parts.append(np.concatenate([code_elements(codes), code_scales(bytes_)], -1).reshape(-1))
    return np.stack(parts)
