# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C++ quantisers against format_formulas.py, byte for byte."""

import ml_dtypes
import numpy as np
import pytest

import format_formulas as formulas
import format_shim as shim
from format_blocks import CASES, blocks, edge_blocks, formula, has_global


def unpack(codes, width, fmt):
    if fmt.startswith("mxfp8"):
        return codes
    return np.stack([codes & 15, codes >> 4], axis=2).reshape(len(codes), width)


@pytest.mark.parametrize("name,fmt,global_scale", [
    (name, fmt, scale) for name, fmt in CASES
    for scale in (1.0, 2688 / 3.3, 1 / 37.0, 5.0, 11.0)
    if scale == 1 or has_global(name, fmt)])
def test_bytes_equal_the_formula(name, fmt, global_scale):
    width = 16 if fmt.startswith("nvfp4") else 32
    x = np.concatenate([blocks(width), edge_blocks(
        width, global_scale, formulas.ELEMENTS[fmt][0])])
    codes, scales = shim.quantize(name, fmt, x, global_scale=global_scale,
                                  block_error=1)
    with np.errstate(all="ignore"):
        expected_codes, expected_scales = formula(name)(
            x, fmt, np.float32(global_scale))
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(unpack(codes, width, fmt), expected_codes)


def test_four_over_six_by_mean_absolute_error():
    x = blocks(16, seed=5)
    codes, scales = shim.quantize("four_over_six", "nvfp4", x, block_error=0)
    with np.errstate(all="ignore"):
        expected_codes, expected_scales = formulas.four_over_six(
            x, "nvfp4", np.float32(1), squared=False)
    np.testing.assert_array_equal(scales, expected_scales)
    np.testing.assert_array_equal(unpack(codes, 16, "nvfp4"), expected_codes)


def test_two_dimensional_scales():
    """Every 16x16 square as one block of 256 under TE's formula."""
    x = np.random.default_rng(2).standard_normal((64, 96)).astype(np.float32)
    encode = np.float32(2688 / np.abs(x).max())
    codes, scales = shim.quantize("te", "nvfp4", x, square=1,
                                  global_scale=encode)
    squares = x.reshape(4, 16, 6, 16).transpose(0, 2, 1, 3).reshape(24, 256)
    expected_codes, expected_scales = formulas.te(squares, "nvfp4", encode)
    back = (expected_codes.reshape(4, 6, 16, 16).transpose(0, 2, 1, 3)
            .reshape(64, 96))
    np.testing.assert_array_equal(unpack(codes, 96, "nvfp4"), back)
    np.testing.assert_array_equal(
        scales.reshape(64, 6),
        np.repeat(expected_scales.reshape(4, 6), 16, axis=0))


def test_stochastic_elements():
    """The scale is the deterministic one; elements follow Philox."""
    x = np.random.default_rng(4).standard_normal((37, 48)).astype(np.float32)
    codes, scales = shim.quantize("te", "nvfp4", x, rounding=2, seed=12,
                                  offset=34)
    _, expected_scales = shim.quantize("te", "nvfp4", x)
    np.testing.assert_array_equal(scales, expected_scales)
    value = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    factor = np.repeat(np.float32(1) / value, 16)
    u = shim.philox_uniform(12, 34, 0, x.size)
    expected = shim.encode_e2m1_stochastic(
        np.clip(x.ravel() * factor, -6, 6), u)
    np.testing.assert_array_equal(unpack(codes, 48, "nvfp4").ravel(), expected)


@pytest.mark.parametrize("layout", ["linear", "blocked", "blocked_8x4",
                                    "packed_ue8m0"])
@pytest.mark.parametrize("fmt", ["nvfp4", "mxfp4", "mxfp8_e5m2"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 100), (130, 64), (17, 33)])
def test_dequantize_is_exact_in_every_layout(layout, fmt, shape):
    """Dequantised values are recomputed from the bytes in linear layout."""
    x = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    codes, scales = shim.quantize("cutlass", fmt, x, layout)
    _, linear = shim.quantize("cutlass", fmt, x)
    ours = shim.dequantize(fmt, codes, scales, shape[1], layout, 0.375)
    block = 16 if fmt == "nvfp4" else 32
    scale_type = (ml_dtypes.float8_e4m3fn if fmt == "nvfp4"
                  else ml_dtypes.float8_e8m0fnu)
    value = linear.view(scale_type).astype(np.float64).reshape(shape[0], -1)
    value = np.repeat(value, block, axis=1)[:, :shape[1]]
    if fmt == "mxfp8_e5m2":
        element = codes.view(ml_dtypes.float8_e5m2).astype(np.float64)
    else:
        element = unpack(codes, 2 * codes.shape[1], fmt)[:, :shape[1]].copy()
        element = element.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    np.testing.assert_array_equal(ours, element * value * 0.375)


def test_blocked_layout_is_the_published_memory_order():
    """(R/128, C/4, 32, 4, 4) from (R/128, 4, 32, C/4, 4) by a transposition."""
    x = np.random.default_rng(7).standard_normal((256, 192)).astype(np.float32)
    _, linear = shim.quantize("te", "nvfp4", x)
    _, blocked = shim.quantize("te", "nvfp4", x, "blocked")
    expected = linear.reshape(2, 4, 32, 3, 4).transpose(0, 3, 2, 1, 4).ravel()
    np.testing.assert_array_equal(blocked, expected)
    _, small = shim.quantize("te", "nvfp4", x, "blocked_8x4")
    expected = linear.reshape(32, 8, 3, 4).transpose(0, 2, 1, 3).ravel()
    np.testing.assert_array_equal(small, expected)


def test_refusals_are_diagnostics():
    x = np.ones((1, 32), np.float32)
    with pytest.raises(ValueError, match="E8M0 scales, but got 'nvfp4'"):
        shim.quantize("ocp", "nvfp4", x)
    with pytest.raises(ValueError, match="finite and positive, but got nan"):
        shim.quantize("te", "nvfp4", x, global_scale=float("nan"))
