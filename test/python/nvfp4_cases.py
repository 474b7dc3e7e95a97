# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of grouped products: MLIR text, inputs, and the answer in float64.

A `Groups` says which rows (or which part of K) belong to which group; a
`Product` pairs it with operands and knows the exact accumulators. Everything
that a product must not read is NaN or garbage, and every destination holds a NaN
of known bits, which must still be there where nothing is written.
"""

import dataclasses

import ml_dtypes
import numpy as np

from nvfp4_formats import FORMATS, Scaled, ceil_div, random_scaled, round_up, row_pieces

OUT = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
# A NaN that no arithmetic makes, as bits: what a destination holds before a call.
POISON = {np.float32: np.uint32(0x7FC5A5A5), np.float16: np.uint16(0x7E5A),
          ml_dtypes.bfloat16: np.uint16(0x7FDA)}
# Bits of the significand, smallest positive number.
PRECISION = {"f32": (24, 2.0**-149), "f16": (11, 2.0**-24), "bf16": (8, 2.0**-133)}
DIALECT = "grouped_scaled_gemm"
FORMAT_NAMES = tuple(FORMATS)


# --- Groups -----------------------------------------------------------------


@dataclasses.dataclass
class Groups:
    kind: str
    begins: list
    counts: list
    extent: int  # rows of the buffer (of each group, for masked and batched), or K in all
    operand: np.ndarray | None = None
    offsets: str = "ends"
    align: int = 1

    @property
    def attribute(self):
        return attribute(self.kind, self.offsets, self.align)

    def __len__(self):
        return len(self.counts)


def attribute(kind, offsets="ends", align=1):
    if kind in ("dense", "batched", "masked"):
        return f"<{kind}>"
    return f"<{kind}, {offsets}" + (f", align = {align}>" if align != 1 else ">")


def dense(rows):
    return Groups("dense", [0], [rows], rows)


def batched(count, rows):
    return Groups("batched", [0] * count, [rows] * count, rows)


def masked(counts, most, dtype=np.int32):
    return Groups("masked", [0] * len(counts), list(counts), most, np.array(counts, dtype))


def ragged(counts, offsets="ends", align=1, extra=0, kind="ragged_rows", dtype=np.int32):
    """Groups behind each other, starts rounded up to `align`.

    With offsets = starts every group but the last fills its aligned range.
    """
    begins, sizes, end = [], [], 0
    for index, count in enumerate(counts):
        begin = round_up(end, align)
        if offsets == "starts" and index + 1 < len(counts):
            count = round_up(count, align)
        begins.append(begin)
        sizes.append(count)
        end = begin + count
    if offsets == "starts":
        operand = np.array(begins + [end], dtype)
    else:
        operand = np.array([b + n for b, n in zip(begins, sizes)], dtype)
    return Groups(kind, begins, sizes, end + extra, operand, offsets, align)


# Every grouping, with empty groups and rows of no group where it may have them.
GROUPINGS = [dense(7), batched(3, 5), masked([3, 0, 6, 1], 6), ragged([3, 0, 5], extra=2), ragged([8, 16, 3], "starts", 8),
             ragged([32, 0, 64], kind="ragged_k", align=32), ragged([32, 64], "starts", kind="ragged_k", align=32)]


# --- Text -------------------------------------------------------------------


def scaled_type(fmt, rank=2, layout="linear", starts="whole", shape=None):
    dims = "x".join("?" * rank if shape is None else map(str, shape))
    text = f"!{DIALECT}.scaled<{dims}, {fmt}"
    text += f", {layout}" if layout != "linear" else ""
    return text + (f", starts = {starts}>" if starts != "whole" else ">")


def attributes_text(attrs):
    """Attributes of the dialect, each named like its kind."""
    pairs = [f"{k} = #{DIALECT}<{k} {v}>" for k, v in (attrs or {}).items()]
    return " {" + ", ".join(pairs) + "}" if pairs else ""


def matmul_text(name, grouping, lhs, rhs, out=None, *, weights=1, index="i32", alpha=None,
                row_scale=None, beta=None, addend=None, bias=None, prob=None, at="post_activation",
                activation=None, params=None, row=(), column=(), group=(), epilogue=None,
                quantizer=None, quantized=None, global_scale=None, seed=False, preact=None,
                amax=False, attrs=None):
    """A function with one matmul. Types are given as text; arguments follow the
    order of the clauses."""
    arguments, results = [], []

    def operand(ssa, type_):
        arguments.append(f"%{ssa}: {type_}")
        return f"%{ssa} : {type_}"

    def clause(keyword, ssa, type_):
        return f" {keyword}({operand(ssa, type_)})" if type_ else ""

    def several(keyword, types):
        if not types:
            return ""
        names = [f"%{keyword}{i}" for i in range(len(types))]
        arguments.extend(f"{n}: {t}" for n, t in zip(names, types))
        return f" {keyword}({', '.join(names)} : {', '.join(types)})"

    has_groups = grouping.startswith(("<ragged", "<masked"))
    body = f"{DIALECT}.matmul {grouping}"
    body += clause("groups", "groups", f"tensor<?x{index}>" if has_groups else None)
    body += clause("lhs", "lhs", lhs)
    body += " rhs(" + ", ".join(operand(f"rhs{i}", rhs) for i in range(weights)) + ")"
    body += clause("alpha", "alpha", alpha) + clause("row_scale", "row_scale", row_scale)
    body += clause("beta", "beta", beta)
    body += clause("addend", "addend", addend) + clause("bias", "bias", bias)
    body += clause("prob", "prob", prob) + (f" at {at}" if prob else "")
    body += f" activation = {activation}" if activation else ""
    body += clause("activation_params", "params", params)
    body += several("row", row) + several("column", column) + several("group", group)
    body += f" epilogue {{\n{epilogue}\n}}" if epilogue else ""
    body += f" quantizer = {quantizer}" if quantizer else ""
    body += clause("global_scale", "global_scale", global_scale)
    if seed:
        arguments.append("%seed: i64")
        body += " seed(%seed)"
    body += clause("preact_outs", "preact", preact)
    body += clause("outs", "out", out)
    body += clause("amax_outs", "amax", "tensor<?xf32>" if amax else None)
    body += attributes_text(attrs)
    results = [t for t in (preact, quantized or out, "tensor<?xf32>" if amax else None) if t]
    names = [f"%r#{i}" for i in range(len(results))] if len(results) > 1 else ["%r"]
    types = ", ".join(results)
    head = f"%r:{len(results)}" if len(results) > 1 else "%r"
    return (f"func.func @{name}({', '.join(arguments)}) -> ({types}) {{\n"
            f"  {head} = {body}\n      -> {types}\n"
            f"  return {', '.join(names)} : {types}\n}}\n")


def list_text(name, count, fmt, out, alpha=None, beta=None, ks=None, attrs=None):
    """K of problem i is `ks[i]`, or unknown."""
    scaled = [scaled_type(fmt, shape=("?", k)) for k in ks or ["?"] * count]
    sides = {side: ", ".join(f"%{side}{i} : {type_}" for i, type_ in enumerate(scaled))
             for side in ("a", "b")}
    arguments = [f"%{side}{i}: {type_}" for side in ("a", "b") for i, type_ in enumerate(scaled)]
    text = f"lhs({sides['a']}) rhs({sides['b']})"
    for keyword, type_ in (("alpha", alpha), ("beta", beta)):
        if type_:
            arguments.append(f"%{keyword}: {type_}")
            text += f" {keyword}(%{keyword} : {type_})"
    arguments += [f"%c{i}: {out}" for i in range(count)]
    outs, types = ", ".join(f"%c{i}" for i in range(count)), ", ".join([out] * count)
    head = f"%r:{count}" if count > 1 else "%r"
    names = ", ".join(f"%r#{i}" for i in range(count)) if count > 1 else "%r"
    return (f"func.func @{name}({', '.join(arguments)}) -> ({types}) {{\n"
            f"  {head} = {DIALECT}.matmul_list {text} outs({outs} : {types})"
            f"{attributes_text(attrs)} -> {types}\n"
            f"  return {names} : {types}\n}}\n")


# --- Operands and exact answers ---------------------------------------------


@dataclasses.dataclass
class Product:
    """Operands of a product in logical order; for ragged K one Scaled a group."""

    groups: Groups
    lhs: Scaled | list
    rhs: Scaled | list  # [G, N, K], or one [N, K] a group

    @property
    def n(self):
        if self.groups.kind == "ragged_k":
            return self.rhs[0].shape[0] if self.rhs else 0
        return (self.rhs[0] if isinstance(self.rhs, list) else self.rhs).shape[-2]

    def problems(self):
        """(index of the rows in the result, lhs, rhs) of each group."""
        g = self.groups
        for i, (begin, count) in enumerate(zip(g.begins, g.counts)):
            if g.kind == "dense":
                yield (slice(0, count),), self.lhs, self.rhs
            elif g.kind == "ragged_k":
                yield (i,), self.lhs[i], self.rhs[i]
            elif g.kind == "ragged_rows":
                yield (slice(begin, begin + count),), self.lhs[begin:begin + count], self.rhs[i]
            else:
                yield (i, slice(0, count)), self.lhs[i][:count], self.rhs[i]

    def out_shape(self, columns=None):
        g, columns = self.groups, self.n if columns is None else columns
        if g.kind == "ragged_k":
            return (len(g), self.lhs[0].shape[0], columns)
        return ((len(g),) if g.kind in ("batched", "masked") else ()) + (g.extent, columns)

    def destination(self, dtype, columns=None, value=None):
        """Full of `value`, or of poison."""
        if value is None:
            return poison(self.out_shape(columns), dtype)
        return np.full(self.out_shape(columns), value, OUT[dtype])

    def arguments(self, lhs_layout="linear", lhs_starts="whole", rhs_layout="linear",
                  rhs_starts="whole", filler=0, poison=None):
        """(groups operand as a list, lhs, rhs operands) as functions take them.
        Padding scales are `poison`, or NaN."""
        g = self.groups
        operand = [] if g.operand is None else [g.operand]
        if g.kind == "ragged_k":
            return operand, [join_along_k(self.lhs, g, lhs_layout, lhs_starts, filler),
                             join_along_k(self.rhs, g, rhs_layout, rhs_starts, filler)]
        pieces = None
        # Rows without scales lie as they are.
        if g.kind == "ragged_rows" and lhs_starts != "whole" and isinstance(self.lhs, Scaled):
            pieces = row_pieces(lhs_starts, lhs_layout, g.begins, g.counts,
                                self.lhs.scales.shape[-1], g.extent)
        lhs = self.lhs.store(lhs_layout, pieces, poison, filler)
        rhs = self.rhs if isinstance(self.rhs, list) else [self.rhs]
        return operand, [lhs] + [r.store(rhs_layout, None, poison, filler) for r in rhs]

    def accumulators(self, dtype=np.float64):
        """(index, acc, sum of |terms|) of each group."""
        for index, a, b in self.problems():
            x, w = a.values(dtype), b.values(dtype)
            yield index, x @ w.T, None if dtype == np.float32 else np.abs(x) @ np.abs(w).T


def join_along_k(parts, groups, layout, starts, filler=0):
    """One [R, Ktot] operand of the pieces of all groups."""
    fmt, rows = parts[0].fmt, parts[0].shape[0]
    codes = np.full((rows, groups.extent), 15 if fmt.is_fp4 else 0x7F, np.uint8)
    widths = [p.scales.shape[1] for p in parts]
    pieces, column, at = [], 0, 0
    for part, begin, width in zip(parts, groups.begins, widths):
        codes[:, begin:begin + part.shape[1]] = part.codes
        if starts == "whole":
            at = begin // fmt.block
        pieces.append((0, rows, 0, column, width, at))
        column += width
        at += width if layout == "linear" else round_up(width, 4)
    if starts == "whole":
        # The buffer is as wide as that of one matrix.
        pieces.append((0, rows, 0, column, 0, ceil_div(groups.extent, fmt.block)))
    scales = np.concatenate([p.scales for p in parts], 1)
    return Scaled(fmt, codes, scales).store(layout, pieces, filler=filler)


def poison_rows(scaled, groups):
    """Rows outside every group: garbage codes, NaN scales."""
    valid = np.zeros(scaled.shape[:-1], bool)
    for i, (begin, count) in enumerate(zip(groups.begins, groups.counts)):
        if groups.kind == "masked":
            valid[i, :count] = True
        else:
            valid[begin:begin + count] = True
    scaled.codes[~valid] = 15 if scaled.fmt.is_fp4 else 0x7F
    scaled.scales[~valid] = scaled.fmt.nan_scale
    return scaled


def make_product(rng, groups, n, k, fmt, weights="stacked", **kinds):
    """Random operands for `groups`; k is ignored where the groups lie along K
    (`extent` of a ragged K is the buffer, M is `kinds['m']`)."""
    if groups.kind == "ragged_k":
        m = kinds.pop("m")
        lhs = [random_scaled(rng, (m, c), fmt, **kinds) for c in groups.counts]
        rhs = [random_scaled(rng, (n, c), fmt, **kinds) for c in groups.counts]
        return Product(groups, lhs, rhs)
    count = len(groups)
    rank3 = groups.kind in ("batched", "masked")
    lhs = random_scaled(rng, ((count,) if rank3 else ()) + (groups.extent, k), fmt, **kinds)
    if groups.kind in ("masked", "ragged_rows"):
        poison_rows(lhs, groups)
    if groups.kind == "dense":
        rhs = random_scaled(rng, (n, k), fmt, **kinds)
    elif weights == "discrete":
        rhs = [random_scaled(rng, (n, k), fmt, **kinds) for _ in range(count)]
    else:
        rhs = random_scaled(rng, (count, n, k), fmt, **kinds)
    return Product(groups, lhs, rhs)


# --- Comparison -------------------------------------------------------------


def gamma(n):
    return n * 2.0**-24 / (1 - n * 2.0**-24)


def random_bound(acc, magnitude, k, block=16, alpha=1.0):
    """Of docs/Spec.md for sums of exact blocks in any order; with ``block`` 1 of
    elements. ``magnitude`` is the sum of the magnitudes of what is added."""
    return gamma(ceil_div(k, block) + 4) * abs(alpha) * magnitude


def round_to(x, dtype):
    """f64 -> f32 -> the element type, as the definition rounds."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(x).astype(np.float32).astype(OUT[dtype])


def poison(shape, dtype):
    """Poison that no code may read, and only a result replaces."""
    return np.full(shape, POISON[OUT[dtype]]).view(OUT[dtype])


def is_poison(array):
    """Where an array of floats holds what `poison` put there."""
    bits = POISON[array.dtype.type]
    return array.view(bits.dtype) == bits


def assert_equal(got, expected, what=""):
    """Equal numbers; every NaN but poison is the same NaN, and the sign of zero
    is free."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, (what, got.shape, expected.shape)
    a, b = got.astype(np.float64), expected.astype(np.float64)
    wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if got.dtype == expected.dtype and got.dtype.type in POISON:
        wrong |= is_poison(got) != is_poison(expected)
    assert not wrong.any(), describe(what, got, expected, wrong)


def assert_within(got, expected, bound, dtype, what=""):
    """|got - expected| <= bound + half an ulp of the element type."""
    digits, smallest = PRECISION[dtype]
    got = np.asarray(got).astype(np.float64)
    expected = np.asarray(expected, np.float64)
    assert got.shape == expected.shape, (what, got.shape, expected.shape)
    limit = bound + (np.abs(expected) + bound) * 2.0**-digits + smallest
    with np.errstate(invalid="ignore"):
        right = (np.abs(got - expected) <= limit) | (got == expected)
    right |= np.isnan(got) & np.isnan(expected)
    assert right.all(), describe(what, got, expected, ~right)


def describe(what, got, expected, wrong):
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (f"{what}: {wrong.sum()} of {wrong.size} differ, first at {place}: "
            f"got {got[place]}, expected {expected[place]}")


def expected_result(product, dtype, columns=None, epilogue=None, value=None, fast=False):
    """The exact result in a destination full of `value`, or poison. `epilogue(acc, g,
    index)` maps accumulators to outputs."""
    result = product.destination(dtype, columns, value)
    kind = np.float32 if fast else np.float64
    for g, (index, acc, _) in enumerate(product.accumulators(kind)):
        y = acc if epilogue is None else epilogue(acc, g, index)
        result[index] = round_to(y, dtype)
    return result


# --- Epilogues --------------------------------------------------------------


def gate_rows(granularity, up_first, columns):
    """Rows of gate and up of each output column."""
    q = granularity or columns
    c = np.arange(columns)
    first = c // q * 2 * q + c % q if columns else c
    second = first + q
    return (second, first) if up_first else (first, second)


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def swiglu(g, u, alpha=1.0, beta=0.0, limit=np.inf):
    g = np.minimum(g, limit)
    u = np.maximum(-limit, np.minimum(u, limit))
    return g * sigmoid(alpha * g) * (u + beta)


def geglu_tanh(g, u):
    inner = np.float64(0.7978845608028654) * (g + 0.044715 * g**3)
    return u * 0.5 * g * (1 + np.tanh(inner))


def activation_bound(y, g, alpha=1.0):
    """Relative error of strict f32 evaluation: a few rounded steps, plus the
    rounding of exp's argument, which exp amplifies by its size."""
    return np.abs(y) * (24 + 4 * np.minimum(np.abs(alpha * g), 104)) * 2.0**-24 + 2.0**-126
