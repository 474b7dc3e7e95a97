# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantised results whose blocks run along rows (`axis` -2): every form, format and quantiser.

Products are in storage form on memrefs, so that what nobody writes can be seen: values and
scales hold a pattern before the call, and room past the scales does too. y is exact (lattice
operands, one rounded product with alpha), so that bytes are equal.
"""

import dataclasses
import itertools

import numpy as np
import pytest

from format_blocks import CASES, few_blocks, formula, has_global
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, Scaled, ceil_div, unpack
from nvfp4_module import FULL, check_with_interpreter, compile_module
from test_rounding_modes import factors, round_stochastically, uniforms

VALUES, SCALES = 0xA5, 0x5A
PAIR = """
  ^bb0(%g: f32, %u: f32):
    %0 = arith.mulf %g, %u : f32
    grouped_scaled_gemm.yield %0 : f32"""


def forms(block):
    """Groups, how scales of the result start, weights; M of ragged K."""
    yield "dense", dense(37), "whole", {}
    yield "batched", batched(3, 35), "whole", {}
    yield "masked", masked([0, 5, 33, 40], 40), "whole", {}
    yield "ragged_whole", ragged([3, 0, block + 1, 70], align=block, extra=5), "whole", {}
    yield "ragged_starts", ragged([2 * block, 0, block, 7], "starts", block, dtype=np.int64), \
        "whole", {}
    yield "ragged_compact", ragged([3, 0, 130, 1, 2 * block], extra=2), "compact", {}
    yield "ragged_discrete", ragged([3, 0, 17], align=2), "compact", {"weights": "discrete"}
    yield "ragged_k", ragged([16, 0, 33], kind="ragged_k"), "whole", {"m": 35}


FORMS = [name for name, *_ in forms(16)]


def element_type(fmt):
    return {"mxfp8_e4m3": "f8E4M3FN", "mxfp8_e5m2": "f8E5M2"}.get(fmt, "i8")


def memref(rank, element):
    return "memref<" + "?x" * rank + element + ">"


@dataclasses.dataclass
class Text:
    """A function of memrefs with one product, whose arguments follow the order of the clauses."""

    arguments: list = dataclasses.field(default_factory=list)
    body: str = ""

    def operand(self, name, type_):
        self.arguments.append(f"%{name}: {type_}")
        return f"%{name} : {type_}"

    def clause(self, keyword, type_):
        if type_:
            self.body += f" {keyword}({self.operand(keyword, type_)})"

    def scaled(self, name, fmt, rank, starts="whole", axis=None):
        dims = "x".join("?" * rank)
        type_ = f"!{DIALECT}.scaled<{dims}, {fmt}"
        type_ += f", starts = {starts}" if starts != "whole" else ""
        type_ += f", axis = {axis}>" if axis is not None else ">"
        values, scales = memref(rank, element_type(fmt)), memref(rank, FORMATS[fmt].scale_type)
        self.arguments += [f"%{name}: {values}", f"%{name}_s: {scales}"]
        return f"%{name} scaled_by %{name}_s : {values}, {scales} as {type_}"


def product_text(name, groups, fmt, quantizer, out_fmt, starts, weights=1, factor=None, seed=False, alpha=None,
                 addend=None, activation=None, epilogue=None, preact=False, amax=False, attrs=None):
    t = Text()
    rank = 3 if groups.kind in ("batched", "masked") else 2
    inner = "compact" if groups.kind == "ragged_k" else "whole"
    if groups.operand is not None:
        index = "i64" if groups.operand.dtype == np.int64 else "i32"
        t.clause("groups", memref(1, index))
    t.body += f" lhs({t.scaled('lhs', fmt, rank, inner)})"
    stacked = 2 if groups.kind in ("dense", "ragged_k") or weights > 1 else 3
    t.body += " rhs(" + ", ".join(t.scaled(f"rhs{i}", fmt, stacked, inner)
                                  for i in range(weights)) + ")"
    t.clause("alpha", alpha)
    t.clause("addend", addend)
    t.body += f" activation = {activation}" if activation else ""
    t.body += f" epilogue {{{epilogue}\n}}" if epilogue else ""
    t.body += f" quantizer = {quantizer}"
    t.clause("global_scale", factor)
    if seed:
        t.arguments.append("%seed: i64")
        t.body += " seed(%seed)"
    out_rank = 2 if groups.kind in ("dense", "ragged_rows") else 3
    t.clause("preact_outs", memref(out_rank, "bf16") if preact else None)
    t.body += f" outs({t.scaled('out', out_fmt, out_rank, starts, out_rank - 2)})"
    t.clause("amax_outs", memref(1, "f32") if amax else None)
    return (f"func.func @{name}({', '.join(t.arguments)}) {{\n  {DIALECT}.matmul {groups.attribute}"
            f"{t.body}{attributes_text(attrs)}\n  return\n}}\n")


def parts_of(groups, rows, starts, block):
    """(matrix or None, first row, rows, first row of scales) of each group of the result."""
    at = 0
    for g, (begin, count) in enumerate(zip(groups.begins, groups.counts)):
        if groups.kind == "dense":
            yield None, 0, count, 0
        elif groups.kind == "ragged_k":
            yield g, 0, rows, 0
        elif groups.kind != "ragged_rows":
            yield g, 0, count, 0
        else:
            yield None, begin, count, at if starts == "compact" else begin // block
            at += ceil_div(count, block)


@dataclasses.dataclass
class Result:
    """Destinations, and what they shall hold."""

    fmt: str
    shape: tuple
    parts: list
    zero: bool = False
    least_rows: int = 0

    def __post_init__(self):
        f = FORMATS[self.fmt]
        *lead, rows, self.columns = self.shape
        scale_rows = max([ceil_div(rows, f.block)] if lead else
                         [at + ceil_div(n, f.block) for _, _, n, at in self.parts], default=0)
        if not lead:
            scale_rows = max(scale_rows, self.least_rows)
        self.values = np.full((*lead, rows, ceil_div(self.columns, 2) if f.is_fp4 else self.columns), VALUES, np.uint8)
        self.scales = np.full((*lead, scale_rows, self.columns), SCALES, np.uint8)
        self.codes = np.zeros(self.shape, np.uint8)
        self.written = np.zeros((*lead, rows), bool)
        self.bytes_ = np.full_like(self.scales, 0 if self.zero else SCALES)

    def quantise(self, y, blocks_to_bytes):
        """`blocks_to_bytes(blocks [n, block], part, group)` for blocks of each part, column by column."""
        block = FORMATS[self.fmt].block
        for g, (matrix, begin, count, at) in enumerate(self.parts):
            if not count:
                continue
            rows = slice(begin, begin + count)
            mine = y[rows] if matrix is None else y[matrix, rows]
            tall = np.zeros((round_up(count, block), self.columns), np.float32)
            tall[:count] = mine
            # [column, block, element]
            blocks = tall.T.reshape(self.columns, -1, block)
            with np.errstate(all="ignore"):
                codes, bytes_ = blocks_to_bytes(blocks.reshape(-1, block), (matrix, begin, count), g)
            codes = codes.reshape(self.columns, -1).T[:count]
            bytes_ = bytes_.reshape(self.columns, -1).T
            where = (rows,) if matrix is None else (matrix, rows)
            self.codes[where] = codes
            self.written[where] = True
            lines = slice(at, at + len(bytes_))
            self.bytes_[(lines,) if matrix is None else (matrix, lines)] = bytes_

    def check(self, what):
        f = FORMATS[self.fmt]
        got = unpack(f, self.values, self.columns)
        assert_equal(got[self.written], self.codes[self.written], f"{what}: codes")
        assert np.all(self.values[~self.written] == (0 if self.zero else VALUES)), f"{what}: rows of no group"
        if f.is_fp4 and self.columns % 2:
            assert np.all(self.values[self.written][..., -1] >> 4 == 0), f"{what}: the last nibble"
        assert_equal(self.scales, self.bytes_, f"{what}: scales")


def make(rng, name, fmt, out_fmt, n, k=64, zero=False):
    block = FORMATS[out_fmt].block
    groups, starts, options = next(rest for first, *rest in forms(block) if first == name)
    product = make_product(rng, groups, n, k, fmt, **options)
    return product, starts, lambda columns: make_result(product, out_fmt, starts, columns, zero)


def make_result(product, out_fmt, starts, columns, zero=False):
    shape = product.out_shape(columns)
    block = FORMATS[out_fmt].block
    parts = list(parts_of(product.groups, shape[-2], starts, block))
    least = ceil_div(shape[-2], block) if starts == "whole" else 0
    return Result(out_fmt, shape, parts, zero, least_rows=least)


def weights_of(product):
    return len(product.rhs) if isinstance(product.rhs, list) and product.groups.kind != "ragged_k" else 1


def arguments_of(product):
    inner = "compact" if product.groups.kind == "ragged_k" else "whole"
    operand, operands = product.arguments("linear", inner, "linear", inner)
    return operand + operands


def exact(product, alpha, epilogue=lambda z: z):
    """y in f32, NaN where no group has rows."""
    n = epilogue(np.zeros((1, product.n), np.float32)).shape[1]
    y = np.full(product.out_shape(n), np.nan, np.float32)
    for g, (index, acc, _) in enumerate(product.accumulators()):
        y[index] = epilogue((acc.astype(np.float32) * alpha[g]).astype(np.float32))
    return y


def factor_of(quantizer, out_fmt, count):
    """Global scales of groups, or none."""
    return np.linspace(0.02, 0.3, count, dtype=np.float32) if has_global(quantizer, out_fmt) else None


def run_product(rng, name, quantizer, out_fmt, pairs, tail, others, n, *options):
    fmt = "nvfp4" if FORMATS[out_fmt].block == 16 else out_fmt
    product, starts, result_of = make(rng, name, fmt, out_fmt, 2 * n if pairs else n, zero=tail == "zero")
    groups = product.groups
    count = len(groups)
    factor = factor_of(quantizer, out_fmt, count)
    text = product_text(
        "f", groups, fmt, f"<{quantizer}>", out_fmt, starts, weights_of(product),
        memref(1, "f32") if factor is not None else None, alpha=memref(1, "f32"),
        activation=f"<custom, gate = <{n}, gate_first>>" if pairs else None, epilogue=PAIR if pairs else None,
        preact=others, amax=others, attrs={"tail": tail} if tail else None)
    alpha = np.linspace(0.011, 0.7, count, dtype=np.float32)
    result = result_of(n)
    preact = product.destination("bf16")
    amax = np.full(count, np.nan, np.float32)
    module = compile_module(text, *options)
    module.f(*arguments_of(product), alpha, *([] if factor is None else [factor]), *([preact] if others else []),
             (result.values, result.scales), *([amax] if others else []))
    y = exact(product, alpha, (lambda z: z[:, :n] * z[:, n:]) if pairs else lambda z: z)
    result.quantise(y, lambda blocks, part, g: formula(quantizer)(
        blocks, out_fmt, np.float32(1) if factor is None else factor[g]))
    result.check(name)
    if others:
        filler = 0 if tail == "zero" else None
        assert_equal(preact, expected_result(product, "bf16", value=filler, epilogue=lambda acc, g, _: (
            acc.astype(np.float32) * alpha[g])), "preact")
        for g, (matrix, begin, rows, _) in enumerate(result.parts):
            mine = y[begin:begin + rows] if matrix is None else y[matrix, begin:begin + rows]
            assert amax[g] == np.abs(mine).max(initial=0), f"amax of group {g}"


# Pairs of columns, the tail, other results beside the quantised one, columns.
VARIANTS = list(itertools.product([False, True], [None, "zero", "preserve"], [True, False], [21, 32, 70, 1]))


@pytest.mark.parametrize("quantizer,fmt", CASES)
@pytest.mark.parametrize("name", FORMS)
def test_forms_formats_and_quantisers(rng, name, quantizer, fmt):
    """Each form with each pair, in one variant."""
    number = FORMS.index(name) * len(CASES) + CASES.index((quantizer, fmt))
    pairs, tail, others, n = VARIANTS[7 * number % len(VARIANTS)]
    run_product(rng, name, quantizer, fmt, pairs, tail, others, n)


def leaves_out(item):
    """Default runs take every fourth of the forms of each pair."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if FULL or parameters.keys() != {"name", "quantizer", "fmt"}:
        return False
    case = CASES.index((parameters["quantizer"], parameters["fmt"]))
    return (FORMS.index(parameters["name"]) + case) % 4 != 0


def dense_text(name, quantizer, out_fmt, factor, seed=False):
    """D = Q(0 + C) of a product of zeros."""
    return product_text(name, dense(1), "nvfp4", quantizer, out_fmt, "whole", factor="f32" if factor else None,
                        seed=seed, addend=memref(2, "f32"))


def quantise_addend(text, out_fmt, c, *scalars):
    """Stored values and scales of Q(0 + c)."""
    zeros = [Scaled(FORMATS["nvfp4"], np.zeros((n, 16), np.uint8), np.full((n, 1), 0x38, np.uint8)) for n in c.shape]
    product = Product(dense(c.shape[0]), *zeros)
    result = make_result(product, out_fmt, "whole", c.shape[1])
    compile_module(text).f(*arguments_of(product), c, *scalars, (result.values, result.scales))
    return result


@pytest.mark.parametrize("quantizer,fmt", CASES)
def test_hard_blocks(quantizer, fmt):
    """Zeros, ties, tiny and huge maxima, NaN and infinity, a block a column."""
    block = FORMATS[fmt].block
    x = few_blocks(block, seed=41)
    x = x[:len(x) // 5 * 5].reshape(5, -1, block).transpose(0, 2, 1).reshape(5 * block, -1)
    scale = np.float32(3.7)
    scalars = (scale,) if has_global(quantizer, fmt) else ()
    result = quantise_addend(dense_text("f", f"<{quantizer}>", fmt, scalars), fmt, x, *scalars)
    # 0 + -0 is +0.
    result.quantise(x + np.float32(0), lambda blocks, *_: formula(quantizer)(blocks, fmt, scale))
    result.check(quantizer)


def test_negative_zero_is_flushed():
    x = np.resize(np.float32([6, -0.1, -0.0, 0.1, -6]), (35, 16)).T.copy()
    result = quantise_addend(dense_text("f", "<te, neg_zero = flush>", "nvfp4", True), "nvfp4", x, np.float32(1))
    codes = unpack(FORMATS["nvfp4"], result.values, 35)
    kept = quantise_addend(dense_text("f", "<te>", "nvfp4", True), "nvfp4", x, np.float32(1))
    with_sign = unpack(FORMATS["nvfp4"], kept.values, 35)
    assert (with_sign == 8).any()
    assert_equal(codes, np.where(with_sign == 8, 0, with_sign))


@pytest.mark.parametrize("rows,columns", [(37, 11), (16, 1), (130, 48)])
def test_stochastic_rounding_counts_down_the_columns(rows, columns):
    """Elements are numbered as in the transposed matrix."""
    x = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
    encode, seed = np.float32(1.5), 0x123456789
    text = dense_text("f", "<te, rounding = stochastic>", "nvfp4", True, seed=True)
    result = quantise_addend(text, "nvfp4", x, encode, np.int64(seed))
    numbers = uniforms(seed, x.size).reshape(columns, rows)

    def te(blocks, part, _):
        _, bytes_ = formula("te")(blocks, "nvfp4", encode)
        padded = np.zeros((columns, round_up(rows, 16)))
        padded[:, :rows] = numbers
        scaled = np.clip(blocks * factors(bytes_, encode)[:, None], np.float32(-6), np.float32(6))
        return round_stochastically(scaled, padded.reshape(-1, 16)), bytes_

    result.quantise(x, te)
    result.check("stochastic")


@pytest.mark.parametrize("rows,columns", [(48, 32), (37, 21), (5, 3)])
def test_squares_share_a_scale(rows, columns):
    """The byte of a square of 16 x 16 stands in each of its columns."""
    x = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
    encode = np.float32(2688 / np.abs(x).max())
    result = quantise_addend(dense_text("f", "<te, two_d>", "nvfp4", True), "nvfp4", x, encode)
    down, across = ceil_div(rows, 16), ceil_div(columns, 16)
    padded = np.zeros((16 * down, 16 * across), np.float32)
    padded[:rows, :columns] = x
    squares = padded.reshape(down, 16, across, 16).transpose(0, 2, 1, 3).reshape(-1, 256)
    codes, bytes_ = formula("te")(squares, "nvfp4", encode)
    codes = codes.reshape(down, across, 16, 16).transpose(0, 2, 1, 3).reshape(16 * down, 16 * across)
    assert_equal(unpack(FORMATS["nvfp4"], result.values, columns), codes[:rows, :columns], "codes")
    assert_equal(result.scales, np.repeat(bytes_.reshape(down, across), 16, axis=1)[:, :columns], "scales")


@pytest.mark.parametrize("rows,columns", [(4096, 16), (65536, 16), (16, 4096)])
def test_many_rows_stay_within_their_scales(rows, columns):
    x = np.random.default_rng(1).standard_normal((rows, columns)).astype(np.float32)
    result = quantise_addend(dense_text("f", "<cutlass>", "nvfp4", True), "nvfp4", x, np.float32(3))
    result.quantise(x, lambda blocks, *_: formula("cutlass")(blocks, "nvfp4", np.float32(3)))
    result.check("cutlass")


@pytest.mark.parametrize("name", FORMS)
def test_value_form_agrees_with_the_interpreter(rng, name):
    """Bytes of the compiled code and of the interpreter, rows of no group included."""
    product, starts, _ = make(rng, name, "nvfp4", "nvfp4", 24)
    groups = product.groups
    rank = 3 if groups.kind in ("batched", "masked") else 2
    inner = "compact" if groups.kind == "ragged_k" else "whole"
    weights = weights_of(product)
    stacked = 2 if groups.kind in ("dense", "ragged_k") or weights > 1 else 3
    out_rank = len(product.out_shape())
    quantized = scaled_type("nvfp4", out_rank, starts=starts)[:-1] + f", axis = {out_rank - 2}>"
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4", rank, starts=inner),
                       scaled_type("nvfp4", stacked, starts=inner), weights=weights,
                       index="i64" if name == "ragged_starts" else "i32", alpha="f32",
                       quantizer="<trtllm>", quantized=quantized, global_scale="f32")
    report = check_with_interpreter(text, "f", *arguments_of(product), np.float32(0.3), np.float32(0.01), exact=True)
    assert report.count(" 0 not equal") == 1, report


def test_masked_rows_of_a_quantised_tensor(rng):
    """`quantize` and `dequantize` cut the columns of each matrix after its rows."""
    counts, most, columns = [0, 5, 33, 40], 40, 21
    type_ = f"!{DIALECT}.scaled<?x?x{columns}, nvfp4, axis = 1>"
    values, scales, real = memref(3, "i8"), memref(3, "f8E4M3FN"), memref(3, "f32")
    stored = f"%v scaled_by %s : {values}, {scales} as {type_}"
    head = f"(%x: {real}, %groups: {memref(1, 'i32')}, %v: {values}, %s: {scales}) {{\n  {DIALECT}."
    groups = f"groups(%groups : {memref(1, 'i32')}) as <masked>"
    module = compile_module(
        f"func.func @q{head}quantize <trtllm>(%x : {real}) {groups} outs({stored})\n  return\n}}\n"
        f"func.func @d{head}dequantize({stored}) {groups} outs(%x : {real})\n  return\n}}\n")
    x = rng.standard_normal((4, most, columns)).astype(np.float32)
    for g, count in enumerate(counts):
        x[g, count:] = np.nan
    result = Result("nvfp4", x.shape, [(g, 0, count, 0) for g, count in enumerate(counts)])
    module.q(x, np.int32(counts), (result.values, result.scales))
    result.quantise(x, lambda blocks, *_: formula("trtllm")(blocks, "nvfp4", np.float32(1)))
    result.check("masked")
    back = poison(x.shape, "f32")
    module.d(back, np.int32(counts), (result.values, result.scales))
    numbers = FORMATS["nvfp4"].values[unpack(FORMATS["nvfp4"], result.values, columns)]
    numbers = numbers * np.repeat(FORMATS["nvfp4"].scales[result.scales], 16, axis=1)[:, :most]
    expected = np.where(result.written[..., None], numbers.astype(np.float32), poison(x.shape, "f32"))
    assert_equal(back, expected, "dequantised")
