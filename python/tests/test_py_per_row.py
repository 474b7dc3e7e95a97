# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second-level scale for each row: quantised, dequantised, and multiplied with, on the CPU and on memory of a device."""

import numpy as np
import pytest

import nvfp4
from device_calls import check_call
from nvfp4_cases import activation_bound, assert_within, swiglu
from test_py_device_operations import DTYPES, TARGETS, cross

ROWS = 45
#: Quantiser and whether it has a seed; each takes a global scale.
QUANTIZERS = [nvfp4.Quantizer(name) for name in ("cutlass", "trtllm", "te", "modelopt", "triton_nearest", "four_over_six")] + \
    [nvfp4.Quantizer("te", rounding="stochastic"), nvfp4.Quantizer("trtllm", neg_zero="flush")]
GROUPS = [None, nvfp4.ragged_rows(ends=np.array([9, 9, 26, 43], np.int32)),
          nvfp4.ragged_rows(starts=np.array([4, 16, 16, 45], np.int64)),
          nvfp4.ragged_k(ends=np.array([16, 16, 48, 80], np.int32), align=16)]
LAYOUTS = ["linear", "blocked", "blocked_8x4"]
HADAMARDS = [None, nvfp4.Hadamard(sign_mask=0xD7E8)]
CASES = cross(QUANTIZERS, GROUPS, LAYOUTS, HADAMARDS, list(DTYPES), [(ROWS, 80), (3, ROWS, 96), (ROWS, 96)])


def operands(rng, case):
    quantizer, groups, layout, hadamard, element, shape = case
    if groups is not None:
        shape = (ROWS, 80)
    x = (rng.standard_normal(shape) * np.exp2(rng.integers(-8, 8, shape[:-1]))[..., None]).astype(DTYPES[element])
    scales = np.exp2(rng.integers(-3, 3, shape[:-1])).astype(np.float32) * np.float32(1.25)
    options = dict(quantizer=quantizer, groups=groups, layout=layout, hadamard=hadamard)
    if quantizer.rounding == "stochastic":
        options["seed"] = 7
    return x, scales, options


def rows_of(groups, count):
    """The rows that lie in a group."""
    if groups is None or groups.kind == "ragged_k":
        return range(count)
    return [row for begin, end in groups.ranges() for row in range(begin, end)]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_quantize(rng, case):
    """The codes and scales of a row are those of the row alone, by its number; those of no group are zeros."""
    x, scales, options = operands(rng, case)
    groups, layout = options["groups"], options["layout"]
    got = nvfp4.quantize(x, global_scale=scales, per_row=True, **options)
    found = nvfp4.relayout(got, layout="linear") if layout != "linear" else got
    stack = x.reshape((-1, *x.shape[-2:]))
    values, bytes_ = (np.asarray(a).view(np.uint8).reshape((*stack.shape[:2], -1)) for a in (found.values, found.scales))
    counted = "seed" not in options
    alone = {**options, "layout": "linear", "groups": groups if groups is not None and groups.kind == "ragged_k" else None}
    for matrix, rows in enumerate(stack):
        inside = rows_of(groups, len(rows))
        for row in range(len(rows)):
            if row not in inside:
                assert not values[matrix, row].any() and not bytes_[matrix, row].any()
                continue
            # Random numbers depend on the place of an element, so all rows are quantised with the number of this one.
            part = rows[row:row + 1] if counted else x
            scale = float(scales.reshape(stack.shape[:2])[matrix, row])
            wanted = nvfp4.quantize(part, global_scale=scale, **alone)
            at = 0 if counted else matrix * len(rows) + row
            for mine, theirs in ((values, wanted.values), (bytes_, wanted.scales)):
                theirs = np.asarray(theirs).view(np.uint8)
                np.testing.assert_array_equal(mine[matrix, row], theirs.reshape(-1, theirs.shape[-1])[at])


@pytest.mark.parametrize("target, case", [(TARGETS[i % 2], case) for i, case in enumerate(CASES)], ids=range(len(CASES)))
def test_quantize_on_device(rng, target, case):
    x, scales, options = operands(rng, case)
    check_call(target, nvfp4.quantize, x, global_scale=scales, per_row=True, **options)


@pytest.mark.parametrize("shape, groups, element", cross([(ROWS, 80), (3, 17, 96)], GROUPS, list(DTYPES)))
@pytest.mark.parametrize("target", ["cpu", *TARGETS])
def test_dequantize(rng, target, shape, groups, element):
    shape = shape if groups is None else (ROWS, 80)
    x = nvfp4.quantize(rng.standard_normal(shape).astype(np.float32), groups=groups)
    scales = np.exp2(rng.integers(-3, 3, shape[:-1])).astype(np.float32)
    plain = nvfp4.dequantize(x, groups=groups).astype(np.float64)
    wanted = (plain * scales[..., None]).astype(np.float32).astype(DTYPES[element])
    options = dict(global_scale=scales, per_row=True, groups=groups, dtype=DTYPES[element])
    np.testing.assert_array_equal(nvfp4.dequantize(x, **options), wanted)
    if target != "cpu":
        check_call(target, nvfp4.dequantize, x, **options)


@pytest.mark.parametrize("shape", [(7, 33), (3, 5, 48), (0, 4), (4, 0), (300, 256)])
@pytest.mark.parametrize("target", ["cpu", *TARGETS])
def test_amax(rng, target, shape):
    x = rng.standard_normal(shape).astype(np.float32)
    if x.size:
        x[(-1,) * x.ndim] = np.nan
    wanted = np.abs(x).max(-1, initial=0)
    np.testing.assert_array_equal(nvfp4.amax(x, per_row=True), wanted)
    out = np.full(shape[:-1], 7, np.float32)
    nvfp4.amax(x, per_row=True, out=out)
    np.testing.assert_array_equal(out, wanted)
    for wrong in ((*shape[:-1], 1), (shape[0] + 1, *shape[1:-1])):
        with pytest.raises(nvfp4.ArgumentError, match="expected out of shape .* with per_row"):
            nvfp4.amax(x, per_row=True, out=np.zeros(wrong, np.float32))
    if target != "cpu":
        check_call(target, nvfp4.amax, x, per_row=True)


@pytest.mark.parametrize("form, activation, out", cross(
    ["dense", "ragged_rows", "masked", "batched", "ragged_k"], [None, "relu", "swiglu"], ["float32", "bfloat16"]))
@pytest.mark.parametrize("target", ["cpu", *TARGETS])
def test_tokens_of_different_magnitude(rng, target, form, activation, out):
    """Rows of very different magnitude keep the precision of one of 1, which one global scale for all would not leave them."""
    n, k = 64, 96
    lhs_shape = (2, 24, k) if form in ("masked", "batched") else (48, k)
    rhs_shape = (n, k) if form in ("dense", "ragged_k") else (2, n, k)
    grouping = {"dense": nvfp4.dense(), "batched": nvfp4.batched(), "masked": nvfp4.masked(np.array([24, 5], np.int32)),
                "ragged_rows": nvfp4.ragged_rows(ends=np.array([10, 48], np.int32)),
                "ragged_k": nvfp4.ragged_k(ends=np.array([32, 96], np.int32), align=32)}[form]
    # Every block has a 6, so that its scale is the largest, and each number of it a code.
    unit = rng.choice(np.float32([-6, -3, 0, 3, 6]), lhs_shape)
    unit[..., ::16] = 6
    # The product of gate and up is finite.
    exponent = 20 if activation == "swiglu" else 60
    magnitude = np.exp2(rng.integers(-exponent, exponent, lhs_shape[:-1])).astype(np.float32)
    x = unit * magnitude[..., None]
    scales = nvfp4.encode_scale(x, per_row=True)
    np.testing.assert_array_equal(scales, (np.float32(448) / magnitude).astype(np.float32))
    weights = rng.choice(np.float32([-6, -3, 0, 3, 6]), rhs_shape)
    weights[..., ::16] = 6
    lhs = nvfp4.quantize(x, quantizer="te", global_scale=scales, per_row=True)
    rhs = nvfp4.quantize(weights, quantizer="te")
    options = dict(row_scale=magnitude, activation=activation and (nvfp4.swiglu("vllm") if activation == "swiglu" else activation), dtype=out, tail="zero")

    def run():
        return nvfp4.grouped_matmul(lhs, rhs, grouping, **options)

    got = run()
    if target != "cpu":
        check_call(target, run)
    exact = nvfp4.dequantize(lhs).astype(np.float64)
    decoded = nvfp4.dequantize(rhs).astype(np.float64)
    zs = []
    if form == "ragged_k":
        zs = [(g, slice(None), exact[:, a:b] @ decoded[:, a:b].T * magnitude[:, None]) for g, (a, b) in enumerate([(0, 32), (32, 96)])]
    elif form in ("masked", "batched"):
        counts = (24, 5) if form == "masked" else (24, 24)
        zs = [(g, slice(0, c), exact[g, :c] @ decoded[g].T * magnitude[g, :c, None]) for g, c in enumerate(counts)]
    elif form == "dense":
        zs = [(None, slice(None), exact @ decoded.T * magnitude[:, None])]
    else:
        zs = [(None, slice(a, b), exact[a:b] @ decoded[g].T * magnitude[a:b, None]) for g, (a, b) in enumerate([(0, 10), (10, 48)])]
    for g, rows, z in zs:
        found = np.asarray(got if g is None else got[g])[rows].astype(np.float64)
        if activation != "swiglu":
            y = np.maximum(z, 0) if activation else z
            np.testing.assert_array_equal(found, y.astype(np.float32).astype(DTYPES["bf16"] if out == "bfloat16" else np.float32))
            continue
        gate, up = z[:, :n // 2], z[:, n // 2:]
        y = swiglu(gate, up)
        assert_within(found, y, activation_bound(y, gate), "bf16" if out == "bfloat16" else "f32")


def test_arguments():
    x, w = np.ones((4, 32), np.float32), nvfp4.quantize(np.ones((16, 32), np.float32))
    ones = np.ones(4, np.float32)
    with pytest.raises(nvfp4.CompileError, match="expected a global_scale with per_row, but got none"):
        nvfp4.quantize(x, per_row=True)
    with pytest.raises(nvfp4.ArgumentError, match=r"expected global_scale of rank 1, but got shape \(\)"):
        nvfp4.quantize(x, global_scale=2.0, per_row=True)
    with pytest.raises(nvfp4.ArgumentError, match="expected per_row True or False, but got 1"):
        nvfp4.quantize(x, global_scale=ones, per_row=1)
    with pytest.raises(nvfp4.CompileError, match="expected per_row without transposed"):
        nvfp4.quantize(x, global_scale=np.ones(32, np.float32), per_row=True, transposed=True)
    with pytest.raises(nvfp4.CompileError, match="expected per_row without two_d"):
        nvfp4.quantize(x, quantizer=nvfp4.Quantizer("te", two_d=True), global_scale=ones, per_row=True)
    with pytest.raises(nvfp4.CompileError, match="expected blocks along the last dimension"):
        nvfp4.quantize(np.ones((32, 4), np.float32), axis=0, global_scale=np.ones(32, np.float32), per_row=True)
    with pytest.raises(nvfp4.DataError, match="M of global_scale to be 4, but got 3"):
        nvfp4.quantize(x, global_scale=ones[:3], per_row=True)
    program = nvfp4.compile("""func.func @f(%x: tensor<?x32xf32>, %s: tensor<?xf32>) -> !grouped_scaled_gemm.scaled<?x32, nvfp4> {
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<?x32xf32>) global_scale(%s : tensor<?xf32>) {per_row}
      -> !grouped_scaled_gemm.scaled<?x32, nvfp4>
  return %q : !grouped_scaled_gemm.scaled<?x32, nvfp4>
}""")
    for run, message in ((program.run, "M of global_scale to be 4, but got 1"), (program.reference, "expected 4 entries of global_scale")):
        with pytest.raises(nvfp4.NVFP4Error, match=message):
            run(x, ones[:1])
    with pytest.raises(nvfp4.DataError, match="M of row_scale to be 4, but got 5"):
        nvfp4.grouped_matmul(nvfp4.quantize(x), w, row_scale=np.ones(5, np.float32))
    with pytest.raises(nvfp4.ArgumentError, match="expected row_scale of rank 1"):
        nvfp4.grouped_matmul(nvfp4.quantize(x), w, row_scale=2.0)
    with pytest.raises(nvfp4.ArgumentError, match="expected by_expert or per_row"):
        nvfp4.encode_scale(x[None], by_expert=True, per_row=True)
    with pytest.raises(nvfp4.ArgumentError, match="expected per_row or transposed"):
        nvfp4.amax(x, per_row=True, transposed=True, hadamard=nvfp4.Hadamard())
