# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Raised products with few blocks along K, and those of TOSA, against the interpreter on what was written."""

import numpy as np
import pytest

from raising import FORMATS, affine, arguments, check_raised, dequantise, multiply, operand, tensor, zeros

MK, NK, MN = affine("mnk", "mk"), affine("mnk", "nk"), affine("mnk", "mn")
# K of one whole block, of a part of one, and of one and a part.
DEPTHS = [(kind, depth) for kind, form in FORMATS.items() for depth in (form.block, form.block // 2, form.block + 8)]


def dense(kind, depth):
    x, w, y = [5, depth], [24, depth], [5, 24]
    return (f"func.func @f({arguments(kind, 'x', x)}, {arguments(kind, 'w', w)}) -> {tensor(y, 'f32')} {{\n"
            + dequantise(kind, "x", x) + dequantise(kind, "w", w) + zeros("z", y)
            + multiply("y", "xd", "wd", "z", [MK, NK, MN], [x, w, y]) + f"  return %y : {tensor(y, 'f32')}\n}}\n")


@pytest.mark.parametrize("kind, depth", DEPTHS)
@pytest.mark.parametrize("lattice", [True, False], ids=["lattice", "random"])
def test_one_block(kind, depth, lattice):
    rng = np.random.default_rng(depth)
    given = operand(rng, kind, [5, depth], lattice) + operand(rng, kind, [24, depth], lattice)
    check_raised(dense(kind, depth), *given, exact=lattice)


@pytest.mark.parametrize("kind", FORMATS)
def test_one_block_of_each_matrix(kind):
    depth = FORMATS[kind].block
    x, w, y = [3, 5, depth], [3, 24, depth], [3, 5, 24]
    maps = [affine("gmnk", "gmk"), affine("gmnk", "gnk"), affine("gmnk", "gmn")]
    text = (f"func.func @f({arguments(kind, 'x', x)}, {arguments(kind, 'w', w)}, %out: {tensor(y, 'f32')})"
            f" -> {tensor(y, 'f32')} {{\n" + dequantise(kind, "x", x) + dequantise(kind, "w", w)
            + multiply("y", "xd", "wd", "out", maps, [x, w, y]) + f"  return %y : {tensor(y, 'f32')}\n}}\n")
    rng = np.random.default_rng(1)
    out = rng.integers(-64, 64, y).astype(np.float32)
    assert "<batched>" in check_raised(text, *operand(rng, kind, x), *operand(rng, kind, w), out, exact=True)


def grouped(kind):
    """A loop over three groups of rows, the second of which is empty."""
    depth = FORMATS[kind].block
    x, w, y = [8, depth], [3, 24, depth], [8, 24]
    rows, weights, sums = [["?", depth], [24, depth], ["?", 24]]
    product = multiply("p", "xg", "wg", "yz", [MK, NK, MN], [rows, weights, sums])
    return f"""func.func @f({arguments(kind, 'x', x)}, {arguments(kind, 'w', w)}, %starts: tensor<4xi32>,
                  %out: {tensor(y, 'f32')}) -> {tensor(y, 'f32')} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
{dequantise(kind, 'x', x)}{dequantise(kind, 'w', w)}
  %y = scf.for %g = %c0 to %c3 step %c1 iter_args(%acc = %out) -> ({tensor(y, 'f32')}) {{
    %first = tensor.extract %starts[%g] : tensor<4xi32>
    %next = arith.addi %g, %c1 : index
    %end = tensor.extract %starts[%next] : tensor<4xi32>
    %count = arith.subi %end, %first : i32
    %start = arith.index_cast %first : i32 to index
    %rows = arith.index_cast %count : i32 to index
    %xg = tensor.extract_slice %xd[%start, 0] [%rows, {depth}] [1, 1] : {tensor(x, 'f32')} to {tensor(rows, 'f32')}
    %wg = tensor.extract_slice %wd[%g, 0, 0] [1, 24, {depth}] [1, 1, 1] : {tensor(w, 'f32')} to {tensor(weights, 'f32')}
    %ye = tensor.empty(%rows) : {tensor(sums, 'f32')}
    %yz = linalg.fill ins(%zero : f32) outs(%ye : {tensor(sums, 'f32')}) -> {tensor(sums, 'f32')}
{product}
    %all = tensor.insert_slice %p into %acc[%start, 0] [%rows, 24] [1, 1] : {tensor(sums, 'f32')} into {tensor(y, 'f32')}
    scf.yield %all : {tensor(y, 'f32')}
  }}
  return %y : {tensor(y, 'f32')}
}}
"""


@pytest.mark.parametrize("kind", FORMATS)
def test_one_block_of_each_group(kind):
    depth = FORMATS[kind].block
    rng = np.random.default_rng(2)
    given = operand(rng, kind, [8, depth]) + operand(rng, kind, [3, 24, depth])
    out = rng.integers(-64, 64, (8, 24)).astype(np.float32)
    starts = np.array([1, 4, 4, 7], np.int32)
    assert "<ragged_rows, starts>" in check_raised(grouped(kind), *given, starts, out, exact=True)


@pytest.mark.parametrize("kind", ["mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"])
@pytest.mark.parametrize("matrices", [(1, 1), (3, 3), (3, 1)], ids=str)
@pytest.mark.parametrize("lattice", [True, False], ids=["lattice", "random"])
def test_tosa(kind, matrices, lattice):
    """TOSA's product, which the interpreter does not know, beside what it means."""
    x, w, y = [matrices[0], 5, 64], [matrices[1], 24, 64], [matrices[0], 5, 24]
    head = f"func.func @f({arguments(kind, 'x', x)}, {arguments(kind, 'w', w)}) -> {tensor(y, 'f32')} {{\n"
    types = [argument.split(": ")[1] for argument in head[head.index("(") + 1:head.index(") ->")].split(", ")]
    tail = f"  return %y : {tensor(y, 'f32')}\n}}\n"
    text = (head + "  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}\n"
            f"      : ({', '.join(types)}) -> {tensor(y, 'f32')}\n" + tail)
    maps = [affine("gmnk", "gmk"), affine("gmnk", "gnk" if matrices[1] > 1 else "0nk"), affine("gmnk", "gmn")]
    meaning = (head + dequantise(kind, "x", x) + dequantise(kind, "w", w) + zeros("z", y)
               + multiply("y", "xd", "wd", "z", maps, [x, w, y]) + tail)
    rng = np.random.default_rng(3)
    given = operand(rng, kind, x, lattice) + operand(rng, kind, w, lattice)
    raised = check_raised(text, *given, exact=lattice, meaning=meaning)
    assert ("<batched>" if matrices[1] > 1 else "<dense>") in raised and "tosa" not in raised
