# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad data and bad options end in an exception that names a constraint, never in memory of others; what is dropped is freed."""

import gc
import inspect

import numpy as np
import pytest

import nvfp4
from nvfp4_module import PRELOAD


def scaled(*shape, **layout):
    fmt = np.zeros(shape[:-1] + (shape[-1] // 2,), np.uint8)
    return nvfp4.ScaledTensor(fmt, np.zeros(shape[:-1] + (-(-shape[-1] // 16),), np.uint8), **layout)


def short(starts):
    """155 rows whose scales hold one tile of 128, where the groups need four or more."""
    return nvfp4.ScaledTensor(np.zeros((155, 32), np.uint8), np.zeros((1, 1, 32, 4, 4), np.uint8), layout="blocked",
                              starts=starts)


GROUPS = nvfp4.ragged_rows(np.array([3, 3, 140, 150], np.int32))
X = np.zeros((3, 17), np.float32)


@pytest.mark.parametrize("call,constraint", [
    (lambda: nvfp4.grouped_matmul(short("compact"), scaled(4, 16, 64), GROUPS), "storage_c9"),
    (lambda: nvfp4.grouped_matmul(short("upper_bound"), scaled(4, 16, 64), GROUPS), "storage_c9"),
    (lambda: nvfp4.dequantize(short("compact"), groups=GROUPS), "storage_c9"),
    (lambda: nvfp4.quantize(np.zeros((155, 64), np.float32), layout="blocked", starts="compact", groups=GROUPS,
                            out=short("compact")), "storage_c9"),
    (lambda: nvfp4.grouped_matmul(scaled(2, 4, 64), scaled(2, 8, 64), nvfp4.masked(np.array([-5, 3]))), "grouping_c6"),
    (lambda: nvfp4.sort_tokens(np.array([[7, 1]], np.int32), 4), "sort_tokens_c6"),
    (lambda: nvfp4.combine(X, np.array([[7, 1]], np.int32)), "combine_c4"),
    (lambda: nvfp4.permute(X, np.array([-2], np.int32)), "permute_c4"),
    (lambda: nvfp4.route(X, 18), "route_c9"),
    (lambda: nvfp4.hadamard(X), "hadamard_c1"),
    (lambda: nvfp4.glu(X, nvfp4.swiglu()), "gate_c2")])
def test_bad_data_names_its_constraint(call, constraint):
    with pytest.raises(nvfp4.DataError, match="but got") as error:
        call()
    assert error.value.constraint == constraint


@pytest.mark.parametrize("text", ['x"y', "\n%", "gate>", "", "relu>) outs(%lhs : memref<?x?xf32>) //", "\0", "é"])
def test_text_of_options_is_parsed_like_any_other(text):
    with pytest.raises(nvfp4.CompileError):
        nvfp4.grouped_matmul(scaled(3, 64), scaled(5, 64), activation=text)


@pytest.mark.parametrize("call,text", [
    (lambda: nvfp4.grouped_matmul(scaled(3, 64), scaled(5, 64), dtype="float61"), "such as float32, .* got 'float61'"),
    (lambda: nvfp4.grouped_matmul(scaled(3, 64), scaled(5, 64), preact="float61"), "such as float32, .* got 'float61'"),
    (lambda: nvfp4.dequantize(scaled(3, 64), dtype="float61"), "such as float32, .* got 'float61'"),
    (lambda: nvfp4.hadamard(np.zeros((3, 16), np.float32), dtype="float61"), "such as float32, .* got 'float61'"),
    (lambda: nvfp4.grouped_matmul(scaled(3, 64), scaled(5, 64), dtype=np.int8), "f32, f16, bf16, but got int8"),
    (lambda: nvfp4.grouped_matmul(scaled(3, 64), None), "rhs as ScaledTensor .* but got NoneType"),
    (lambda: nvfp4.grouped_matmul(None, scaled(5, 64)), "lhs as ScaledTensor .* but got NoneType"),
    (lambda: nvfp4.grouped_matmul([[1.0], [1, 2]], scaled(5, 64)), "rows of bfloat16, float16 or float32, but got list"),
    (lambda: nvfp4.grouped_matmul(X.astype(np.float64), scaled(5, 64)), "rows of bfloat16, float16 or float32, but got float64 of shape"),
    (lambda: nvfp4.grouped_matmul(np.zeros(64, np.float16), scaled(5, 64)), r"but got float16 of shape \(64,\)"),
    (lambda: nvfp4.grouped_matmul(scaled(3, 64), []), "but got an empty list"),
    (lambda: nvfp4.grouped_matmul(scaled(3, 64), X), "but got ndarray"),
    (lambda: nvfp4.grouped_matmul(scaled(3, 64), scaled(5, 64), X), r"ragged_rows\(...\), .* but got ndarray"),
    (lambda: nvfp4.grouped_matmul_list([scaled(3, 64)], None), "but got list and NoneType"),
    (lambda: nvfp4.grouped_matmul_list([X], [scaled(5, 64)]), "ScaledTensor, but got ndarray"),
    (lambda: nvfp4.dequantize(X), "ScaledTensor, but got ndarray")])
def test_what_is_no_tensor_is_named(call, text):
    with pytest.raises(nvfp4.ArgumentError, match=text):
        call()


def test_options_that_there_are_not_name_the_function():
    for name, text in (("bais", "such as bias, but got 'bais'"), ("xyz", "alpha, row_scale, beta, .*, device, but got 'xyz'")):
        with pytest.raises(TypeError, match=f"^expected an option of grouped_matmul, {text}$"):
            nvfp4.grouped_matmul(scaled(3, 64), scaled(5, 64), **{name: 1})


@pytest.mark.parametrize("function,options,positional", [
    (nvfp4.plan_matmul, nvfp4.MatmulOptions, 3), (nvfp4.moe_program, nvfp4.LayerOptions, 3)])
def test_options_are_those_of_the_function(function, options, positional):
    assert list(inspect.signature(function).parameters)[positional:] == list(options.__annotations__)


@pytest.mark.parametrize("call", [np.asarray, np.sum, lambda tensor: np.ones(3) == tensor, nvfp4.quantize])
def test_a_scaled_tensor_is_no_array(call):
    with pytest.raises(nvfp4.ArgumentError, match=r"an array, but got ScaledTensor\(.*; its numbers are .*dequantize"):
        call(scaled(3, 64))


@pytest.mark.parametrize("size", [0, 10, 100, -1])
def test_cut_off_artefacts_do_not_load(tmp_path, size):
    path = tmp_path / "f.so"
    nvfp4.compile("func.func @f(%x: memref<4xf32>) {\n  return\n}").save(str(path))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(nvfp4.NVFP4Error, match="could not load .* expected"):
        nvfp4.load(str(path))


@pytest.mark.skipif(bool(PRELOAD), reason="sanitizers keep freed memory")
def test_dropped_programs_are_freed():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def compile_and_drop(count):
        for _ in range(count):
            program = nvfp4.compile("func.func @f(%x: memref<?xf32>, %v: f32) {\n"
                                    "  linalg.fill ins(%v : f32) outs(%x : memref<?xf32>)\n  return\n}")
            program.run(np.zeros(3, np.float32), 1.0)
            del program
            gc.collect()

    compile_and_drop(3)
    before = resident()
    compile_and_drop(12)
    # A context with its dialects is several megabytes.
    assert resident() - before < 12e6
