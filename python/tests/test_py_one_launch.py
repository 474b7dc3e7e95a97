# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that share a launch give the bits of the CPU's code, which has each of them alone."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from format_blocks import CASES, has_global
from sim_driver import SimMemory

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
TARGETS = ["sm_90a", "sm_100a"]


def cross(*axes, turns=1):
    """Every choice of each axis, with those of the others in turn."""
    return [tuple(axis[(i + i // len(axis) * j) % len(axis)] for j, axis in enumerate(axes))
            for i in range(max(map(len, axes)) * turns)]


def run_both(text, target, results, *arguments):
    """The text of kernels, after the bits of results in memory that was used before have been compared with the CPU's."""
    wanted = nvfp4.compile(text, "cpu").run(*arguments)
    program = nvfp4.compile(text, f"{target}+sim", memory="device")
    function = nvfp4.on_device(program, "sim")
    memory = SimMemory()
    placed = [memory.put(each) for each in arguments]
    outs = []
    for each in map(np.asarray, wanted):
        out = memory.put(np.full(max(each.nbytes, 1), 0x7f, np.uint8))
        outs.append(nvfp4.DeviceTensor(out.address, each.shape, each.dtype, "sim"))
    function.run(placed, outs, memory.put(np.full(function.workspace(*placed) + 1, 0x7f, np.uint8)))
    for name, each, out in zip(results, map(np.asarray, wanted), outs, strict=True):
        assert memory.get(out).tobytes() == each.tobytes(), name
    return program.ir("gpu-kernel-outlining")


def make_layer(method, tokens, experts, slots, align, extra, columns, element, logits, moves):
    """Routing, the order of tokens and, if it `moves` them, their rows; all results."""
    x, l = f"tensor<{tokens}x{columns}x{element}>", f"tensor<{tokens}x{experts}x{logits}>"
    w, e, n, t = f"tensor<{tokens}x{slots}xf32>", f"tensor<{tokens}x{slots}xi32>", f"tensor<{experts}xi32>", "tensor<?xi32>"
    p = f"tensor<?x{columns}x{element}>"
    name, bias, attributes = method
    size = "%tokens" if tokens == "?" else ""
    given = f"bias(%b : tensor<{experts}xf32>) " if bias else ""
    empty = "%p0 = tensor.empty(%rows{}) : {}".format(", %columns" if columns == "?" else "", p)
    permute = f"""
  %columns = tensor.dim %x, %c1 : {x}
  {empty}
  %p = grouped_scaled_gemm.permute(%x : {x}) by(%t : {t}) outs(%p0 : {p}) -> {p}"""
    if not moves:
        permute, last, types = "", "", ""
    else:
        last, types = ", %p", f", {p}"
    return f"""func.func @f(%x: {x}, %l: {l}, %b: tensor<{experts}xf32>) -> ({w}, {e}, {n}, {t}, {e}{types}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tokens = tensor.dim %l, %c0 : {l}
  %slots = arith.constant {slots} : index
  %extra = arith.constant {experts * (align - 1) + extra} : index
  %entries = arith.muli %tokens, %slots : index
  %rows = arith.addi %entries, %extra : index
  %w0 = tensor.empty({size}) : {w}
  %e0 = tensor.empty({size}) : {e}
  %w, %e = grouped_scaled_gemm.route {name} (%l : {l}) {given}outs(%w0, %e0 : {w}, {e}) {attributes}-> {w}, {e}
  %n0 = tensor.empty() : {n}
  %t0 = tensor.empty(%rows) : {t}
  %r0 = tensor.empty({size}) : {e}
  %n, %t, %r = grouped_scaled_gemm.sort_tokens(%e : {e}) outs(%n0, %t0, %r0 : {n}, {t}, {e}) {{align = {align} : i64}} -> {n}, {t}, {e}{permute}
  return %w, %e, %n, %t, %r{last} : {w}, {e}, {n}, {t}, {e}{types}
}}"""


def make_one_launch(method, tokens, experts, slots, align, columns, element, logits, moves):
    """The same on memory, whatever the compiler would predict: (for the CPU, in one launch)."""
    x, l, b = f"memref<{tokens}x{columns}x{element}>", f"memref<{tokens}x{experts}x{logits}>", f"memref<{experts}xf32>"
    w, e, n, t = f"memref<{tokens}x{slots}xf32>", f"memref<{tokens}x{slots}xi32>", f"memref<{experts}xi32>", "memref<?xi32>"
    p = f"memref<?x{columns}x{element}>"
    name, bias, attributes = method
    given = f"bias(%b : {b}) " if bias else ""
    permute = f"  grouped_scaled_gemm.permute(%x : {x}) by(%t : {t}) outs(%p : {p})\n" if moves else ""
    body = f"""  grouped_scaled_gemm.route {name} (%l : {l}) {given}outs(%w, %e : {w}, {e}) {attributes}
  grouped_scaled_gemm.sort_tokens(%e : {e}) outs(%n, %t, %r : {n}, {t}, {e}) {{align = {align} : i64}}
{permute}"""
    head = f"func.func @f(%x: {x}, %l: {l}, %b: {b}, %w: {w}, %e: {e}, %n: {n}, %t: {t}, %r: {e}, %p: {p}) {{\n"
    launch = f"  grouped_scaled_gemm.one_launch attributes {{most_tokens = 128 : i64}} {{\n{body}  }}\n"
    return tuple(f"{head}{code}  return\n}}" for code in (body, launch))


def run_one_launch(texts, target, arguments, results):
    """The text of kernels, after the bits of `results` have been compared with the CPU's, which writes them where they are."""
    names, outs = zip(*results.items())
    wanted = [np.full_like(each, -5) for each in outs]
    nvfp4.compile(texts[0], "cpu").run(*arguments, *wanted)
    program = nvfp4.compile(texts[1], f"{target}+sim", memory="device")
    function, memory = nvfp4.on_device(program, "sim"), SimMemory()
    placed = [memory.put(each) for each in (*arguments, *(np.full_like(each, -5) for each in outs))]
    function.run(placed, [], memory.put(np.full(function.workspace(*placed) + 1, 0x7f, np.uint8)))
    for name, each, there in zip(names, wanted, placed[len(arguments):], strict=True):
        assert memory.get(there).tobytes() == each.tobytes(), name
    return program.ir("gpu-kernel-outlining")


METHODS = [("topk_softmax", False, ""), ("deepseek_v3", True, "{n_group = 4 : i64, topk_group = 2 : i64} "), ("softmax_topk", False, ""),
           ("llama4", False, "")]
RESULTS = ("weights", "experts", "ends", "token_of_row", "row_of_slot", "rows")


@pytest.mark.parametrize("target, tokens, extent, experts, slots, align, extra, columns, element, logits, method, moves",
                         cross(TARGETS, [9, 0, 1, 128, 33, 64], ["?", "?", "static"], [8, 32, 40, 128, 300], [4, 1, 8], [1, 8, 1],
                               [0, 3, 0], [(256, "256"), (36, "36"), (33, "33"), (64, "?")], list(DTYPES), ["f32", "bf16"],
                               METHODS, [True, True, False], turns=3))
def test_route_sort_permute(rng, target, tokens, extent, experts, slots, align, extra, columns, element, logits, method, moves):
    """All tokens for one expert too, and equal logits, so that order decides."""
    size, width = columns
    slots = 1 if method[0] == "llama4" else slots
    texts = make_one_launch(method, "?" if extent == "?" else tokens, experts, slots, align, width, element, logits, moves)
    values = rng.integers(-3, 3, (tokens, experts)) + 9 * (np.arange(experts) == experts // 2)
    arguments = [rng.standard_normal((tokens, size)).astype(DTYPES[element]), values.astype(DTYPES[logits]),
                 rng.standard_normal(experts).astype(np.float32)]
    rows = tokens * slots + experts * (align - 1) + extra
    results = [np.zeros((tokens, slots), np.float32), np.zeros((tokens, slots), np.int32), np.zeros(experts, np.int32),
               np.zeros(rows, np.int32), np.zeros((tokens, slots), np.int32), np.zeros((rows, size), DTYPES[element])]
    kernels = run_one_launch(texts, target, arguments, dict(zip(RESULTS, results, strict=True)))
    assert ("nvfp4_route_sort_permute" if moves else "nvfp4_route_sort") in kernels


@pytest.mark.parametrize("target", TARGETS)
def test_more_tokens_have_launches_of_their_own(rng, target):
    text = make_layer(METHODS[0], "?", 16, 2, 1, 0, 64, "bf16", "f32", True)
    arguments = [rng.standard_normal((129, 64)).astype(ml_dtypes.bfloat16), rng.standard_normal((129, 16)).astype(np.float32),
                 np.zeros(16, np.float32)]
    kernels = run_both(text, target, RESULTS, *arguments)
    assert "nvfp4_route_sort_permute" in kernels and "nvfp4_sort_tokens" in kernels


def test_rows_that_no_token_has_are_reported(rng):
    """More logits than rows of tokens: entries of token_of_row that name no row."""
    text = make_layer(METHODS[0], "?", 16, 2, 1, 0, 64, "bf16", "f32", True)
    program = nvfp4.compile(text, "sm_90a+sim", memory="device")
    arguments = [np.zeros((4, 64), ml_dtypes.bfloat16), rng.standard_normal((7, 16)).astype(np.float32), np.zeros(16, np.float32)]
    with pytest.raises(nvfp4.NVFP4Error, match=r"expected token_of_row.*permute_c4"):
        program.run(*arguments)


def make_quantized(quantizer, form, columns, layout="linear", groups=False, is_scaled=True, tokens="?", rows="?"):
    """Rows of tokens, quantised: only a quantize reads them."""
    x, t, p = f"tensor<{tokens}x{columns}xbf16>", f"tensor<{rows}xi32>", f"tensor<{rows}x{columns}xbf16>"
    q = f"!grouped_scaled_gemm.scaled<{rows}x{columns}, {form}{', blocked' if layout == 'blocked' else ''}>"
    scale = "global_scale(%s : f32)" if is_scaled else ""
    if groups:
        scale = "groups(%n : tensor<3xi32>) as <ragged_rows, ends> global_scale(%g : tensor<3xf32>)"
    size = "%rows" if rows == "?" else ""
    return f"""func.func @f(%x: {x}, %t: {t}, %s: f32, %n: tensor<3xi32>, %g: tensor<3xf32>) -> {q} {{
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %t, %c0 : {t}
  %p0 = tensor.empty({size}) : {p}
  %p = grouped_scaled_gemm.permute(%x : {x}) by(%t : {t}) outs(%p0 : {p}) -> {p}
  %q = grouped_scaled_gemm.quantize <{quantizer}>(%p : {p}) {scale} -> {q}
  return %q : {q}
}}"""


def check_quantized(text, target, arguments):
    wanted = nvfp4.compile(text, "cpu").run(*arguments)
    program = nvfp4.compile(text, f"{target}+sim", memory="device")
    got = program.run(*arguments)
    assert wanted.values.tobytes() == got.values.tobytes() and wanted.scales.tobytes() == got.scales.tobytes()
    kernels = program.ir("gpu-kernel-outlining")
    assert "nvfp4_permute_quantize" in kernels and "@nvfp4_permute " not in kernels
    return kernels


@pytest.mark.parametrize("target, case, columns, rows, layout",
                         cross(TARGETS, CASES, [64, 96, 40, 33, 32], [(9, 20), (1, 3), (0, 4), (5, 0)], ["linear"]))
def test_permute_quantize(rng, target, case, columns, rows, layout):
    quantizer, form = case
    tokens, count = rows
    order = rng.integers(-1, tokens, count).astype(np.int32)
    arguments = [rng.standard_normal((tokens, columns)).astype(ml_dtypes.bfloat16), order, 37.5, np.zeros(3, np.int32), np.ones(3, np.float32)]
    check_quantized(make_quantized(quantizer, form, columns, layout, is_scaled=has_global(quantizer, form)), target, arguments)


@pytest.mark.parametrize("target", TARGETS)
def test_permute_quantize_by_groups_and_in_tiles(rng, target):
    """A global scale of each group; rows outside of groups; scales in tiles of 128 rows."""
    x = rng.standard_normal((7, 96)).astype(ml_dtypes.bfloat16)
    order = rng.integers(-1, 7, 128).astype(np.int32)
    arguments = [x, order, 2.0, np.array([30, 30, 100], np.int32), np.array([1, 30, 500], np.float32)]
    kernels = check_quantized(make_quantized("trtllm", "nvfp4", 96, groups=True), target, arguments)
    assert "nvfp4_permute_quantized" not in kernels
    check_quantized(make_quantized("trtllm", "nvfp4", 128, "blocked", rows=128), target,
                    [rng.standard_normal((7, 128)).astype(ml_dtypes.bfloat16), *arguments[1:]])


@pytest.mark.parametrize("target, case, columns, tokens, rows",
                         cross(TARGETS, CASES, [8192, 8200, 8191, 8184], ["?", 2], ["?", 480, "?"]))
def test_tokens_are_quantized_once(rng, target, case, columns, tokens, rows):
    """Where they have many rows; rows without a token are those that the quantiser makes of zeros."""
    quantizer, form = case
    text = make_quantized(quantizer, form, columns, is_scaled=has_global(quantizer, form), tokens=tokens, rows=rows)
    order = rng.integers(-1, 2, 480).astype(np.int32)
    arguments = [rng.standard_normal((2, columns)).astype(ml_dtypes.bfloat16), order, 3.0, np.zeros(3, np.int32), np.ones(3, np.float32)]
    assert "nvfp4_permute_quantized" in check_quantized(text, target, arguments)
    if rows == "?":
        check_quantized(text, target, [arguments[0], order[:3], *arguments[2:]])


def test_more_rows_than_tokens_are_reported(rng):
    """Entries of token_of_row that name no row, in both kernels."""
    text = make_quantized("trtllm", "nvfp4", 8192)
    program = nvfp4.compile(text, "sm_90a+sim", memory="device")
    for count in (3, 480):
        arguments = [np.zeros((2, 8192), ml_dtypes.bfloat16), np.full(count, 2, np.int32), 3.0, np.zeros(3, np.int32), np.ones(3, np.float32)]
        with pytest.raises(nvfp4.DataError, match=r"token_of_row.*permute_c4"):
            program.run(*arguments)


def make_both(quantizers, forms, columns, layouts, element, groups, hadamard, order, rows="?"):
    """The rows of a matrix, and the transposed matrix, quantised."""
    x = f"tensor<{rows}x{columns}x{element}>"
    tiles = [", blocked" if layout == "blocked" else "" for layout in layouts]
    q = [f"!grouped_scaled_gemm.scaled<{size}, {form}{tile}>" for size, form, tile in
         zip((f"{rows}x{columns}", f"{columns}x{rows}"), forms, tiles, strict=True)]
    kind, align, by_rows = groups
    clauses = ["", ""]
    if kind:
        count = 4 if kind == "starts" else 3
        clauses = [f"groups(%n : tensor<{count}xi32>) as <{form}, {kind}, align = {align}>" for form in ("ragged_rows", "ragged_k")]
        clauses = [clauses[0] if by_rows else "", clauses[1]]
    lines = []
    for i, (quantizer, form) in enumerate(zip(quantizers, forms, strict=True)):
        scale = f"global_scale(%s{i} : f32)" if has_global(quantizer, form) else ""
        seed = f"seed(%seed{i})" if "stochastic" in quantizer else ""
        turned = "hadamard = <normalized, sign_mask = 55272>" if hadamard[i] else ""
        lines.append(f"  %q{i} = grouped_scaled_gemm.quantize <{quantizer}>(%x : {x}) {turned} {clauses[i]} {scale} {seed} "
                     f"{'{transposed} ' if i else ''}-> {q[i]}\n")
    body = "".join(lines if order else reversed(lines))
    return (f"func.func @f(%x: {x}, %n: tensor<{4 if kind == 'starts' else 3}xi32>, %s0: f32, %s1: f32, %seed0: i64, %seed1: i64) -> "
            f"({q[0]}, {q[1]}) {{\n{body}  return %q0, %q1 : {q[0]}, {q[1]}\n}}")


def run_both_directions(text, target, arguments):
    """The text of kernels, after the bytes of both results have been compared with the CPU's."""
    wanted = nvfp4.compile(text, "cpu").run(*arguments)
    program = nvfp4.compile(text, f"{target}+sim", memory="device")
    got = program.run(*arguments)
    for name, each, other in zip(("rows", "columns"), wanted, got, strict=True):
        assert each.values.tobytes() == other.values.tobytes(), f"{name}: values"
        assert each.scales.tobytes() == other.scales.tobytes(), f"{name}: scales"
    return program.ir("gpu-kernel-outlining")


SR = "te, rounding = stochastic"
#: Quantisers of rows and columns with their formats, whose blocks have one size.
PAIRS = [(("te", SR), ("nvfp4", "nvfp4")), (("ue8m0_up", "ue8m0_up"), ("mxfp8_e4m3", "mxfp8_e4m3")), (("ocp", "ocp"), ("mxfp4", "mxfp4")),
         ((SR, "te"), ("nvfp4", "nvfp4")), (("ocp", "te"), ("mxfp8_e5m2", "mxfp4")), (("four_over_six", "modelopt"), ("nvfp4", "nvfp4")),
         (("trtllm", "cutlass"), ("nvfp4", "nvfp4"))]
# The kind of offsets, their alignment, and whether rows have groups as well; ends of groups in 100 rows.
BOTH_GROUPS = [("", 1, False), ("ends", 32, False), ("ends", 32, True), ("starts", 32, False), ("ends", 64, True)]


@pytest.mark.parametrize("target, pair, groups, columns, rows, layouts, element, hadamard, order",
                         cross(TARGETS, PAIRS, BOTH_GROUPS, [64, 96, 32, 160], [100, 128, 97], [("linear", "linear"), ("linear", "blocked")],
                               list(DTYPES), [(False, False), (False, True), (True, True)], [True, False], turns=3))
def test_both_directions(rng, target, pair, groups, columns, rows, layouts, element, hadamard, order):
    """Empty groups, groups that are no multiple of a block, rows after the last one."""
    quantizers, forms = pair
    ends = {"": [0, 0, 0], "ends": [33, 64, 90] if groups[1] == 32 else [64, 64, 90], "starts": [0, 64, 64, 90]}[groups[0]]
    text = make_both(quantizers, forms, columns, layouts, element, groups, hadamard, order)
    x = (rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-9, 9, (rows, 1)))).astype(DTYPES[element])
    arguments = [x, np.array(ends, np.int32), 3.0, 0.37, 7, -8]
    kernels = run_both_directions(text, target, arguments)
    # Groups may then begin in the middle of a byte, if they break their rule.
    is_apart = groups[0] == "starts" and "mxfp8" not in forms[1]
    assert ("nvfp4_quantize_both" in kernels) is not is_apart


@pytest.mark.parametrize("target", TARGETS)
def test_both_directions_of_few_rows(rng, target):
    text = make_both(("te", SR), ("nvfp4", "nvfp4"), 32, ("linear", "linear"), "bf16", ("", 1, False), (False, True), True)
    for rows in (0, 1, 15, 16, 17):
        x = rng.standard_normal((rows, 32)).astype(ml_dtypes.bfloat16)
        run_both_directions(text, target, [x, np.zeros(3, np.int32), 1.0, 2.0, 3, 4])


@pytest.mark.parametrize("columns, quantizers, forms, groups", [
    (72, ("te", "te"), ("nvfp4", "nvfp4"), ("", 1, False)), (64, ("te, two_d", "te"), ("nvfp4", "nvfp4"), ("", 1, False)),
    (64, ("te", "ocp"), ("nvfp4", "mxfp4"), ("", 1, False)), ("?", ("te", "te"), ("nvfp4", "nvfp4"), ("", 1, False))])
def test_directions_apart(rng, columns, quantizers, forms, groups):
    """Each has a launch: rows of no whole blocks, squares, blocks of two sizes, unknown columns."""
    text = make_both(quantizers, forms, columns, ("linear", "linear"), "bf16", groups, (False, False), True)
    x = rng.standard_normal((48, 64 if columns == "?" else columns)).astype(ml_dtypes.bfloat16)
    kernels = run_both_directions(text, "sm_90a", [x, np.zeros(3, np.int32), 1.0, 2.0, 3, 4])
    assert "nvfp4_quantize_both" not in kernels and "nvfp4_quantize" in kernels
