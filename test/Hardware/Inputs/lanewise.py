# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose every thread loads a, b, c and e, runs a few instructions, and
stores d."""

import zlib

import numpy as np

from device import Case

HEADER = ".version 8.4\n.target sm_90a\n.address_size 64\n"

# Type of an operand: bytes in memory, register class.
WIDTH = {"8": 1, "16": 2, "32": 4, "64": 8}


def bits_of(kind):
    """Bits of an operand kind such as s32, f16x2, e4m3x2, shift or lane."""
    if kind in ("shift", "lane", "small", "clamp"):
        return 32
    if kind == "pred":
        return 32
    if kind == "tf32":
        return 32
    if kind in ("bf16x2", "f16x2", "u16x2", "s16x2"):
        return 32
    if kind in ("e4m3x2", "e5m2x2"):
        return 16
    return int(kind.lstrip("usbfz"))


FLOATS = {  # exponent bits, mantissa bits
    "f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "tf32": (8, 23),
    "f64": (11, 52)}


def special_floats(kind):
    exponent, mantissa = FLOATS[kind]
    sign = 1 << (exponent + mantissa)
    bias = (1 << (exponent - 1)) - 1
    top = ((1 << exponent) - 1) << mantissa
    half = 1 << (mantissa - 1)
    codes = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, (1 << mantissa) + 1,
             bias << mantissa, (bias << mantissa) | 1, (bias << mantissa) - 1,
             (bias << mantissa) | half, (bias - 1) << mantissa,
             (bias + 1) << mantissa, (bias + 1 << mantissa) | half,
             (bias + mantissa) << mantissa, top - 1, top, top | 1, top | half,
             top | half | 5]
    for power in (7, 8, 9, 15, 16, 31, 32, 63, 64, -6, -7, -9, -10, -14, -16):
        if 0 < bias + power < (1 << exponent) - 1:
            base = (bias + power) << mantissa
            codes += [base, base - 1, base + 1, base | half]
    return [x for code in codes for x in (code, code | sign)]


def special_ints(bits):
    values = [0, 1, 2, 3, 5, 7, 31, 32, 127, 128, 255, 256, 32767, 32768, 65535,
              65536, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1,
              (1 << bits) - 2, (1 << bits) - 128, (1 << bits) - 129]
    return sorted({v & ((1 << bits) - 1) for v in values})


def random_bits(rng, bits, n):
    return rng.integers(0, 1 << 63, n, dtype=np.uint64, endpoint=False) \
        * np.uint64(2) + rng.integers(0, 2, n, dtype=np.uint64) \
        & np.uint64((1 << bits) - 1)


def values_of(kind, n, position, count, rng):
    """Codes of one operand: pairs of special values first, then random."""
    bits = bits_of(kind)
    full = random_bits(rng, bits, n)
    if kind == "shift":
        return np.where(full & np.uint64(7) == 0, full,
                        full % np.uint64(71))
    if kind == "lane":
        return np.where(full & np.uint64(7) == 0, full, full % np.uint64(40))
    if kind == "clamp":
        segment = np.array([0x1f, 0x001f, 0x101f, 0x1807, 0x1c03, 0x0f, 0x1810],
                           np.uint64)
        return segment[(np.arange(n) // 32) % len(segment)]
    if kind == "small":
        return full % np.uint64(4)
    if kind.endswith("x2") and bits == 32:
        half = "u16" if kind[0] in "us" else kind[:-2]
        low = values_of(half, n, position, count, rng)
        high = values_of(half, n, position, count, rng)[::-1]
        return low | high << np.uint64(16)
    if bits == 16 and count == 1:
        return np.arange(n, dtype=np.uint64) & np.uint64(0xffff)
    if kind in FLOATS:
        exponent, mantissa = FLOATS[kind]
        special = special_floats(kind)
        # Exponents near one another, so that sums and products are of use.
        bias = (1 << (exponent - 1)) - 1
        spread = min(bias - 1, 24)
        near = full & np.uint64((1 << mantissa) - 1 | 1 << bits - 1)
        near |= (rng.integers(bias - spread, bias + spread, n)
                 .astype(np.uint64) << np.uint64(mantissa))
        full = np.where(np.arange(n) % 3 == 0, full, near)
    else:
        special = special_ints(bits)
        full >>= rng.integers(0, bits, n).astype(np.uint64)
        full = np.where(np.arange(n) % 3 == 0, random_bits(rng, bits, n), full)
    index = np.arange(n)
    k = len(special)
    chosen = index // k if position % 2 else index
    head = min(n // 2, k * k if count > 1 else k)
    if position > 1:
        chosen = rng.integers(0, k, n)
    full[:head] = np.array(special, np.uint64)[chosen[:head] % k]
    return full


def lanewise(group, name, result, operands, body=None, n=None, block=128,
             compare="bits", nonzero=False):
    """A case of `body`, or of one instruction called `name`."""
    operands = operands.split()
    if n is None:
        exhaustive = len(operands) == 1 and bits_of(operands[0]) == 16
        n = 65536 if exhaustive else 4096
    if body is None:
        names = ["%d"] + ["%" + x for x in "abce"[:len(operands)]]
        if result == "pred":
            names[0] = "%p"
        body = f"{name} {', '.join(names)};"
    if result == "pred":
        body += "\n  selp.b32 %d, 1, 0, %p;"
    params = ", ".join(f".param .u64 p{i}" for i in range(len(operands) + 1))
    lines = [HEADER, f".visible .entry k({params})\n{{",
             "  .reg .pred %p, %q;", "  .reg .b32 %me, %lane, %x, %t<8>;",
             "  .reg .b64 %addr, %offset, %u<8>;", "  .reg .b16 %h<8>;",
             f"  .reg .b{max(16, bits_of(result))} %d;"]
    for reg, kind in zip("abce", operands):
        lines.append(f"  .reg .b{max(16, bits_of(kind))} %{reg};")
    lines += ["  mov.u32 %x, %ctaid.x;", "  mov.u32 %me, %tid.x;",
              f"  mad.lo.u32 %me, %x, {block}, %me;",
              "  and.b32 %lane, %me, 31;", "  cvt.u64.u32 %offset, %me;"]
    rng = np.random.default_rng(zlib.crc32(f"{group} {name}".encode()))
    buffers = []
    for i, (reg, kind) in enumerate(zip("abce", operands)):
        size = bits_of(kind) // 8
        codes = values_of(kind, n, i, len(operands), rng)
        if nonzero and i == 1:
            codes = np.where(codes == 0, np.uint64(3), codes)
        buffers.append(codes.astype(f"<u{size}"))
        lines += [f"  ld.param.u64 %addr, [p{i}];",
                  f"  mad.lo.u64 %addr, %offset, {size}, %addr;",
                  f"  ld.global.b{size * 8} %{reg}, [%addr];"]
    size = bits_of(result) // 8
    lines += ["  " + body, f"  ld.param.u64 %addr, [p{len(operands)}];",
              f"  mad.lo.u64 %addr, %offset, {size}, %addr;",
              f"  st.global.b{size * 8} [%addr], %d;", "  ret;", "}", ""]
    buffers.append(np.full(n, 0x5a, f"<u{size}"))
    return Case(group, name, "\n".join(lines), buffers, [len(buffers) - 1],
                grid=n // block, block=block, compare=compare)
