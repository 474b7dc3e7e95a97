# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantize with `transposed`: the bytes of the transposed input, on CPUs, in the interpreter and in memory of a device."""

import numpy as np
import pytest

import nvfp4
from device_calls import check_call, get_bytes
from test_py_device_quantize import DTYPES, LAYOUTS, SHAPES, TARGETS, cross, make_groups, make_values

FORMATS = ["nvfp4", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"]


def check(target, x, form, **options):
    """The bytes are those of a copy that has been transposed, also where a kernel makes them."""
    wanted = nvfp4.quantize(np.ascontiguousarray(np.swapaxes(x, -1, -2)), form, **options)
    got = nvfp4.quantize(x, form, transposed=True, **options)
    assert got.shape == wanted.shape
    assert get_bytes(got.values) == get_bytes(wanted.values) and get_bytes(got.scales) == get_bytes(wanted.scales)
    check_call(target, nvfp4.quantize, x, form, transposed=True, **options)


@pytest.mark.parametrize("shape, target, form, layout, axis, dtype",
                         cross(SHAPES[:-1] * 4, TARGETS, FORMATS, LAYOUTS, [-1, -1, -2], list(DTYPES)))
def test_bytes(rng, shape, target, form, layout, axis, dtype):
    check(target, make_values(rng, shape, dtype), form, layout="linear" if axis == -2 else layout, axis=axis)


@pytest.mark.parametrize("target, options, axis, shape",
                         cross(TARGETS, [{"rounding": "stochastic"}, {"two_d": True}, {"rounding": "stochastic", "two_d": True}],
                               [-1, -2], [(40, 64), (33, 48), (2, 32, 33), (17, 80)]))
def test_stochastic_rounding_and_squares(rng, target, options, axis, shape):
    """Elements have the numbers of the transposed tensor; a square is a square either way."""
    seed = 11 if "rounding" in options else None
    x = make_values(rng, shape, "bf16")
    check(target, x, "nvfp4", quantizer=nvfp4.Quantizer("te", **options), axis=axis, seed=seed)
    if axis == -1 and options == {"two_d": True} and not any(d % 16 for d in shape[-2:]):
        scales = nvfp4.quantize(x, quantizer=nvfp4.Quantizer("te", two_d=True)).scales[..., ::16, :]
        assert get_bytes(np.swapaxes(scales, -1, -2)) == get_bytes(
            nvfp4.quantize(x, quantizer=nvfp4.Quantizer("te", two_d=True), transposed=True).scales[..., ::16, :])


@pytest.mark.parametrize("starts, layout, align, target, form, dtype",
                         [(*place, TARGETS[i % 2], FORMATS[i % 3], list(DTYPES)[i % 3]) for i, place in enumerate(
                             [("compact", "blocked", 1), ("compact", "linear", 1), ("whole", "linear", 32), ("compact", "blocked", 32),
                              ("compact", "linear", 32)] * 3)])
def test_groups_of_tokens(rng, starts, layout, align, target, form, dtype):
    """Blocks of a gradient's operand lie along the tokens of a group; the kernel of even starts has a thread a block."""
    groups = make_groups("ragged_k", align)
    scale = np.array([1.0, 3.0, 0.25, 700.0], np.float32) if form == "nvfp4" else None
    check(target, make_values(rng, (80, 72), dtype), form, starts=starts, layout=layout, groups=groups, global_scale=scale)


@pytest.mark.parametrize("form, shape", cross(FORMATS, [(40, 24), (2, 9, 48), (33, 3)]))
def test_values_and_oracle(rng, form, shape):
    """In value form with extents that only the call knows; the interpreter agrees to the byte."""
    x = make_values(rng, shape, "f32")
    x[~np.isfinite(x)] = 1
    dims, result = "?x" * len(shape), (*shape[:-2], shape[-1], shape[-2])
    known = "x".join(["?"] * (len(shape) - 1) + [str(result[-1])])
    scaled = f"!grouped_scaled_gemm.scaled<{known}, {form}>"
    quantizer = "trtllm" if form == "nvfp4" else "ocp"
    program = nvfp4.compile(f"""func.func @f(%x: tensor<{dims}f32>) -> {scaled} {{
  %q = grouped_scaled_gemm.quantize <{quantizer}>(%x : tensor<{dims}f32>) {{transposed}} -> {scaled}
  return %q : {scaled}
}}""", "cpu")
    assert program.run(x).shape == result
    assert "0 beyond the bound" in program.check(x)


def test_wrong_extents_are_named(rng):
    """The message counts dimensions of the input."""
    scaled = "!grouped_scaled_gemm.scaled<24x40, nvfp4>"
    program = nvfp4.compile(f"""func.func @f(%x: tensor<?x?xf32>) -> {scaled} {{
  %q = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<?x?xf32>) {{transposed}} -> {scaled}
  return %q : {scaled}
}}""", "cpu")
    with pytest.raises(nvfp4.DataError, match=r"dimension 1 of the input.*24.*23"):
        program.run(rng.standard_normal((40, 23)).astype(np.float32))
    with pytest.raises(nvfp4.ArgumentError, match="expected a tensor of rank 2 or 3 with transposed"):
        nvfp4.quantize(np.ones(16, np.float32), transposed=True)


@pytest.mark.parametrize("shape, transposed", [((64, 48), False), ((48, 64), True), ((2, 32, 40), False), ((2, 33, 96), True)])
@pytest.mark.parametrize("target", TARGETS)
def test_squares_of_warps(rng, target, shape, transposed):
    """Where whole warps have the lines of squares, their threads share the maximum: the bytes are those of the CPU."""
    dims = "x".join(map(str, shape))
    result = (*shape[:-2], shape[-1], shape[-2]) if transposed else shape
    mode = " {transposed}" if transposed else ""
    scaled = f"!grouped_scaled_gemm.scaled<{'x'.join(map(str, result))}, nvfp4>"
    text = f"""func.func @f(%x: tensor<{dims}xbf16>) -> {scaled} {{
  %q = grouped_scaled_gemm.quantize <te, two_d>(%x : tensor<{dims}xbf16>){mode} -> {scaled}
  return %q : {scaled}
}}"""
    x = make_values(rng, shape, "bf16")
    wanted = nvfp4.compile(text, "cpu").run(x)
    program = nvfp4.compile(text, f"{target}+sim", memory="device")
    assert "shfl.sync" in program.ir("ptx")
    values, scales = nvfp4.on_device(program, "sim").run([nvfp4.DeviceArray.of(x, "sim")])
    assert get_bytes(values.numpy()) == get_bytes(wanted.values) and get_bytes(scales.numpy()) == get_bytes(wanted.scales)
