# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantisers and maxima of Hadamard transforms, on the CPU and on memory of a device, against a matrix in numpy."""

import numpy as np
import pytest

import nvfp4
from device_calls import check_call
from test_py_device_operations import DTYPES, TARGETS, cross

H16 = np.array([[(-1.0) ** bin(i & j).count("1") for j in range(16)] for i in range(16)])
HADAMARDS = [nvfp4.Hadamard(sign_mask=0xD7E8), nvfp4.Hadamard(normalized=False, sign_mask=1), nvfp4.Hadamard(), nvfp4.Hadamard(False)]
#: Format, quantiser and whether it takes a global scale.
QUANTIZERS = [("nvfp4", nvfp4.Quantizer("te"), True), ("nvfp4", nvfp4.Quantizer("te", rounding="stochastic"), True),
              ("nvfp4", nvfp4.Quantizer("four_over_six"), True), ("mxfp4", nvfp4.Quantizer("ocp"), False),
              ("mxfp8_e4m3", nvfp4.Quantizer("ue8m0_up"), False), ("mxfp8_e5m2", nvfp4.Quantizer("ue8m0_up"), False)]


def transform(x, hadamard, ranges):
    """Runs of 16 along the last dimension from the first position of each range on; what lies behind a range is dropped."""
    signs = np.array([-1.0 if hadamard.sign_mask >> i & 1 else 1.0 for i in range(16)])
    out = np.zeros(x.shape)
    for begin, end in ranges:
        for k in range(begin, end, 16):
            run = np.zeros(x.shape[:-1] + (16,))
            run[..., :min(16, end - k)] = x[..., k:min(k + 16, end)]
            out[..., k:min(k + 16, end)] = ((run * signs) @ H16 * (0.25 if hadamard.normalized else 1.0))[..., :min(16, end - k)]
    return out


def make(rng, shape, element):
    """Whole numbers, of which sums are exact in every type."""
    return rng.integers(-8, 9, shape).astype(DTYPES[element])


GROUPS = [None, lambda block: nvfp4.ragged_k(ends=np.array([0, 2 * block + 5, 2 * block + 5, 7 * block], np.int32), align=block),
          lambda block: nvfp4.ragged_k(starts=np.array([block, block, 4 * block, 7 * block], np.int64), align=block)]
CASES = cross(QUANTIZERS, HADAMARDS, GROUPS, [True, False], list(DTYPES), [(64, 8), (40, 8), (7, 8), (96, 9)], ["linear", "blocked"])


def operands(rng, case):
    (fmt, quantizer, has_global), hadamard, groups, transposed, element, (lines, blocks), layout = case
    block = nvfp4.FORMATS[fmt].block
    length = blocks * block - (3 if groups is None and fmt.startswith("mxfp8") else 0)
    groups = groups and groups(block)
    x = make(rng, (length, lines) if transposed else (lines, length), element)
    options = dict(quantizer=quantizer, hadamard=hadamard, groups=groups, transposed=transposed)
    if layout != "linear" and groups is None:
        options["layout"] = layout
    if has_global:
        options["global_scale"] = 3.5
    if quantizer.rounding == "stochastic":
        options["seed"] = 5
    return x, fmt, options


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_quantize(rng, case):
    """The bytes are those of the transformed numbers, which float32 holds exactly."""
    x, fmt, options = operands(rng, case)
    got = nvfp4.quantize(x, fmt, **options)
    lines = x.astype(np.float64).T if options.pop("transposed") else x.astype(np.float64)
    groups, hadamard = options["groups"], options.pop("hadamard")
    ranges = [(0, lines.shape[1])] if groups is None else groups.ranges()
    wanted = nvfp4.quantize(np.ascontiguousarray(transform(lines, hadamard, ranges), np.float32), fmt, **options)
    assert got.values.tobytes() == wanted.values.tobytes() and got.scales.tobytes() == wanted.scales.tobytes()


@pytest.mark.parametrize("target, case", [(TARGETS[i % 2], case) for i, case in enumerate(CASES)], ids=range(len(CASES)))
def test_quantize_on_device(rng, target, case):
    x, fmt, options = operands(rng, case)
    check_call(target, nvfp4.quantize, x, fmt, **options)


def test_numbers_that_round(rng):
    """The same order of additions as in nvfp4.hadamard."""
    x = rng.standard_normal((48, 64)).astype(np.float32)
    hadamard = nvfp4.Hadamard(sign_mask=0xD7E8)
    turned = nvfp4.hadamard(np.ascontiguousarray(x.T), normalized=True, sign_mask=0xD7E8)
    got, wanted = nvfp4.quantize(x, quantizer="te", transposed=True, hadamard=hadamard), nvfp4.quantize(turned, quantizer="te")
    assert got.values.tobytes() == wanted.values.tobytes() and got.scales.tobytes() == wanted.scales.tobytes()
    assert nvfp4.amax(x, hadamard=hadamard, transposed=True) == np.abs(turned).max()


MATRICES = [(64, 96), (16, 40), (37, 7), (1, 1), (100, 33), (0, 8), (8, 0), (3, 32, 48), (2, 17, 21), (0, 4, 4), (700, 256)]


@pytest.mark.parametrize("shape, element, hadamard, transposed",
                         cross(MATRICES, list(DTYPES), [None, *HADAMARDS], [True, False]))
@pytest.mark.parametrize("target", ["cpu", *TARGETS])
def test_amax(rng, target, shape, element, hadamard, transposed):
    x = make(rng, shape, element)
    transposed = transposed and hadamard is not None
    lines = x.astype(np.float64).swapaxes(-1, -2) if transposed else x.astype(np.float64)
    if hadamard is not None:
        lines = transform(lines, hadamard, [(0, lines.shape[-1])])
    wanted = np.abs(lines).max((-1, -2), initial=0).astype(np.float32)
    out = np.full(shape[:-2], np.nan, np.float32)
    if target == "cpu":
        nvfp4.amax(x, hadamard=hadamard, transposed=transposed, out=out)
        return np.testing.assert_array_equal(out, wanted)
    check_call(target, lambda: nvfp4.amax(x, hadamard=hadamard, transposed=transposed, out=out))
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("target", ["cpu", *TARGETS])
def test_amax_of_known_extents(rng, target):
    """Vectors on the device; NaN and infinity."""
    x = rng.standard_normal((3, 50, 64)).astype(DTYPES["bf16"])
    x[1, 49, 63], x[2, 0, 1], x[2, 40, 3] = np.nan, -np.inf, 1
    text = """func.func @f(%x: tensor<3x?x64xbf16>, %o: tensor<3xf32>, %p: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %r = grouped_scaled_gemm.amax(%x : tensor<3x?x64xbf16>) outs(%o : tensor<3xf32>) -> tensor<3xf32>
  %s = grouped_scaled_gemm.amax(%x : tensor<3x?x64xbf16>) hadamard = <normalized> outs(%p : tensor<3xf32>) {transposed} -> tensor<3xf32>
  return %r, %s : tensor<3xf32>, tensor<3xf32>
}"""
    arguments = x, np.zeros(3, np.float32), np.zeros(3, np.float32)
    if target == "cpu":
        nvfp4.compile(text).check(*arguments)
    got, mixed = nvfp4.compile(text, target if target == "cpu" else f"{target}+sim",
                               memory="host" if target == "cpu" else "device").run(*arguments)
    np.testing.assert_array_equal(got, [np.abs(x[0].astype(np.float32)).max(), np.nan, np.inf])
    wanted = nvfp4.hadamard(np.pad(x[0].astype(np.float32).T, ((0, 0), (0, 14))), normalized=True)[:, :50]
    np.testing.assert_array_equal(mixed, [np.abs(wanted).max(), np.nan, np.inf])


@pytest.mark.parametrize("build, message", [
    (lambda x: nvfp4.quantize(x, quantizer=nvfp4.Quantizer("te", two_d=True), hadamard=nvfp4.Hadamard()), "expected no hadamard with two_d"),
    (lambda x: nvfp4.quantize(x, hadamard=True), "expected hadamard of type nvfp4.Hadamard or None, but got True"),
    (lambda x: nvfp4.Hadamard(sign_mask=1 << 16), "sign_mask"),
    (lambda x: nvfp4.amax(x[0]), r"expected x of shape \[M, N\] or \[G, M, N\], but got \(32,\)"),
    (lambda x: nvfp4.amax(x, transposed=True), "expected transposed with hadamard"),
    (lambda x: nvfp4.amax(x, out=np.zeros(2, np.float32)), "out"),
])
def test_refusals(build, message):
    with pytest.raises(nvfp4.NVFP4Error, match=message):
        build(np.ones((16, 32), np.float32))
