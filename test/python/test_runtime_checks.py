# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data that break a constraint at run time are refused, with the constraint, the
value that was seen and the limit; the interpreter refuses them too. Good data
run: every extent below is dynamic, so that nothing is known before."""

import functools

import numpy as np
import pytest

from nvfp4_module import compile_module, run, scratch, tool, uses_processes, write_inputs

X, W = "!grouped_scaled_gemm.scaled<?x?, nvfp4>", "!grouped_scaled_gemm.scaled<?x?x?, nvfp4>"
PACKED = "!grouped_scaled_gemm.scaled<?x?, nvfp4, {}>"


def scaled(*shape, scale_shape=None):
    """Values and scales of zeros, of logical shape `shape`."""
    scales = scale_shape or (*shape[:-1], -(-shape[-1] // 16))
    return np.zeros((*shape[:-1], shape[-1] // 2), np.uint8), np.zeros(scales, np.uint8)


def f32(*shape):
    return np.zeros(shape, np.float32)


def i32(values):
    return np.array(values, np.int32)


def product(grouping, lhs, rhs, extra=(), out="tensor<?x?xf32>", clauses="", result=None):
    """A matmul with a destination; `extra` are names and types of more operands."""
    more = "".join(f", %{name}: {type_}" for name, type_ in extra)
    given = "".join(f" {name}(%{name} : {type_}){' at gemm' if name == 'prob' else ''}"
                    for name, type_ in extra)
    groups = "" if grouping in ("dense", "batched") else " groups(%g : tensor<?xi32>)"
    argument = ", %g: tensor<?xi32>" if groups else ""
    return f"""
func.func @f(%x: {lhs}, %w: {rhs}{argument}{more}, %o: {out}) -> {out} {{
  %y = grouped_scaled_gemm.matmul <{grouping}>{groups} lhs(%x : {lhs}) rhs(%w : {rhs}){given}
      {clauses} outs(%o : {out}) -> {out}
  return %y : {out}
}}"""


VECTOR, MATRIX, STACK = "tensor<?xf32>", "tensor<?x?xf32>", "tensor<?x?x?xf32>"
TERMS = (("alpha", VECTOR), ("row_scale", VECTOR), ("beta", VECTOR), ("addend", MATRIX), ("bias", MATRIX),
         ("prob", VECTOR))
INDICES = "tensor<?x?xi32>"
TEXTS = {
    "ends": product("ragged_rows, ends", X, W),
    "aligned": product("ragged_rows, ends, align = 16", X, W),
    "starts": product("ragged_rows, starts, align = 16", X, W),
    "masked": product("masked", W, W, out=STACK),
    "batched": product("batched", W, W, out=STACK),
    "dense": product("dense", X, X),
    "along_k": product("ragged_k, ends, align = 16", X, X, out=STACK),
    "compact": product("ragged_rows, ends", PACKED.format("blocked, starts = compact"), W),
    "upper": product("ragged_rows, ends", PACKED.format("blocked, starts = upper_bound"), W),
    "terms": product("ragged_rows, ends", X, W, TERMS),
    "gate": product("dense", X, X, clauses="activation = <swiglu, gate = <32, gate_first>>"),
    "list": f"""
func.func @f(%a: {X}, %b: {X}, %c: {X}, %d: {X}, %s: {VECTOR}, %o: {MATRIX}, %p: {MATRIX})
    -> ({MATRIX}, {MATRIX}) {{
  %y:2 = grouped_scaled_gemm.matmul_list lhs(%a : {X}, %c : {X}) rhs(%b : {X}, %d : {X})
      alpha(%s : {VECTOR}) outs(%o, %p : {MATRIX}, {MATRIX}) -> {MATRIX}, {MATRIX}
  return %y#0, %y#1 : {MATRIX}, {MATRIX}
}}""",
    "permute": f"""
func.func @f(%x: {MATRIX}, %t: tensor<?xi32>, %o: {MATRIX}) -> {MATRIX} {{
  %y = grouped_scaled_gemm.permute(%x : {MATRIX}) by(%t : tensor<?xi32>)
      outs(%o : {MATRIX}) -> {MATRIX}
  return %y : {MATRIX}
}}""",
    "combine": f"""
func.func @f(%x: {MATRIX}, %r: {INDICES}, %w: {MATRIX}, %o: {MATRIX}) -> {MATRIX} {{
  %y = grouped_scaled_gemm.combine(%x : {MATRIX}) by(%r : {INDICES}) weights(%w : {MATRIX})
      outs(%o : {MATRIX}) -> {MATRIX}
  return %y : {MATRIX}
}}""",
    "sort": f"""
func.func @f(%x: {INDICES}, %e: tensor<?xi32>, %t: tensor<?xi32>, %r: {INDICES})
    -> (tensor<?xi32>, tensor<?xi32>, {INDICES}) {{
  %y:3 = grouped_scaled_gemm.sort_tokens(%x : {INDICES})
      outs(%e, %t, %r : tensor<?xi32>, tensor<?xi32>, {INDICES}) {{align = 4 : i64}}
      -> tensor<?xi32>, tensor<?xi32>, {INDICES}
  return %y#0, %y#1, %y#2 : tensor<?xi32>, tensor<?xi32>, {INDICES}
}}""",
    "route": f"""
func.func @f(%l: {MATRIX}, %b: {VECTOR}, %w: {MATRIX}, %e: {INDICES}) -> ({MATRIX}, {INDICES}) {{
  %y:2 = grouped_scaled_gemm.route deepseek_v3(%l : {MATRIX}) bias(%b : {VECTOR})
      outs(%w, %e : {MATRIX}, {INDICES}) {{n_group = 4 : i64, topk_group = 2 : i64}}
      -> {MATRIX}, {INDICES}
  return %y#0, %y#1 : {MATRIX}, {INDICES}
}}""",
    "quantize": f"""
func.func @f(%x: {MATRIX}, %g: tensor<?xi32>, %s: {VECTOR}) -> {X} {{
  %y = grouped_scaled_gemm.quantize <trtllm>(%x : {MATRIX})
      groups(%g : tensor<?xi32>) as <ragged_rows, ends> global_scale(%s : {VECTOR}) -> {X}
  return %y : {X}
}}""",
    "quantize_once": f"""
func.func @f(%x: {MATRIX}, %s: tensor<1xf32>) -> {X} {{
  %y = grouped_scaled_gemm.quantize <trtllm>(%x : {MATRIX}) global_scale(%s : tensor<1xf32>) -> {X}
  return %y : {X}
}}""",
    "dequantize": f"""
func.func @f(%x: {X}, %o: {MATRIX}) -> {MATRIX} {{
  %y = grouped_scaled_gemm.dequantize(%x : {X}) outs(%o : {MATRIX}) -> {MATRIX}
  return %y : {MATRIX}
}}""",
    "hadamard": f"""
func.func @f(%x: {MATRIX}, %o: {MATRIX}) -> {MATRIX} {{
  %y = grouped_scaled_gemm.hadamard %x outs(%o) : {MATRIX}, {MATRIX} -> {MATRIX}
  return %y : {MATRIX}
}}""",
    "glu": f"""
func.func @f(%x: {MATRIX}, %o: {MATRIX}) -> {MATRIX} {{
  %y = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>(%x : {MATRIX})
      outs(%o : {MATRIX}) -> {MATRIX}
  return %y : {MATRIX}
}}""",
    "relayout": f"""
!to = {PACKED.format("blocked, starts = compact")}
func.func @f(%x: {X}, %g: tensor<?xi32>) -> !to {{
  %y = grouped_scaled_gemm.relayout_scales(%x : {X}) groups(%g : tensor<?xi32>) as <ragged_rows, ends>
      -> !to
  return %y : !to
}}""",
}

ROWS = dict(x=scaled(64, 64), w=scaled(2, 96, 64), g=i32([32, 64]), o=f32(64, 96))
GOOD = {
    "ends": ROWS,
    "aligned": ROWS,
    "starts": {**ROWS, "g": i32([0, 32, 61])},
    "masked": dict(x=scaled(2, 64, 64), w=scaled(2, 96, 64), g=i32([0, 64]), o=f32(2, 64, 96)),
    "batched": dict(x=scaled(2, 64, 64), w=scaled(2, 96, 64), o=f32(2, 64, 96)),
    "dense": dict(x=scaled(64, 64), w=scaled(96, 64), o=f32(64, 96)),
    "along_k": dict(x=scaled(64, 64), w=scaled(96, 64), g=i32([32, 64]), o=f32(2, 64, 96)),
    "compact": {**ROWS, "x": scaled(64, 64, scale_shape=(2, 1, 32, 4, 4))},
    "upper": {**ROWS, "x": scaled(64, 64, scale_shape=(2, 1, 32, 4, 4))},
    "terms": dict(x=scaled(64, 64), w=scaled(2, 96, 64), g=i32([32, 64]), alpha=f32(2),
                  row_scale=f32(64), beta=f32(2), addend=f32(64, 96), bias=f32(2, 96), prob=f32(64), o=f32(64, 96)),
    "gate": dict(x=scaled(64, 64), w=scaled(128, 64), o=f32(64, 64)),
    "list": dict(a=scaled(8, 64), b=scaled(16, 64), c=scaled(4, 32), d=scaled(24, 32), s=f32(2),
                 o=f32(8, 16), p=f32(4, 24)),
    "permute": dict(x=f32(8, 16), t=i32([7, -1, 0]), o=f32(3, 16)),
    "combine": dict(x=f32(8, 16), r=i32([[7, -1], [0, 3]]), w=f32(2, 2), o=f32(2, 16)),
    "sort": dict(x=i32([[3, -1], [0, 3]]), e=i32([0] * 4), t=i32([0] * 16), r=i32([[0, 0]] * 2)),
    "route": dict(l=f32(3, 16), b=f32(16), w=f32(3, 4), e=np.zeros((3, 4), np.int32)),
    "quantize": dict(x=f32(64, 64), g=i32([32, 64]), s=np.ones(2, np.float32)),
    "quantize_once": dict(x=f32(64, 64), s=np.ones(1, np.float32)),
    "dequantize": dict(x=scaled(64, 64), o=f32(64, 64)),
    "hadamard": dict(x=f32(4, 32), o=f32(4, 32)),
    "glu": dict(x=f32(4, 32), o=f32(4, 16)),
    "relayout": dict(x=scaled(64, 64), g=i32([32, 64])),
}

# form, what is changed, what the message says.
BAD = [
    ("ends", dict(g=i32([40, 20])), "group ends[1] to be at least 40, the one before it, but got 20 "
     "[grouping_c7]"),
    ("ends", dict(g=i32([32, 65])), "group ends[1] to be in [32, 64], but got 65 [grouping_c6]"),
    ("ends", dict(g=i32([-1, 64])), "group ends[0] to be in [0, 64], but got -1 [grouping_c6]"),
    ("ends", dict(g=i32([32])), "G of groups to be 2, but got 1 [grouping_c5]"),
    ("ends", dict(w=scaled(2, 96, 32)), "K of rhs to be 64, but got 32 [matmul_c7]"),
    ("ends", dict(o=f32(63, 96)), "M of outs to be 64, but got 63 [matmul_c25]"),
    ("ends", dict(o=f32(64, 95)), "N_out of outs to be 96, but got 95 [matmul_c25]"),
    ("ends", dict(x=scaled(64, 64, scale_shape=(64, 3))),
     "dimension 1 of the scales of lhs to be 4, but got 3 [storage_c9]"),
    ("aligned", dict(g=i32([20, 24])), "group ends[1] to be at least 32, where the group starts, "
     "but got 24 [grouping_c7]"),
    ("starts", dict(g=i32([0, 48, 32])), "group starts[2] to be at least 48, the one before it, but "
     "got 32 [grouping_c7]"),
    ("starts", dict(g=i32([0, 24, 64])), "group starts[1] to be a multiple of 16, but got 24 "
     "(nearest: 16) [grouping_c8]"),
    ("starts", dict(g=i32([-16, 32, 64])), "group starts[0] to be in [0, 64], but got -16 "
     "[grouping_c6]"),
    ("starts", dict(g=i32([0, 32, 72])), "group starts[2] to be in [32, 64], but got 72 "
     "[grouping_c6]"),
    ("starts", dict(g=i32([0, 32])), "G of groups to be 2, but got 1 [grouping_c5]"),
    ("masked", dict(g=i32([3, 65])), "group row counts[1] to be in [0, 64], but got 65 "
     "[grouping_c6]"),
    ("masked", dict(g=i32([-2, 64])), "group row counts[0] to be in [0, 64], but got -2 "
     "[grouping_c6]"),
    ("masked", dict(x=scaled(3, 64, 64)), "G of lhs to be 2, but got 3 [matmul_c8]"),
    ("masked", dict(g=i32([1, 1, 1])), "G of groups to be 2, but got 3 [grouping_c5]"),
    ("batched", dict(x=scaled(1, 64, 64)), "G of lhs to be 2, but got 1 [matmul_c8]"),
    ("batched", dict(o=f32(3, 64, 96)), "G of outs to be 2, but got 3 [matmul_c25]"),
    ("dense", dict(w=scaled(96, 48)), "K of rhs to be 64, but got 48 [matmul_c7]"),
    ("dense", dict(o=f32(65, 96)), "M of outs to be 64, but got 65 [matmul_c25]"),
    ("along_k", dict(g=i32([48, 32])), "group ends[1] to be at least 48, the one before it, but got "
     "32 [grouping_c7]"),
    ("along_k", dict(g=i32([32, 80])), "group ends[1] to be in [32, 64], but got 80 [grouping_c6]"),
    ("along_k", dict(o=f32(3, 64, 96)), "G of outs to be 2, but got 3 [matmul_c25]"),
    ("compact", dict(x=scaled(64, 64, scale_shape=(1, 1, 32, 4, 4))),
     "rows of the scales of lhs to be at least 160 for the groups, but got 128 [storage_c9]"),
    ("upper", dict(x=scaled(64, 64, scale_shape=(1, 1, 32, 4, 4))),
     "rows of the scales of lhs to be at least 160 for the groups, but got 128 [storage_c9]"),
    ("terms", dict(alpha=f32(3)), "G of alpha to be 2, but got 3 [matmul_c9]"),
    ("terms", dict(beta=f32(3)), "G of beta to be 2, but got 3 [matmul_c10]"),
    ("terms", dict(addend=f32(64, 95)), "N of addend to be 96, but got 95 [matmul_c12]"),
    ("terms", dict(bias=f32(2, 97)), "N of bias to be 96, but got 97 [matmul_c13]"),
    ("terms", dict(bias=f32(1, 96)), "G of bias to be 2, but got 1 [matmul_c13]"),
    ("terms", dict(row_scale=f32(60)), "M of row_scale to be 64, but got 60 [matmul_c55]"),
    ("terms", dict(prob=f32(60)), "M of prob to be 64, but got 60 [matmul_c14]"),
    ("gate", dict(w=scaled(96, 64), o=f32(64, 48)), "N to be a multiple of 64, but got 96 "
     "(nearest: 64) [gate_c2]"),
    ("list", dict(d=scaled(24, 64)), "K of rhs #1 to be 32, but got 64 [matmul_list_c6]"),
    ("list", dict(o=f32(8, 17)), "N of outs #0 to be 16, but got 17 [matmul_list_c7]"),
    ("list", dict(s=f32(3)), "entries of alpha to be 2, but got 3 [matmul_list_c2]"),
    ("permute", dict(t=i32([7, 8, 0])), "token_of_row[1] to be in [-1, 8), but got 8 (nearest: 7) "
     "[permute_c4]"),
    ("permute", dict(t=i32([7, -2, 0])), "token_of_row[1] to be in [-1, 8), but got -2 "
     "(nearest: -1) [permute_c4]"),
    ("permute", dict(o=f32(4, 16)), "rows of outs to be 3, but got 4 [permute_c2]"),
    ("permute", dict(o=f32(3, 17)), "K of outs to be 16, but got 17 [permute_c2]"),
    ("combine", dict(r=i32([[7, 1], [0, 9]])), "row_of_slot[1, 1] to be in [-1, 8), but got 9 "
     "(nearest: 7) [combine_c4]"),
    ("combine", dict(w=f32(2, 1)), "k of weights to be 2, but got 1 [combine_c2]"),
    ("combine", dict(o=f32(3, 16)), "T of outs to be 2, but got 3 [combine_c3]"),
    ("sort", dict(x=i32([[3, 4], [0, 3]])), "experts[0, 1] to be in [-1, 4), but got 4 "
     "(nearest: 3) [sort_tokens_c6]"),
    ("sort", dict(t=i32([0] * 15)), "entries of token_of_row to be at least 16, but got 15 "
     "[sort_tokens_c5]"),
    ("sort", dict(r=i32([[0, 0]] * 3)), "T of row_of_slot to be 2, but got 3 [sort_tokens_c2]"),
    ("route", dict(b=f32(15)), "E of bias to be 16, but got 15 [route_c10]"),
    ("route", dict(w=f32(3, 5)), "top_k of weights to be 4, but got 5 [route_c2]"),
    ("route", dict(l=f32(3, 15), b=f32(15)), "the number of experts to be a multiple of 4, but got "
     "15 (nearest: 16) [route_c8]"),
    ("route", dict(w=f32(3, 9), e=np.zeros((3, 9), np.int32)), "top_k to be in [1, 8], but got 9 "
     "[route_c9]"),
    ("quantize", dict(g=i32([32, 65])), "group ends[1] to be in [32, 64], but got 65 [grouping_c6]"),
    ("quantize", dict(s=np.ones(3, np.float32)), "G of global_scale to be 2, but got 3 "
     "[quantize_c3]"),
    *[("quantize_once", dict(s=np.array([value], np.float32)), "global_scale to be finite and positive, but got "
       f"{value:g} [quantizer_c8]") for value in (0, -2, np.inf, np.nan)],
    ("dequantize", dict(o=f32(64, 62)), "dimension 1 of outs to be 64, but got 62 [dequantize_c1]"),
    ("hadamard", dict(x=f32(4, 24), o=f32(4, 24)), "the last dimension to be a multiple of 16, but "
     "got 24 (nearest: 16) [hadamard_c1]"),
    ("hadamard", dict(o=f32(5, 32)), "dimension 0 of outs to be 4, but got 5 [hadamard_c2]"),
    ("glu", dict(o=f32(4, 32)), "dimension 1 of outs to be 16, but got 32 [glu_c3]"),
    ("relayout", dict(g=i32([40, 20])), "group ends[1] to be at least 40, the one before it, but "
     "got 20 [grouping_c7]"),
]


@functools.cache
def module(form):
    return compile_module(TEXTS[form])


@pytest.mark.parametrize("form", TEXTS)
def test_good_data_run(form):
    module(form).f(*GOOD[form].values())


def test_what_quantises_nothing_needs_no_global_scale():
    module("quantize_once").f(f32(0, 64), f32(1))
    # No group, though each would have rows and columns.
    text = f"""
func.func @f(%x: {W}, %w: {W}, %s: f32) -> {W} {{
  %y = grouped_scaled_gemm.matmul <batched> lhs(%x : {W}) rhs(%w : {W})
      quantizer = <trtllm> global_scale(%s : f32) -> {W}
  return %y : {W}
}}"""
    x, w = scaled(0, 16, 64), scaled(0, 64, 64)
    compile_module(text).f(x, w, np.float32(0))


@pytest.mark.parametrize("form", ["ends", "sort"])
def test_without_checks_nothing_is_asked_of_the_runtime(form):
    for flag, expected in (("true", True), ("false", False)):
        compiled = compile_module(TEXTS[form], "--runtime-checks=" + flag)
        assert (b"nvfp4_check" in compiled.path.read_bytes()) == expected


@pytest.mark.parametrize("form,changes,message", BAD,
                         ids=[f"{form}-{'-'.join(changes)}-{i}"
                              for i, (form, changes, _) in enumerate(BAD)])
def test_bad_data_are_refused(form, changes, message):
    arguments = {**GOOD[form], **changes}
    assert list(arguments) == list(GOOD[form])
    with pytest.raises(RuntimeError) as refused:
        module(form).f(*arguments.values())
    text = str(refused.value)
    assert "expected " + message in text, text
    assert ".mlir:" in text and ": grouped_scaled_gemm." in text, text
    # The rest of the call does not reach the next one.
    module(form).f(*GOOD[form].values())


BUFFERS = """
func.func @f(%b: memref<?x32xf32>, %from: index, %to: index, %first: index, %second: index, %n: index) {
  %x = memref.subview %b[%from, %first] [%n, 16] [1, 1]
      : memref<?x32xf32> to memref<?x16xf32, strided<[32, 1], offset: ?>>
  %y = memref.subview %b[%to, %second] [%n, 16] [1, 1]
      : memref<?x32xf32> to memref<?x16xf32, strided<[32, 1], offset: ?>>
  grouped_scaled_gemm.hadamard %x outs(%y)
      : memref<?x16xf32, strided<[32, 1], offset: ?>>, memref<?x16xf32, strided<[32, 1], offset: ?>>
  return
}
func.func @g(%x: memref<?x32xf32>, %y: memref<?x32xf32>) {
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<?x32xf32>, memref<?x32xf32>
  return
}
"""
# Rows from, rows to, columns from, columns to, rows; whether the parts meet.
PARTS = [(0, 8, 0, 0, 8, False), (0, 7, 0, 0, 8, True), (0, 0, 0, 16, 8, False),
         (8, 3, 16, 0, 8, False), (8, 3, 15, 0, 8, True), (0, 1, 0, 0, 1, False),
         (5, 5, 0, 0, 0, False), (5, 5, 8, 8, 3, True)]


@pytest.mark.skipif(uses_processes(), reason="files do not share memory")
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_outputs_overlap_no_other_operand(rng, part):
    """dest_c3, where the parts of a buffer are known at run time only."""
    *places, meet = part
    buffer = rng.integers(-8, 8, (16, 32)).astype(np.float32)
    given = buffer.copy()
    compiled = compile_module(BUFFERS)
    if meet:
        with pytest.raises(RuntimeError, match=r"expected operand #1, an output, to overlap no other "
                           r"operand, but operand #0 starts .*\[dest_c3\]"):
            compiled.f(buffer, *places)
        assert np.array_equal(buffer, given)
        return
    compiled.f(buffer, *places)
    start, to, first, second, n = places
    sign = [[(-1) ** (i & j).bit_count() for i in range(16)] for j in range(16)]
    given[to:to + n, second:second + 16] = given[start:start + n, first:first + 16] @ sign
    assert np.array_equal(buffer, given)


@pytest.mark.skipif(uses_processes(), reason="files do not share memory")
def test_a_buffer_is_not_passed_twice():
    buffer, other = np.ones((4, 32), np.float32), np.zeros((4, 32), np.float32)
    with pytest.raises(RuntimeError, match=r"operand #0 starts 0 bytes after its start \[dest_c3\]"):
        compile_module(BUFFERS).g(buffer, buffer)
    assert np.all(buffer == 1)
    compile_module(BUFFERS).g(buffer, other)
    assert other.sum() == 4 * 2 * 16


# The interpreter refuses whatever compiled code does; of the latter, run in
# process by the tool, a sample.
CASES = [("reference", i) for i in range(len(BAD))] + [("cpu", i) for i in range(0, len(BAD), 6)]


@pytest.mark.parametrize("device,case", CASES, ids=[f"{d}-{BAD[i][0]}-{i}" for d, i in CASES])
def test_nvfp4_run_fails(device, case):
    form, changes, message = BAD[case]
    source = scratch() / f"check_{form}.mlir"
    source.write_text(TEXTS[form])
    for bad in (False, True):
        arguments = {**GOOD[form], **(changes if bad else {})}
        flat = [part for a in arguments.values() for part in (a if isinstance(a, tuple) else (a,))]
        code, output, error = run(tool("nvfp4-run"), source, "--device=" + device,
                                  "--inputs=" + ",".join(write_inputs(flat)))
        assert code == bad, error
        # On a busy machine it says what takes long.
        error = "\n".join(line for line in error.splitlines()
                          if not line.startswith("compiling the module"))
        if not bad:
            assert error == "" and output.startswith("result 0: ")
        elif device == "cpu":
            assert error.startswith("error: 'f': ") and "expected " + message in error, error
        else:
            assert error.startswith("error: interpreter: "), error
