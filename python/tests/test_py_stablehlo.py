# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of StableHLO, converted and run on the CPU, against NumPy: one at a time, at the edges of their domains."""

import ml_dtypes
import numpy as np
import nvfp4
import pytest

BF16, F8, F4 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
NAMES = {np.float32: "f32", np.float64: "f64", np.float16: "f16", BF16: "bf16", F8: "f8E4M3FN", np.int8: "i8",
         np.uint8: "ui8", np.int32: "i32", np.uint32: "ui32", np.int64: "i64", np.bool_: "i1"}


def kind(array):
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{NAMES[array.dtype.type]}>"


def evaluate(operation, inputs, results, attributes="", region="", constants=()):
    """Results of one operation of `inputs`, with the shapes and types of `results`."""
    names = [f"%{i}" for i in range(len(inputs))]
    types = [kind(array) for array in inputs]
    outs = ", ".join(kind(array) for array in results)
    regions = f"({{\n{region}\n}})" if region else ""
    text = f"""module {{
func.func @main({', '.join(map(': '.join, zip(names, types)))}) -> ({outs}) {{
  %r:{len(results)} = "{operation}"({', '.join(names)}) <{{{attributes}}}> {regions} : ({', '.join(types)}) -> ({outs})
  func.return {', '.join(f'%r#{i}' for i in range(len(results)))} : {outs}
}}
}}"""
    program = nvfp4.compile(text, pipeline="builtin.module(stablehlo-to-gsg)")
    signless = {"u": lambda array: array.view(array.dtype.name[1:])}
    given = program.run(*(signless.get(array.dtype.kind, lambda a: a)(array) for array in inputs))
    given = given if isinstance(given, tuple) else (given,)
    return [np.asarray(one).view(array.dtype).reshape(array.shape) for one, array in zip(given, results)]


def check(operation, inputs, expected, attributes="", region="", ulps=0):
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    for got, want in zip(evaluate(operation, inputs, expected, attributes, region), expected, strict=True):
        if ulps:
            # Units in the last place of f32.
            np.testing.assert_allclose(got, want, rtol=ulps * 2.0**-23, atol=0)
        elif got.dtype == BF16:
            np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))
        else:
            np.testing.assert_array_equal(got, want)


def body(operation, element, attributes=""):
    """A region that is one operation of two scalars."""
    result = "i1" if operation == "compare" else element
    return f"""^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
  %c = "stablehlo.{operation}"(%a, %b) <{{{attributes}}}> : (tensor<{element}>, tensor<{element}>) -> tensor<{result}>
  "stablehlo.return"(%c) : (tensor<{result}>) -> ()"""


INF, NAN = np.inf, np.nan
X = np.array([0, -0.0, 1, -1, 0.5, -2.5, 2.5, 3.75, -7.25, INF, -INF, NAN], np.float32)
Y = np.array([1, 2, -1, 3, 0.25, 2.5, -2.5, NAN, 2, 1, INF, 2], np.float32)
I = np.array([0, 1, -1, 7, -7, 127, -128, 100], np.int8)
J = np.array([3, 1, 2, -2, 5, 2, 3, 7], np.int8)


@pytest.mark.parametrize("operation, function", [
    ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
    ("maximum", np.maximum), ("minimum", np.minimum), ("remainder", np.fmod)])
@pytest.mark.parametrize("element", [np.float32, np.float64, np.float16, BF16])
def test_binary_of_floats(operation, function, element):
    with np.errstate(all="ignore"):
        check("stablehlo." + operation, [X.astype(element), Y.astype(element)],
              function(X.astype(element), Y.astype(element)).astype(element))


@pytest.mark.parametrize("operation, function", [
    ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("maximum", np.maximum),
    ("minimum", np.minimum), ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor),
    ("divide", lambda a, b: np.trunc(a / b.astype(float)).astype(a.dtype)), ("remainder", np.fmod)])
@pytest.mark.parametrize("element", [np.int8, np.uint8, np.int32])
def test_binary_of_integers(operation, function, element):
    a, b = I.astype(element), J.astype(element)
    check("stablehlo." + operation, [a, b], function(a, b).astype(element))


@pytest.mark.parametrize("element", [np.int8, np.uint8, np.int32, np.int64, np.uint32])
def test_every_division_has_a_result(element):
    """As XLA has them: x / 0 = -1, x % 0 = x, and the least number by -1 is itself, with a remainder of 0."""
    least, ones = np.iinfo(element).min, np.array(-1).astype(element)
    a = np.array([0, 7, least, np.iinfo(element).max, least, 5, least], element)
    b = np.array([0, 0, 0, 0, ones, ones, 2], element)
    signed = least < 0
    check("stablehlo.divide", [a, b],
          np.array([ones, ones, ones, ones, least, -5 if signed else 0, int(least) // 2], element))
    check("stablehlo.remainder", [a, b], np.array([0, 7, least, np.iinfo(element).max, 0, 0 if signed else 5, 0], element))


@pytest.mark.parametrize("operation, function", [
    ("add", np.logical_or), ("multiply", np.logical_and), ("maximum", np.logical_or), ("minimum", np.logical_and),
    ("xor", np.logical_xor)])
def test_binary_of_bits(operation, function):
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    check("stablehlo." + operation, [a, b], function(a, b))


@pytest.mark.parametrize("operation, function", [
    ("shift_left", lambda a, n: (a.astype(object) << n.astype(object) & 255).astype(np.uint8).view(np.int8)),
    ("shift_right_logical", lambda a, n: (a.view(np.uint8).astype(object) >> n.astype(object)).astype(np.int8)),
    ("shift_right_arithmetic", lambda a, n: (a.astype(object) >> n.astype(object)).astype(np.int8))])
def test_shifts_by_the_width_and_more_leave_zero_or_the_sign(operation, function):
    a = np.array([0x5A, -0x5A, 1, -128, -1, 127, -1, 64], np.int8)
    n = np.array([0, 1, 7, 7, 8, 9, 100, 4], np.int8)
    check("stablehlo." + operation, [a, n], function(a, n))


@pytest.mark.parametrize("operation, function", [
    ("abs", np.abs), ("negate", np.negative), ("floor", np.floor), ("ceil", np.ceil),
    ("sign", lambda x: np.where(x == 0, x, np.sign(x))),
    ("round_nearest_even", np.rint), ("sqrt", np.sqrt),
    ("round_nearest_afz", lambda x: np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x))])
def test_unary_exact(operation, function):
    with np.errstate(all="ignore"):
        check("stablehlo." + operation, [X], function(X).astype(np.float32))
        np.testing.assert_array_equal(
            np.signbit(evaluate("stablehlo." + operation, [X], [X])[0][:2]), np.signbit(function(X)[:2]))


@pytest.mark.parametrize("operation, function", [
    ("exponential", np.exp), ("log", np.log), ("tanh", np.tanh), ("rsqrt", lambda x: 1 / np.sqrt(x)),
    ("logistic", lambda x: 1 / (1 + np.exp(-x)))])
def test_unary_rounded(operation, function):
    x = np.array([0.01, 0.5, 1, 2, 3.5, 10, 40], np.float32)
    check("stablehlo." + operation, [x], function(x.astype(np.float64)).astype(np.float32), ulps=8)


def test_not_and_is_finite():
    check("stablehlo.not", [I], ~I)
    check("stablehlo.not", [np.array([True, False])], np.array([False, True]))
    check("stablehlo.is_finite", [X], np.isfinite(X))


@pytest.mark.parametrize("word, function", [("EQ", np.equal), ("NE", np.not_equal), ("LT", np.less), ("LE", np.less_equal),
                                            ("GT", np.greater), ("GE", np.greater_equal)])
def test_compare(word, function):
    direction = f"comparison_direction = #stablehlo<comparison_direction {word}>"
    both = np.concatenate([Y[:-1], [NAN]]).astype(np.float32)
    check("stablehlo.compare", [X, both], function(X, both), direction)
    check("stablehlo.compare", [I, J], function(I, J), direction)
    check("stablehlo.compare", [I.view(np.uint8), J.view(np.uint8)], function(I.view(np.uint8), J.view(np.uint8)), direction)


def test_total_order():
    ordered = np.array([-INF, -1, -0.0, 0.0, 1, INF, NAN], np.float32)
    ordered = np.concatenate([np.array([-NAN], np.float32), ordered])
    a, b = np.meshgrid(ordered, ordered, indexing="ij")
    rank = np.arange(8)
    check("stablehlo.compare", [a.copy(), b.copy()], rank[:, None] < rank,
          "compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>")


def test_select_and_clamp_take_scalars():
    x = np.arange(-3, 3, dtype=np.float32)
    check("stablehlo.select", [np.array(True), x, -x], x)
    check("stablehlo.select", [x > 0, x, -x], np.abs(x))
    check("stablehlo.clamp", [np.float32(-1).reshape(()), x, np.float32(1).reshape(())], np.clip(x, -1, 1))
    check("stablehlo.clamp", [np.uint8(5).reshape(()), I.view(np.uint8), np.uint8(200).reshape(())],
          np.clip(I.view(np.uint8), 5, 200))


def test_convert():
    numbers = np.array([0, 1.9, -1.9, 100.5, -100.5], np.float32)
    check("stablehlo.convert", [numbers], np.trunc(numbers).astype(np.int8))
    check("stablehlo.convert", [np.abs(numbers)], np.abs(numbers).astype(np.uint8))
    check("stablehlo.convert", [numbers], numbers != 0)
    check("stablehlo.convert", [numbers], numbers.astype(BF16))
    check("stablehlo.convert", [numbers.astype(BF16)], numbers.astype(BF16).astype(np.float16))
    check("stablehlo.convert", [numbers.astype(np.float64)], numbers)
    check("stablehlo.convert", [I], I.astype(np.float32))
    check("stablehlo.convert", [I.view(np.uint8)], I.view(np.uint8).astype(np.float32))
    check("stablehlo.convert", [I.view(np.uint8)], I.view(np.uint8).astype(np.int32))
    check("stablehlo.convert", [I], I.astype(np.int32))
    check("stablehlo.convert", [I.astype(np.int32)], I)
    check("stablehlo.convert", [I], I != 0)
    check("stablehlo.convert", [np.array([True, False])], np.array([1, 0], np.int8))
    check("stablehlo.convert", [np.array([True, False])], np.array([1, 0], np.float32))


def test_bitcast_convert():
    check("stablehlo.bitcast_convert", [X], X.view(np.int32))
    words = np.array([0x04030201, -1], np.int32)
    check("stablehlo.bitcast_convert", [words], words.view(np.int8).reshape(2, 4))


def test_shapes():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check("stablehlo.reshape", [x], x.reshape(4, 6))
    check("stablehlo.reshape", [x[:1, :1, :1].copy()], x[:1, :1, :1].reshape(()))
    check("stablehlo.transpose", [x], x.transpose(2, 0, 1).copy(), "permutation = array<i64: 2, 0, 1>")
    check("stablehlo.slice", [x], x[1:2, 0:3:2, 1:4].copy(),
          "start_indices = array<i64: 1, 0, 1>, limit_indices = array<i64: 2, 3, 4>, strides = array<i64: 1, 2, 1>")
    check("stablehlo.concatenate", [x, x[:, :1].copy()], np.concatenate([x, x[:, :1]], 1), "dimension = 1 : i64")
    check("stablehlo.broadcast_in_dim", [x[:, :1, 0].copy()], np.broadcast_to(x[:, :1, :1], (2, 5, 3)).copy(),
          "broadcast_dimensions = array<i64: 0, 1>")
    check("stablehlo.pad", [x[0], np.float32(9).reshape(())], np.pad(x[0], ((1, 0), (0, 2)), constant_values=9),
          "edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 0, 0>")
    check("stablehlo.iota", [], np.broadcast_to(np.arange(3, dtype=np.int32)[:, None], (3, 2)).copy(),
          "iota_dimension = 0 : i64")
    check("stablehlo.iota", [], np.arange(5, dtype=np.float32), "iota_dimension = 0 : i64")


@pytest.mark.parametrize("start", [(0, 0), (1, 2), (5, -3), (-1, 100)])
def test_dynamic_slices_stay_inside(start):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    a, b = (np.clip(one, 0, most) for one, most in zip(start, (1, 2)))
    starts = [np.array(one, np.int32) for one in start]
    check("stablehlo.dynamic_slice", [x, *starts], x[a:a + 2, b:b + 2].copy(), "slice_sizes = array<i64: 2, 2>")
    want = x.copy()
    want[a:a + 2, b:b + 2] = -1
    check("stablehlo.dynamic_update_slice", [x, np.full((2, 2), -1, np.float32), *starts], want)


def test_dot_general():
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((2, 3, 5, 4), (4, 2, 6, 3)))
    numbers = ("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], "
               "lhs_contracting_dimensions = [1, 3], rhs_contracting_dimensions = [3, 0]>")
    want = np.einsum("bkmj,jbnk->bmn", x, w)
    check("stablehlo.dot_general", [x, w], want, numbers)
    check("stablehlo.dot_general", [x.astype(BF16), w.astype(BF16)], want, numbers)
    check("stablehlo.dot_general", [x.astype(BF16), w.astype(BF16)], want.astype(BF16), numbers)
    check("stablehlo.dot_general", [x.astype(np.int8), w.astype(np.int8)], want.astype(np.int32), numbers)


@pytest.mark.parametrize("is_transposed", [False, True])
def test_ragged_dot(is_transposed):
    rng = np.random.default_rng(2)
    x, w = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((7, 4), (3, 4, 5)))
    want = np.concatenate([x[:2] @ w[0], x[2:6] @ w[2], np.zeros((1, 5), np.float32)])
    numbers = ("ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], "
               f"rhs_contracting_dimensions = [{2 if is_transposed else 1}], lhs_ragged_dimensions = [0], "
               "rhs_group_dimensions = [0]>")
    check("chlo.ragged_dot", [x, w.transpose(0, 2, 1).copy() if is_transposed else w, np.array([2, 0, 4], np.int32)], want,
          numbers)


def test_reductions():
    x = np.random.default_rng(3).integers(-8, 9, (3, 4, 5)).astype(np.float32)
    zero, least = np.zeros((), np.float32), np.array(-INF, np.float32)
    check("stablehlo.reduce", [x, zero], x.sum((0, 2)), "dimensions = array<i64: 0, 2>", body("add", "f32"))
    check("stablehlo.reduce", [x, least], x.max(1), "dimensions = array<i64: 1>", body("maximum", "f32"))
    check("stablehlo.reduce", [x[:, :1].copy(), np.ones((), np.float32)], x[:, 0] + 1, "dimensions = array<i64: 1>",
          body("add", "f32"))
    check("stablehlo.reduce", [x[0, 0] > 0, np.array(True)], np.array((x[0, 0] > 0).all()), "dimensions = array<i64: 0>",
          body("and", "i1"))


def test_windows():
    x = np.arange(1, 7, dtype=np.int32)
    check("stablehlo.reduce_window", [x, np.zeros((), np.int32)], np.cumsum(x).astype(np.int32),
          "window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>", body("add", "i32"))
    check("stablehlo.reduce_window", [x, np.full((), -9, np.int32)], np.array([3, 5], np.int32),
          "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, window_dilations = array<i64: 2>",
          body("maximum", "i32"))


def test_gather_clamps():
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    ids = np.array([[0], [3], [-5], [9]], np.int32)
    check("stablehlo.gather", [x, ids], x[[0, 3, 0, 3]],
          "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
          "index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>")
    # Two indices for each slice, in the first dimension, and slices of 2 x 2.
    starts = np.array([[0, 2, 3], [1, 0, 7]], np.int32)
    want = np.stack([x[a:a + 2, b:b + 2] for a, b in ((0, 1), (2, 0), (2, 1))], 1)
    check("stablehlo.gather", [x, starts], want.copy(),
          "dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], start_index_map = [0, 1], index_vector_dim = 0>, "
          "slice_sizes = array<i64: 2, 2>")
    # One of each row of a batch.
    check("stablehlo.gather", [x, np.array([[2], [0], [1], [1]], np.int32)], x[np.arange(4), [2, 0, 1, 1]],
          "dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], "
          "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>")


def test_scatter_leaves_out_what_is_outside():
    x = np.zeros((3, 2), np.float32)
    ids = np.array([[0], [2], [0], [3], [-1]], np.int32)
    updates = np.arange(1, 11, dtype=np.float32).reshape(5, 2)
    want = x.copy()
    np.add.at(want, ids[:3, 0], updates[:3])
    numbers = ("scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
               "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>")
    check("stablehlo.scatter", [x, ids, updates], want, numbers, body("add", "f32"))
    last = """^bb0(%a: tensor<f32>, %b: tensor<f32>):
  "stablehlo.return"(%b) : (tensor<f32>) -> ()"""
    want[[0, 2]] = updates[[2, 1]]
    check("stablehlo.scatter", [x, ids, updates], want, numbers, last)


def test_sort_keeps_equal_elements_in_order():
    keys = np.array([[2, 1, 2, 0, 1], [1, 1, 0, 0, 5]], np.int32)
    places = np.broadcast_to(np.arange(5, dtype=np.int32), keys.shape).copy()
    order = np.argsort(keys, 1, kind="stable")
    region = """^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
  %l = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}>
     : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.return"(%l) : (tensor<i1>) -> ()"""
    check("stablehlo.sort", [keys, places], (np.take_along_axis(keys, order, 1), order.astype(np.int32)),
          "dimension = 1 : i64", region)
    first = np.argsort(keys, 0, kind="stable")
    check("stablehlo.sort", [keys, places], (np.take_along_axis(keys, first, 0), np.take_along_axis(places, first, 0)),
          "dimension = 0 : i64", region)


def test_top_k():
    x = np.array([[1, 5, -2, 5, 0], [NAN, -INF, 3, INF, 3]], np.float32)
    check("chlo.top_k", [x], (np.array([[5, 5, 1], [NAN, INF, 3]], np.float32), np.array([[1, 3, 0], [0, 3, 2]], np.int32)),
          "k = 3 : i64")
