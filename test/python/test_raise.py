# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What raise-to-grouped-scaled-gemm makes of upstream's spelling computes what
that says: the functions of its lit test, raised, compiled and run, against the
dequantised product in f64. On lattice inputs every sum is exact in f32."""

import functools
import pathlib
import re

import ml_dtypes
import numpy as np
import pytest

from nvfp4_module import compile_module, run, scratch, tool

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "Conversion" / "UpstreamToGsg"
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


def decode_by_table(text):
    """`text` with `scaling_extf`, which upstream does not lower for f8E4M3FN, as two tables."""
    tables = "".join(
        f"  %{name} = arith.constant dense<[{', '.join(f'0x{bits:08X}' for bits in numbers)}]> : tensor<256xf32>\n"
        for name, dtype in (("e4m3", ml_dtypes.float8_e4m3fn), ("e8m0", ml_dtypes.float8_e8m0fnu))
        for numbers in [np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32).view(np.uint32)])

    def decode(match):
        result, *operands, kind = match.groups()
        lines = []
        for table, operand, source in zip(("e4m3", "e8m0"), operands, ("f8E4M3FN", "f8E8M0FNU")):
            stem = f"{result}_{table}"
            lines += [f"{stem}_bits = arith.bitcast {operand} : {source} to i8",
                      f"{stem}_index = arith.index_castui {stem}_bits : i8 to index",
                      f"{stem} = tensor.extract %{table}[{stem}_index] : tensor<256xf32>"]
        wide = result if kind == "f32" else result + "_wide"
        lines.append(f"{wide} = arith.mulf {result}_e4m3, {result}_e8m0 : f32")
        if wide != result:
            lines.append(f"{result} = arith.truncf {wide} : f32 to {kind}")
        return "\n    ".join(lines)

    head, body = text.split(" {\n", 1)
    return f"{head} {{\n{tables}" + re.sub(
        r"(%\w+) = arith.scaling_extf (%\w+), (%\w+) : f8E4M3FN, f8E8M0FNU to (\w+)", decode, body)


@functools.cache
def module(name, edit=None, file="raise.mlir", options="", is_raised=True):
    """The function, compiled with the products that it is raised to or, if asked for, without."""
    text = (FOLDER / file).read_text()
    aliases = "\n".join(re.findall(r"^#.*", text, re.MULTILINE))
    function = re.search(rf"^func.func @{name}\(.*?^}}\n", text, re.MULTILINE | re.DOTALL).group()
    if edit:
        assert edit[0] in function
        function = function.replace(*edit)
    path = scratch() / f"raise-{name}.mlir"
    path.write_text(f"{aliases}\n{function}")
    if not is_raised:
        return compile_module(decode_by_table(path.read_text()))
    code, raised, error = run(tool("nvfp4-opt"), path, "--nvfp4-pack-entry-points",
                              "--raise-to-grouped-scaled-gemm" + options)
    assert code == 0, error
    assert "grouped_scaled_gemm.matmul" in raised and "addf" not in raised
    return compile_module(raised)


def unpack(data):
    return E2M1[np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)]


def decode(data, dtype):
    return data.view(dtype).astype(np.float64)


def e4m3_scales(rng, shape):
    return (2.0 ** rng.integers(-3, 4, shape)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


def e8m0_scales(rng, shape):
    return rng.integers(124, 131, shape).astype(np.uint8)


def spread(scales, block):
    return np.repeat(scales, block, -1)


def e4m3_codes(rng, shape):
    return rng.integers(-8, 9, shape).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


# The weights as they are, and with the first value of each byte in the high half.
HIGH_FIRST = ("%shift = arith.muli %four, %i32 : i32",
              "%one = arith.constant 1 : i32\n%low = arith.subi %one, %i32 : i32\n%shift = arith.muli %four, %low : i32")


@pytest.mark.parametrize("edit", [None, HIGH_FIRST], ids=["low first", "high first"])
def test_blocks_and_bytes(edit):
    rng = np.random.default_rng(0)
    x, w = (rng.integers(0, 256, (rows, 32), np.uint8) for rows in (5, 48))
    xs, ws = (e4m3_scales(rng, (rows, 4)) for rows in (5, 48))
    out = rng.integers(-64, 64, (5, 48)).astype(np.float32)
    e4m3 = ml_dtypes.float8_e4m3fn
    expected = out + ((unpack(x) * spread(decode(xs, e4m3), 16)) @
                      (unpack(w) * spread(decode(ws, e4m3), 16)).T)
    given = w >> 4 | w << 4 if edit else w
    np.testing.assert_array_equal(module("blocks_and_bytes", edit).blocks_and_bytes(x, xs, given, ws, out),
                                  expected.astype(np.float32))


def test_scaling_extf():
    rng = np.random.default_rng(1)
    x = rng.integers(-8, 9, (8, 64)).astype(ml_dtypes.float8_e5m2)
    w = rng.integers(0, 256, (64, 12), np.uint8)
    xs, ws = e8m0_scales(rng, (8, 2)), e8m0_scales(rng, (2, 24))
    e8m0 = ml_dtypes.float8_e8m0fnu
    expected = ((x.astype(np.float64) * spread(decode(xs, e8m0), 32)) @
                (unpack(w) * spread(decode(ws, e8m0).T, 32).T))
    got = module("scaling_extf").scaling_extf(x.view(np.uint8), xs, w, ws)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_batched_blocks():
    rng = np.random.default_rng(2)
    x, w = e4m3_codes(rng, (5, 8, 2, 32)), e4m3_codes(rng, (5, 24, 2, 32))
    xs, ws = e8m0_scales(rng, (5, 8, 2)), e8m0_scales(rng, (5, 24, 2, 1))
    out = rng.integers(-64, 64, (5, 8, 24)).astype(np.float32)
    e4m3, e8m0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    expected = out + np.einsum("lmbj,lmb,lnbj,lnb->lmn", decode(x, e4m3), decode(xs, e8m0),
                               decode(w, e4m3), decode(ws, e8m0)[..., 0])
    np.testing.assert_array_equal(module("batched_blocks").batched_blocks(x, xs, w, ws, out),
                                  expected.astype(np.float32))


@pytest.mark.parametrize("divides", [False, True], ids=["multiplies", "divides"])
def test_global_scales(divides):
    """One number a matrix in front of each block scale, a power of two here so that nothing is rounded."""
    rng = np.random.default_rng(20)
    x, w = (rng.integers(0, 256, (5, rows, 32), np.uint8) for rows in (8, 24))
    xs, ws = (e4m3_scales(rng, (5, rows, 4)) for rows in (8, 24))
    g = (2.0 ** rng.integers(-3, 4, 5)).astype(np.float32)
    out = rng.integers(-64, 64, (5, 8, 24)).astype(np.float32)
    e4m3 = ml_dtypes.float8_e4m3fn
    sums = (unpack(x) * spread(decode(xs, e4m3), 16)) @ (unpack(w) * spread(decode(ws, e4m3), 16)).transpose(0, 2, 1)
    edit = ("%ag = arith.mulf %ase, %ga", "%ag = arith.divf %ase, %ga") if divides else None
    got = module("one_a_matrix", edit, file="move-global-scales.mlir", options="=move-global-scales").one_a_matrix(
        x, xs, w, ws, g, np.float32(4).reshape(()), out)
    expected = out + sums * 4 * (1 / g if divides else g)[:, None, None]
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("edit", [None, ("tensor<3x8x", "tensor<?x8x")])
def test_sequences(edit):
    """With a number of sequences that is known, and with one that is not."""
    rng = np.random.default_rng(3)
    x, w = e4m3_codes(rng, (3, 8, 64)), e4m3_codes(rng, (16, 64))
    xs, ws = e8m0_scales(rng, (3, 8, 2)), e8m0_scales(rng, (16, 2))
    out = rng.integers(-64, 64, (3, 8, 16)).astype(np.float32)
    e4m3, e8m0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
    expected = out + np.einsum("bsk,bsk,nk,nk->bsn", decode(x, e4m3),
                               spread(decode(xs, e8m0), 32), decode(w, e4m3),
                               spread(decode(ws, e8m0), 32))
    np.testing.assert_array_equal(module("sequences", edit).sequences(x, xs, w, ws, out),
                                  expected.astype(np.float32))


def test_weight_only():
    rng = np.random.default_rng(4)
    x = rng.integers(-8, 9, (5, 64)).astype(np.float32)
    w, ws = rng.integers(0, 256, (48, 32), np.uint8), e4m3_scales(rng, (48, 4))
    out = rng.integers(-64, 64, (5, 48)).astype(np.float32)
    weights = unpack(w) * spread(decode(ws, ml_dtypes.float8_e4m3fn), 16)
    expected = out + 2 * x.astype(np.float64) @ weights.T
    np.testing.assert_array_equal(module("weight_only").weight_only(x, w, ws, out), expected.astype(np.float32))


def test_weight_only_row():
    rng = np.random.default_rng(5)
    x = rng.integers(-8, 9, 64).astype(np.float16)
    w, ws = e4m3_codes(rng, (16, 64)), e8m0_scales(rng, (16, 2))
    out = rng.integers(-64, 64, 16).astype(np.float32)
    weights = decode(w, ml_dtypes.float8_e4m3fn) * spread(decode(ws, ml_dtypes.float8_e8m0fnu), 32)
    expected = out + weights @ x.astype(np.float64)
    np.testing.assert_array_equal(module("weight_only_row").weight_only_row(x, w, ws, out),
                                  expected.astype(np.float32))


def grouped_operands(seed, rows=10):
    """Codes and scales of MXFP8 rows, and of weights for three groups, the second of which has no rows."""
    rng = np.random.default_rng(seed)
    x, w = e4m3_codes(rng, (rows, 64)), e4m3_codes(rng, (3, 16, 64))
    return rng, x, e8m0_scales(rng, (rows, 2)), w, e8m0_scales(rng, (3, 16, 2))


def dequantise(codes, scales):
    return decode(codes, ml_dtypes.float8_e4m3fn) * spread(decode(scales, ml_dtypes.float8_e8m0fnu), 32)


def multiply_groups(rows, weights, starts, out):
    """Rows of no group keep what `out` has, where it is not added to."""
    for weight, first, end in zip(weights, starts[:-1], starts[1:]):
        out[first:end] = rows[first:end] @ weight.T
    return out


def test_groups_by_starts():
    rng, x, xs, w, ws = grouped_operands(6)
    starts = np.array([1, 4, 4, 9], np.int32)
    out = rng.integers(-64, 64, (10, 16)).astype(ml_dtypes.bfloat16)
    expected = multiply_groups(dequantise(x, xs), dequantise(w, ws), starts, out.astype(np.float64))
    got = module("starts", file="raise-groups.mlir").starts(x, xs, w, ws, starts, out)
    np.testing.assert_array_equal(got.astype(np.float64),
                                  expected.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64))


def test_groups_by_ends():
    rng, x, xs, w, ws = grouped_operands(7)
    ends = np.array([3, 3, 8], np.int64)
    out = rng.integers(-64, 64, (10, 16)).astype(np.float32)
    sums = multiply_groups(dequantise(x, xs), dequantise(w, ws), [0, *ends], np.zeros((10, 16)))
    got = module("ends", file="raise-groups.mlir").ends(x, xs, w, ws, ends, out)
    np.testing.assert_array_equal(got, (out + sums).astype(np.float32))


def test_groups_by_sizes():
    rng, _, _, w, ws = grouped_operands(8)
    x = rng.integers(-8, 9, (10, 64)).astype(ml_dtypes.bfloat16)
    sizes, numbers = np.array([5, 0, 3], np.int32), np.array([2, 0.5, -4], np.float32)
    out = rng.integers(-64, 64, (10, 16)).astype(np.float32)
    weights = dequantise(w, ws) * numbers[:, None, None]
    expected = multiply_groups(x.astype(np.float64), weights, [0, *np.cumsum(sizes)], out.astype(np.float64))
    got = module("sizes", file="raise-groups.mlir", options="=move-global-scales").sizes(
        x, np.ascontiguousarray(w.transpose(0, 2, 1)), np.ascontiguousarray(ws.transpose(0, 2, 1)),
        numbers, sizes, out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_one_expert():
    rng, _, _, w, ws = grouped_operands(9)
    x = rng.integers(-8, 9, (8, 64)).astype(ml_dtypes.bfloat16)
    out = rng.integers(-64, 64, (8, 16)).astype(np.float32)
    expected = out + x.astype(np.float64) @ dequantise(w, ws)[2].T
    got = module("one_expert", file="raise-groups.mlir").one_expert(x, w, ws, out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def masked_rows(rows, weights, starts, out):
    """Rows of no group gain nothing."""
    return out + multiply_groups(rows, weights, starts, np.zeros(out.shape))


@pytest.mark.parametrize("ends", [[3, 3, 8], [0, 0, 0], [10, 10, 10]], ids=str)
def test_ragged_dot(ends):
    """Rows of no group are zero."""
    rng, _, _, w, ws = grouped_operands(10)
    x = rng.integers(-8, 9, (10, 64)).astype(ml_dtypes.bfloat16)
    expected = masked_rows(x.astype(np.float64), dequantise(w, ws), [0, *ends], np.zeros((10, 16)))
    got = module("ragged_dot", file="raise-masks.mlir").ragged_dot(
        x, np.ascontiguousarray(w.transpose(0, 2, 1)), np.ascontiguousarray(ws.transpose(0, 2, 1)),
        np.array(ends, np.int32), np.zeros(3, np.int32))
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_mask_in_the_product():
    rng, x, xs, w, ws = grouped_operands(11)
    starts = np.array([1, 4, 4, 9])
    out = rng.integers(-64, 64, (10, 16)).astype(np.float32)
    expected = masked_rows(dequantise(x, xs), dequantise(w, ws), starts, out.astype(np.float64))
    got = module("mask_in_the_product", file="raise-masks.mlir").mask_in_the_product(x, xs, w, ws, starts, out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("name,dtype", [("stacked", ml_dtypes.bfloat16), ("every_other_column", np.float16)])
def test_tables_of_sixteen_numbers(name, dtype):
    rng = np.random.default_rng(12)
    x = rng.integers(-8, 9, (5, 64)).astype(dtype)
    w, ws = rng.integers(0, 256, (48, 32), np.uint8), e8m0_scales(rng, (48, 2))
    out = rng.integers(-64, 64, (5, 48)).astype(np.float32)
    weights = unpack(w) * spread(decode(ws, ml_dtypes.float8_e8m0fnu), 32)
    expected = out + x.astype(np.float64) @ weights.T
    blocks = w.reshape(48, 2, 16) if name == "stacked" else w
    got = getattr(module(name, file="raise-tables.mlir"), name)(x, blocks, ws, out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def check_codes(name, file, rng, x, columns, scales, scale_type, block):
    """Function ``name``, which dequantises packed codes [columns, 32] and adds their product with ``x`` to a result."""
    w, ws = rng.integers(0, 256, (columns, 32), np.uint8), scales(rng, (columns, 64 // block))
    out = rng.integers(-64, 64, (len(x), columns)).astype(np.float32)
    weights = unpack(w) * spread(decode(ws, scale_type), block)
    got = getattr(module(name, file=file), name)(x, w, ws, out)
    np.testing.assert_array_equal(got, (out + x.astype(np.float64) @ weights.T).astype(np.float32))


def test_stacked_codes():
    rng = np.random.default_rng(13)
    x = rng.integers(-8, 9, (5, 64)).astype(np.float16)
    check_codes("stacked_codes", "raise-tables.mlir", rng, x, 48, e4m3_scales, ml_dtypes.float8_e4m3fn, 16)


def test_guarded_look_ups():
    rng = np.random.default_rng(15)
    x = rng.integers(-8, 9, (8, 64)).astype(ml_dtypes.bfloat16)
    check_codes("guarded", "raise-guards.mlir", rng, x, 16, e8m0_scales, ml_dtypes.float8_e8m0fnu, 32)


@pytest.mark.parametrize("name", ["dense", "looked_up"])
def test_biases(name):
    rng = np.random.default_rng(18)
    shape = (16,) if name == "dense" else (4, 16)
    x = rng.integers(-8, 9, (8, 64)).astype(ml_dtypes.bfloat16)
    w = rng.integers(-8, 9, (*shape, 64)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    ws, bias = e8m0_scales(rng, (*shape, 2)), rng.integers(-64, 64, shape).astype(np.float32)
    weights = decode(w, ml_dtypes.float8_e4m3fn) * spread(decode(ws, ml_dtypes.float8_e8m0fnu), 32)
    if name == "dense":
        last = rng.integers(-64, 64, (8, 16)).astype(np.float32)
        expected = x.astype(np.float64) @ weights.T + bias + last
    else:
        last = rng.integers(0, 4, 8).astype(np.int32)
        expected = np.einsum("mk,mnk->mn", x.astype(np.float64), weights[last]) + bias[last]
    got = getattr(module(name, file="raise-bias.mlir"), name)(x, w, ws, bias, last)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("name", ["halves", "clamped", "permuted"])
def test_written_out_swiglu(name):
    rng = np.random.default_rng(17)
    x = rng.integers(-2, 3, (8, 64)).astype(ml_dtypes.bfloat16)
    w, ws = rng.integers(0, 256, (64, 32), np.uint8), np.full((64, 4), 2.0**-3, ml_dtypes.float8_e4m3fn).view(np.uint8)
    z = x.astype(np.float64) @ (unpack(w) * 2.0**-3).T
    places = rng.permutation(8).astype(np.int32)
    gate, up = (z[:, ::2], z[:, 1::2]) if name == "clamped" else (z[:, :32], z[:, 32:])
    slope = 1
    if name == "permuted":
        gate, up = up[places], gate[places]
    if name == "clamped":
        gate, up, slope = np.minimum(gate, 7), np.clip(up, -7, 7) + 1, 1.702
        assert (z > 7).any() and (z < -7).any()
    expected = gate * up / (1 + np.exp(-slope * gate))
    got = getattr(module(name, file="raise-glu.mlir"), name)(x, w, ws, *([places] if name == "permuted" else []))
    # Products are exact; bf16 has 8 bits, and the arithmetic of f32 gives 20.
    bound = (2.0**-8 if name == "halves" else 0) + 2.0**-20
    assert (np.abs(got.astype(np.float64).reshape(8, 32) - expected) <= bound * np.abs(expected)).all()


@pytest.mark.parametrize("name", ["added", "all_experts", "all_experts_with_factors"])
def test_rows_behind_columns(name):
    rng = np.random.default_rng(16)
    shape = (16,) if name == "added" else (3, 16)
    x = rng.integers(-8, 9, (8, 64)).astype(ml_dtypes.bfloat16)
    w = rng.integers(-8, 9, (*shape, 64)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    ws = e8m0_scales(rng, (*shape, 2))
    weights = decode(w, ml_dtypes.float8_e4m3fn) * spread(decode(ws, ml_dtypes.float8_e8m0fnu), 32)
    expected, more = weights @ x.astype(np.float64).T, ()
    if name == "added":
        more = (rng.integers(-64, 64, (16, 8)).astype(np.float32),)
        expected = expected + more[0]
    if name == "all_experts_with_factors":
        more = (np.array([0.5, 4, -2], np.float32),)
        expected *= more[0][:, None, None]
    got = getattr(module(name, file="raise-weights-first.mlir", options="=move-global-scales"), name)(x, w, ws, *more)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("name", ["every_expert", "every_expert_of_scaled_rows"])
def test_rows_of_every_expert(name):
    rng, x, xs, w, ws = grouped_operands(14, rows=8)
    rows, operands = dequantise(x, xs), (x, xs)
    if name == "every_expert":
        rows = rng.integers(-8, 9, (8, 64)).astype(ml_dtypes.bfloat16)
        operands = rows,
    out = rng.integers(-64, 64, (3, 8, 16)).astype(np.float32)
    expected = out + np.einsum("mk,gnk->gmn", rows.astype(np.float64), dequantise(w, ws))
    got = getattr(module(name), name)(*operands, w, ws, out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_computed_bytes():
    rng = np.random.default_rng(15)
    x = rng.integers(-8, 9, (5, 64)).astype(np.float16)
    w, ws = rng.integers(0, 256, (48, 32), np.uint8), e8m0_scales(rng, (96, 2))
    rows = rng.permutation(96)[:48].astype(np.int32)
    out = rng.integers(-64, 64, (5, 48)).astype(np.float32)
    weights = -unpack(w) * spread(decode(ws, ml_dtypes.float8_e8m0fnu)[rows], 32)
    got = module("computed_bytes", file="raise-tables.mlir").computed_bytes(x, w, ws, rows, out)
    np.testing.assert_array_equal(got, (out + x.astype(np.float64) @ weights.T).astype(np.float32))


def test_groups_by_table():
    """Halves of bytes that are looked up in each step."""
    rng = np.random.default_rng(16)
    x = rng.integers(-8, 9, (10, 64)).astype(ml_dtypes.bfloat16)
    w, ws = rng.integers(0, 256, (3, 16, 32), np.uint8), e8m0_scales(rng, (3, 16, 2))
    starts = np.array([1, 4, 4, 9], np.int32)
    out = rng.integers(-64, 64, (10, 16)).astype(np.float32)
    weights = unpack(w) * spread(decode(ws, ml_dtypes.float8_e8m0fnu), 32)
    expected = multiply_groups(x.astype(np.float64), weights, starts, out.astype(np.float64))
    got = module("halves", file="raise-groups.mlir").halves(x, w, ws, starts, out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def multiply_looked_up(rows, weights, experts):
    """rows [T, K] or [T, S, K] by the weights of experts [T, S]."""
    rows = rows if rows.ndim == 3 else rows[:, None]
    return np.einsum("tsk,tsnk->tsn", np.broadcast_to(rows, (*experts.shape, rows.shape[-1])), weights[experts])


def lookup_operands(seed):
    """Rows, and the weights of four experts, the second of which few or none choose."""
    rng = np.random.default_rng(seed)
    w, ws = e4m3_codes(rng, (4, 16, 64)), e8m0_scales(rng, (4, 16, 2))
    return rng, w, ws, rng.choice([0, 2, 3], (6, 3))


@pytest.mark.parametrize("is_raised", [True, False])
@pytest.mark.parametrize("tokens", [0, 1, 7])
def test_one_expert_a_token(tokens, is_raised):
    """Indices count from the end where they are negative."""
    rng, w, ws, _ = lookup_operands(17)
    x = rng.integers(-8, 9, (tokens, 64)).astype(ml_dtypes.bfloat16)
    ids = rng.integers(-4, 4, tokens)
    expected = multiply_looked_up(x.astype(np.float64), dequantise(w, ws), ids[:, None])[:, 0]
    built = module("one_expert_a_token", file="raise-lookups.mlir", is_raised=is_raised)
    np.testing.assert_array_equal(built.one_expert_a_token(x, w, ws, ids), expected.astype(np.float32))


def test_experts_of_scaled_rows():
    rng, w, ws, ids = lookup_operands(18)
    x, xs = e4m3_codes(rng, (6, 64)), e8m0_scales(rng, (6, 2))
    out = rng.integers(-64, 64, (6, 3, 16)).astype(np.float32)
    expected = out + multiply_looked_up(dequantise(x, xs), dequantise(w, ws), ids)
    got = module("experts_of_scaled_rows", file="raise-lookups.mlir").experts_of_scaled_rows(
        x, xs, w, ws, ids.astype(np.int32)[..., None], out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_indices_that_no_expert_has():
    """Undefined before: -1 adds nothing, others are an error."""
    rng, w, ws, ids = lookup_operands(18)
    x, xs = e4m3_codes(rng, (6, 64)), e8m0_scales(rng, (6, 2))
    out = rng.integers(-64, 64, (6, 3, 16)).astype(np.float32)
    sums = multiply_looked_up(dequantise(x, xs), dequantise(w, ws), ids)
    ids[2, 1], sums[2, 1] = -1, 0
    built = module("experts_of_scaled_rows", file="raise-lookups.mlir")
    got = built.experts_of_scaled_rows(x, xs, w, ws, ids.astype(np.int32)[..., None], out.copy())
    np.testing.assert_array_equal(got, (out + sums).astype(np.float32))
    ids[2, 1] = 4
    with pytest.raises(RuntimeError, match="sort_tokens_c6"):
        built.experts_of_scaled_rows(x, xs, w, ws, ids.astype(np.int32)[..., None], out)


@pytest.mark.parametrize("is_raised", [True, False])
def test_rows_of_experts(is_raised):
    """Indices that no expert has are clamped."""
    rng, w, ws, ids = lookup_operands(19)
    x = rng.integers(-8, 9, (6, 3, 64)).astype(np.float16)
    ids[0] = -7, 4, 2**31 - 1
    expected = multiply_looked_up(x.astype(np.float64), dequantise(w, ws), ids.clip(0, 3))
    got = module("rows_of_experts", file="raise-lookups.mlir", is_raised=is_raised).rows_of_experts(
        x.reshape(6, 3, 2, 32), w.reshape(4, 16, 2, 32), ws, ids.astype(np.int32))
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_matrix_by_vector(is_raised):
    rng, w, ws, ids = lookup_operands(20)
    x = rng.integers(-8, 9, (6, 3, 64)).astype(ml_dtypes.bfloat16)
    expected = multiply_looked_up(x.astype(np.float64), dequantise(w, ws), ids)
    got = module("matrix_by_vector", file="raise-lookups.mlir", is_raised=is_raised).matrix_by_vector(x, w, ws, ids)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_matrices_by_vector(is_raised):
    rng, w, ws, ids = lookup_operands(21)
    x = rng.integers(-8, 9, (6, 64)).astype(ml_dtypes.bfloat16)
    expected = multiply_looked_up(x.astype(np.float64), dequantise(w, ws), ids)
    got = module("matrices_by_vector", file="raise-lookups.mlir", is_raised=is_raised).matrices_by_vector(x, w, ws, ids)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_numbers_of_experts(is_raised):
    rng, w, ws, ids = lookup_operands(22)
    x = rng.integers(-8, 9, (6, 64)).astype(ml_dtypes.bfloat16)
    numbers = np.array([2, .5, -4, 1], np.float32)
    out = rng.integers(-64, 64, (6, 16)).astype(np.float32)
    weights = dequantise(w, ws) * numbers[:, None, None]
    expected = out + multiply_looked_up(x.astype(np.float64), weights, ids[:, :1])[:, 0]
    built = module("numbers_of_experts", file="raise-lookups.mlir", options="=move-global-scales", is_raised=is_raised)
    got = built.numbers_of_experts(x, w, ws, numbers, ids[:, 0].copy(), out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_bytes_of_experts():
    rng = np.random.default_rng(29)
    x = rng.integers(-8, 9, (6, 64)).astype(np.float16)
    w, ws = rng.integers(0, 256, (4, 16, 32), np.uint8), e4m3_scales(rng, (4, 16, 4))
    ids = rng.choice([0, 2, 3], 6).astype(np.int32)
    out = rng.integers(-64, 64, (6, 16)).astype(np.float32)
    weights = unpack(w) * spread(decode(ws, ml_dtypes.float8_e4m3fn), 16)
    expected = out + multiply_looked_up(x.astype(np.float64), weights, ids[:, None])[:, 0]
    got = module("bytes_of_experts", file="raise-lookups.mlir").bytes_of_experts(x, w, ws, ids, out)
    np.testing.assert_array_equal(got, expected.astype(np.float32))


def choose(rows, weights, ids):
    """Numbers that no expert has choose nothing."""
    is_expert = (ids >= 0) & (ids < len(weights))
    return multiply_looked_up(rows, weights, np.where(is_expert, ids, 0)) * is_expert[..., None]


@pytest.mark.parametrize("is_raised", [True, False])
def test_one_hot_of_products(is_raised):
    rng, w, ws, _ = lookup_operands(23)
    x = rng.integers(-8, 9, (6, 64)).astype(ml_dtypes.bfloat16)
    ids = np.array([3, -1, 0, 2**32 + 1, 4, 3])
    expected = choose(x.astype(np.float64), dequantise(w, ws), ids[:, None])[:, 0]
    built = module("one_hot_of_products", file="raise-choices.mlir", is_raised=is_raised)
    np.testing.assert_array_equal(built.one_hot_of_products(x, w, ws, ids), expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_one_hot_rows(is_raised):
    rng, w, ws, _ = lookup_operands(24)
    x = rng.integers(-8, 9, (7, 64)).astype(np.float16)
    ids = np.array([3, -2**31, 0, 2**31 - 1, 4, 3, 1], np.int32)
    out = rng.integers(-64, 64, (7, 16)).astype(np.float32)
    expected = out + choose(x.astype(np.float64), dequantise(w, ws), ids[:, None])[:, 0]
    built = module("one_hot_rows", file="raise-choices.mlir", is_raised=is_raised)
    np.testing.assert_array_equal(built.one_hot_rows(x, w, ws, ids, out), expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_choices_of_scaled_rows(is_raised):
    rng, w, ws, ids = lookup_operands(25)
    x, xs = e4m3_codes(rng, (6, 64)), e8m0_scales(rng, (6, 2))
    ids[1] = -1, 1, 4
    expected = choose(dequantise(x, xs), dequantise(w, ws), ids)
    built = module("choices_of_scaled_rows", file="raise-choices.mlir", is_raised=is_raised)
    got = built.choices_of_scaled_rows(x, xs, w, ws, ids.astype(np.int32))
    np.testing.assert_array_equal(got, expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_parts_of_k(is_raised):
    rng = np.random.default_rng(26)
    x = rng.integers(-8, 9, (8, 256)).astype(ml_dtypes.bfloat16)
    w, ws = e4m3_codes(rng, (16, 256)), e8m0_scales(rng, (16, 8))
    out = rng.integers(-64, 64, (8, 16)).astype(np.float32)
    expected = out + x.astype(np.float64) @ dequantise(w, ws).T
    built = module("parts_of_k", file="raise-depth-loops.mlir", is_raised=is_raised)
    np.testing.assert_array_equal(built.parts_of_k(x, w, ws, out), expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_groups_and_parts_of_k(is_raised):
    rng = np.random.default_rng(27)
    x, xs = e4m3_codes(rng, (10, 256)), e8m0_scales(rng, (10, 8))
    w, ws = e4m3_codes(rng, (3, 16, 256)), e8m0_scales(rng, (3, 16, 8))
    starts = np.array([1, 4, 4, 9], np.int32)
    out = rng.integers(-64, 64, (10, 16)).astype(np.float32)
    expected = multiply_groups(dequantise(x, xs), dequantise(w, ws), starts, out.astype(np.float64))
    built = module("groups_and_parts_of_k", file="raise-depth-loops.mlir", is_raised=is_raised)
    np.testing.assert_array_equal(built.groups_and_parts_of_k(x, xs, w, ws, starts, out), expected.astype(np.float32))


@pytest.mark.parametrize("is_raised", [True, False])
def test_all_rows(is_raised):
    rng = np.random.default_rng(28)
    x = rng.integers(-8, 9, (10, 256)).astype(ml_dtypes.bfloat16)
    w, ws = e4m3_codes(rng, (3, 16, 256)), e8m0_scales(rng, (3, 16, 8))
    ends = np.array([3, 3, 8], np.int64)
    out = rng.integers(-64, 64, (10, 16)).astype(np.float32)
    expected = masked_rows(x.astype(np.float64), dequantise(w, ws), [0, *ends], out.astype(np.float64))
    built = module("all_rows", file="raise-depth-loops.mlir", is_raised=is_raised)
    np.testing.assert_array_equal(built.all_rows(x, w, ws, ends, out), expected.astype(np.float32))
