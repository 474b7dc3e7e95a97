# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions; those with one 16-bit operand see every code."""

from lanewise import bits_of, lanewise

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
ROUNDINGS = ("rn", "rz", "rm", "rp")


def register(kind):
    """What a result of `kind` is stored as: the whole register."""
    return {"u8": "u32", "s8": "s32"}.get(kind, kind)


def to_integers():
    for source in ("f16", "f32", "f64", "bf16"):
        for target in INTEGERS:
            if source == "bf16" and target.endswith("8"):
                continue  # refused by ptxas
            for r in ("rni", "rzi", "rmi", "rpi"):
                yield f"cvt.{r}.{target}.{source}", register(target), source
            if source != "bf16":
                yield f"cvt.rzi.sat.{target}.{source}", register(target), source
    for target in ("u32", "s32", "s16", "u64"):
        yield f"cvt.rni.ftz.{target}.f32", target, "f32"


def to_floats():
    for source in INTEGERS:
        operand = "u32" if source.endswith("8") else source
        for target in ("f16", "f32", "f64", "bf16"):
            if target == "bf16" and source.endswith("8"):
                continue
            for r in ROUNDINGS:
                yield f"cvt.{r}.{target}.{source}", target, operand


def among_floats():
    for t in ("f16", "f32", "f64"):
        for r in ("rni", "rzi", "rmi", "rpi"):
            yield f"cvt.{r}.{t}.{t}", t, t
    yield "cvt.rni.ftz.f32.f32", "f32", "f32"
    yield "cvt.rzi.sat.f32.f32", "f32", "f32"
    for r in ROUNDINGS:
        yield f"cvt.{r}.f32.f64", "f32", "f64"
        yield f"cvt.{r}.ftz.f32.f64", "f32", "f64"
        yield f"cvt.{r}.sat.f32.f64", "f32", "f64"
        if r not in ("rn", "rz"):  # those are among the narrow ones below
            yield f"cvt.{r}.f16.f32", "f16", "f32"
        yield f"cvt.{r}.f16.f64", "f16", "f64"
        yield f"cvt.{r}.bf16.f64", "bf16", "f64"
    for source, target in (("f16", "f32"), ("f16", "f64"), ("bf16", "f32"),
                           ("bf16", "f64"), ("f32", "f64")):
        yield f"cvt.{target}.{source}", target, source
    yield "cvt.ftz.f64.f32", "f64", "f32"
    yield "cvt.sat.f32.f16", "f32", "f16"
    for r in ("rn", "rz", "rm", "rp"):
        yield f"cvt.{r}.bf16.f16", "bf16", "f16"
        yield f"cvt.{r}.f16.bf16", "f16", "bf16"
    for r in ("rn", "rz"):
        for target in ("f16", "bf16"):
            for v in ("", ".relu", ".satfinite", ".relu.satfinite"):
                yield f"cvt.{r}{v}.{target}.f32", target, "f32"
                yield f"cvt.{r}{v}.{target}x2.f32", f"{target}x2", "f32 f32"
        for v in ("", ".relu"):
            yield f"cvt.{r}{v}.tf32.f32", "tf32", "f32"
    yield "cvt.rna.tf32.f32", "tf32", "f32"
    yield "cvt.rna.satfinite.tf32.f32", "tf32", "f32"
    for target in ("e4m3x2", "e5m2x2"):
        for v in ("", ".relu"):
            yield f"cvt.rn.satfinite{v}.{target}.f32", target, "f32 f32"
            yield f"cvt.rn.satfinite{v}.{target}.f16x2", target, "f16x2"
            yield f"cvt.rn{v}.f16x2.{target}", "f16x2", target


def holds_all(target, source):
    """Whether nothing can saturate, where `.sat` is not allowed."""
    bits = int(target[1:]), int(source[1:])
    if source[0] == "s":
        return target[0] == "s" and bits[0] >= bits[1]
    return bits[0] >= bits[1] + (target[0] == "s")


def among_integers():
    for source in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for target in INTEGERS:
            yield f"cvt.{target}.{source}", register(target), source
            if not holds_all(target, source):
                yield f"cvt.sat.{target}.{source}", register(target), source
    for source in ("u8", "s8"):
        for target in ("u16", "s16", "u32", "s32", "u64", "s64"):
            yield f"cvt.{target}.{source}", target, "u32"
    for t in ("u8", "s8", "u16", "s16"):
        if t.endswith("16"):
            yield f"cvt.pack.sat.{t}.s32", "b32", "s32 s32"
        else:
            yield f"cvt.pack.sat.{t}.s32.b32", "b32", "s32 s32 b32"


def all_cases():
    for family in (to_integers, to_floats, among_floats, among_integers):
        for name, result, operands in family():
            # Destinations narrower than their register are stored whole.
            yield lanewise("convert", name, result, operands)
