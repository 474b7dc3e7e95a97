# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of generated MLIR name arguments of the function that was called, and show no text that the caller did not write."""

import numpy as np
import pytest

import nvfp4
from nvfp4._calls import Call, program_of
from nvfp4.matmul import _MATMUL
from nvfp4.matmul_list import _MATMUL_LIST


def ones(*shape, **options):
    return nvfp4.quantize(np.ones(shape, np.float32), **options)


X, W = ones(5, 16), ones(8, 16)
GROUPS = nvfp4.ragged_rows(np.array([2, 5], np.int32))


def assert_plain(error, function):
    text = str(error)
    assert text.startswith(f"error: {function}: ") and len(text) < 400, text
    for generated in ("memref<", "func.func", "operand #", "%lhs", "<nvfp4>", "scaled_by", "custom op", "' op "):
        assert generated not in text.replace("memref<?xf64>", ""), text
    assert all((d.file, d.line, d.source) == ("", 0, "") for d in error.diagnostics)


@pytest.mark.parametrize("options,argument", [
    (dict(activation="swiglu"), "activation"), (dict(activation="x\"y"), "grouped_matmul"), (dict(activation=""), "activation"),
    (dict(strategy="m = banana", target="sm_100a+sim"), "strategy"), (dict(bias=np.ones(9, np.float32)), "bias"),
    (dict(bias=np.ones((1, 1, 8), np.float32)), "bias"), (dict(addend=np.ones(5, np.float32)), "addend"),
    (dict(alpha=np.ones((1, 2), np.float32)), "alpha"), (dict(outer_gate="vllm"), "outer_gate"),
    (dict(row=[np.ones(5)]), "row")])
def test_options_of_a_product(options, argument):
    with pytest.raises(nvfp4.NVFP4Error, match=argument) as error:
        nvfp4.grouped_matmul(X, W, **options)
    if isinstance(error.value, nvfp4.CompileError):
        assert_plain(error.value, "grouped_matmul")


@pytest.mark.parametrize("function,call", [
    ("quantize", lambda: nvfp4.quantize(np.ones((2, 32), np.float32), "mxfp8_e4m3", quantizer="four_over_six")),
    ("quantize", lambda: nvfp4.quantize(np.ones((2, 16), np.float32), seed=3)),
    ("grouped_matmul_list", lambda: nvfp4.grouped_matmul_list([X], [ones(8, 16, format="mxfp4")])),
    ("route", lambda: nvfp4.route(np.ones((2, 4), np.float32), 2, n_group=2)),
    ("glu", lambda: nvfp4.glu(np.ones((2, 4), np.float32), "custom")),
    ("moe_layer", lambda: nvfp4.moe_layer(np.ones((2, 16), np.float32), nvfp4.MoEWeights(
        ones(2, 32, 16), ones(2, 16, 16), activation="swiglu"), np.ones((2, 2), np.float32), top_k=1))])
def test_other_functions(function, call):
    with pytest.raises(nvfp4.CompileError) as error:
        call()
    assert_plain(error.value, function)


def test_text_of_the_caller_is_shown_where_it_is_wrong():
    with pytest.raises(nvfp4.CompileError, match="grouped_matmul: epilogue: ") as error:
        nvfp4.grouped_matmul(X, W, activation="custom",
                             epilogue="^bb0(%z: f32):\n  %y = arith.nonsense %z : f32\n  grouped_scaled_gemm.yield %y : f32")
    first = error.value.diagnostics[0]
    assert (first.file, first.line, first.source) == ("epilogue", 2, "  %y = arith.nonsense %z : f32")


def failure_of(call):
    with pytest.raises(nvfp4.CompileError) as error:
        call.program()
    return str(error.value)


def matmul_with(wrong):
    """A product with every operand, of which one has a type that operations have not."""
    call = Call("f", _MATMUL)
    seed = np.zeros((), np.int64), "i64"
    number = {"groups": (np.zeros(2, np.int32), "i32"), "seed": seed, "copies.seed": seed}

    def operand(name):
        array, element = number.get(name, (np.zeros((2, 2), np.float32), "f32"))
        type_ = element if not array.ndim else f"memref<{'?x' * array.ndim}{element}>"
        return call.add(name.replace(".", "_"), array, "memref<*xf64>" if name == wrong else type_, "", name), \
            "memref<*xf64>" if name == wrong else type_

    def clause(keyword, name):
        value, type_ = operand(name)
        return f" {keyword}({value})" if keyword == "seed" else f" {keyword}({value} : {type_})"

    scaled = "!grouped_scaled_gemm.scaled<?x?, nvfp4>"

    def pair(keyword, name):
        (v, vt), (s, st) = operand(name), operand(f"{name}.scales")
        return f" {keyword}({v} scaled_by {s} : {vt}, {st} as {scaled})"

    call.write("grouped_scaled_gemm.matmul <ragged_rows, ends>" + clause("groups", "groups") + pair("lhs", "lhs")
               + pair("rhs", "rhs") + "".join(clause(name, name) for name in ("alpha", "row_scale", "beta", "addend", "bias"))
               + clause("prob", "prob") + " at gemm" + "".join(clause(n, n) for n in ("activation_params",))
               + " gradient_of = <relu>" + clause("preact", "z") + "".join(clause(n, n) for n in ("row", "column", "group"))
               + " quantizer = <trtllm>" + clause("global_scale", "global_scale") + clause("seed", "seed")
               + clause("preact_outs", "preact") + pair("outs", "out") + clause("amax_outs", "amax")
               + clause("prob_outs", "prob_gradient")
               + " copies(<te, rounding = stochastic>" + clause("global_scale", "copies.global_scale")
               + clause("seed", "copies.seed") + pair("outs", "copies") + ")")
    return call


@pytest.mark.parametrize("wrong", [name for name in _MATMUL if name.split(".")[-1] != "seed"])
def test_operands_are_numbered_as_the_dialect_does(wrong):
    """The order in which the dialect has operands is not that of its text; it is said twice, and compared here."""
    text = failure_of(matmul_with(wrong))
    assert "operand #" not in text and wrong in text, text


@pytest.mark.parametrize("wrong", _MATMUL_LIST)
def test_operands_of_lists_are_numbered_as_the_dialect_does(wrong):
    call = Call("f", _MATMUL_LIST)

    def operand(name, i=0):
        type_ = "memref<*xf64>" if name == wrong and i == 1 else "f32" if name in ("alpha", "beta") else "memref<?x?xf32>"
        if name == wrong and name in ("alpha", "beta"):
            type_ = "memref<*xf64>"
        key = name if name in ("alpha", "beta") else name.replace("lhs", f"lhs[{i}]").replace("rhs", f"rhs[{i}]") \
            if name != "out" else f"out[{i}]"
        return call.add(f"{name.replace('.', '_')}{i}", np.zeros((2, 2), np.float32), type_, "", key), type_

    def pairs(name):
        parts = []
        for i in range(2):
            (v, vt), (s, st) = operand(name, i), operand(f"{name}.scales", i)
            parts.append(f"{v} scaled_by {s} : {vt}, {st} as !grouped_scaled_gemm.scaled<?x?, nvfp4>")
        return f" {name}({', '.join(parts)})"

    text = "grouped_scaled_gemm.matmul_list" + pairs("lhs") + pairs("rhs")
    for name in ("alpha", "beta"):
        text += f" {name}({' : '.join(operand(name))})"
    outs = [operand("out", i) for i in range(2)]
    call.write(text + f" outs({', '.join(v for v, _ in outs)} : {', '.join(t for _, t in outs)})")
    found = failure_of(call)
    expected = wrong if wrong in ("alpha", "beta") else wrong.replace("lhs", "lhs[1]").replace("rhs", "rhs[1]")
    assert (expected if wrong != "out" else "out[1]") in found and "operand #" not in found, found


@pytest.mark.parametrize("options,message", [
    (dict(bias=np.ones(9, np.float32)), "expected N of bias to be 8, but got 9 [matmul_c13]"),
    (dict(out=np.ones((5, 9), np.float32)), "expected N_out of out to be 8, but got 9 [matmul_c25]"),
    (dict(preact=np.ones((5, 9), np.float32)), "expected N of preact to be 8, but got 9 [matmul_c30]"),
    (dict(amax=np.ones(7, np.float32)), "expected G of amax to be 1, but got 7 [matmul_c31]")])
def test_data_that_do_not_fit(options, message):
    with pytest.raises(nvfp4.DataError) as error:
        nvfp4.grouped_matmul(X, W, **options)
    assert str(error.value) == f"grouped_matmul: {message}"
    assert f"[{error.value.constraint}]" in message


def test_arguments_of_the_runtime_are_named_too():
    """A type of text that was compiled for another call is told of the argument, not of its number."""
    call = Call("f")
    call.memref("x", np.zeros(3, np.float32), "x")
    wrong = Call("f")
    wrong.memref("x", np.zeros(3, np.float16), "x")
    with pytest.raises(nvfp4.ArgumentError, match="^f: x: .*f32"):
        wrong.call(program_of(call.text()))


def test_places_are_those_of_the_text():
    call = matmul_with("")
    assert "".join(piece.text for piece in call._pieces()) == call.text()
