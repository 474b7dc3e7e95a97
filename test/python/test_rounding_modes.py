# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled quantisers with stochastic rounding and with square blocks.

The expected bytes come from the words of docs/Spec.md in numpy: Philox in
64-bit integers, the rounding itself in f64.
"""

import numpy as np
import pytest

import format_formulas
from nvfp4_cases import assert_equal, scaled_type
from nvfp4_formats import FORMATS, ceil_div, unpack
from nvfp4_module import compile_module

NVFP4 = FORMATS["nvfp4"]
E2M1_MAGNITUDES = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])


def philox(counter, key):
    """Philox 4x32-10 of the paper; counter [n, 4] and key [2], as uint64."""
    low = np.uint64(0xFFFFFFFF)
    c = [counter[:, i].astype(np.uint64) for i in range(4)]
    k = [int(key[0]), int(key[1])]
    for _ in range(10):
        even, odd = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(odd >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), odd & low,
             (even >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), even & low]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return np.stack(c, axis=1)


def uniforms(seed, count):
    """r of elements 0, 1, ...: four neighbours share a counter."""
    blocks = np.arange(ceil_div(count, 4))
    counter = np.stack([blocks, 0 * blocks, 0 * blocks, 0 * blocks], axis=1)
    words = philox(counter, (seed % 2**32, seed // 2**32)).ravel()[:count]
    return (words >> np.uint64(8)).astype(np.float64) * 2.0**-24


def test_philox_known_answers():
    """Vectors that the authors of the generator published."""
    zero = philox(np.zeros((1, 4), np.uint64), (0, 0))[0]
    assert [int(w) for w in zero] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = philox(np.full((1, 4), 2**32 - 1, np.uint64), (2**32 - 1,) * 2)[0]
    assert [int(w) for w in ones] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def module():
    result = scaled_type("nvfp4")
    head = f"(%x: tensor<?x?xf32>, %g: f32, %seed: i64) -> {result} {{\n"
    end = f" -> {result}\n  return %q : {result}\n}}\n"
    quantize = "  %q = grouped_scaled_gemm.quantize"
    operands = "(%x : tensor<?x?xf32>) global_scale(%g : f32)"
    return compile_module(
        f"func.func @stochastic{head}{quantize} <te, rounding = stochastic>{operands}"
        f" seed(%seed){end}"
        f"func.func @squares{head}{quantize} <te, two_d>{operands}{end}"
        f"func.func @both{head}{quantize} <te, rounding = stochastic, two_d>{operands}"
        f" seed(%seed){end}")


def round_stochastically(v, r):
    """Codes of v under r: ulp floor(|v| / ulp + r), saturating at 6."""
    magnitude = np.abs(v.astype(np.float64))
    ulp = np.select([magnitude < 2, magnitude < 4], [0.5, 1.0], 2.0)
    rounded = np.minimum(np.floor(magnitude / ulp + r) * ulp, 6)
    codes = np.searchsorted(E2M1_MAGNITUDES, rounded).astype(np.uint8)
    assert np.array_equal(E2M1_MAGNITUDES[codes], rounded)
    return codes | np.signbit(v).astype(np.uint8) * np.uint8(8)


def factors(scales, encode):
    """The factor of elements in te, from the bytes of their scales."""
    value = decode_e4m3(scales.view(np.uint8)).astype(np.float32)
    return np.float32(1) / (value * (np.float32(1) / encode))


def decode_e4m3(byte):
    exponent, mantissa = byte >> 3 & 15, byte & 7
    return np.where(exponent > 0, (8.0 + mantissa) * 2.0**(exponent - 10.0), mantissa * 2.0**-9)


@pytest.mark.parametrize("shape", [(37, 48), (1, 16), (16, 256), (5, 1040)])
@pytest.mark.parametrize("seed", [0, 12, 0x123456789ABCDEF])
def test_stochastic_rounding_to_the_byte(shape, seed):
    """The scale is the one of rounding to nearest; elements follow Philox,
    numbered row by row."""
    x = np.random.default_rng(seed % 2**32).standard_normal(shape).astype(np.float32)
    encode = np.float32(1.5)
    values, scales = module().call("stochastic", x, encode, np.int64(seed))
    _, expected_scales = format_formulas.te(x.reshape(-1, 16), "nvfp4", encode)
    assert_equal(scales.ravel(), expected_scales, "scales")
    factor = np.repeat(factors(scales, encode).ravel(), 16).reshape(shape)
    scaled = np.clip(x * factor, np.float32(-6), np.float32(6))
    expected = round_stochastically(scaled, uniforms(seed, x.size).reshape(shape))
    assert_equal(unpack(NVFP4, values, shape[1]), expected, "codes")


def test_stochastic_rounding_is_unbiased():
    """The mean of n draws of an element with gap g lies within 6 g / 2 sqrt(n):
    six standard deviations. The last element of each block fixes the scale."""
    block = np.array([.1, -.3, 1.7, 2.6, -3.3, 4.9, 5.99, 0, .25, .75, 1, 2.5, 3.5, 4.5, -5.5, 6],
                     np.float32)
    count = 1 << 14
    values, scales = module().call("stochastic", np.tile(block, (count, 1)), np.float32(1),
                                   np.int64(99))
    assert np.all(scales == scales[0, 0])
    codes = unpack(NVFP4, values, 16)
    got = np.where(codes & 8, -1, 1) * E2M1_MAGNITUDES[codes & 7] * decode_e4m3(scales)
    magnitude = np.abs(block)
    gap = np.select([magnitude < 2, magnitude < 4], [0.5, 1.0], 2.0)
    assert np.all(np.abs(got.mean(axis=0) - block.astype(np.float64)) <= 3 * gap / count**0.5)


@pytest.mark.parametrize("rows,columns", [(64, 96), (16, 16), (48, 1040), (160, 32)])
def test_squares_share_a_scale(rows, columns):
    """Every 16x16 square is one block of 256 under te's formula, and its scale
    stands in each of its rows."""
    x = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
    encode = np.float32(2688 / np.abs(x).max())
    values, scales = module().call("squares", x, encode, np.int64(0))
    down, across = rows // 16, columns // 16
    squares = x.reshape(down, 16, across, 16).transpose(0, 2, 1, 3).reshape(-1, 256)
    codes, bytes_ = format_formulas.te(squares, "nvfp4", encode)
    codes = codes.reshape(down, across, 16, 16).transpose(0, 2, 1, 3).reshape(rows, columns)
    assert_equal(scales, np.repeat(bytes_.reshape(down, across), 16, axis=0), "scales")
    assert_equal(unpack(NVFP4, values, columns), codes, "codes")


def test_squares_at_the_last_rows():
    """Rows past the last whole square share the scale of what there is."""
    x = np.random.default_rng(9).standard_normal((21, 32)).astype(np.float32)
    values, scales = module().call("squares", x, np.float32(1), np.int64(0))
    padded = np.zeros((32, 32), np.float32)
    padded[:21] = x
    all_values, all_scales = module().call("squares", padded, np.float32(1), np.int64(0))
    assert_equal(scales, all_scales[:21], "scales")
    assert_equal(values, all_values[:21], "values")


def test_squares_with_stochastic_rounding():
    """Square scales, and the same numbers of Philox as without squares."""
    x = np.random.default_rng(7).standard_normal((32, 64)).astype(np.float32)
    encode, seed = np.float32(1), 5
    values, scales = module().call("both", x, encode, np.int64(seed))
    _, square_scales = module().call("squares", x, encode, np.int64(0))
    assert_equal(scales, square_scales, "scales")
    factor = np.repeat(factors(scales, encode), 16, axis=1)
    scaled = np.clip(x * factor, np.float32(-6), np.float32(6))
    expected = round_stochastically(scaled, uniforms(seed, x.size).reshape(x.shape))
    assert_equal(unpack(NVFP4, values, 64), expected, "codes")
