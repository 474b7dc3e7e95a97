# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer, bit, float and comparison instructions, and those of warps."""

from lanewise import lanewise

ROUNDINGS = ("rn", "rz", "rm", "rp")


def integers():
    make = lambda *a, **k: lanewise("integer", *a, **k)
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
            yield make(f"{op}.{t}", t, f"{t} {t}")
        for op in ("div", "rem"):
            yield make(f"{op}.{t}", t, f"{t} {t}", nonzero=True)
        yield make(f"mad.lo.{t}", t, f"{t} {t} {t}")
        if t != "u64" and t != "s64":
            wide = t[0] + str(2 * int(t[1:]))
            yield make(f"mul.wide.{t}", wide, f"{t} {t}")
            yield make(f"mad.wide.{t}", wide, f"{t} {t} {wide}")
        yield make(f"mad.hi.{t}", t, f"{t} {t} {t}")
        yield make(f"sad.{t}", t, f"{t} {t} {t}")
        if t[0] == "s":
            yield make(f"abs.{t}", t, t)
            yield make(f"neg.{t}", t, t)
        yield make(f"shr.{t}", t, f"{t} shift")
        if t[0] == "u":
            yield make(f"shl.b{t[1:]}", "b" + t[1:], f"b{t[1:]} shift")
        for cmp in ("eq", "ne", "lt", "le", "gt", "ge"):
            yield make(f"setp.{cmp}.{t}", "pred", f"{t} {t}")
        yield make(f"slct.{t}.s32", t, f"{t} {t} s32")
    for t in ("u32", "s32"):
        for op in ("mul24.lo", "mul24.hi"):
            yield make(f"{op}.{t}", t, f"{t} {t}")
        yield make(f"mad24.lo.{t}", t, f"{t} {t} {t}")
    for op in ("add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"):
        yield make(op, "s32", "s32 s32")
    yield make("mad.hi.sat.s32", "s32", "s32 s32 s32")
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            yield make(f"{op}.{t}", t, f"{t} {t}")
    for op in ("min", "max"):
        yield make(f"{op}.relu.s16x2", "s16x2", "s16x2 s16x2")
    for ta in "us":
        for tb in "us":
            yield make(f"dp4a.{ta}32.{tb}32", ta + "32", "b32 b32 b32")
            for half in ("lo", "hi"):
                yield make(f"dp2a.{half}.{ta}32.{tb}32", ta + "32",
                           "b32 b32 b32")
    carry = ("add.cc.u32 %t0, %a, %b;\n  addc.cc.u32 %t1, %b, %c;\n"
             "  addc.u32 %t2, %a, %c;\n  sub.cc.u32 %t3, %t0, %c;\n"
             "  subc.cc.u32 %t4, %t1, %t2;\n  subc.u32 %t5, %t2, %b;\n"
             "  mad.lo.cc.u32 %t6, %a, %b, %c;\n"
             "  madc.hi.u32 %t7, %a, %b, %t5;\n  xor.b32 %t4, %t4, %t6;\n"
             "  mov.b64 %d, {%t4, %t7};")
    yield make("carry chain", "b64", "u32 u32 u32", carry)


def bits():
    make = lambda *a, **k: lanewise("bits", *a, **k)
    for b in ("b16", "b32", "b64"):
        for op in ("and", "or", "xor"):
            yield make(f"{op}.{b}", b, f"{b} {b}")
        yield make(f"not.{b}", b, b)
        yield make(f"cnot.{b}", b, b)
    for b in ("b32", "b64"):
        yield make(f"popc.{b}", "b32", b)
        yield make(f"clz.{b}", "b32", b)
        yield make(f"brev.{b}", b, b)
        yield make(f"bfi.{b}", b, f"{b} {b} shift shift")
    for t in ("u32", "s32", "u64", "s64"):
        yield make(f"bfind.{t}", "b32", t)
        yield make(f"bfind.shiftamt.{t}", "b32", t)
        yield make(f"bfe.{t}", t, f"{t} shift shift")
    for t in ("u32", "s32"):
        for mode in ("clamp", "wrap"):
            yield make(f"szext.{mode}.{t}", t, f"{t} shift")
    for mode in ("clamp", "wrap"):
        yield make(f"bmsk.{mode}.b32", "b32", "shift shift")
        for way in "lr":
            yield make(f"shf.{way}.{mode}.b32", "b32", "b32 b32 shift")
    yield make("fns.b32", "b32", "b32 lane s32", "and.b32 %b, %b, 31;\n"
               "  fns.b32 %d, %a, %b, %c;")
    for lut in (0x00, 0x1e, 0x96, 0xca, 0xe8, 0xff, 0x35):
        yield make(f"lop3.b32 {lut:#x}", "b32", "b32 b32 b32",
                   f"lop3.b32 %d, %a, %b, %c, {lut};")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield make(f"prmt.b32{mode}", "b32", "b32 b32 b32")


def floats():
    make = lambda *a, **k: lanewise("float", *a, **k)
    for t in ("f32", "f64"):
        variants = ["", ".ftz", ".sat", ".ftz.sat"] if t == "f32" else [""]
        for r in ROUNDINGS:
            for v in variants:
                for op in ("add", "sub", "mul"):
                    yield make(f"{op}.{r}{v}.{t}", t, f"{t} {t}")
                yield make(f"fma.{r}{v}.{t}", t, f"{t} {t} {t}")
                if "sat" not in v:
                    yield make(f"div.{r}{v}.{t}", t, f"{t} {t}")
                    yield make(f"rcp.{r}{v}.{t}", t, t)
                    yield make(f"sqrt.{r}{v}.{t}", t, t)
        for cmp in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu",
                    "leu", "gtu", "geu", "num", "nan"):
            yield make(f"setp.{cmp}.{t}", "pred", f"{t} {t}")
        for what in ("finite", "infinite", "number", "notanumber", "normal",
                     "subnormal"):
            yield make(f"testp.{what}.{t}", "pred", t)
        yield make(f"copysign.{t}", t, f"{t} {t}")
    yield make("setp.lt.ftz.f32", "pred", "f32 f32")
    yield make("set.gt.u32.f32", "u32", "f32 f32")
    yield make("set.gt.f32.f32", "f32", "f32 f32")
    yield make("slct.ftz.f32.f32", "f32", "f32 f32 f32")
    for t in ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"):
        nan = [""] if t == "f64" else ["", ".NaN"]
        if t != "f64":
            nan += [".xorsign.abs", ".NaN.xorsign.abs"]
        ftz = [""] if t[0] == "b" or t == "f64" else ["", ".ftz"]
        for op in ("min", "max"):
            for f in ftz:
                for v in nan:
                    yield make(f"{op}{f}{v}.{t}", t, f"{t} {t}")
        for op in ("abs", "neg"):
            for f in ftz:
                yield make(f"{op}{f}.{t}", t, t)
    for t in ("f16", "f16x2"):
        for v in ("", ".ftz", ".sat", ".ftz.sat"):
            for op in ("add", "sub", "mul"):
                yield make(f"{op}.rn{v}.{t}", t, f"{t} {t}")
            yield make(f"fma.rn{v}.{t}", t, f"{t} {t} {t}")
        yield make(f"fma.rn.relu.{t}", t, f"{t} {t} {t}")
    for t in ("bf16", "bf16x2"):
        for op in ("add", "sub", "mul"):
            yield make(f"{op}.rn.{t}", t, f"{t} {t}")
        for v in ("", ".relu"):
            yield make(f"fma.rn{v}.{t}", t, f"{t} {t} {t}")
    for t in ("f16", "bf16"):
        for cmp in ("eq", "lt", "geu", "nan"):
            yield make(f"setp.{cmp}.{t}", "pred", f"{t} {t}")


def approximations():
    make = lambda *a, **k: lanewise("approximate", *a, **k)
    for op in ("rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos"):
        for v in ("", ".ftz"):
            yield make(f"{op}.approx{v}.f32", "f32", "f32", compare="f32")
    yield make("tanh.approx.f32", "f32", "f32", compare="f32")
    for mode in ("approx", "full"):
        yield make(f"div.{mode}.f32", "f32", "f32 f32", compare="f32")
    for t in ("f16", "bf16"):
        ex2 = "ex2.approx.f16" if t == "f16" else "ex2.approx.ftz.bf16"
        yield make(ex2, t, t, compare=t)
        yield make(f"tanh.approx.{t}", t, t, compare=t)
    yield make("rsqrt.approx.f64", "f64", "f64", compare="f64")
    yield make("rcp.approx.ftz.f64", "f64", "f64", compare="f64")


def warps():
    make = lambda *a, **k: lanewise("warp", *a, **k)
    mark = "\n  @!%p xor.b32 %d, %d, 0x80000001;"
    for mode in ("idx", "up", "down", "bfly"):
        yield make(f"shfl.sync.{mode}.b32", "b32", "b32 lane clamp",
                   f"shfl.sync.{mode}.b32 %d|%p, %a, %b, %c, 0xffffffff;{mark}")
    split = "and.b32 %t0, %a, 1;\n  setp.ne.u32 %p, %t0, 0;\n  "
    for mode in ("all", "any", "uni"):
        yield make(f"vote.sync.{mode}.pred", "pred", "small",
                   f"setp.lt.u32 %q, %a, 3;\n  vote.sync.{mode}.pred %p, %q, "
                   "0xffffffff;")
    yield make("vote.sync.ballot.b32", "b32", "b32", split +
               "vote.sync.ballot.b32 %d, %p, 0xffffffff;")
    # The two halves of the warp execute their own copy.
    half = ("setp.lt.u32 %q, %lane, 13;\n  @%q bra low;\n  mov.u32 %d, 7;\n"
            "  {} %d, %a, 0xffffe000;\n  bra end;\nlow:\n"
            "  {} %d, %a, 0x1fff;\nend:")
    for op in ("add", "min", "max"):
        for t in ("u32", "s32"):
            yield make(f"redux.sync.{op}.{t}", t, t,
                       half.format(*[f"redux.sync.{op}.{t}"] * 2))
    for op in ("and", "or", "xor"):
        yield make(f"redux.sync.{op}.b32", "b32", "b32",
                   half.format(*[f"redux.sync.{op}.b32"] * 2))
    yield make("match.any.sync.b32", "b32", "small",
               half.format(*["match.any.sync.b32"] * 2))
    yield make("match.any.sync.b64", "b32", "small", "cvt.u64.u32 %u0, %a;\n"
               "  shl.b64 %u0, %u0, 40;\n"
               "  match.any.sync.b64 %d, %u0, 0xffffffff;")
    yield make("match.all.sync.b32", "b32", "small b32",
               "shr.u32 %t0, %me, 5;\n  and.b32 %t0, %t0, 1;\n"
               "  mul.lo.u32 %t0, %t0, %a;\n"
               f"  match.all.sync.b32 %d|%p, %t0, 0xffffffff;{mark}")
    yield make("activemask in a branch", "b32", "b32",
               "mov.u32 %d, 0;\n  setp.lt.u32 %p, %lane, 9;\n"
               "  @%p activemask.b32 %d;")
    yield make("elect.sync", "b32", "b32",
               f"elect.sync %d|%p, 0xffffffff;{mark}")
    for name in ("lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge",
                 "lanemask_eq"):
        yield make("%" + name, "b32", "b32", f"mov.u32 %d, %{name};")


def all_cases():
    for family in (integers, bits, floats, approximations, warps):
        yield from family()
