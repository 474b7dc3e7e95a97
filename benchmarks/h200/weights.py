# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of the benchmark: random codes and scales, packed as docs/Rationale/Hopper.md
describes it, independently of the library, and the numbers that they are."""

import torch

import shapes

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
# Scales that are drawn, from and up to; what stands for 1.
SCALES = {"nvfp4": (40, 72, 56), "mxfp4": (118, 126, 127), "mxfp8_e4m3": (118, 126, 127)}


def draw(format, n, k, generator, are_ones):
    """Codes [n, K], one a byte, and scales [n, K / block], where K is k padded with zeros to whole stages."""
    def integers(low, high, *shape):
        return torch.randint(low, high, shape, device=generator.device, dtype=torch.uint8, generator=generator)

    block, bits = shapes.FORMATS[format]
    low, high, one = SCALES[format]
    padded = (k + 127) // 128 * 128
    codes = torch.zeros(n, padded, device=generator.device, dtype=torch.uint8)
    if bits > 8:
        # Neither NaN nor most of the subnormal numbers.
        codes[:, :k] = integers(0, 0x70, n, k) | integers(0, 2, n, k) << 7
        if are_ones:
            codes[:, :k] = 0x38 | integers(0, 2, n, k) << 7
    else:
        codes[:, :k] = integers(0, 16, n, k)
    scales = torch.full((n, padded // block), one, device=generator.device, dtype=torch.uint8)
    if not are_ones:
        scales[:, :k // block] = integers(low, high, n, k // block)
    return codes, scales


def dequantize(format, codes, scales):
    """The numbers in bf16, which is exact."""
    if shapes.FORMATS[format][1] > 8:
        values = codes.view(torch.float8_e4m3fn).to(torch.float32)
    else:
        values = E2M1.to(codes.device)[codes.to(torch.int64)]
    factors = scales.view(torch.float8_e4m3fn).to(torch.float32) if format == "nvfp4" else torch.exp2(scales.float() - 127)
    n, k = codes.shape
    values.view(n, -1, shapes.FORMATS[format][0]).mul_(factors[..., None])
    return values.to(torch.bfloat16)


def rotate(x, by):
    by %= 32
    return ((x << by) | (x >> (32 - by))) & 0xFFFFFFFF if by else x


def to_bytes(words):
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32).view(torch.uint8)


def arrange(codes):
    """By strip, warp, row + 8, row, block, step, column + 8, thread and number of a pair."""
    n, k = codes.shape
    return codes.to(torch.int64).view(n // 64, 4, 2, 8, k // 64, 4, 2, 4, 2)


def pack_e2m1(codes):
    """Four words of each thread of each block, in the order of the strips."""
    n, k = codes.shape
    c = arrange(codes)
    lo, hi = c[..., 0], c[..., 1]
    placed = ((lo & 8) << 12) | ((lo & 7) << 6) | ((hi & 8) << 28) | ((hi & 7) << 22)

    def register(step, i):
        # 0: row; 1: row + 8; 2: row, columns + 8; 3: both
        return placed[:, :, i % 2, :, :, step, i // 2, :]

    pool = 0x06030603
    words = []
    for step in (0, 2):
        a = [[register(step + s, i) for i in range(4)] for s in range(2)]
        z = rotate(a[0][3], 32 - 6) | rotate(a[1][3], 32 - 12)
        words.append(a[0][0] | rotate(a[0][1], 28) | rotate(a[0][2], 22) | (z & pool))
        words.append(a[1][0] | rotate(a[1][1], 28) | rotate(a[1][2], 22)
                     | rotate(z & ~pool & 0xFFFFFFFF, 30))
    # strip, warp, row, block, thread, word -> strip, block, warp, row, thread, word
    data = torch.stack(words, -1).permute(0, 3, 1, 2, 4, 5).contiguous()
    return to_bytes(data.view(n // 64, k // 64, -1))


def pack_bytes(codes):
    """The same of elements of 8 bits: two words of each thread for each step."""
    n, k = codes.shape
    c = arrange(codes)
    words = []
    for step in range(4):
        for i in (0, 1):
            upper, lower = c[:, :, 0, :, :, step, i, :, :], c[:, :, 1, :, :, step, i, :, :]
            words.append(upper[..., 0] << 8 | lower[..., 0] | upper[..., 1] << 24 | lower[..., 1] << 16)
    # Steps 0 and 1 of all threads, then steps 2 and 3.
    data = torch.stack(words, -1).unflatten(-1, (2, 4)).permute(0, 3, 5, 1, 2, 4, 6).contiguous()
    return to_bytes(data.view(n // 64, k // 64, -1))


def code_scales(format, scales):
    """The byte in which a decoder finds each scale."""
    if format != "nvfp4":
        return scales.to(torch.int64) + (113 if format.startswith("mxfp8") else 119)
    table = []
    for byte in range(128):
        e, m = byte >> 3, byte & 7
        table.append(0xFF if byte == 127 else ((e + 15) << 3) | m if e else
                     (15 << 3) | (2 * (m - 4)) if m >= 4 else
                     (14 << 3) | (4 * (m - 2)) if m >= 2 else 13 << 3)
    return torch.tensor(table, device=scales.device)[scales.to(torch.int64)]


def pack(format, codes, scales):
    """Codes [N, K] and scales of one matrix to bytes; K a multiple of 128. Products are
    to be multiplied by 128."""
    n, k = codes.shape
    data = pack_bytes(codes) if format.startswith("mxfp8") else pack_e2m1(codes)
    f = code_scales(format, scales).repeat_interleave(shapes.FORMATS[format][0] // 16, -1)
    f = f.view(n // 64, 4, 2, 8, k // 64, 2, 2)
    # strip, warp, row + 8, row, block, pair of steps, step
    s = (f[:, :, 0, :, :, :, 0] | (f[:, :, 1, :, :, :, 1] << 8)
         | (f[:, :, 1, :, :, :, 0] << 16) | (f[:, :, 0, :, :, :, 1] << 24))
    s = rotate(s, 4).permute(0, 3, 1, 2, 4).contiguous().view(n // 64, k // 64, -1)
    return torch.cat([data, to_bytes(s)], -1).reshape(-1)
