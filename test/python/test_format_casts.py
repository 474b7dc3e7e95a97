# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C++ casts against ml_dtypes and numpy: every code, every bf16 input."""

import ml_dtypes
import numpy as np
import pytest

import format_shim as shim

BYTES = np.arange(256, dtype=np.uint8)
SHORTS = np.arange(65536, dtype=np.uint16)


def bits(values):
    """The patterns of a float32 array; NaNs compare as patterns do not."""
    return values.astype(np.float32).view(np.uint32)


def all_bf16():
    return SHORTS.view(ml_dtypes.bfloat16).astype(np.float32)


def inputs():
    """Every bf16 value, every f16 value, and random f32 patterns."""
    random = np.random.default_rng(11).integers(
        0, 2**32, 1 << 20, dtype=np.uint32).view(np.float32)
    halves = SHORTS.view(np.float16).astype(np.float32)
    return np.concatenate([all_bf16(), halves, random])


def assert_same_values(ours, theirs):
    nan = np.isnan(theirs)
    np.testing.assert_array_equal(np.isnan(ours), nan)
    np.testing.assert_array_equal(bits(ours)[~nan], bits(theirs)[~nan])


@pytest.mark.parametrize("name,dtype", [
    ("decode_e4m3", ml_dtypes.float8_e4m3fn),
    ("decode_e5m2", ml_dtypes.float8_e5m2),
    ("decode_e8m0", ml_dtypes.float8_e8m0fnu),
])
def test_decodes_every_byte(name, dtype):
    assert_same_values(shim.cast(name, BYTES),
                       BYTES.view(dtype).astype(np.float32))


def test_decodes_every_e2m1_code():
    codes = np.arange(16, dtype=np.uint8)
    assert_same_values(
        shim.cast("decode_e2m1", codes),
        codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32))


@pytest.mark.parametrize("name,dtype", [("decode_bf16", ml_dtypes.bfloat16),
                                        ("decode_f16", np.float16)])
def test_decodes_every_short(name, dtype):
    assert_same_values(shim.cast(name, SHORTS),
                       SHORTS.view(dtype).astype(np.float32))


@pytest.mark.parametrize("name,dtype", [("encode_bf16", ml_dtypes.bfloat16),
                                        ("encode_f16", np.float16)])
def test_encodes_16_bit_floats(name, dtype):
    x = inputs()
    x = x[~np.isnan(x)]
    with np.errstate(over="ignore"):
        theirs = x.astype(dtype).view(np.uint16)
    np.testing.assert_array_equal(shim.cast(name, x), theirs)


def test_encodes_e2m1():
    x = inputs()
    x = x[~np.isnan(x)]
    theirs = np.clip(x, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    np.testing.assert_array_equal(shim.cast("encode_e2m1", x), theirs & 15)


def test_encodes_e4m3_saturating():
    x = inputs()
    x = x[~np.isnan(x)]
    theirs = np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(
        shim.cast("encode_e4m3", x), theirs.view(np.uint8))


def test_encodes_e5m2_saturating_or_not():
    x = inputs()
    x = x[~np.isnan(x)]
    np.testing.assert_array_equal(
        shim.cast("encode_e5m2", x),
        x.astype(ml_dtypes.float8_e5m2).view(np.uint8))
    clipped = np.clip(x, -57344, 57344).astype(ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(
        shim.cast("encode_e5m2_sat", x), clipped.view(np.uint8))


@pytest.mark.parametrize("name,dtype", [
    ("encode_e4m3", ml_dtypes.float8_e4m3fn),
    ("encode_e5m2", ml_dtypes.float8_e5m2),
    ("encode_e5m2_sat", ml_dtypes.float8_e5m2),
])
def test_nan_bytes_are_those_of_ml_dtypes(name, dtype):
    nans = np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)
    np.testing.assert_array_equal(
        shim.cast(name, nans), nans.astype(dtype).view(np.uint8))


def test_nan_stays_nan_except_in_e2m1():
    nans = np.array([0x7F800001, 0x7FC00000, 0xFFC00000, 0xFFFFFFFF],
                    np.uint32).view(np.float32)
    assert np.all(shim.cast("encode_e2m1", nans) == 7)
    for name in ("e4m3", "e5m2", "bf16", "f16", "e8m0_up"):
        encoded = shim.cast("encode_" + name, nans)
        decoded = shim.cast("decode_" + name.split("_")[0], encoded)
        assert np.all(np.isnan(decoded)), name
    assert np.all(np.isnan(shim.cast(
        "decode_e5m2", shim.cast("encode_e5m2_sat", nans))))


def test_encodes_e8m0():
    """Against frexp in double, for positive finite inputs in range."""
    x = np.abs(inputs())
    x = x[np.isfinite(x) & (x > 0)]
    mantissa, exponent = np.frexp(x.astype(np.float64))  # x = m 2^e, m < 1
    down = np.clip(exponent - 1 + 127, 0, 254)
    up = np.clip(np.where(mantissa == 0.5, exponent - 1, exponent) + 127, 0, 254)
    np.testing.assert_array_equal(shim.cast("encode_e8m0_down", x), down)
    np.testing.assert_array_equal(shim.cast("encode_e8m0_up", x), up)
    # ml_dtypes does not saturate.
    in_range = x < 2.0**127
    theirs = x[in_range].astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)
    np.testing.assert_array_equal(
        shim.cast("encode_e8m0_nearest", x)[in_range], theirs)


def test_stochastic_rounding_formula():
    """sign * ulp * floor(|x| / ulp + u), in double, for many (x, u)."""
    random = np.random.default_rng(3)
    x = np.concatenate([random.uniform(-7, 7, 1 << 18),
                        np.arange(-6, 6.5, 0.5)]).astype(np.float32)
    u = (random.integers(0, 2**24, x.size) * 2.0**-24).astype(np.float32)
    magnitude = np.abs(x.astype(np.float64))
    ulp = np.select([magnitude < 2, magnitude < 4], [0.5, 1.0], 2.0)
    expected = np.minimum(np.floor(magnitude / ulp + u) * ulp, 6)
    ours = shim.cast("decode_e2m1", shim.encode_e2m1_stochastic(x, u))
    np.testing.assert_array_equal(ours, np.copysign(expected, x))


def test_stochastic_mean_is_the_input():
    """2^18 draws: six standard deviations of an outcome with gap g are
    6 g / 2 / sqrt(n)."""
    count = 1 << 18
    u = shim.philox_uniform(5, 9, 0, count)
    for x in (0.1, -0.3, 1.7, 2.6, -3.3, 4.9, 5.99):
        values = shim.cast("decode_e2m1", shim.encode_e2m1_stochastic(
            np.full(count, x, np.float32), u)).astype(np.float64)
        gap = 0.5 if abs(x) < 2 else 1 if abs(x) < 4 else 2
        assert abs(values.mean() - np.float32(x)) < 6 * gap / 2 / count**0.5


def test_hadamard_against_the_matrix():
    matrix = np.array([[1]])
    while matrix.shape[0] < 16:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    x = np.random.default_rng(1).integers(-50, 50, (8, 16)).astype(np.float32)
    signs = np.array([1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1])
    np.testing.assert_array_equal(shim.hadamard(x, False, 0), x @ matrix)
    np.testing.assert_array_equal(shim.hadamard(x, True, 0xD7E8),
                                  (x * signs) @ matrix / 4)


@pytest.mark.parametrize("q", [1, 8, 16, 32, 64, 128])
@pytest.mark.parametrize("up_first", [False, True])
def test_gate_rows(q, up_first):
    pairs = np.arange(256).reshape(128 // q, 2, q)
    gate, up = shim.gate_rows(q, up_first, 128)
    np.testing.assert_array_equal(gate, pairs[:, int(up_first)].ravel())
    np.testing.assert_array_equal(up, pairs[:, 1 - int(up_first)].ravel())
