# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each argument has an effect or is refused: none is ignored, and no number becomes another one in silence."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4


def ones(*shape, **options):
    return nvfp4.quantize(np.ones(shape, np.float32), **options)


X, W = ones(5, 16), ones(8, 16)
OUT = np.zeros((5, 8), np.float32)


@pytest.mark.parametrize("options,message", [
    (dict(beta=2.0), "expected addend= or out= with beta, .* but got neither"),
    (dict(prob_at="gemm"), "expected prob= with prob_at, but got prob_at='gemm' alone"),
    (dict(strategy="m = 17"), "expected a GPU such as sm_100a as target for strategy, .* but got cpu"),
    (dict(strategy=dict(m=128)), "expected a GPU such as sm_100a as target for strategy"),
    (dict(strategy=3, target="sm_100a+sim"), "expected strategy as text or as a mapping .* but got int"),
    (dict(device="sim"), "expected a GPU as target for device 'sim', but got cpu"),
    (dict(out=OUT, dtype=np.float16), "expected dtype float32 as out has, or none, but got float16"),
    (dict(quantizer="cutlass", dtype=np.float16), "expected out_format= for a quantised result, .* but got dtype="),
    (dict(quantizer="cutlass", out=OUT), "expected out as a ScaledTensor for a quantised result, but got ndarray"),
    (dict(out_layout="blocked"), "expected quantizer= or out_format= with out_layout"),
    (dict(out_starts="compact"), "with out_starts"), (dict(out_axis=-2), "with out_axis"),
    (dict(global_scale=2.0), "with global_scale"), (dict(seed=3), "with seed"),
    (dict(out=ones(5, 16), out_layout="blocked"), "expected out of format, shape, layout"),
    (dict(prob=2.0), "expected prob of rank 1"), (dict(activation_params=2.0), "expected activation_params of rank 2"),
    (dict(row=[2.0]), r"expected row\[0\] of rank 1"), (dict(column=[np.zeros((1, 1, 8))]), r"column\[0\] of rank 1 or 2"),
    (dict(expected_rows=2.7), "expected expected_rows as a whole number of 1 or more, but got 2.7"),
    (dict(expected_rows=0), "but got 0"), (dict(alpha="7"), "expected alpha as a number, but got '7'"),
    (dict(alpha=2**40 + 5), "expected alpha as a number that float32 holds, but got 1099511627781"),
    (dict(alpha=1e300), "expected alpha as a number that float32 holds"),
    (dict(alpha=np.array([1e300])), "expected alpha of numbers that float32 holds"),
    (dict(bias=np.ones(8, complex)), "expected bias of f32, f16, bf16"),
    (dict(quantizer=nvfp4.Quantizer(rounding="stochastic"), seed=2.7), "expected seed as a whole number .* got 2.7"),
    (dict(quantizer=nvfp4.Quantizer(rounding="stochastic"), seed="7"), "expected seed as a number, but got '7'"),
    (dict(quantizer=nvfp4.Quantizer(rounding="stochastic"), seed=2**64), "expected seed as a whole number")])
def test_arguments_of_a_product_without_an_effect_are_refused(options, message):
    with pytest.raises(nvfp4.ArgumentError, match=message):
        nvfp4.grouped_matmul(X, W, **options)


@pytest.mark.parametrize("options", [dict(activation_params=np.ones((1, 3))), dict(row=[np.ones(5)]),
                                     dict(group=[np.ones(1)]), dict(outer_gate="vllm"), dict(epilogue="^bb0(%z: f32):"),
                                     dict(activation="relu", activation_params=np.ones((1, 3))),
                                     dict(activation=nvfp4.Activation("relu", nvfp4.Gate(0))),
                                     dict(activation=nvfp4.Activation("relu", alpha=2.0)),
                                     dict(quantizer="trtllm", out=None, seed=3)])
def test_options_of_others_are_refused_by_the_compiler(options):
    with pytest.raises(nvfp4.CompileError, match="^grouped_matmul: |^error: grouped_matmul: "):
        nvfp4.grouped_matmul(X, W, **options)


@pytest.mark.parametrize("call,message", [
    (lambda: nvfp4.grouped_matmul_list([X], [W], beta=2.0), "expected out= with beta"),
    (lambda: nvfp4.grouped_matmul_list([X], [W], out=[OUT, OUT]), "expected as many out as lhs, 1, but got 2"),
    (lambda: nvfp4.grouped_matmul_list([X], [W], out=[OUT], dtype=np.float16), "expected dtype float32 as out has"),
    (lambda: nvfp4.grouped_matmul_list([X], [W], strategy="m = 17"), "expected a GPU such as sm_100a as target"),
    (lambda: nvfp4.dequantize(X, out=np.zeros((5, 16), np.float32), dtype=np.float16), "dtype float32 as out has"),
    (lambda: nvfp4.relayout(np.ones((2, 4), np.float32), gate=("vllm", "cudnn"), groups=nvfp4.masked([1])),
     "expected gate= alone"),
    (lambda: nvfp4.relayout(X, layout="linear", groups=nvfp4.ragged_rows(sizes=[5])), "with groups, for nothing moves"),
    (lambda: nvfp4.encode_scale(OUT, by_expert="no"), "expected by_expert True or False, but got 'no'"),
    (lambda: nvfp4.quantize(np.ones((2, 16), np.float32), seed=2.5), "expected seed as a whole number"),
    (lambda: nvfp4.ragged_rows(sizes=[5], align=2.5), "expected align= as a whole number of 1 or more, but got 2.5"),
    (lambda: nvfp4.ragged_rows(sizes=[2.5]), "expected a vector of int32 or int64 offsets"),
    (lambda: nvfp4.ragged_rows(sizes=np.full(2, 2**30, np.int32)), "whose ends int32 holds, but got the end 2147483648"),
    (lambda: nvfp4.Gate(2.5), "granularity.* but got 2.5"), (lambda: nvfp4.Gate(-2), "granularity.* but got -2"),
    (lambda: nvfp4.swiglu(alpha="7"), "expected alpha of an activation as a number, but got '7'"),
    (lambda: nvfp4.swiglu(round_bf16="no"), "expected round_bf16 True or False"),
    (lambda: nvfp4.Quantizer("te", two_d="no"), "expected two_d True or False"),
    (lambda: nvfp4.route(np.ones((2, 4), np.float32), 2, "deepseek_v3", n_group=2.7), "expected n_group as a whole number"),
    (lambda: nvfp4.route(np.ones((2, 4), np.float32), 2, "deepseek_v3", routed_scaling="7"), "routed_scaling as a number"),
    (lambda: nvfp4.sort_tokens(np.zeros((2, 1), np.int32), 2.7), "expected num_experts as a whole number"),
    (lambda: nvfp4.sort_tokens(np.zeros((2, 1), np.int32), 2, align=1.5), "expected align as a whole number"),
    (lambda: nvfp4.combine(OUT, np.zeros((2, 1), np.int32), out=np.zeros((2, 8), np.float32), dtype=np.float16),
     "dtype float32 as out has"),
    (lambda: nvfp4.glu(OUT, "relu", out=OUT.copy(), dtype=np.float16), "dtype float32 as out has"),
    (lambda: nvfp4.hadamard(np.ones((1, 16), np.float32), out=np.ones((1, 16), np.float32), dtype=np.float16), "as out has"),
    (lambda: nvfp4.hadamard(np.ones((1, 16), np.float32), sign_mask=1 << 16), "expected sign_mask .* from 0 to 65535"),
    (lambda: nvfp4.set_num_threads(2**32 + 2), "expected count as a whole number from 0 to 4096"),
    (lambda: nvfp4.set_num_threads(4097), "but got 4097"), (lambda: nvfp4.set_num_threads(-1), "but got -1"), (lambda: nvfp4.set_num_threads(2.5), "but got 2.5"),
    (lambda: nvfp4.compile("", opt_level=-1), "expected opt_level as a whole number from 0 to 3"),
    (lambda: nvfp4.compile("", opt_level=2**32 + 3), "expected opt_level as a whole number from 0 to 3"),
    (lambda: nvfp4.load("a\0b"), "expected a path without a zero byte"),
    (lambda: nvfp4.compile("func.func @f() { return }").save("a\0b"), "expected a path without a zero byte"),
    (lambda: nvfp4.compile("", threads="no"), "expected threads True or False, but got 'no'")])
def test_arguments_of_functions_are_honoured_or_refused(call, message):
    with pytest.raises(nvfp4.ArgumentError, match=message):
        call()


@pytest.mark.parametrize("options", [dict(n_group=2), dict(topk_group=2), dict(routed_scaling=2.0),
                                     dict(bias=np.ones(4, np.float32))])
def test_options_of_other_routing_methods_are_refused(options):
    with pytest.raises(nvfp4.CompileError, match="error: route: .*(deepseek_v3|minimax2)"):
        nvfp4.route(np.ones((2, 4), np.float32), 2, "topk_softmax", **options)


def test_bias_of_bfloat16_and_numbers_of_any_float_type_are_exact():
    expected = nvfp4.grouped_matmul(X, W, alpha=0.5)
    for alpha in (np.float16(0.5), ml_dtypes.bfloat16(0.5), np.array([0.5], ml_dtypes.bfloat16), np.array([0.5])):
        np.testing.assert_array_equal(nvfp4.grouped_matmul(X, W, alpha=alpha), expected)
