# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random legal programs: integer and IEEE float instructions, divergent branches
and loops, jump tables, and, where the block is together, shuffles, votes,
barriers, shared memory and atomics. Every register of every thread is a result;
NaNs are made one and the same."""

import random
import re
import zlib

import numpy as np

from device import Case
from lanewise import HEADER, special_floats, special_ints

COUNT = 300
THREADS, BLOCKS = 128, 2
INTS, FLOATS, WIDES, PREDS = 8, 4, 3, 4
# Words of a thread: 32-bit registers, floats, then wide ones in halves.
WORDS = INTS + FLOATS + 2 * WIDES

INTEGER_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
FLOAT_COMPARISONS = INTEGER_COMPARISONS + (
    "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


class Program:
    """Lines of one program. `%i`, `%f`, `%w` and `%p` are its registers, `%n` the
    counters of loops, `%t` what an instruction needs for itself."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.labels = 0
        self.depth = 0
        for _ in range(self.random.randint(12, 24)):
            self.statement(together=True)

    def emit(self, line):
        self.lines.append("  " + line)
        written = re.search(r"^(?:@\S+ )?[\w.]+ (%f\d)", line)
        if written and ".pred" not in line:
            # Which NaN comes out is not specified, and ptxas does not keep it.
            self.lines += [f"  testp.notanumber.f32 %q, {written[1]};",
                           f"  @%q mov.f32 {written[1]}, 0f7fffffff;"]

    def pick(self, *choices):
        return self.random.choice(choices)

    def i(self):
        return f"%i{self.random.randrange(INTS)}"

    def f(self):
        return f"%f{self.random.randrange(FLOATS)}"

    def w(self):
        return f"%w{self.random.randrange(WIDES)}"

    def p(self):
        return f"%p{self.random.randrange(PREDS)}"

    def integer(self):
        """A register, or sometimes a constant."""
        if self.random.random() < 0.8:
            return self.i()
        return str(self.pick(0, 1, 7, 31, 255, 0x80000000, 0xffffffff,
                             self.random.randrange(1 << 32)))

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    # Statements. -------------------------------------------------------------

    def statement(self, together):
        kinds = [self.arithmetic] * 10
        if self.depth < 3:
            kinds += [self.branch, self.branch, self.loop, self.table]
        if together:
            kinds += [self.exchange, self.shuffle, self.vote, self.reduce]
        self.random.choice(kinds)()

    def block(self):
        self.depth += 1
        for _ in range(self.random.randint(1, 5)):
            self.statement(together=False)
        self.depth -= 1

    def condition(self):
        """Any predicate; one of them has just been computed."""
        self.compare()
        return self.p()

    def branch(self):
        otherwise, end = self.label(), self.label()
        self.emit(f"@{self.pick('', '!')}{self.condition()} bra {otherwise};")
        self.block()
        self.emit(f"bra {end};")
        self.lines.append(otherwise + ":")
        if self.random.random() < 0.7:
            self.block()
        self.lines.append(end + ":")

    def loop(self):
        counter, again = f"%n{self.depth}", self.label()
        self.emit(f"and.b32 {counter}, {self.i()}, {self.pick(1, 3, 7)};")
        self.lines.append(again + ":")
        self.block()
        self.emit(f"setp.eq.u32 %q, {counter}, 0;")
        self.emit(f"sub.u32 {counter}, {counter}, 1;")
        self.emit(f"@!%q bra {again};")

    def table(self):
        labels = [self.label() for _ in range(self.random.randint(2, 4))]
        name, end = "T" + self.label(), self.label()
        self.emit(f"rem.u32 %t0, {self.i()}, {len(labels)};")
        self.lines.append(f"{name}: .branchtargets {', '.join(labels)};")
        self.emit(f"brx.idx %t0, {name};")
        for label in labels:
            self.lines.append(label + ":")
            self.block()
            self.emit(f"bra {end};")
        self.lines.append(end + ":")

    # Where all threads of the block are. -------------------------------------

    def exchange(self):
        """Every thread writes or adds to shared memory, then reads elsewhere."""
        mask = THREADS - 1
        self.emit("bar.sync 0;")
        if self.random.random() < 0.5:
            self.emit("shl.b32 %t0, %me, 2;")
            self.emit("add.u32 %t0, %t0, %shared;")
            self.emit(f"st.shared.b32 [%t0], {self.i()};")
        else:
            self.emit(f"and.b32 %t0, {self.i()}, {mask};")
            self.emit("shl.b32 %t0, %t0, 2;")
            self.emit("add.u32 %t0, %t0, %shared;")
            op = self.pick("add.u32", "xor.b32", "min.s32", "max.u32", "or.b32")
            self.emit(f"red.shared.{op} [%t0], {self.i()};")
        self.emit("bar.sync 0;")
        self.emit(f"add.u32 %t0, %me, {self.random.randrange(THREADS)};")
        self.emit(f"and.b32 %t0, %t0, {mask};")
        self.emit("shl.b32 %t0, %t0, 2;")
        self.emit("add.u32 %t0, %t0, %shared;")
        self.emit(f"ld.shared.b32 {self.i()}, [%t0];")

    def shuffle(self):
        mode = self.pick("up", "down", "bfly", "idx")
        clamp = 0 if mode == "up" else 31
        segment = self.pick(0, 0, 0x10, 0x18, 0x1c) << 8
        target = self.pick(f"{self.i()}|{self.p()}", self.i())
        self.emit(f"shfl.sync.{mode}.b32 {target}, {self.i()}, "
                  f"{self.pick(self.i(), 1, 5, 16)}, {clamp | segment}, -1;")

    def vote(self):
        kind = self.pick("ballot", "any", "all", "uni")
        if kind == "ballot":
            self.emit(f"vote.sync.ballot.b32 {self.i()}, {self.p()}, -1;")
        else:
            self.emit(f"vote.sync.{kind}.pred {self.p()}, {self.p()}, -1;")

    def reduce(self):
        op = self.pick("add.u32", "min.s32", "max.u32", "and.b32", "xor.b32")
        if self.random.random() < 0.3:
            self.emit(f"match.any.sync.b32 {self.i()}, {self.i()}, -1;")
        else:
            self.emit(f"redux.sync.{op} {self.i()}, {self.i()}, -1;")

    # Instructions of a thread. -----------------------------------------------

    def arithmetic(self):
        guard = f"@{self.pick('', '!')}{self.p()} " \
            if self.random.random() < 0.2 else ""
        line = self.pick(self.simple, self.simple, self.bits, self.wide,
                         self.floating, self.floating, self.convert,
                         self.compare_line, self.divide)()
        for part in line if isinstance(line, list) else [line]:
            self.emit(guard + part)

    def simple(self):
        op = self.pick("add.u32", "sub.s32", "mul.lo.u32", "mul.hi.s32",
                       "mul.hi.u32", "min.s32", "max.u32", "and.b32", "or.b32",
                       "xor.b32", "add.sat.s32", "sub.sat.s32")
        if self.random.random() < 0.3:
            op = self.pick("mad.lo.s32", "mad.hi.u32", "sad.s32", "sad.u32")
            return f"{op} {self.i()}, {self.i()}, {self.integer()}, {self.i()};"
        if self.random.random() < 0.15:
            return f"selp.b32 {self.i()}, {self.i()}, {self.integer()}, {self.p()};"
        if self.random.random() < 0.15:
            return [f"add.cc.u32 %t1, {self.i()}, {self.i()};",
                    f"addc.u32 {self.i()}, {self.i()}, {self.i()};"]
        return f"{op} {self.i()}, {self.i()}, {self.integer()};"

    def bits(self):
        a, b, c = self.i(), self.i(), self.integer()
        # No literals beyond 31: ptxas 13.0 folds those to something else than
        # the text says and registers do.
        at, count = self.pick(self.i(), 0, 5, 23), self.pick(self.i(), 8, 13)
        return self.pick(
            f"shl.b32 {a}, {b}, {c};", f"shr.u32 {a}, {b}, {c};",
            f"shr.s32 {a}, {b}, {c};", f"shf.l.wrap.b32 {a}, {b}, {self.i()}, {c};",
            f"shf.r.clamp.b32 {a}, {b}, {self.i()}, {c};",
            f"bfe.u32 {a}, {b}, {at}, {count};",
            f"bfe.s32 {a}, {b}, {at}, {count};",
            f"bfi.b32 {a}, {b}, {self.i()}, {at}, {count};",
            f"brev.b32 {a}, {b};",
            f"popc.b32 {a}, {b};", f"clz.b32 {a}, {b};", f"bfind.s32 {a}, {b};",
            f"bfind.shiftamt.u32 {a}, {b};", f"not.b32 {a}, {b};",
            f"prmt.b32 {a}, {b}, {self.i()}, {c};",
            f"lop3.b32 {a}, {b}, {self.i()}, {self.i()}, {self.random.randrange(256)};",
            f"dp4a.s32.u32 {a}, {b}, {self.i()}, {self.i()};",
            f"dp2a.lo.u32.s32 {a}, {b}, {self.i()}, {self.i()};",
            f"abs.s32 {a}, {b};", f"neg.s32 {a}, {b};")

    def wide(self):
        a, b, c = self.w(), self.w(), self.w()
        return self.pick(
            f"mul.wide.u32 {a}, {self.i()}, {self.i()};",
            f"mad.wide.s32 {a}, {self.i()}, {self.i()}, {b};",
            f"add.u64 {a}, {b}, {c};", f"sub.s64 {a}, {b}, {c};",
            f"mul.lo.u64 {a}, {b}, {c};", f"mul.hi.s64 {a}, {b}, {c};",
            f"xor.b64 {a}, {b}, {c};", f"shl.b64 {a}, {b}, {self.i()};",
            f"shr.s64 {a}, {b}, {self.i()};", f"max.s64 {a}, {b}, {c};",
            f"cvt.u32.u64 {self.i()}, {b};", f"cvt.s64.s32 {a}, {self.i()};",
            f"popc.b64 {self.i()}, {b};", f"clz.b64 {self.i()}, {b};",
            f"mov.b64 {{{self.i()}, %t1}}, {b};",
            f"mov.b64 {a}, {{{self.i()}, {self.i()}}};")

    def floating(self):
        a, b, c = self.f(), self.f(), self.f()
        rounding = self.pick("rn", "rn", "rz", "rm", "rp")
        flush = self.pick("", "", ".ftz")
        clamp = self.pick("", "", "", ".sat")
        return self.pick(
            f"add.{rounding}{flush}{clamp}.f32 {a}, {b}, {c};",
            f"sub.{rounding}{flush}{clamp}.f32 {a}, {b}, {c};",
            f"mul.{rounding}{flush}{clamp}.f32 {a}, {b}, {c};",
            f"fma.{rounding}{flush}{clamp}.f32 {a}, {b}, {c}, {self.f()};",
            f"fma.{rounding}{flush}{clamp}.f32 {a}, {b}, {c}, {self.f()};",
            f"min{flush}.f32 {a}, {b}, {c};", f"max.NaN.f32 {a}, {b}, {c};",
            f"abs.f32 {a}, {b};", f"neg.f32 {a}, {b};",
            f"div.{rounding}.f32 {a}, {b}, {c};", f"sqrt.{rounding}.f32 {a}, {b};",
            f"mov.b32 {a}, {self.i()};")

    def convert(self):
        a, b = self.i(), self.f()
        return self.pick(
            f"cvt.rni.s32.f32 {a}, {b};", f"cvt.rzi.u32.f32 {a}, {b};",
            f"cvt.rn.f32.s32 {b}, {a};", f"cvt.rp.f32.u32 {b}, {a};",
            f"cvt.rmi.f32.f32 {b}, {self.f()};", f"cvt.s32.s16 {a}, %h;",
            f"cvt.u32.u8 {a}, {self.i()};", f"mov.b32 {a}, {b};",
            [f"cvt.rn.f16.f32 %h, {b};", f"cvt.f32.f16 {self.f()}, %h;"],
            [f"cvt.rn.bf16.f32 %h, {b};", f"cvt.u32.u16 {a}, %h;"],
            [f"cvt.sat.s16.s32 %h, {a};", f"cvt.s32.s16 {self.i()}, %h;"])

    def compare(self):
        self.emit(self.compare_line())

    def compare_line(self):
        if self.random.random() < 0.3:
            return (f"setp.{self.pick(*FLOAT_COMPARISONS)}.f32 {self.p()}, "
                    f"{self.f()}, {self.f()};")
        sign = self.pick("u", "s")
        name = f"setp.{self.pick(*INTEGER_COMPARISONS)}"
        if self.random.random() < 0.3:
            return (f"{name}.{self.pick('and', 'or', 'xor')}.{sign}32 {self.p()}, "
                    f"{self.i()}, {self.integer()}, {self.p()};")
        return f"{name}.{sign}32 {self.p()}, {self.i()}, {self.integer()};"

    def divide(self):
        op = self.pick("div.u32", "div.s32", "rem.u32", "rem.s32")
        return [f"or.b32 %t1, {self.i()}, 1;", f"{op} {self.i()}, {self.i()}, %t1;"]


def source(program):
    registers = [f"%i{k}" for k in range(INTS)] + \
        [f"%f{k}" for k in range(FLOATS)]
    lines = [HEADER, f".shared .align 16 .b8 slots[{4 * THREADS}];",
             ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{",
             f"  .reg .pred %q, %p<{PREDS}>;", "  .reg .b16 %h;",
             f"  .reg .b32 %me, %x, %shared, %t<4>, %n<4>, %i<{INTS}>;",
             f"  .reg .f32 %f<{FLOATS}>;",
             f"  .reg .b64 %in, %out, %offset, %w<{WIDES}>;",
             "  mov.u32 %me, %tid.x;", "  mov.u32 %x, %ctaid.x;",
             f"  mad.lo.u32 %x, %x, {THREADS}, %me;",
             f"  mul.wide.u32 %offset, %x, {4 * WORDS};",
             "  ld.param.u64 %in, [p0];", "  add.u64 %in, %in, %offset;",
             "  ld.param.u64 %out, [p1];", "  add.u64 %out, %out, %offset;",
             "  mov.u32 %shared, slots;", "  mov.b16 %h, 0;",
             "  shl.b32 %t0, %me, 2;", "  add.u32 %t0, %t0, %shared;",
             "  st.shared.b32 [%t0], %me;"]
    for k, register in enumerate(registers):
        kind = "f32" if register[1] == "f" else "b32"
        lines.append(f"  ld.global.{kind} {register}, [%in+{4 * k}];")
    for k in range(WIDES):
        at = 4 * (INTS + FLOATS + 2 * k)
        lines += [f"  ld.global.b32 %t1, [%in+{at}];",
                  f"  ld.global.b32 %t2, [%in+{at + 4}];",
                  f"  mov.b64 %w{k}, {{%t1, %t2}};"]
    for k in range(PREDS):
        lines.append(f"  setp.lt.s32 %p{k}, %i{k}, %i{k + 1};")
    lines += program.lines
    for k, register in enumerate(registers):
        kind = "f32" if register[1] == "f" else "b32"
        lines.append(f"  st.global.{kind} [%out+{4 * k}], {register};")
    for k in range(WIDES):
        at = 4 * (INTS + FLOATS + 2 * k)
        lines += [f"  mov.b64 {{%t1, %t2}}, %w{k};",
                  f"  st.global.b32 [%out+{at}], %t1;",
                  f"  st.global.b32 [%out+{at + 4}], %t2;"]
    return "\n".join(lines + ["  ret;", "}", ""])


def inputs(rng):
    """Random words, small numbers, and special values of both kinds."""
    shape = (THREADS * BLOCKS, WORDS)
    words = rng.integers(0, 1 << 32, shape, dtype=np.uint64)
    small = rng.integers(0, 64, shape, dtype=np.uint64)
    special = np.array(special_ints(32), np.uint64)
    words = np.where(rng.integers(0, 3, shape) == 0, small, words)
    chosen = special[rng.integers(0, len(special), shape)]
    words = np.where(rng.integers(0, 8, shape) == 0, chosen, words)
    floats = np.array(special_floats("f32"), np.uint64)
    part = words[:, INTS:INTS + FLOATS]
    near = rng.normal(0, 100, part.shape).astype(np.float32).view(np.uint32)
    part = np.where(rng.integers(0, 2, part.shape) == 0, near, part)
    words[:, INTS:INTS + FLOATS] = np.where(
        rng.integers(0, 6, part.shape) == 0,
        floats[rng.integers(0, len(floats), part.shape)], part)
    return words.astype("<u4")


def all_cases():
    for number in range(COUNT):
        name = f"random {number}"
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        yield Case("programs", name, source(Program(number)),
                   [inputs(rng), np.zeros((THREADS * BLOCKS, WORDS), "<u4")],
                   [1], grid=BLOCKS, block=THREADS)
