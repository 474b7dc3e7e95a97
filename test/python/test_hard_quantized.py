# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hard cases of quantisers, of a layer that re-quantises, and of huge files.

The number in a test's name is its row in docs/Tests.md.
"""

import ml_dtypes
import numpy as np
import pytest

import format_formulas
from format_blocks import CASES, blocks, few_blocks, formula, has_global
from nvfp4_cases import (activation_bound, assert_equal, assert_within, dense, gate_rows,
                         make_product, matmul_text, Product, ragged, random_bound, round_to, scaled_type,
                         swiglu)
from nvfp4_formats import FORMATS, Scaled, random_scaled, unpack
from nvfp4_module import compile_module, full, run, tool


def quantize_text(name, quantizer, fmt, element="f32", layout="linear", scale=None, out=None):
    result = scaled_type(fmt, 2, layout)
    argument, clause = (f", %s: {scale}", f" global_scale(%s : {scale})") if scale else ("", "")
    return (f"func.func @{name}(%x: tensor<?x?x{element}>{argument}) -> {result} {{\n"
            f"  %q = grouped_scaled_gemm.quantize {quantizer}(%x : tensor<?x?x{element}>)"
            f"{clause} -> {result}\n  return %q : {result}\n}}\n")


def quantizers_module():
    return compile_module("".join(
        quantize_text(f"{q}_{fmt}", f"<{q}>", fmt,
                      scale="f32" if has_global(q, fmt) else None) for q, fmt in CASES))


@pytest.mark.parametrize("quantizer,fmt", CASES)
def test_row_40_every_quantiser_to_the_byte(quantizer, fmt):
    """Blocks of zeros, one subnormal, 1e-30, 6 * 448, NaN, infinities, ties."""
    block = FORMATS[fmt].block
    x = blocks(block, seed=40)
    for scale in ([1.0, 3.7, 0.0115] if has_global(quantizer, fmt) else [1.0]):
        scale = np.float32(scale)
        arguments = (x, scale) if has_global(quantizer, fmt) else (x,)
        values, scales = quantizers_module().call(f"{quantizer}_{fmt}", *arguments)
        with np.errstate(all="ignore"):
            codes, bytes_ = formula(quantizer)(x, fmt, scale)
        assert_equal(scales[:, 0], bytes_, "scales")
        assert_equal(unpack(FORMATS[fmt], values, block), codes, "codes")


@pytest.mark.parametrize("quantizer,fmt", CASES)
def test_row_40_results_of_hard_blocks_to_the_byte(quantizer, fmt):
    """The same blocks, quantised as the results of a product that is zero: D = Q(0 + C)."""
    block = FORMATS[fmt].block
    module = compile_module(matmul_text(
        "f", "<dense>", scaled_type("nvfp4"), scaled_type("nvfp4"), beta="f32",
        addend="tensor<?x?xf32>", quantizer=f"<{quantizer}>", quantized=scaled_type(fmt),
        global_scale="f32" if has_global(quantizer, fmt) else None))
    x = few_blocks(block, seed=40).reshape(-1, 5 * block)
    rows, columns = x.shape
    zeros = [Scaled(FORMATS["nvfp4"], np.zeros((n, 32), np.uint8), np.full((n, 2), 0x38, np.uint8))
             for n in (rows, columns)]
    _, operands = Product(dense(rows), *zeros).arguments()
    scale = np.float32(3.7)
    factor = (scale,) if has_global(quantizer, fmt) else ()
    values, scales = module.f(*operands, np.float32(1), x, *factor)
    with np.errstate(all="ignore"):
        # 0 + -0 is +0.
        codes, bytes_ = formula(quantizer)((x + np.float32(0)).reshape(-1, block), fmt, scale)
    assert_equal(scales.view(np.uint8), bytes_.reshape(scales.shape), "scales")
    assert_equal(unpack(FORMATS[fmt], values, columns), codes.reshape(x.shape), "codes")


def test_row_41_every_bf16_rounds_to_nearest_even():
    """65536 blocks of one bf16 value and fifteen sixes: up to 6 the scale is 1
    and the code is that of the value itself."""
    every = np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    x = np.full((2**16, 16), 6, ml_dtypes.bfloat16)
    x[:, 5] = every
    module = compile_module(quantize_text("q", "<trtllm>", "nvfp4", "bf16"))
    values, scales = module.q(x)
    codes = unpack(FORMATS["nvfp4"], values, 16)[:, 5]
    with np.errstate(invalid="ignore"):
        number = every.astype(np.float64)
    small = np.abs(number) <= 6
    assert small.sum() > 33000
    assert np.all(scales[small] == 0x38)
    a = np.abs(number[small])
    # Ties of semantics 4.1: .25 .75 1.25 1.75 2.5 3.5 5 go to the even code.
    expected = np.select([a <= .25, a < .75, a <= 1.25, a < 1.75, a <= 2.5, a < 3.5, a <= 5],
                         [0, 1, 2, 3, 4, 5, 6], 7) | np.signbit(number[small]) * 8
    assert_equal(codes[small], expected.astype(np.uint8), "codes")
    with np.errstate(all="ignore"):
        codes, bytes_ = format_formulas.trtllm(x.astype(np.float32), "nvfp4", np.float32(1))
    assert_equal(unpack(FORMATS["nvfp4"], values, 16), codes, "codes of all")
    assert_equal(scales[:, 0], bytes_, "scales of all")


def assert_same_bytes_but_for_ties(got, y, formula_, what):
    """Bytes of a quantised result whose inputs `y` are off by e < 2^-15 of themselves
    (activation_bound: (24 + 4 * 104) 2^-24), so that what lies within e of a boundary moves
    by one step. Of numbers spread evenly in the logarithm those are 2e * 8 / ln 2 = 7.0e-4 at
    the 8 boundaries of an octave of scales, and at most 2e * 7 = 4.3e-4 at those of codes."""
    fmt = got.fmt
    with np.errstate(all="ignore"):
        codes, bytes_ = formula_(y.astype(np.float32).reshape(-1, fmt.block))
    bytes_ = bytes_.reshape(got.scales.shape)
    codes = codes.reshape(got.codes.shape)
    moved = got.scales.astype(int) - bytes_
    assert np.abs(moved).max(initial=0) <= 1, what
    assert (moved != 0).sum() <= 1e-3 * moved.size, what
    same = np.repeat(moved == 0, fmt.block, -1)
    order = np.where(got.codes & 8, -(got.codes & 7).astype(int), got.codes & 7)
    wanted = np.where(codes & 8, -(codes & 7).astype(int), codes & 7)
    flips = np.where(same, order - wanted, 0)
    assert np.abs(flips).max(initial=0) <= 1, what
    assert (flips != 0).sum() <= 1e-3 * flips.size, what


def test_row_34_layer_of_width_2880_with_fp4_in_between():
    width, tokens = full((2880, 512), (352, 96), (96, 40))
    rng = np.random.default_rng(34)
    experts, top_k, q = 4, 4, 16
    counts = rng.multinomial(tokens * top_k, [0.4, 0.0, 0.35, 0.25])
    groups = ragged([int(c) for c in counts])
    act = scaled_type("nvfp4", 2, "blocked", "compact")
    w = scaled_type("nvfp4", 3, "blocked")
    hidden = scaled_type("nvfp4")
    module = compile_module(
        matmul_text("fc1", "<ragged_rows, ends>", act, w, quantized=hidden, alpha="tensor<?xf32>",
                    activation=f"<swiglu, gate = <{q}, gate_first>, limit = 10.0>",
                    quantizer="<mega16>") +
        matmul_text("fc2", "<ragged_rows, ends>", hidden, w, "tensor<?x?xbf16>",
                    prob="tensor<?xf32>", at="post_activation"))
    first = make_product(rng, groups, 2 * width, width, "nvfp4", scales="lattice2")
    alpha = np.array([0.02, 1, 0.015, 0.03], np.float32)
    operand, operands = first.arguments("blocked", "compact", "blocked")
    values, scales = module.fc1(*operand, *operands, alpha)
    h = Scaled(FORMATS["nvfp4"], unpack(FORMATS["nvfp4"], values, width), scales.view(np.uint8))
    gate, up = gate_rows(q, False, width)
    for g, (index, acc, _) in enumerate(first.accumulators(np.float32)):
        z = (acc * alpha[g]).astype(np.float64)
        y = swiglu(z[:, gate], z[:, up], limit=10.0)
        assert_same_bytes_but_for_ties(
            h[index[0]], y, lambda x: format_formulas.mega16(x, "nvfp4", None), f"expert {g}")
    second = Product(groups, h, random_scaled(rng, (experts, width, width), "nvfp4",
                                              lattice=False))
    prob = rng.random(groups.extent).astype(np.float32)
    operand, operands = second.arguments("linear", "whole", "blocked")
    got = module.fc2(*operand, *operands, prob, second.destination("bf16"))
    for index, acc, magnitude in second.accumulators():
        p = prob[index[0], None].astype(np.float64)
        bound = random_bound(acc, magnitude, width) * p + np.abs(acc * p) * 2.0**-23
        assert_within(got[index], acc * p, bound, "bf16", "fc2")


def sparse_npy(path, dtype, shape, last):
    """A .npy file of zeros that are holes, but for its last matrix."""
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    array[-1] = last
    array.flush()
    return path


def test_row_43_weights_of_more_than_2_to_32_elements(tmp_path):
    """2.2 GB of packed weights, nearly all holes of a file; one expert works."""
    experts, n, k, m = 264, 4096, 4096, 4
    assert experts * n * k > 2**32
    rng = np.random.default_rng(43)
    weights = random_scaled(rng, (n, k), "nvfp4", scales="lattice2")
    tokens = random_scaled(rng, (m, k), "nvfp4", scales="lattice2")
    data, scales = weights.store()
    files = [sparse_npy(tmp_path / "w.npy", np.uint8, (experts,) + data.shape, data),
             sparse_npy(tmp_path / "s.npy", np.uint8, (experts,) + scales.shape, scales)]
    inputs = {"ends": np.where(np.arange(experts) == experts - 1, m, 0).astype(np.int32),
              "a": tokens.store()[0], "as": tokens.store()[1],
              "out": np.zeros((m, n), np.float32)}
    for name, array in inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
    source, result = tmp_path / "f.mlir", tmp_path / "result.npy"
    source.write_text(matmul_text(
        "f", "<ragged_rows, ends>", scaled_type("nvfp4", shape=("?", k)),
        scaled_type("nvfp4", shape=(experts, n, k)), f"tensor<?x{n}xf32>"))
    order = [tmp_path / f"{name}.npy" for name in ("ends", "a", "as")] + files
    order.append(tmp_path / "out.npy")
    code, _, error = run(tool("nvfp4-run"), source, "--device=cpu",
                         "--inputs=" + ",".join(map(str, order)), f"--outputs={result}")
    assert code == 0, error
    exact = tokens.values(np.float32) @ weights.values(np.float32).T
    assert_equal(np.load(result), round_to(exact, "f32"))
