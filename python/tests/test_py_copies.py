# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of a product's result: each is to the byte what quantize makes of the product, in every form and on every target.

Operands lie on a lattice, so that every target has the same sums. Destinations hold a pattern, which stays where no group
is, or becomes zero.
"""

import dataclasses
import itertools

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_calls import calls_on, get_bytes
from nvfp4_cases import assert_within, batched, dense, make_product, masked, ragged, random_bound
from test_py_matmul import grouping_of, operands

TARGETS = ["cpu", "sm_90a+sim", "sm_100a+sim"]
# Group sizes are not multiples of a block, and one group is empty.
FORMS = {
    "dense": (dense(37), {}), "batched": (batched(3, 21), {}), "masked": (masked([0, 5, 33, 40], 40), {}),
    "ragged": (ragged([3, 0, 130, 1, 40], extra=2), {}), "ragged_even": (ragged([3, 0, 17], align=2), {}),
    "ragged_aligned": (ragged([3, 0, 33, 70], align=32, extra=31), {}),
    "ragged_starts": (ragged([64, 0, 32, 7], "starts", 32, dtype=np.int64), {}),
    "ragged_discrete": (ragged([3, 0, 40], align=16), {"weights": "discrete"}),
    "ragged_k": (ragged([16, 0, 33], align=32, kind="ragged_k"), {"m": 35})}
SR = nvfp4.Quantizer("te", rounding="stochastic")
# By format: quantisers, and what else goes with them.
NARROW = [dict(quantizer="te", global_scale=3.0), dict(quantizer=SR, seed=5, global_scale=0.5),
          dict(quantizer="trtllm", hadamard=nvfp4.Hadamard()), dict(quantizer="four_over_six"),
          dict(quantizer=SR, seed=-2, hadamard=nvfp4.Hadamard(normalized=False, sign_mask=0xD72C)),
          dict(quantizer="modelopt", global_scale="group"),
          dict(quantizer=nvfp4.Quantizer("cutlass", neg_zero="flush"), global_scale="group")]
WIDE = [dict(quantizer=q, hadamard=h) for q, h in itertools.product(
    ["ue8m0_up", "ocp", "cutlass", "te"], [None, nvfp4.Hadamard(sign_mask=3)])]
FORMATS = ["nvfp4", "mxfp8_e4m3", "mxfp4", "nvfp4", "mxfp8_e5m2", "nvfp4_e8m0"]
ROWS = [dict(), dict(layout="blocked"), dict(axis=-2), dict(layout="blocked_8x4")]
COLUMNS = [dict(transposed=True), dict(transposed=True, layout="blocked"), dict(transposed=True, layout="blocked_8x4"),
           dict(transposed=True, axis=-2)]
OUTS = [dict(), dict(dtype=np.float32), dict(dtype="bfloat16"), dict(quantizer="trtllm", out_format="nvfp4")]
ACTIVATIONS = [None, "swiglu", "relu2"]


def made(form, kind, number):
    """A copy: its format and quantiser by turns."""
    groups = FORMS[form][0]
    is_ragged = groups.kind == "ragged_rows"
    fmt = FORMATS[number % len(FORMATS)]
    clauses = dict((NARROW if fmt == "nvfp4" else WIDE)[number % 7])
    if isinstance(clauses.get("global_scale"), str):
        clauses["global_scale"] = np.exp2(np.arange(len(groups)) % 5 - 2).astype(np.float32) * 1.5
    block = 16 if fmt.startswith("nvfp4") else 32
    along_rows = kind.get("transposed", False) == (kind.get("axis", -1) == -1)
    # Scales of groups along rows start anew unless they begin with a block; tiles of rows do by turns.
    starts = "whole"
    if is_ragged and along_rows:
        starts = "whole" if groups.align % block == 0 and number % 2 else "compact"
    elif is_ragged and kind.get("layout") and number % 2:
        starts = "compact"
    return nvfp4.QuantizedCopy(fmt, starts=starts, **kind, **clauses)


def destination(copy, like):
    """Memory like that of a copy, full of a pattern."""
    values = np.full(like.values.shape, 0xA5, np.uint8).view(like.values.dtype)
    scales = np.full(like.scales.shape, 0x5A, np.uint8).view(like.scales.dtype)
    return nvfp4.ScaledTensor(values, scales, like.format, like.shape, like.layout, like.starts, like.axis)


def quantized(y, grouping, copy, out=None):
    """What `quantize` makes of the product."""
    groups = grouping if grouping.kind in ("masked", "ragged_rows") else None
    if copy.transposed and groups:
        groups = dataclasses.replace(groups, kind="ragged_k")
    scale = copy.global_scale
    return nvfp4.quantize(y, copy.format, quantizer=copy.quantizer, global_scale=scale, layout=copy.layout, starts=copy.starts,
                          axis=copy.axis, groups=groups, seed=copy.seed, transposed=copy.transposed, hadamard=copy.hadamard,
                          out=out)


def assert_same(got, wanted, what):
    assert got.shape == wanted.shape and got.scales.shape == wanted.scales.shape, what
    assert get_bytes(got.values) == get_bytes(wanted.values), f"{what}: values"
    assert get_bytes(got.scales) == get_bytes(wanted.scales), f"{what}: scales"


def cases():
    """Forms with kinds of copies, and everything else by turns: each form meets each target, result and activation."""
    number = 0
    for form, (rows, columns) in itertools.product(FORMS, zip(ROWS, COLUMNS)):
        yield (form, rows, columns, TARGETS[number % 3], OUTS[number // 3 % 4], ACTIVATIONS[number // 2 % 3],
               ("preserve", "zero")[number % 2], number)
        number += 1


@pytest.mark.parametrize("form, rows, columns, target, out, activation, tail, number", list(cases()))
def test_copies(rng, form, rows, columns, target, out, activation, tail, number):
    groups, kinds = FORMS[form]
    product = make_product(rng, groups, 192, 96, "mxfp8_e4m3" if number % 4 == 3 else "nvfp4", **dict(kinds))
    lhs, rhs = operands(product, "mxfp8_e4m3" if number % 4 == 3 else "nvfp4", lhs_starts="whole")
    grouping = grouping_of(groups)
    options = dict(alpha=0.5, tail=tail, activation=activation)
    if activation == "swiglu":
        options["activation"] = nvfp4.Activation("reglu", nvfp4.Gate(32))
    kinds = [rows, rows] if groups.kind == "masked" else [rows, columns]
    copies = [made(form, kind, number + 3 * i) for i, kind in enumerate(kinds)]
    rounded = nvfp4.grouped_matmul(lhs, rhs, grouping, **options, dtype=out.get("dtype") or np.float32)
    rounded = np.asarray(rounded)
    wanted = []
    for i, copy in enumerate(copies):
        plain = quantized(rounded, grouping, copy)
        place = destination(copy, plain)
        copies[i] = dataclasses.replace(copy, out=place)
        before = destination(copy, plain)
        if tail == "zero":
            before.values.view(np.uint8)[...] = 0
            before.scales.view(np.uint8)[...] = 0
        wanted.append(quantized(rounded, grouping, copy, before))
    got = nvfp4.grouped_matmul(lhs, rhs, grouping, **options, **out, copies=copies, target=target)
    assert isinstance(got, nvfp4.MatmulCopies) and (got.out is None) == (not out)
    for i, (copy, result) in enumerate(zip(got.copies, wanted)):
        assert copy is copies[i].out
        assert_same(copy, result, f"copy {i} of {form} on {target}")
    if "dtype" in out:
        assert np.array_equal(np.asarray(got.out), rounded, equal_nan=True)
    elif out:
        plain = nvfp4.grouped_matmul(lhs, rhs, grouping, **options, **out)
        assert_same(got.out, plain, "the result beside copies")


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("form", ["ragged_aligned", "batched", "ragged_k"])
def test_in_memory_of_a_device(rng, form, target):
    groups, kinds = FORMS[form]
    lhs, rhs = operands(make_product(rng, groups, 128, 64, "nvfp4", **dict(kinds)))
    copies = [nvfp4.QuantizedCopy(quantizer="te", layout="blocked"), nvfp4.QuantizedCopy(quantizer=SR, seed=3, transposed=True,
                                                                                       hadamard=nvfp4.Hadamard())]

    def run():
        return nvfp4.grouped_matmul(lhs, rhs, grouping_of(groups), copies=copies, dtype="bfloat16", amax=True)

    wanted = run()
    with calls_on(target) as ran:
        got = run()
    assert ran
    for a, b in zip(got.copies, wanted.copies):
        assert_same(a, b, form)
    assert np.array_equal(got.out.view(np.uint16), wanted.out.view(np.uint16)) and np.array_equal(got.amax, wanted.amax)


def test_value_form_and_interpreter(rng):
    """As values, with a result beside them; the interpreter agrees to the byte, copies of numbers in bf16 included."""
    text = """
!x = !grouped_scaled_gemm.scaled<?x128, nvfp4>
!w = !grouped_scaled_gemm.scaled<3x64x128, nvfp4>
!r = !grouped_scaled_gemm.scaled<?x64, mxfp8_e4m3>
!c = !grouped_scaled_gemm.scaled<64x?, mxfp8_e4m3>
func.func @f(%x: !x, %w: !w, %ends: tensor<3xi32>, %y: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, !r, !c) {
  %r:3 = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 32> groups(%ends : tensor<3xi32>) lhs(%x : !x) rhs(%w : !w)
      activation = <relu2> outs(%y : tensor<?x64xbf16>) copies(<ue8m0_up>, <ocp> transposed hadamard = <normalized>)
      -> tensor<?x64xbf16>, !r, !c
  return %r#0, %r#1, %r#2 : tensor<?x64xbf16>, !r, !c
}"""
    groups = ragged([5, 0, 40], align=32, extra=24)
    lhs, rhs = operands(make_product(rng, groups, 64, 128, "nvfp4"))
    rows = np.zeros((groups.extent, 64), nvfp4.quantize(np.zeros((16, 16), np.float32)).values.dtype)
    program = nvfp4.compile(text, "cpu")
    y = np.zeros(rows.shape, ml_dtypes.bfloat16)
    assert "0 beyond the bound" in program.check(lhs, rhs, groups.operand, y)
    out, row_copy, column_copy = program.run(lhs, rhs, groups.operand, y)
    assert row_copy.shape == rows.shape and column_copy.shape == rows.shape[::-1]
    grouping = nvfp4.ragged_rows(groups.operand, align=32)
    y = np.asarray(out)
    wanted = nvfp4.quantize(y, "mxfp8_e4m3", quantizer="ue8m0_up", groups=grouping)
    assert get_bytes(row_copy.values) == get_bytes(wanted.values)


def test_next_product_reads_copies(rng):
    """A gradient of weights from transposed copies of two products, with no operation between them."""
    groups = ragged([48, 0, 16], align=16)
    grouping = grouping_of(groups)
    along = nvfp4.ragged_k(groups.operand, align=16)
    copy = [nvfp4.QuantizedCopy("nvfp4", "te", transposed=True)]
    pairs = []
    for n in (64, 32):
        lhs, rhs = operands(make_product(rng, groups, n, 64, "nvfp4"))
        pairs.append((nvfp4.grouped_matmul(lhs, rhs, grouping), nvfp4.grouped_matmul(lhs, rhs, grouping, copies=copy).copies[0]))
    got = nvfp4.grouped_matmul(pairs[0][1], pairs[1][1], along)
    numbers = [nvfp4.dequantize(each, groups=along).astype(np.float64) for _, each in pairs]
    assert got.shape == (3, 64, 32)
    for g, (first, end) in enumerate(along.ranges()):
        a, b = numbers[0][:, first:end], numbers[1][:, first:end]
        assert_within(got[g], a @ b.T, random_bound(None, np.abs(a) @ np.abs(b).T, end - first), "f32")


@pytest.mark.parametrize("copies, message", [
    ([nvfp4.QuantizedCopy("nvfp4", "ocp")], r"expected a format with UE8M0 scales .* for quantizer 'ocp', but got 'nvfp4'"),
    ([3], r"expected copies\[0\] as nvfp4.QuantizedCopy, but got int"),
    ([nvfp4.QuantizedCopy("fp3")], r"expected copies\[0\]\.format nvfp4, .*, but got 'fp3'"),
    ([nvfp4.QuantizedCopy(hadamard=7)], r"expected copies\[0\]\.hadamard of type nvfp4\.Hadamard or None, but got 7"),
    ([nvfp4.QuantizedCopy(quantizer=SR)], r"copies\[0\]: expected a seed for the copy by .*rounding = stochastic>, but got none"),
    ([nvfp4.QuantizedCopy(transposed=1)], r"expected copies\[0\]\.transposed True or False, but got 1")])
def test_wrong_copies_are_named(rng, copies, message):
    lhs, rhs = operands(make_product(rng, dense(16), 32, 64, "nvfp4"))
    with pytest.raises((nvfp4.ArgumentError, nvfp4.CompileError), match=message):
        nvfp4.grouped_matmul(lhs, rhs, copies=copies)


def test_no_copies(rng):
    lhs, rhs = operands(make_product(rng, dense(16), 32, 64, "nvfp4"))
    wanted = nvfp4.grouped_matmul(lhs, rhs)
    for none in (None, (), []):
        got = nvfp4.grouped_matmul(lhs, rhs, copies=none)
        assert isinstance(got, np.ndarray) and np.array_equal(got, wanted)


def test_broken_data_is_named(rng):
    """The message has the label of the copy's constraint, and its number."""
    groups = ragged([16, 16], align=16)
    lhs, rhs = operands(make_product(rng, groups, 32, 64, "nvfp4"))
    grouping = grouping_of(groups)
    with pytest.raises(nvfp4.DataError, match="copies_c3"):
        nvfp4.grouped_matmul(lhs, rhs, grouping, copies=[nvfp4.QuantizedCopy(global_scale=np.ones(3, np.float32))])
    with pytest.raises(nvfp4.DataError, match="quantizer_c8"):
        nvfp4.grouped_matmul(lhs, rhs, grouping, copies=[nvfp4.QuantizedCopy(global_scale=-1.0)])
    lhs, rhs = operands(make_product(rng, groups, 24, 64, "nvfp4"))
    with pytest.raises(nvfp4.DataError, match="copies_c5"):
        nvfp4.grouped_matmul(lhs, rhs, grouping, copies=[nvfp4.QuantizedCopy(quantizer="te")])
