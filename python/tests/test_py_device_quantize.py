# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of quantize, dequantize and relayouts give the bytes of the CPU's code, in memory of a device."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_calls import calls_on, check_call
from format_blocks import CASES, has_global

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
TARGETS = ["sm_90a", "sm_100a"]
# Whole vectors, a block that is not full, odd, less than a block, and none.
SHAPES = [(5, 96), (60, 40), (3, 33), (1, 7), (0, 64), (2, 9, 64), (48,)]
LAYOUTS = ["linear", "blocked", "blocked_8x4"]


def make_values(rng, shape, dtype):
    """Numbers of many sizes, zeros, infinities and NaN."""
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-9, 9, shape))
    for value in (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30):
        x[rng.random(shape) < 1 / 60] = value
    return x.astype(DTYPES[dtype])


def cross(*axes):
    """Every choice of each axis, with those of the others in turn."""
    return [tuple(axis[(i + i // len(axis) * j) % len(axis)] for j, axis in enumerate(axes))
            for i in range(max(map(len, axes)))]


def make_groups(kind, align):
    """Groups of 60 rows or positions, of which one is empty and others are not full; the last positions have none."""
    if kind == "masked":
        return nvfp4.masked(np.array([3, 0, 40], np.int32))
    ends = {1: [13, 13, 48, 55], 32: [13, 32, 33, 70]}[align]
    return {"ragged_rows": nvfp4.ragged_rows, "ragged_k": nvfp4.ragged_k}[kind](np.array(ends, np.int32), align=align)


@pytest.mark.parametrize("case, target, shape, layout, dtype, flush",
                         cross(CASES, TARGETS, SHAPES, LAYOUTS, list(DTYPES), ["keep", "flush", "keep"]))
def test_quantizers(rng, case, target, shape, layout, dtype, flush):
    name, form = case
    scale = 37.5 if has_global(name, form) else None
    check_call(target, nvfp4.quantize, make_values(rng, shape, dtype), form, quantizer=nvfp4.Quantizer(name, flush if "fp4" in form else "keep"),
               global_scale=scale, layout=layout)


@pytest.mark.parametrize("target, options, form, axis, shape",
                         cross(TARGETS, [{"rounding": "stochastic"}, {"two_d": True}, {"rounding": "stochastic", "two_d": True}],
                               ["nvfp4"], [-1, -2], [(40, 64), (33, 48), (2, 32, 33), (17, 80)]))
def test_stochastic_rounding_and_squares(rng, target, options, form, axis, shape):
    seed = 11 if "rounding" in options else None
    check_call(target, nvfp4.quantize, make_values(rng, shape, "bf16"), form, quantizer=nvfp4.Quantizer("te", **options),
               axis=axis, seed=seed)


# Groups of rows and along the blocks; where their scales start; what starts need alignment.
GROUPED = [("ragged_rows", -1, "whole", "linear", 1), ("ragged_rows", -1, "compact", "blocked", 1),
           ("ragged_rows", -1, "upper_bound", "blocked", 1), ("ragged_rows", -1, "compact", "blocked_8x4", 32),
           ("ragged_rows", -2, "compact", "linear", 1), ("ragged_rows", -2, "whole", "linear", 32),
           ("ragged_k", -1, "compact", "blocked", 1), ("ragged_k", -1, "compact", "linear", 1),
           ("ragged_k", -1, "whole", "linear", 32), ("ragged_k", -2, "whole", "linear", 1),
           ("masked", -1, "whole", "blocked", 1), ("masked", -1, "whole", "linear", 1), ("masked", -2, "whole", "linear", 1)]


@pytest.mark.parametrize("grouped, target, form, dtype",
                         cross(GROUPED * 2, TARGETS, ["nvfp4", "mxfp8_e4m3", "mxfp4"], list(DTYPES)))
def test_groups(rng, grouped, target, form, dtype):
    """Positions outside every group keep what the destination holds."""
    kind, axis, starts, layout, align = grouped
    shape = {"ragged_rows": (80, 96), "ragged_k": (80, 80), "masked": (3, 40, 64)}[kind]
    options = {"groups": make_groups(kind, align)}
    if form == "nvfp4":
        options["global_scale"] = np.array([1.0, 3.0, 0.25, 700.0], np.float32)[:len(options["groups"].groups)]
    arguments = make_values(rng, shape, dtype), form
    places = {"axis": axis, "layout": layout, "starts": starts}
    check_call(target, nvfp4.quantize, *arguments, **places, **options)
    q = nvfp4.quantize(*arguments, **places, **options)
    check_call(target, nvfp4.dequantize, q, dtype=DTYPES[dtype], **options)
    if (kind, axis, starts) == ("ragged_rows", -1, "whole"):
        check_call(target, nvfp4.relayout, q, layout="blocked", starts="compact", groups=options["groups"])


@pytest.mark.parametrize("target, form, layout, axis, dtype, shape",
                         cross(TARGETS, list(nvfp4.FORMATS), LAYOUTS, [-1, -1, -2], list(DTYPES), SHAPES))
def test_dequantize_and_relayout(rng, target, form, layout, axis, dtype, shape):
    layout = "linear" if axis == -2 else layout  # that of blocks along columns
    axis = -1 if len(shape) == 1 else axis
    x = nvfp4.quantize(make_values(rng, shape, "f32"), form, layout=layout, axis=axis)
    check_call(target, nvfp4.dequantize, x, global_scale=0.37, dtype=DTYPES[dtype])
    if axis == -1:
        check_call(target, nvfp4.relayout, x, layout=LAYOUTS[(LAYOUTS.index(layout) + 1) % 3])


@pytest.mark.parametrize("target, pair, dtype", cross(TARGETS, [("vllm", "gpt-oss"), ("deepgemm", "trtllm-cutlass"),
                                                                ("flashinfer-cute-dsl", "cudnn")], list(DTYPES)))
def test_gate_layouts(rng, target, pair, dtype):
    x = make_values(rng, (3, 128, 64), "f32")
    check_call(target, nvfp4.relayout, nvfp4.quantize(x), gate=pair)
    check_call(target, nvfp4.relayout, make_values(rng, (5, 128), dtype), gate=pair)


def test_bad_offsets_stay_inside(rng):
    """Offsets that decrease or lie outside leave the rows of overlapping groups to some of them; the checker sees no access
    outside."""
    groups = nvfp4.ragged_rows(ends=np.array([16, 32, 48, 60], np.int32))
    groups.groups[...] = [40, 7, 1000, -5]
    with calls_on("sm_90a", checks=False):
        result = nvfp4.quantize(make_values(rng, (60, 64), "bf16"), groups=groups)
    assert result.shape == (60, 64)
