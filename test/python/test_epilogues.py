# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogues of matmul: factors, addends, activations, several results.

Accumulators are exact (lattice inputs) and factors are powers of two, so
everything but transcendental functions must be exact.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest

from format_blocks import formula, has_global
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import FORMATS, load_scales, unpack
from nvfp4_module import compile_module

COUNTS = [9, 0, 17, 1, 5]
ROWS = sum(COUNTS) + 3
# Granularity (0: halves) and whether up comes first.
GATES = [(q, i % 2 ^ swap) for swap in (0, 1) for i, q in enumerate((1, 8, 16, 32, 64, 0))]
ACT, W = scaled_type("nvfp4", 2, "blocked", "compact"), scaled_type("nvfp4", 3, "blocked")
RAGGED = "<ragged_rows, ends>"


def make(rng, n=128, k=96):
    return make_product(rng, ragged(COUNTS, extra=3), n, k, "nvfp4")


def call(module, name, product, *arguments):
    operand, operands = product.arguments("blocked", "compact", "blocked")
    return module.call(name, *operand, *operands, *arguments)


def text(name, out="f32", **clauses):
    return matmul_text(name, RAGGED, ACT, W, out and f"tensor<?x?x{out}>", **clauses)


def powers(rng, *shape):
    return np.exp2(rng.integers(-3, 3, shape)).astype(np.float32) * rng.choice([-1, 1], shape).astype(
        np.float32)


def quarters(rng, shape, dtype=np.float32):
    return (rng.integers(-128, 128, shape) / 4).astype(dtype)


# --- Factors and addends ------------------------------------------------------

ALPHA = {"none": None, "scalar": "f32", "group": "tensor<?xf32>"}
BETA = {"scalar": "f32", "group": "tensor<?xf32>"}


def factors_module():
    texts = [text(f"alpha_{a}_bias_{b}", out, alpha=ALPHA[a],
                  bias={"n": f"tensor<?x{out}>", "gn": f"tensor<?x?x{out}>"}[b])
             for (a, b), out in zip(itertools.product(ALPHA, ("n", "gn")),
                                    ("f32", "f16", "bf16", "f32", "bf16", "f16"))]
    texts += [text(f"beta_{b}_{c}", beta=BETA[b], addend=None if c == "in_place" else
                   f"tensor<?x?x{c}>") for b in BETA for c in ("f32", "f16", "bf16", "in_place")]
    texts += [text(f"addend_only_bf16", "bf16", addend="tensor<?x?xbf16>"),
              text("everything", "f16", alpha="tensor<?xf32>", beta="f32",
                   addend="tensor<?x?xf16>", bias="tensor<?x?xbf16>", prob="tensor<?xf32>",
                   at="gemm")]
    return compile_module("".join(texts))


@pytest.mark.parametrize("a,b,out", [(a, b, o) for (a, b), o in zip(
    itertools.product(ALPHA, ("n", "gn")), ("f32", "f16", "bf16", "f32", "bf16", "f16"))])
def test_alpha_and_bias(rng, a, b, out):
    product = make(rng)
    alpha = powers(rng, *(() if a == "scalar" else (len(COUNTS),)))
    bias = quarters(rng, (128,) if b == "n" else (len(COUNTS), 128), OUT[out])
    arguments = ([] if a == "none" else [alpha]) + [bias, product.destination(out)]
    got = call(factors_module(), f"alpha_{a}_bias_{b}", product, *arguments)

    def epilogue(acc, g, _):
        factor = {"none": 1.0, "scalar": alpha}.get(a, alpha[g] if a == "group" else None)
        return acc * np.float64(factor) + (bias if b == "n" else bias[g]).astype(np.float64)

    assert_equal(got, expected_result(product, out, epilogue=epilogue))


@pytest.mark.parametrize("b", BETA)
@pytest.mark.parametrize("c", ["f32", "f16", "bf16", "in_place"])
@pytest.mark.parametrize("k", [96, 0])
def test_beta_and_addend(rng, b, c, k):
    """With K = 0 the result is beta * C alone."""
    product = make(rng, k=k)
    beta = powers(rng, *(() if b == "scalar" else (len(COUNTS),)))
    c_dtype = OUT.get(c, np.float32)
    addend = quarters(rng, (ROWS, 128), c_dtype)
    arguments = [addend] if c == "in_place" else [addend, product.destination("f32")]
    got = call(factors_module(), f"beta_{b}_{c}", product, beta, *arguments)
    expected = addend.copy() if c == "in_place" else product.destination("f32")
    for g, (index, acc, _) in enumerate(product.accumulators()):
        factor = beta if b == "scalar" else beta[g]
        expected[index] = acc + np.float64(factor) * addend[index].astype(np.float64)
    assert_equal(got, expected)


def test_every_term_at_once(rng):
    product = make(rng)
    alpha, beta = powers(rng, len(COUNTS)) / 8, np.float32(0.5)
    addend, bias = quarters(rng, (ROWS, 128), np.float16), quarters(
        rng, (len(COUNTS), 128), ml_dtypes.bfloat16)
    prob = powers(rng, ROWS)
    got = call(factors_module(), "everything", product, alpha, beta, addend, bias, prob,
               product.destination("f16"))

    def epilogue(acc, g, index):
        return (acc * alpha[g] * prob[index[0], None] + 0.5 * addend[index].astype(np.float64)
                + bias[g].astype(np.float64))

    assert_equal(got, expected_result(product, "f16", epilogue=epilogue))


def row_scale_text(at, pair):
    activation = "<swiglu, gate = <16, gate_first>>" if pair else "<relu>"
    return text("f", alpha="tensor<?x2xf32>" if pair else "f32", row_scale="tensor<?xf32>", addend="tensor<?x?xbf16>",
                bias="tensor<?xf32>", prob=at and "tensor<?xf32>", at=at, activation=activation, preact="tensor<?x?xf32>")


@pytest.mark.parametrize("pair", [False, True], ids=["relu", "swiglu"])
@pytest.mark.parametrize("at", [None, "gemm", "bias", "pre_activation", "post_activation"])
def test_scale_of_each_row(rng, at, pair):
    product = make(rng)
    alpha = powers(rng, len(COUNTS), 2) / 64 if pair else np.float32(1 / 64)
    scale, prob = powers(rng, ROWS), powers(rng, ROWS)
    scale[-3:] = prob[-3:] = np.nan
    addend, bias = quarters(rng, (ROWS, 128), ml_dtypes.bfloat16), quarters(rng, 128)
    columns = 64 if pair else 128
    pre, got = call(compile_module(row_scale_text(at, pair)), "f", product, alpha, scale, addend, bias,
                    *([prob] if at else []), product.destination("f32"), product.destination("f32", columns))
    gate, up = gate_rows(16, False, 64)
    for g, (index, acc, _) in enumerate(product.accumulators()):
        factor = np.float64(alpha)
        if pair:
            factor = np.empty(128)
            factor[gate], factor[up] = alpha[g]
        p = prob[index[0], None].astype(np.float64)
        z = acc * factor * scale[index[0], None] * (p if at == "gemm" else 1) + addend[index].astype(np.float64)
        z = (z + bias * (p if at == "bias" else 1)) * (p if at == "pre_activation" else 1)
        assert_equal(pre[index], z.astype(np.float32))
        last = p if at == "post_activation" else 1
        if pair:
            y = swiglu(z[:, gate], z[:, up])
            assert_within(got[index], y * last, activation_bound(y * last, z[:, gate]), "f32")
        else:
            assert_equal(got[index], (np.maximum(z, 0) * last).astype(np.float32))
    assert np.all(is_poison(got[-3:])) and np.all(is_poison(pre[-3:]))


# --- Activations ---------------------------------------------------------------


def gate_text(gate):
    q, up_first = gate
    return f"<{q or 'halves'}, {'up_first' if up_first else 'gate_first'}>"


def gate_name(gate):
    return f"gate{gate[0]}_{gate[1]}"


# Text of the attribute, formula, and bound of the error given (y, g, u).
PAIRED = {
    "swiglu": ("swiglu", swiglu, lambda y, g, u: activation_bound(y, g, 1.702)),
    "swiglu_oai": ("swiglu, alpha = 1.702, beta = 1.0, limit = 7.0",
                   lambda g, u: swiglu(g, u, float(np.float32(1.702)), 1, 7),
                   lambda y, g, u: activation_bound(y, np.minimum(g, 7), 1.702)),
    "swiglu_clamp": ("swiglu, limit = 10.0", lambda g, u: swiglu(g, u, limit=10),
                     lambda y, g, u: activation_bound(y, np.minimum(g, 10), 1.702)),
    "geglu_tanh": ("geglu_tanh", geglu_tanh, lambda y, g, u: gelu_bound(g, u)),
    "reglu": ("reglu", lambda g, u: np.maximum(g, 0) * u, lambda y, g, u: np.abs(y) * 2.0**-24)}


def gelu_bound(g, u):
    """1 + tanh cancels for negative g: an error of a few ulps of 1."""
    inner = np.abs(0.7978845608 * (g + 0.044715 * g**3))
    return np.abs(u * g) * 0.5 * (16 + 4 * np.minimum(inner, 20)) * 2.0**-24 + 2.0**-126


def paired_module(kind):
    return compile_module("".join(
        text(gate_name(g), alpha="tensor<?x2xf32>", preact="tensor<?x?xf32>",
             activation=f"<{PAIRED[kind][0]}, gate = {gate_text(g)}>", amax=True) for g in GATES))


def assert_paired(product, kind, gate, alpha, got, amax, pre=None):
    """Results of a pair within the bound, their maxima and the pre-activation exactly."""
    expected_pre = product.destination("f32")
    rows_g, rows_u = gate_rows(*gate, expected_pre.shape[-1] // 2)
    _, formula, bound_of = PAIRED[kind]
    for i, (index, acc, _) in enumerate(product.accumulators()):
        factor = np.empty(expected_pre.shape[-1])
        factor[rows_g], factor[rows_u] = alpha[i]
        z = acc * factor
        expected_pre[index] = z
        y = formula(z[:, rows_g], z[:, rows_u])
        bound = bound_of(y, z[:, rows_g], z[:, rows_u])
        assert_within(got[index], y, bound, "f32", f"group {i}")
        # The maximum of what was computed, exactly; 0 for an empty group.
        assert amax[i] == np.abs(got[index]).max(initial=0)
    if pre is not None:
        assert_equal(pre, expected_pre, "pre-activation")


@pytest.mark.parametrize("kind", PAIRED)
@pytest.mark.parametrize("gate", GATES, ids=gate_name)
def test_paired_activations_in_every_gate_layout(rng, kind, gate):
    product = make(rng, n=256)
    alpha = np.abs(powers(rng, len(COUNTS), 2)) / 16
    pre, got, amax = call(paired_module(kind), gate_name(gate), product, alpha,
                          product.destination("f32"), product.destination("f32", 128),
                          np.full(len(COUNTS), np.nan, np.float32))
    assert_paired(product, kind, gate, alpha, got, amax, pre)
    assert np.all(is_poison(got[-3:]))


PLAIN = {"identity": lambda z: z, "relu": lambda z: np.maximum(z, 0),
         "relu2": lambda z: np.maximum(z, 0)**2, "silu": lambda z: z * sigmoid(z),
         "gelu_tanh": lambda z: geglu_tanh(z, 1.0)}
# Bounds given (y, z, the factor after the activation) of those that are not exact.
PLAIN_BOUND = {"silu": lambda y, z, factor: activation_bound(y, z),
               "gelu_tanh": lambda y, z, factor: gelu_bound(z, factor)}


def plain_module():
    texts = [text(f"{kind}_{at}", activation=f"<{kind}>", alpha="f32", bias="tensor<?xf32>",
                  prob="tensor<?xf32>", at=at)
             for kind in PLAIN for at in ("gemm", "bias", "pre_activation", "post_activation")]
    return compile_module("".join(texts))


@pytest.mark.parametrize("at", ["gemm", "bias", "pre_activation", "post_activation"])
@pytest.mark.parametrize("kind", PLAIN)
def test_plain_activations_and_probability(rng, kind, at):
    product = make(rng)
    prob, bias, alpha = powers(rng, ROWS), quarters(rng, 128), np.float32(1 / 64)
    got = call(plain_module(), f"{kind}_{at}", product, alpha, bias, prob,
               product.destination("f32"))
    for index, acc, _ in product.accumulators():
        p = prob[index[0], None].astype(np.float64)
        z = acc * alpha * (p if at == "gemm" else 1) + bias * (p if at == "bias" else 1)
        z = z * p if at == "pre_activation" else z
        factor = p if at == "post_activation" else 1
        y = PLAIN[kind](z) * factor
        if kind in PLAIN_BOUND:
            assert_within(got[index], y, PLAIN_BOUND[kind](y, z, factor), "f32")
        else:
            assert_equal(got[index], y.astype(np.float32))
    assert np.all(is_poison(got[-3:]))


def more_module():
    region = """
      ^bb0(%z: f32, %r: f32, %c: f32, %g: f32):
        %0 = arith.mulf %z, %r : f32
        %1 = arith.addf %0, %c : f32
        %2 = arith.maximumf %1, %g : f32
        grouped_scaled_gemm.yield %2 : f32"""
    pair = """
      ^bb0(%g: f32, %u: f32, %c: f32):
        %0 = arith.mulf %g, %c : f32
        %1 = arith.subf %u, %0 : f32
        grouped_scaled_gemm.yield %1 : f32"""
    return compile_module(
        text("params", activation="<swiglu, gate = <8, gate_first>>", params="tensor<?x3xf32>",
             alpha="f32") +
        text("custom", activation="<custom>", row=["tensor<?xf32>"], column=["tensor<?x?xf32>"],
             group=["tensor<?xf32>"], epilogue=region, alpha="f32") +
        text("custom_pair", activation="<custom, gate = <16, up_first>>",
             column=["tensor<?xf32>"], epilogue=pair) +
        text("rounded", activation="<relu, round_bf16>", preact="tensor<?x?xbf16>", alpha="f32") +
        "".join(text(math, activation="<swiglu, gate = <halves, gate_first>>", alpha="f32",
                     attrs={"math": math}) for math in ("strict", "fast")) +
        text("amax_only", "bf16", amax=True, alpha="tensor<?xf32>"))


def test_activation_parameters_of_each_group(rng):
    product = make(rng)
    params = np.array([[1, 0, 100], [1, 1, 1], [1.702, 1, 7], [0.5, -1, 2], [1, 0, 3]], np.float32)
    alpha = np.float32(1 / 32)
    got = call(more_module(), "params", product, alpha, params, product.destination("f32", 64))
    rows_g, rows_u = gate_rows(8, 0, 64)
    for i, (index, acc, _) in enumerate(product.accumulators()):
        z = acc * alpha
        a, b, limit = map(float, params[i])
        y = swiglu(z[:, rows_g], z[:, rows_u], a, b, limit)
        assert_within(got[index], y, activation_bound(y, np.minimum(z[:, rows_g], limit), a),
                      "f32", f"group {i}")


def test_custom_region(rng):
    product = make(rng)
    row, column, group = powers(rng, ROWS), quarters(rng, (5, 128)), quarters(rng, 5)
    alpha = np.float32(1 / 64)
    got = call(more_module(), "custom", product, alpha, row, column, group,
               product.destination("f32"))

    def epilogue(acc, g, index):
        return np.maximum(acc * alpha * row[index[0], None].astype(np.float64) + column[g],
                          group[g])

    assert_equal(got, expected_result(product, "f32", epilogue=epilogue))
    column = powers(rng, 64)
    got = call(more_module(), "custom_pair", product, column, product.destination("f32", 64))
    rows_g, rows_u = gate_rows(16, 1, 64)
    assert_equal(got, expected_result(
        product, "f32", 64, lambda acc, g, _: acc[:, rows_u] - acc[:, rows_g] * column))


def test_pre_activation_rounded_to_bf16(rng):
    product = make(rng)
    alpha = np.float32(1.0009765625)
    pre, got = call(more_module(), "rounded", product, alpha, product.destination("bf16"),
                    product.destination("f32"))
    assert_equal(pre, expected_result(product, "bf16", epilogue=lambda a, *_: a * alpha))
    rounded = lambda a, *_: np.maximum(round_to(a * alpha, "bf16").astype(np.float64), 0)
    assert_equal(got, expected_result(product, "f32", epilogue=rounded))


def test_fast_math_is_what_the_specification_permits(rng):
    """exp and tanh are 64 units in the last place off, 64 * 2^-23 of e^-x and of
    1. The sigmoid is 1 / (1 + e^-x), or 0.5 + 0.5 tanh(x / 2); it and the
    products are rounded once each."""
    product = make(rng)
    alpha = np.float32(1 / 64)
    got = call(more_module(), "fast", product, alpha, product.destination("f32", 64))
    for index, acc, _ in product.accumulators():
        g, u = acc[:, :64] * alpha, acc[:, 64:] * alpha
        y = swiglu(g, u)
        from_exp, from_tanh = 64 * 2.0**-23 * np.abs(y), 0.5 * 64 * 2.0**-23 * np.abs(g * u)
        assert_within(got[index], y, np.maximum(from_exp, from_tanh) + 4 * 2.0**-24 * np.abs(y), "f32")


def test_fast_math_has_the_bits_of_strict_math(rng):
    """On CPUs, which have no faster code."""
    product = make(rng)
    got, strict = (call(more_module(), name, product, np.float32(1 / 64),
                        product.destination("f32", 64)) for name in ("fast", "strict"))
    assert got.tobytes() == strict.tobytes()


def spoil_row(lhs, row):
    """Makes a row of an operand NaN."""
    lhs.scales[row, 0] = FORMATS["nvfp4"].nan_scale


def test_amax_of_empty_groups_and_nan(rng):
    product = make(rng)
    spoil_row(product.lhs, 10)  # of group 2
    alpha = np.array([1, 1, 1, 0, -2], np.float32)
    got, amax = call(more_module(), "amax_only", product, alpha, product.destination("bf16"),
                     np.full(5, np.nan, np.float32))
    exact = [np.abs(acc * alpha[g]).max(initial=0)
             for g, (_, acc, _) in enumerate(product.accumulators())]
    assert_equal(amax, np.array(exact, np.float32))
    assert np.isnan(amax[2]) and amax[1] == 0 and amax[3] == 0
    assert (np.isnan(got.astype(np.float32)) & ~is_poison(got)).sum() == 128


# --- Quantised results -----------------------------------------------------------

QUANTIZED = [("cutlass", "nvfp4"), ("trtllm", "nvfp4"), ("te", "nvfp4"), ("modelopt", "nvfp4"),
             ("mega16", "nvfp4"), ("triton_nearest", "nvfp4"), ("four_over_six", "nvfp4"),
             ("ocp", "mxfp4"), ("ue8m0_up", "mxfp8_e4m3"), ("trtllm", "mxfp8_e5m2"),
             ("te", "nvfp4_e8m0")]
RESULT_LAYOUT = ["linear", "blocked", "blocked_8x4"]


def quantized_module():
    texts = []
    for i, (q, fmt) in enumerate(QUANTIZED):
        layout = RESULT_LAYOUT[i % 3]
        scale = (None if not has_global(q, fmt) else ("f32", "tensor<?xf32>")[i % 2])
        texts.append(text(f"f{i}", None, quantizer=f"<{q}>", global_scale=scale,
                          quantized=scaled_type(fmt, 2, layout), alpha="f32",
                          activation="<relu2>" if i % 4 == 3 else None))
        texts.append(text(f"u{i}", "f32", alpha="f32",
                          activation="<relu2>" if i % 4 == 3 else None))
    return compile_module("".join(texts))


@pytest.mark.parametrize("i", range(len(QUANTIZED)),
                         ids=["-".join(q) for q in QUANTIZED])
def test_quantised_results_to_the_byte(rng, i):
    """Bytes of the numpy formula on the exact y. Outside every group codes are
    zero, and scales zero or, where the format has no zero, one."""
    quantizer, fmt = QUANTIZED[i]
    block, layout = FORMATS[fmt].block, RESULT_LAYOUT[i % 3]
    product = make(rng)
    alpha = np.float32(1 / 64)
    scale = powers(rng, len(COUNTS)) ** 2 * 4
    arguments = [alpha]
    if has_global(quantizer, fmt):
        arguments.append(scale if i % 2 else scale[0])
    values, scales = call(quantized_module(), f"f{i}", product, *arguments)
    y = call(quantized_module(), f"u{i}", product, alpha, product.destination("f32", value=0))
    codes = np.zeros((ROWS, 128), np.uint8)
    bytes_ = np.full((ROWS, 128 // block), 0 if fmt == "nvfp4" else 127, np.uint8)
    activation = PLAIN["relu2"] if i % 4 == 3 else PLAIN["identity"]
    assert_equal(y, expected_result(product, "f32", value=0,
                                    epilogue=lambda a, *_: activation(a * alpha)), "y")
    for g, (index, acc, _) in enumerate(product.accumulators()):
        factor = scale[g] if i % 2 else scale[0]
        with np.errstate(all="ignore"):
            c, b = formula(quantizer)(y[index].reshape(-1, block), fmt, factor)
        codes[index], bytes_[index] = c.reshape(-1, 128), b.reshape(-1, 128 // block)
    assert_equal(unpack(FORMATS[fmt], values, 128), codes, "codes")
    assert_equal(load_scales(scales, layout, ROWS, 128 // block), bytes_, "scales")


def test_fused_and_separate_operations_give_the_same_bytes(rng):
    activation = "<swiglu, gate = <halves, gate_first>, alpha = 1.702, beta = 1.0, limit = 7.0>"
    fused = text("f", None, alpha="f32", activation=activation, quantizer="<trtllm>",
                 global_scale="f32", quantized=scaled_type("nvfp4"))
    out, half = "tensor<?x?xf32>", scaled_type("nvfp4")
    separate = text("z", alpha="f32") + f"""
func.func @g(%z: {out}, %i: {out}) -> {out} {{
  %y = grouped_scaled_gemm.glu {activation}(%z : {out}) outs(%i : {out}) -> {out}
  return %y : {out}
}}
func.func @q(%y: {out}, %s: f32) -> {half} {{
  %q = grouped_scaled_gemm.quantize <trtllm>(%y : {out}) global_scale(%s : f32) -> {half}
  return %q : {half}
}}
"""
    module = compile_module(fused + separate)
    product = make(rng)
    alpha, encode = np.float32(1 / 48), np.float32(97)
    values, scales = call(module, "f", product, alpha, encode)
    z = call(module, "z", product, alpha, product.destination("f32", value=0))
    y = module.g(z, np.full((ROWS, 64), np.nan, np.float32))
    separate_values, separate_scales = module.q(y, encode)
    valid = sum(COUNTS)
    assert np.array_equal(values[:valid], separate_values[:valid])
    assert np.array_equal(scales[:valid], separate_scales[:valid])
