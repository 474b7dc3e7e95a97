# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose rows have no scales, on the CPU, and the interpreter beside it.

What the CPU computes is defined to the bit: `define` is that definition, one f32 fma
after the other.
"""

import ctypes
import ctypes.util

import numpy as np
import pytest

from nvfp4_cases import *  # noqa: F403
from nvfp4_formats import Plain, random_scaled
from nvfp4_module import compile_module, run, scratch, tool, write_inputs
from weight_only import *  # noqa: F403
from weight_only import plain_product, plain_text


@pytest.fixture
def target():
    return "cpu"


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e5m2"])
@pytest.mark.parametrize("rows", ROWS)
def test_interpreter_agrees(rng, fmt, rows):
    """To the bit on a lattice, and within its bound elsewhere."""
    for exact in (True, False):
        groups = ragged([3, 0, 20], extra=2)
        product, data = plain_product(rng, groups, 40, 160, fmt, rows)
        if not exact:
            data[:23] = rng.standard_normal((23, 160))
        source = scratch() / f"plain_{fmt}_{rows}.mlir"
        source.write_text(plain_text("f", groups, fmt, rows, "bf16"))
        (ends,), (_, weights) = product.arguments()
        inputs = write_inputs([ends, data, *weights, product.destination("bf16")])
        code, output, error = run(tool("nvfp4-run"), source, "--device=cpu", "--check=reference",
                                  *(["--exact"] if exact else []), "--inputs=" + ",".join(inputs))
        assert code == 0, output + error


@pytest.mark.parametrize("scale", [0x08, 0])  # 2^-6, and 0, which makes NaN of infinity
def test_sums_before_scales_may_overflow(rng, scale):
    """Infinite on the CPU, which scales sums: the oracle promises no bits there."""
    product, data = plain_product(rng, dense(2), 8, 32, "nvfp4", "bf16")
    data[0, :], data[0, 3] = 0, 2.0**127
    product.rhs.codes[:], product.rhs.scales[:] = 7, scale
    source = scratch() / "overflow.mlir"
    source.write_text(plain_text("f", product.groups, "nvfp4", "bf16", "f32"))
    inputs = write_inputs([data, *product.rhs.store(), product.destination("f32")])
    code, output, error = run(tool("nvfp4-run"), source, "--device=cpu", "--check=reference",
                              "--inputs=" + ",".join(inputs))
    assert code == 0, output + error


ISAS = ["generic", "avx2", "avx512vnni", "avx512bf16", "amx"]
MANY_ROWS = 64

_fmaf = ctypes.CDLL(ctypes.util.find_library("m")).fmaf
_fmaf.argtypes, _fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float


def define(rows, rhs, many):
    """The later of two neighbours first; with many rows, weights are scaled and blocks
    are no sums of their own."""
    (m, k), block = rows.shape, rhs.fmt.block
    order = [e for e in (i ^ 1 for i in range(k + k % 2)) if e < k]
    weights = rhs.fmt.values[rhs.codes].tolist()
    scales = rhs.fmt.scales[rhs.scales].tolist()
    scaled = rhs.values().tolist()
    many &= rhs.fmt.name == "nvfp4"
    result = np.zeros((m, len(weights)), np.float32)
    for i, row in enumerate(rows.astype(np.float64).tolist()):
        for j, column in enumerate(scaled if many else weights):
            acc = 0.0
            for begin in range(0, k, block):
                total = acc if many else 0.0
                for e in order[begin:begin + block]:
                    total = _fmaf(row[e], column[e], total)
                acc = total if many else _fmaf(total, scales[j][begin // block], acc)
            result[i, j] = acc
    return result


def assert_same_bits(got, expected, what):
    """The same bits, or NaN in both."""
    same = got.view(np.uint32) == expected.view(np.uint32)
    same |= np.isnan(got) & np.isnan(expected)
    assert same.all(), (what, np.argwhere(~same)[0], got[~same][0], expected[~same][0])


def run_everywhere(monkeypatch, fmt, data, rhs, attrs=None):
    """The result of each instruction set that this CPU has, and of two threads."""
    rows = "bf16" if data.dtype == OUT["bf16"] else "f16"
    (n, k), shape = rhs.codes.shape, (len(data), len(rhs.codes))
    text = matmul_text("f", "<dense>", f"tensor<?x{k}x{rows}>", scaled_type(fmt, shape=(n, k)),
                       f"tensor<?x{n}xf32>", attrs=attrs)
    module = compile_module(text)
    for isa in ISAS:
        monkeypatch.setenv("NVFP4_CPU_ISA", isa)
        yield f"{fmt} {isa}", module.f(data, rhs.store(), poison(shape, "f32"))
    monkeypatch.setenv("NVFP4_NUM_THREADS", "2")
    yield f"{fmt}, 2 threads", module.f(data, rhs.store(), poison(shape, "f32"))
    monkeypatch.delenv("NVFP4_NUM_THREADS")


def any_rows(rng, m, k, rows):
    """Numbers whose sums are rounded."""
    numbers = rng.standard_normal((m, k)) * np.exp2(rng.integers(-6, 7, (m, k)))
    return numbers.astype(OUT[rows])


SHAPES = [(1, 66, 33), (3, 40, 135), (8, 16, 160), (9, 33, 64), (17, 8, 305), (64, 5, 48),
          (73, 4, 337)]


@pytest.mark.parametrize("fmt,rows,m,n,k", [
    *(("nvfp4", "bf16", *shape) for shape in SHAPES),
    *(("mxfp4", "bf16", *shape) for shape in SHAPES),
    ("nvfp4_e8m0", "bf16", 66, 20, 49), ("mxfp8_e5m2", "bf16", 9, 20, 49), ("nvfp4", "f16", 66, 20, 49)])
def test_every_bit_is_defined(rng, monkeypatch, fmt, rows, m, n, k):
    data = any_rows(rng, m, k, rows)
    rhs = random_scaled(rng, (n, k), fmt, lattice=False)
    expected = define(data, rhs, rows == "bf16" and m >= MANY_ROWS)
    for what, got in run_everywhere(monkeypatch, fmt, data, rhs):
        assert_same_bits(got, expected, what)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("m", [*range(1, 18), MANY_ROWS - 1])
def test_few_rows_are_independent(rng, monkeypatch, fmt, m):
    """Rows are independent of their number: the first of 200 has the bits of every other number."""
    data = any_rows(rng, 200, 96, "bf16")
    rhs = random_scaled(rng, (40, 96), fmt, lattice=False)
    invariant = {"determinism": "batch_invariant"}
    _, expected = next(run_everywhere(monkeypatch, fmt, data, rhs, attrs=invariant))
    for attrs in (None, invariant):
        for what, got in run_everywhere(monkeypatch, fmt, data[:m], rhs, attrs=attrs):
            assert_same_bits(got, expected[:m], what)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("m", [1, 5, 17, 300])
@pytest.mark.parametrize("least,most", [(-133, -100), (-133, -127), (-120, -105), (120, 127)])
def test_tiny_and_huge_rows(rng, monkeypatch, fmt, m, least, most):
    """vdpbf16ps takes subnormals for zero, and sums leave the range of f32."""
    numbers = rng.choice([-1, 1], (m, 64)) * np.exp2(rng.integers(least, most + 1, (m, 64)))
    numbers *= np.where(rng.random((m, 64)) < 0.5, 1, 1.5)
    data = numbers.astype(OUT["bf16"])
    data[rng.random((m, 64)) < 0.1] = 0
    rhs = random_scaled(rng, (6, 64), fmt, lattice=False)
    # Scales from the least to the greatest.
    rhs.scales[:] = rng.integers(0, 0x7F if fmt == "nvfp4" else 0xFF, rhs.scales.shape)
    expected = None
    for what, got in run_everywhere(monkeypatch, fmt, data, rhs):
        if expected is None:
            expected = define(data[-20:], rhs, m >= MANY_ROWS)
        assert_same_bits(got[-20:], expected, what)


@pytest.mark.parametrize("m", [1, 12, 70])
def test_one_tiny_element(rng, monkeypatch, m):
    """Is enough, wherever it is: its product is all that is left of its row."""
    for k in (40, 700):
        data = any_rows(rng, m, k, "bf16")
        row, column = rng.integers(m), rng.integers(k)
        data[row] = 0
        data[row, column] = 2.0**-131
        rhs = random_scaled(rng, (5, k), "nvfp4")
        rhs.codes[:, column] = 2
        for what, got in run_everywhere(monkeypatch, "nvfp4", data, rhs):
            scale = rhs.fmt.scales[rhs.scales[:, column // 16]]
            np.testing.assert_array_equal(got[row], scale * 2.0**-131, what)


@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("m", [2, 17, 65])
def test_special_values_everywhere(rng, monkeypatch, fmt, m):
    """NaN and infinity stay in their rows, a NaN scale in its column."""
    data = rng.integers(1, 9, (m, 80)).astype(OUT["bf16"])
    data[0, 7], data[1, 70] = np.nan, -np.inf
    rhs = random_scaled(rng, (9, 80), fmt)
    rhs.codes[:, 70] = 2
    rhs.scales[4, 1] = rhs.fmt.nan_scale
    expected = define(data[:2], rhs, m >= MANY_ROWS)
    for what, got in run_everywhere(monkeypatch, fmt, data, rhs):
        assert np.isnan(got[0]).all() and np.isnan(got[:, 4]).all(), what
        assert_same_bits(got[:2], expected, what)
        others = np.delete(got, 4, 1)
        assert np.isneginf(others[1]).all() and np.isfinite(others[2:]).all(), what


def test_groups_of_few_and_many(rng, monkeypatch):
    """Each group by its own rows: NaN lies where none reads."""
    groups = ragged([70, 0, 3, 64, 63, 1], extra=3)
    product, data = plain_product(rng, groups, 24, 112, "nvfp4", "bf16")
    owned = ~np.isnan(data).any(-1)
    data[owned] = any_rows(rng, owned.sum(), 112, "bf16")
    (ends,), (_, weights) = product.arguments()
    text = plain_text("f", groups, "nvfp4", "bf16", "f32")
    module = compile_module(text)
    for isa in ISAS:
        monkeypatch.setenv("NVFP4_CPU_ISA", isa)
        got = module.f(ends, data, weights, product.destination("f32"))
        for g, (begin, count) in enumerate(zip(groups.begins, groups.counts)):
            rows = slice(begin, begin + count)
            expected = define(data[rows], product.rhs[g], count >= MANY_ROWS)
            assert_same_bits(got[rows], expected, (isa, count))
