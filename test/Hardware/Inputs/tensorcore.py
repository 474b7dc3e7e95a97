# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accumulation of mma.sync and wgmma, layouts of wgmma's operands."""

import numpy as np

from shared import shared_case

FORMATS = {  # exponent bits, mantissa bits, storage bits
    "f16": (5, 10, 16), "bf16": (8, 7, 16), "tf32": (8, 10, 32),
    "e4m3": (4, 3, 8), "e5m2": (5, 2, 8), "f32": (8, 23, 32)}


def codes(rng, kind, n, style):
    """Codes with exponents within some binades, any finite code, or any."""
    exponent, mantissa, bits = FORMATS[kind]
    value = rng.integers(0, 1 << mantissa, n)
    top = (1 << exponent) - 1
    if style == "any":
        e = rng.integers(0, top + 1, n)
        e = np.where(rng.integers(0, 24, n) == 0, e, np.minimum(e, top - 1))
    elif style == "finite":
        e = rng.integers(0, top, n)
    elif style == "small":
        e = rng.integers(0, 3, n)
    else:
        bias = (1 << exponent - 1) - 1
        spread = min(style, bias)
        e = rng.integers(bias - spread // 2, bias - spread // 2 + max(1, spread),
                         n)
    value |= e << mantissa
    value |= rng.integers(0, 2, n) << exponent + mantissa
    value[rng.integers(0, 16, n) == 0] = 0
    if kind == "tf32":
        value <<= 13
    return value.astype(f"<u{bits // 8}")


def accumulators(rng, kind, n, style):
    if style == "zero":
        return np.zeros(n * (2 if kind == "f32" else 1), "<u4").view(np.uint8)
    return codes(rng, kind, n, style).view(np.uint8)


STYLES = ((1, 1), (7, 7), (24, 24), ("finite", "finite"), ("small", "small"),
          ("any", "any"), (7, "zero"))


def products():
    rng = np.random.default_rng(21)
    shapes = [("m16n8k8", "f16"), ("m16n8k16", "f16"), ("m16n8k8", "bf16"),
              ("m16n8k16", "bf16"), ("m16n8k4", "tf32"), ("m16n8k8", "tf32"),
              ("m16n8k32", "e4m3"), ("m16n8k32", "e5m2")]
    warps = 64
    for shape, kind in shapes:
        k = int(shape.split("k")[1])
        count_a = 16 * k * FORMATS[kind][2] // 1024
        count_b = 8 * k * FORMATS[kind][2] // 1024
        for result in ("f32", "f16"):
            if result == "f16" and kind != "f16":
                continue
            count_c = 4 if result == "f32" else 2
            for style, style_c in STYLES:
                n = 32 * warps
                a = codes(rng, kind, n * count_a * 32 // FORMATS[kind][2], style)
                b = codes(rng, kind, n * count_b * 32 // FORMATS[kind][2], style)
                per = count_c * 32 // FORMATS[result][2]
                c = accumulators(rng, result, n * per, style_c)[
                    :n * count_c * 4]
                body, first = "", 0
                for i, count in enumerate((count_a, count_b, count_c)):
                    body += f"  mad.wide.u32 %u4, %gid, {4 * count}, %g{i};\n"
                    for j in range(count):
                        body += f"  ld.global.b32 %t{first}, [%u4+{4 * j}];\n"
                        first += 1
                split = lambda start, count, name="t": "{" + ", ".join(
                    f"%{name}{start + j}" for j in range(count)) + "}"
                ts = f"{result}.{kind}.{kind}.{result}"
                body += (f"  mma.sync.aligned.{shape}.row.col.{ts} "
                         f"{split(0, count_c, 'r')}, {split(0, count_a)}, "
                         f"{split(count_a, count_b)}, "
                         f"{split(count_a + count_b, count_c)};")
                yield shared_case(
                    "mma.sync", f"{shape}.{ts} {style} {style_c}", body,
                    results=count_c, threads=32, grid=warps,
                    extra=[a.view(np.uint8), b.view(np.uint8), c])


def descriptor(register, offset, leading, stride, swizzle):
    """Instructions that put a matrix descriptor of memory at `offset` into a
    register; offsets in bytes."""
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    fixed = (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62
    return (f"  add.u32 %t0, %sm, {offset};\n  shr.u32 %t0, %t0, 4;\n"
            "  and.b32 %t0, %t0, 0x3fff;\n  cvt.u64.u32 %u0, %t0;\n"
            f"  or.b64 {register}, %u0, {fixed:#x};\n")


def wgmma(name, kind, n, result, style, style_c, *, kind_b=None, swizzle=0,
          leading=128, stride=256, trans=(0, 0), registers=False, signs=(1, 1),
          steps=1, scale=1, ctas=2):
    kind_b = kind_b or kind
    bits = FORMATS[kind][2]
    k = 256 // bits
    rng = np.random.default_rng(len(name) * 1000 + n + sum(map(ord, name)))
    count = n // 2 if result == "f32" else n // 4
    size_a, size_b = 16384, 16384

    def fill(rng):
        parts = []
        for _ in range(ctas):
            parts.append(codes(rng, kind, size_a * 8 // bits, style)
                         .view(np.uint8))
            parts.append(codes(rng, kind_b, size_b * 8 // bits, style)
                         .view(np.uint8))
        return np.concatenate(parts)

    threads = 128 * ctas
    per = count * 32 // FORMATS[result][2]
    c = accumulators(rng, result, threads * per, style_c)[:threads * count * 4]
    body = descriptor("%u1", 0, leading, stride, swizzle)
    body += descriptor("%u2", size_a, leading, stride, swizzle)
    body += f"  mad.wide.u32 %u4, %gid, {4 * count}, %g0;\n"
    for j in range(count):
        body += f"  ld.global.b32 %r{j}, [%u4+{4 * j}];\n"
    a = "%u1"
    if registers:
        body += "  mad.lo.u32 %t0, %me, 16, %sm;\n"
        body += "".join(f"  ld.shared.b32 %t{4 + j}, [%t0+{4 * j}];\n"
                        for j in range(4))
        a = "{%t4, %t5, %t6, %t7}"
    body += f"  mov.u32 %t1, {scale};\n  setp.ne.u32 %q, %t1, 0;\n"
    body += "  fence.proxy.async;\n  bar.sync 0;\n  wgmma.fence.sync.aligned;\n"
    wide = bits == 16
    flags = f", {signs[0]}, {signs[1]}" if bits >= 8 else ""
    if wide:
        flags += f", {trans[1]}" if registers else f", {trans[0]}, {trans[1]}"
    regs = ", ".join(f"%r{j}" for j in range(count))
    for _ in range(steps):
        body += (f"  wgmma.mma_async.sync.aligned.m64n{n}k{k}.{result}.{kind}."
                 f"{kind_b} {{{regs}}}, {a}, %u2, %q{flags};\n")
    body += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;"
    return shared_case("wgmma", name, body, size=size_a + size_b, threads=128,
                       grid=ctas, results=count, extra=[c], fill=fill)


def warpgroup():
    for kind in ("bf16", "f16", "tf32", "e4m3", "e5m2"):
        for n in (8, 64):
            for style, style_c in STYLES:
                yield wgmma(f"{kind} n{n} {style} {style_c}", kind, n, "f32",
                            style, style_c, ctas=4)
        yield wgmma(f"{kind} n256", kind, 256, "f32", 7, 7, ctas=1)
        yield wgmma(f"{kind} no C", kind, 32, "f32", 7, "any", scale=0)
        yield wgmma(f"{kind} A in registers", kind, 32, "f32", 7, 7,
                    registers=True)
        yield wgmma(f"{kind} four in a row", kind, 32, "f32", 7, 7, steps=4)
        yield wgmma(f"{kind} negated", kind, 32, "f32", 7, 7, signs=(-1, 1))
        yield wgmma(f"{kind} negated B", kind, 32, "f32", 7, 7, signs=(1, -1))
        for swizzle, stride in ((32, 256), (64, 512), (128, 1024)):
            yield wgmma(f"{kind} swizzle {swizzle}", kind, 64, "f32", 7, 7,
                        swizzle=swizzle, stride=stride)
    for a, b in (("e4m3", "e5m2"), ("e5m2", "e4m3")):
        for style, style_c in STYLES:
            yield wgmma(f"{a} {b} {style} {style_c}", a, 32, "f32", style,
                        style_c, kind_b=b)
    for kind in ("f16", "e4m3", "e5m2"):
        for style, style_c in STYLES[:-1]:
            yield wgmma(f"{kind} to f16 {style} {style_c}", kind, 32, "f16",
                        style, style_c)
    for kind in ("bf16", "f16"):
        for trans in ((0, 1), (1, 0), (1, 1)):
            for swizzle, leading, stride in ((0, 128, 1024), (32, 1024, 512),
                                             (64, 2048, 1024),
                                             (128, 4096, 1024)):
                yield wgmma(f"{kind} transposed {trans} swizzle {swizzle}", kind,
                            32, "f32", 7, 7, swizzle=swizzle, leading=leading,
                            stride=stride, trans=trans)


def all_cases():
    yield from products()
    yield from warpgroup()
