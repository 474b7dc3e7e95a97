# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structured operations of upstream's linalg in functions on memory of a device."""

import functools
import math

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from test_py_device_operations import TARGETS, check

BF16 = ml_dtypes.bfloat16


def run(text, *arguments, target="sm_90a"):
    return np.asarray(nvfp4.compile(text, target + "+sim", memory="device").run(*arguments))


def elementwise(body, rank=2):
    """A function of x and y, of which `body` computes %r : f32 from %a and %b."""
    x, identity = f"tensor<{'?x' * rank}f32>", ", ".join(f"d{i}" for i in range(rank))
    iterators = ", ".join(['"parallel"'] * rank)
    maps = ", ".join([f"affine_map<({identity}) -> ({identity})>"] * 3)
    return f"""func.func @f(%x: {x}, %y: {x}, %o: {x}) -> {x} {{
  %s = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} ins(%x, %y : {x}, {x}) outs(%o : {x}) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
{body}
    linalg.yield %r : f32
  }} -> {x}
  return %s : {x}
}}"""


@pytest.mark.parametrize("shape", [(1,), (129,), (3, 50), (2, 3, 7), (0, 4)])
@pytest.mark.parametrize("target", TARGETS)
def test_elementwise(rng, target, shape):
    """The last loop is that of neighbouring threads; results are those of the CPU, in every bit."""
    body = "    %p = arith.mulf %a, %b : f32\n    %q = arith.divf %p, %a : f32\n    %r = arith.subf %q, %c : f32"
    check(elementwise(body, len(shape)), target, *(rng.standard_normal(shape).astype(np.float32) for _ in range(3)))


@pytest.mark.parametrize("number, whole, part", [("f32", "i32", "i16"), ("f32", "i32", "i8"), ("f64", "i64", "i32")])
@pytest.mark.parametrize("target", TARGETS)
def test_low_bits_of_numbers(rng, target, number, whole, part):
    """Stores of a part of what floating-point instructions wrote, which ptxas would convert to an integer."""
    x, out = f"tensor<?x{number}>", f"tensor<?x{part}>"
    text = f"""func.func @f(%x: {x}, %o: {out}) -> {out} {{
  %s = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
      ins(%x : {x}) outs(%o : {out}) {{
  ^bb0(%a: {number}, %c: {part}):
    %p = arith.mulf %a, %a : {number}
    %b = arith.bitcast %p : {number} to {whole}
    %r = arith.trunci %b : {whole} to {part}
    linalg.yield %r : {part}
  }} -> {out}
  return %s : {out}
}}"""
    types = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
    numbers = rng.standard_normal(100).astype(types[number])
    wanted = (numbers * numbers).view(types[whole]).astype(types[part])
    program = nvfp4.compile(text, target + "+sim", memory="device")
    np.testing.assert_array_equal(program.run(numbers, np.zeros(100, types[part])), wanted)


MATH = {"exp": np.exp, "exp2": np.exp2, "tanh": np.tanh, "sqrt": lambda x: np.sqrt(np.abs(x)), "absf": np.abs,
        "rsqrt": lambda x: 1 / np.sqrt(np.abs(x)), "log": lambda x: np.log(np.abs(x)), "floor": np.floor, "ceil": np.ceil,
        "erf": np.vectorize(math.erf)}


@pytest.mark.parametrize("name", MATH)
def test_math(rng, name):
    """Within some units in the last place, for arguments of many sizes."""
    argument = "    %v = math.absf %a : f32\n" if name in ("sqrt", "rsqrt", "log") else "    %v = arith.addf %a, %b : f32\n"
    x = (rng.standard_normal((8, 33)) * np.exp2(rng.integers(-8, 5, (8, 33)))).astype(np.float32)
    zeros = np.zeros_like(x)
    got = run(elementwise(argument + f"    %r = math.{name} %v : f32"), x, zeros, zeros)
    np.testing.assert_allclose(got, MATH[name](x.astype(np.float64)), rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("target, sizes", [(TARGETS[i % 2], sizes) for i, sizes in enumerate(
    [(1, 8, 96), (5, 16, 33), (3, 1, 1), (0, 4, 8), (4, 4, 0), (40, 9, 200)])])
def test_router(rng, target, sizes):
    """A product of bf16 by f32, which a warp adds up; the order of its sum is not the CPU's."""
    tokens, experts, width = sizes
    text = """func.func @f(%x: tensor<?x?xbf16>, %w: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xf32>) outs(%o : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""
    x, w = rng.standard_normal((tokens, width)).astype(BF16), rng.standard_normal((experts, width)).astype(np.float32)
    init = rng.standard_normal((tokens, experts)).astype(np.float32)
    wanted = x.astype(np.float64) @ w.T.astype(np.float64) + init
    np.testing.assert_allclose(run(text, x, w, init, target=target), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_gather_in_a_body(rng, target):
    """The body loads from the row of a table that an index names."""
    text = """func.func @f(%x: tensor<?x8xf32>, %i: tensor<?xi32>, %t: tensor<?x8xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %s = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %i : tensor<?x8xf32>, tensor<?xi32>) outs(%o : tensor<?xf32>) {
  ^bb0(%a: f32, %row: i32, %out: f32):
    %index = arith.index_cast %row : i32 to index
    %column = linalg.index 1 : index
    %b = tensor.extract %t[%index, %column] : tensor<?x8xf32>
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %p, %out : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}"""
    x, table = (rng.integers(-8, 8, (n, 8)).astype(np.float32) for n in (20, 5))
    index, init = rng.integers(0, 5, 20).astype(np.int32), rng.integers(-8, 8, 20).astype(np.float32)
    np.testing.assert_array_equal(run(text, x, index, table, init, target=target), (x * table[index]).sum(1) + init)


REDUCTIONS = [("f32", "arith.addf", lambda x, i: x.sum(1) + i), ("f32", "arith.maximumf", lambda x, i: np.maximum(x.max(1), i)),
              ("f32", "arith.mulf", lambda x, i: x.prod(1) * i), ("i32", "arith.addi", lambda x, i: x.sum(1) + i),
              ("i32", "arith.minsi", lambda x, i: np.minimum(x.min(1), i)), ("f64", "arith.addf", lambda x, i: x.sum(1) + i),
              # Not one operation, and so the work of a thread: the values decay.
              ("f32", "decay", lambda x, i: functools.reduce(lambda s, c: 0.5 * s + c, x.T, i))]


@pytest.mark.parametrize("element, name, wanted", REDUCTIONS)
def test_reductions(rng, element, name, wanted):
    x, y = f"tensor<?x?x{element}>", f"tensor<?x{element}>"
    step = f"    %r = {name} %c, %a : {element}"
    if name == "decay":
        step = "    %h = arith.constant 0.5 : f32\n    %d = arith.mulf %c, %h : f32\n    %r = arith.addf %d, %a : f32"
    text = f"""func.func @f(%x: {x}, %o: {y}) -> {y} {{
  %s = linalg.generic {{indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}}
      ins(%x : {x}) outs(%o : {y}) {{
  ^bb0(%a: {element}, %c: {element}):
{step}
    linalg.yield %r : {element}
  }} -> {y}
  return %s : {y}
}}"""
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[element]
    data = (rng.standard_normal((6, 45)) * 3).astype(dtype)
    init = (rng.standard_normal(6) * 3).astype(dtype)
    np.testing.assert_allclose(run(text, data, init), wanted(data, init), rtol=1e-4)


def test_rms_norm_and_a_scale_in_memory(rng):
    """A norm, and quantisation under a scale that a tensor holds: the host reads none of it."""
    text = """!q = !grouped_scaled_gemm.scaled<?x64, nvfp4>
func.func @f(%x: tensor<?x64xbf16>, %g: tensor<64xf32>, %e: tensor<1xf32>) -> !q {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %s0 = tensor.empty(%n) : tensor<?xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t, k)>, affine_map<(t, k) -> (t)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x64xbf16>) outs(%s1 : tensor<?xf32>) {
  ^bb0(%a: bf16, %c: f32):
    %b = arith.extf %a : bf16 to f32
    %d = arith.mulf %b, %b : f32
    %r = arith.addf %c, %d : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %y0 = tensor.empty(%n) : tensor<?x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, k) -> (t, k)>, affine_map<(t, k) -> (t)>, affine_map<(t, k) -> (k)>, affine_map<(t, k) -> (t, k)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %g : tensor<?x64xbf16>, tensor<?xf32>, tensor<64xf32>) outs(%y0 : tensor<?x64xf32>) {
  ^bb0(%a: bf16, %b: f32, %h: f32, %c: f32):
    %k = arith.constant 0.015625 : f32
    %m = arith.mulf %b, %k : f32
    %v = math.rsqrt %m : f32
    %w = arith.extf %a : bf16 to f32
    %p = arith.mulf %w, %v : f32
    %r = arith.mulf %p, %h : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  %i = tensor.extract %e[%c0] : tensor<1xf32>
  %two = arith.constant 2.0 : f32
  %j = arith.mulf %i, %two : f32
  %q = grouped_scaled_gemm.quantize <trtllm>(%y : tensor<?x64xf32>) global_scale(%j : f32) -> !q
  return %q : !q
}"""
    x, g = rng.standard_normal((9, 64)).astype(BF16), rng.standard_normal(64).astype(np.float32)
    got = nvfp4.compile(text, "sm_90a+sim", memory="device").run(x, g, np.array([3.5], np.float32))
    wide = x.astype(np.float32)
    norm = wide / np.sqrt((wide * wide).mean(1, keepdims=True)) * g
    wanted = nvfp4.quantize(norm.astype(np.float32), quantizer="trtllm", global_scale=7.0)
    error = np.abs(nvfp4.dequantize(got, global_scale=1 / 7) - nvfp4.dequantize(wanted, global_scale=1 / 7))
    # Where a norm lies between two values, one bit of it decides.
    assert np.quantile(error, 0.99) == 0 and error.max() < 0.5


@pytest.mark.parametrize("body, message", [
    ("    %r = math.powf %a, %b : f32", "'math.powf' op expected an operation that kernels have"),
    ("    %d = arith.extf %a : f32 to f64\n    %e = math.exp %d : f64\n    %r = arith.truncf %e : f64 to f32",
     "or exp, exp2, log, tanh, erf, sqrt, rsqrt, absf, floor, ceil and fma of math on f32")])
def test_bodies_without_code_are_named(body, message):
    with pytest.raises(nvfp4.CompileError, match=message):
        nvfp4.compile(elementwise(body), "sm_90a+sim", memory="device")


@pytest.mark.parametrize("target", TARGETS)
def test_math_in_an_epilogue(rng, target):
    """A product whose epilogue region has functions of math, against the CPU's."""
    a, b = "!grouped_scaled_gemm.scaled<16x64, nvfp4>", "!grouped_scaled_gemm.scaled<32x64, nvfp4>"
    text = f"""func.func @f(%a: {a}, %b: {b}, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {{
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : {a}) rhs(%b : {b}) activation = <custom>
      epilogue {{
      ^bb0(%z: f32):
        %s = arith.constant 0.05 : f32
        %x = arith.mulf %z, %s : f32
        %y = math.tanh %x : f32
        %e = math.exp %y : f32
        %g = math.erf %e : f32
        %h = arith.addf %g, %y : f32
        grouped_scaled_gemm.yield %h : f32
      }} outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}}"""
    x, w = (nvfp4.quantize(rng.standard_normal((rows, 64)).astype(np.float32)) for rows in (16, 32))
    arguments = [x, w, np.zeros((16, 32), np.float32)]
    wanted, got = (np.asarray(nvfp4.compile(text, where).run(*arguments)) for where in ("cpu", target + "+sim"))
    assert np.ptp(wanted) > 1
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=5e-7)


@pytest.mark.parametrize("target", TARGETS)
def test_scalar_of_what_a_kernel_changes(target):
    """Each thread adds the element that the first was before, though the sum has taken its place."""
    text = """!x = tensor<?xf32>
#same = affine_map<(d0) -> (d0)>
func.func @f(%x: !x) -> !x {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !x
  %empty = tensor.empty(%n) : !x
  %twice = linalg.add ins(%x, %x : !x, !x) outs(%empty : !x) -> !x
  %first = tensor.extract %twice[%c0] : !x
  %r = linalg.generic {indexing_maps = [#same], iterator_types = ["parallel"]} outs(%twice : !x) {
  ^bb0(%c: f32):
    %s = arith.addf %c, %first : f32
    linalg.yield %s : f32
  } -> !x
  return %r : !x
}"""
    x = np.arange(1, 300, dtype=np.float32)
    np.testing.assert_array_equal(run(text, x, target=target), 2 * x + 2)
