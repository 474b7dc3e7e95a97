# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""sum_rows on the CPU and on memory of a device, against sums in numpy."""

import numpy as np
import pytest

import nvfp4
from device_calls import SimMemory, calls_on
from test_py_device_operations import DTYPES, TARGETS, cross

#: Name, rows of the tensor and what makes the groups.
GROUPS = {
    "ends": lambda: nvfp4.ragged_rows(ends=np.array([0, 3, 3, 150, 290], np.int32)),
    "aligned": lambda: nvfp4.ragged_rows(sizes=[5, 0, 33, 130, 1], align=16),
    "starts": lambda: nvfp4.ragged_rows(starts=np.array([2, 2, 140, 299], np.int64)),
    "one": lambda: nvfp4.ragged_rows(ends=np.array([300], np.int64)),
    "none": lambda: None,
}
STACKS = {"masked": lambda: nvfp4.masked(np.array([0, 70, 3], np.int32)), "none": lambda: None}
COLUMNS = [64, 40, 7, 1, 0, 130]


def wanted_of(x, groups, prob):
    """Exact products, summed with 64 bits of mantissa."""
    rows = x.astype(np.longdouble)
    if prob is not None:
        rows = rows * prob.astype(np.longdouble)[..., None]
    if x.ndim == 3:
        ranges = [(0, x.shape[1])] * x.shape[0] if groups is None else groups.ranges()
        return np.stack([rows[g, first:end].sum(axis=0) for g, (first, end) in enumerate(ranges)]).astype(np.float32)
    if groups is None:
        return rows.sum(axis=0).astype(np.float32)
    return np.stack([rows[first:end].sum(axis=0) for first, end in groups.ranges()]).astype(np.float32)


def make(rng, shape, element, has_prob):
    """Numbers of which some sums cancel, and factors with zeros."""
    x = (rng.standard_normal(shape) * 2.0 ** rng.integers(-12, 12, shape)).astype(DTYPES[element])
    return x, np.asarray(rng.standard_normal(shape[:-1]) * (rng.random(shape[:-1]) < 0.8), np.float32) if has_prob else None


def compare(got, x, groups, prob):
    """Equal, but for a rounding of float64 before the one to float32."""
    assert got.dtype == np.float32
    magnitude = wanted_of(np.abs(x.astype(np.float64)), groups, None if prob is None else np.abs(prob))
    wanted = wanted_of(x, groups, prob)
    np.testing.assert_array_less(np.abs(got - wanted), np.spacing(np.abs(wanted)) + 2.0**-44 * magnitude + 1e-38)
    assert np.sum(got == wanted) >= 0.99 * got.size


CASES = cross([*((name, GROUPS, (300,)) for name in GROUPS), *((name, STACKS, (3, 75)) for name in STACKS)],
              list(DTYPES), COLUMNS, [True, False])


@pytest.mark.parametrize("case, element, columns, has_prob", CASES)
@pytest.mark.parametrize("target", ["cpu", *TARGETS])
def test_sums(rng, target, case, element, columns, has_prob):
    name, kinds, rows = case
    groups = kinds[name]()
    x, prob = make(rng, (*rows, columns), element, has_prob)
    if groups is not None:  # rows of no group are not read
        valid = np.zeros(rows, bool)
        for g, (first, end) in enumerate(groups.ranges()):
            valid[(slice(first, end),) if len(rows) == 1 else (g, slice(first, end))] = True
        x[~valid] = np.nan
    if target == "cpu":
        return compare(nvfp4.sum_rows(x, groups=groups, prob=prob), x, groups, prob)
    with calls_on(target):
        compare(nvfp4.sum_rows(x, groups=groups, prob=prob), x, groups, prob)


@pytest.mark.parametrize("target", ["cpu", *TARGETS])
def test_known_extents(rng, target):
    """Vectors on the device, results by the interpreter's bound."""
    text = """func.func @f(%x: tensor<?x96xbf16>, %e: tensor<4xi32>, %p: tensor<?xf32>, %o: tensor<4x96xf32>) -> tensor<4x96xf32> {
  %r = grouped_scaled_gemm.sum_rows(%x : tensor<?x96xbf16>) groups(%e : tensor<4xi32>) as <ragged_rows, ends, align = 8>
      prob(%p : tensor<?xf32>) outs(%o : tensor<4x96xf32>) -> tensor<4x96xf32>
  return %r : tensor<4x96xf32>
}"""
    x, prob = make(rng, (200, 96), "bf16", True)
    arguments = x, np.array([3, 3, 141, 199], np.int32), prob, np.full((4, 96), np.nan, np.float32)
    groups = nvfp4.ragged_rows(ends=arguments[1], align=8)
    if target == "cpu":
        nvfp4.compile(text).check(*arguments)
        return compare(np.asarray(nvfp4.compile(text).run(*arguments)), x, groups, prob)
    function = nvfp4.on_device(nvfp4.compile(text, f"{target}+sim", memory="device"), "sim")
    memory = SimMemory()
    placed = [memory.put(each) for each in arguments]
    out = memory.put(np.full((4, 96), np.nan, np.float32))
    function.run(placed, [out], memory.put(np.full(function.workspace(*placed) + 1, 0x7F, np.uint8)))
    compare(memory.get(out), x, groups, prob)


def test_strided_rows(rng):
    x, _ = make(rng, (50, 64), "f32", False)
    np.testing.assert_array_equal(nvfp4.sum_rows(x), wanted_of(x, None, None))
    out = np.full(64, np.nan, np.float32)
    assert nvfp4.sum_rows(x, out=out) is out
    np.testing.assert_array_equal(out, wanted_of(x, None, None))


@pytest.mark.parametrize("x, options, message", [
    (np.ones(4, np.float32), {}, r"expected x of shape \[R, N\] or \[G, M, N\], but got \(4,\)"),
    (np.ones((4, 2), np.float32), dict(groups=nvfp4.dense()), "expected groups with offsets or counts, but got dense"),
    (np.ones((4, 2), np.float32), dict(groups=nvfp4.ragged_k(ends=[4])), "expected grouping ragged_rows or masked, but got 'ragged_k'"),
    (np.ones((4, 2), np.float32), dict(groups=nvfp4.ragged_rows(ends=[5])), r"group ends\[0\] to be in \[0, 4\], but got 5"),
    (np.ones((4, 2), np.float32), dict(groups=nvfp4.masked([1])), "rank 3"),
    (np.ones((4, 2), np.float32), dict(prob=np.ones(3, np.float32)), r"expected prob of shape \(4,\), one number a row, but got \(3,\)"),
    (np.ones((4, 2), np.float32), dict(out=np.ones(3, np.float32)), "out"),
    (np.ones((4, 2), np.int32), {}, "x"),
])
def test_refusals(x, options, message):
    with pytest.raises(nvfp4.NVFP4Error, match=message):
        nvfp4.sum_rows(x, **options)
