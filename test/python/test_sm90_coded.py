# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products for sm_90a of weights that relayout_weights coded on a CPU before: bits
are those of linear weights, and the exact ones."""

import numpy as np
import pytest

from coded_weights import lay_out
from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import random_scaled
from nvfp4_kernels import compile_kernels, run_schedule, simulated
from nvfp4_module import compile_module
from weight_only import plain_product

pytestmark = simulated("sm_90a")


def coded(product, fmt, layout="wgmma"):
    """The operands of a product with coded weights, and their type."""
    operand, (lhs, *rhs) = product.arguments()
    stacks = product.rhs if isinstance(product.rhs, list) else [product.rhs]
    shape = stacks[0].shape
    return operand, [lhs, *(lay_out(fmt, shape, layout, w) for w in rhs)], scaled_type(fmt, shape=shape, layout=layout)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
@pytest.mark.parametrize("groups", [dense(9), ragged([3, 129, 0, 70]), masked([0, 5, 9], 9), batched(2, 5)],
                         ids=lambda g: g.kind)
def test_forms(rng, fmt, groups):
    product = make_product(rng, groups, 264, 288, fmt)
    rank3 = groups.kind in ("batched", "masked")
    if fmt != "nvfp4":
        # A factor for each matrix.
        scales = product.rhs.scales
        scales[...] = scales + np.uint8(90) if groups.kind == "dense" else scales + np.uint8(30) * np.arange(
            len(groups), dtype=np.uint8)[:, None, None]
    out = f"tensor<{'?x' * (3 if rank3 else 2)}f32>"
    lhs = scaled_type(fmt, 3 if rank3 else 2)
    operand, operands, type_ = coded(product, fmt)
    text = matmul_text("f", groups.attribute, lhs, type_, out, alpha="f32")
    got = compile_kernels("sm_90a", text).f(*operand, *operands, np.float32(0.5), product.destination("f32"))
    linear = matmul_text("f", groups.attribute, lhs, scaled_type(fmt, 2 if groups.kind == "dense" else 3), out,
                         alpha="f32")
    operand, operands = product.arguments()
    expected = compile_kernels("sm_90a", linear).f(*operand, *operands, np.float32(0.5), product.destination("f32"))
    assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))
    assert_equal(got, expected_result(product, "f32", epilogue=lambda acc, g, i: 0.5 * acc))


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4"])
def test_one_operand_a_group(rng, fmt):
    groups = ragged([3, 40, 9])
    product = make_product(rng, groups, 72, 96, fmt, weights="discrete")
    operand, operands, type_ = coded(product, fmt)
    text = matmul_text("f", groups.attribute, scaled_type(fmt), type_, "tensor<?x?xf32>", weights=3)
    got = compile_kernels("sm_90a", text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_list(rng):
    parts = [(random_scaled(rng, (m, k), "nvfp4"), random_scaled(rng, (n, k), "nvfp4"))
             for m, n, k in ((9, 72, 96), (3, 40, 130))]
    arguments, rhs, body, outs = [], [], [], []
    for i, (a, w) in enumerate(parts):
        types = scaled_type("nvfp4"), scaled_type("nvfp4", shape=w.shape, layout="wgmma")
        arguments += [f"%a{i}: {types[0]}", f"%b{i}: {types[1]}", f"%c{i}: tensor<?x?xf32>"]
        body.append(types)
        rhs += [a.store("linear", None, 0, 0), lay_out("nvfp4", w.shape, "wgmma", w.store("linear", None, 0, 0)),
                np.zeros((a.shape[0], w.shape[0]), np.float32)]
        outs.append(a.values() @ w.values().T)
    sides = [", ".join(f"%{s}{i} : {t[j]}" for i, t in enumerate(body)) for j, s in enumerate("ab")]
    text = (f"func.func @f({', '.join(arguments)}) -> (tensor<?x?xf32>, tensor<?x?xf32>) {{\n"
            f"  %r:2 = {DIALECT}.matmul_list lhs({sides[0]}) rhs({sides[1]})\n"
            "      outs(%c0, %c1 : tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>, tensor<?x?xf32>\n"
            "  return %r#0, %r#1 : tensor<?x?xf32>, tensor<?x?xf32>\n}\n")
    for got, expected in zip(compile_kernels("sm_90a", text).f(*rhs), outs):
        assert_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("rows,layout", [("bf16", "wgmma"), ("f16", "wgmma_f16")])
@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_rows_without_scales(rng, fmt, rows, layout):
    groups = ragged([3, 0, 20])
    product, data = plain_product(rng, groups, 72, 160, fmt, rows)
    operand, operands, type_ = coded(product, fmt, layout)
    text = matmul_text("f", groups.attribute, f"tensor<?x?x{rows}>", type_, "tensor<?x?xf32>")
    got = compile_kernels("sm_90a", text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


def test_gates_in_runs(rng):
    """SwiGLU of weights whose rows of gate and up are in runs of 32, and the interpreter beside it."""
    groups = ragged([3, 40])
    product = make_product(rng, groups, 128, 160, "nvfp4")
    operand, operands, type_ = coded(product, "nvfp4")
    text = matmul_text("f", groups.attribute, scaled_type("nvfp4"), type_, "tensor<?x?xbf16>",
                       activation="<swiglu, gate = <32, gate_first>>")
    flat = operand + [part for pair in operands for part in pair]
    run_schedule("sm_90a", "coded_gates", text, flat + [product.destination("bf16", 64)], 3, "--check=reference")


def test_linear_weights_in_the_same_function(rng):
    """The op and the product of its result compile together: host code and a kernel."""
    groups = ragged([3, 40])
    product = make_product(rng, groups, 72, 96, "mxfp8_e4m3")
    shape = product.rhs.shape
    linear, type_ = scaled_type("mxfp8_e4m3", shape=shape), scaled_type("mxfp8_e4m3", shape=shape, layout="wgmma")
    text = (f"func.func @f(%g: tensor<?xi32>, %a: {scaled_type('mxfp8_e4m3')}, %b: {linear}, %c: tensor<?x?xf32>)"
            " -> tensor<?x?xf32> {\n"
            f"  %w = {DIALECT}.relayout_weights(%b : {linear}) -> {type_}\n"
            f"  %r = {DIALECT}.matmul {groups.attribute} groups(%g : tensor<?xi32>) lhs(%a : {scaled_type('mxfp8_e4m3')})"
            f" rhs(%w : {type_}) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>\n  return %r : tensor<?x?xf32>\n}}\n")
    operand, operands = product.arguments()
    got = compile_kernels("sm_90a", text).f(*operand, *operands, product.destination("f32"))
    assert_equal(got, expected_result(product, "f32"))


@pytest.mark.parametrize("fmt, factor, expected", [
    ("nvfp4", 2, "128"), ("mxfp4", 3, "a power of two"), ("mxfp4", -1, "a power of two"),
    ("mxfp4", np.nan, "a power of two"), ("mxfp4", np.inf, "a power of two"), ("mxfp4", 0, "a power of two")])
def test_a_factor_that_kernels_do_not_know(rng, fmt, factor, expected):
    product = make_product(rng, dense(3), 64, 128, fmt)
    operand, (lhs, (blocks, factors)), type_ = coded(product, fmt)
    module = compile_kernels("sm_90a", matmul_text("f", "<dense>", scaled_type(fmt), type_, "tensor<?x?xf32>"))
    with pytest.raises(RuntimeError, match=f"expected {expected} as the factor of a matrix of weights, but got"):
        module.f(lhs, (blocks, np.float32(factor) * factors), product.destination("f32"))


@pytest.mark.parametrize("target", ["cpu", "sm_100a"])
def test_other_targets_refuse_them(target):
    text = matmul_text("f", "<dense>", scaled_type("nvfp4"),
                       scaled_type("nvfp4", shape=(64, 128), layout="wgmma"), "tensor<?x?xf32>")
    with pytest.raises(RuntimeError, match=f"expected target sm_90a for weights in the layout 'wgmma', but got {target}"):
        compile_module(text, f"--target={target}")
