# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The named quantisers once more, in numpy and ml_dtypes: the oracle.

Every function takes blocks as rows, float32 [n, block], and returns (codes
uint8 [n, block], scale bytes uint8 [n]). All arithmetic is float32; casts are
those of ml_dtypes.
"""

import ml_dtypes
import numpy as np

F = np.float32
FLT_MAX = np.finfo(F).max
ELEMENTS = {
    "nvfp4": (6, 2), "nvfp4_e8m0": (6, 2), "mxfp4": (6, 2),
    "mxfp8_e4m3": (448, 8), "mxfp8_e5m2": (57344, 15),
}


def e4m3(x):
    """(byte, value) of a non-negative scale, saturating."""
    code = np.clip(x, F(0), F(448)).astype(ml_dtypes.float8_e4m3fn)
    byte = code.view(np.uint8).copy()
    byte[np.isnan(x)] = 0x7F
    value = code.astype(F)
    value[np.isnan(x)] = np.nan
    return byte, value


def power(exponent):
    """(byte, value) of 2^exponent, clamped to what a byte can say; NaN."""
    nan = np.isnan(exponent)
    exponent = np.where(nan, 0, exponent)
    exponent = np.clip(exponent, -127, 127).astype(np.int64)
    byte = np.where(nan, 255, exponent + 127).astype(np.uint8)
    return byte, np.where(nan, F(np.nan), np.ldexp(F(1), exponent))


def ceil_log2(x):
    """Of non-negative numbers; zero and infinity are beyond every byte."""
    mantissa, exponent = np.frexp(x.astype(np.float64))
    exponent = np.where(mantissa == 0.5, exponent - 1, exponent)
    return np.select([x == 0, np.isinf(x), np.isnan(x)], [-1000, 1000, np.nan],
                     exponent)


def floor_log2(x):
    exponent = np.frexp(x.astype(np.float64))[1] - 1
    return np.select([x == 0, np.isinf(x), np.isnan(x)], [-1000, 1000, np.nan],
                     exponent)


def elements(x, fmt):
    limit = ELEMENTS[fmt][0]
    clipped = np.clip(x, F(-limit), F(limit))
    if limit == 6:
        codes = clipped.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
        codes[np.isnan(x)] = 7
        return codes
    dtype = (ml_dtypes.float8_e4m3fn if limit == 448 else ml_dtypes.float8_e5m2)
    codes = clipped.astype(dtype).view(np.uint8).copy()
    codes[np.isnan(x)] = 0x7F if limit == 448 else 0x7E
    return codes


def amax_propagating(x):
    return np.abs(x).max(axis=1)


def amax_ignoring(x):
    return np.fmax.reduce(np.abs(x), axis=1, initial=F(0))


def scaled(x, factor, fmt):
    return elements(x * factor[:, None], fmt)


def is_power(fmt):
    return fmt != "nvfp4"


def cutlass(x, fmt, norm):
    amax = amax_propagating(x)
    wanted = amax * (F(1) / F(ELEMENTS[fmt][0])) * norm
    byte, value = power(ceil_log2(wanted)) if is_power(fmt) else e4m3(wanted)
    return scaled(x, np.minimum(norm * (F(1) / value), FLT_MAX), fmt), byte


def trtllm(x, fmt, encode):
    wanted = encode * (amax_ignoring(x) * (F(1) / F(ELEMENTS[fmt][0])))
    if is_power(fmt):
        byte, value = power(floor_log2(wanted))
        tiny = wanted < F(2.0**-126)
        byte[tiny], value[tiny] = 0, 0
        byte[np.isinf(wanted)], value[np.isinf(wanted)] = 0xFF, np.inf
    else:
        byte, value = e4m3(wanted)
    factor = np.where(value != 0, F(1) / (value * (F(1) / encode)), F(0))
    return scaled(x, factor, fmt), byte


def te(x, fmt, encode):
    amax = amax_ignoring(x)
    if is_power(fmt):
        wanted = amax * (F(1) / F(ELEMENTS[fmt][0]))
        byte, value = power(ceil_log2(wanted))
        factor = np.where(amax == 0, F(0), F(1) / value)
        return scaled(x, factor, fmt), byte
    byte, value = e4m3(np.minimum(amax * (encode * (F(1) / F(6))), F(448)))
    factor = np.fmin(F(1) / (value * (F(1) / encode)), FLT_MAX)
    return scaled(x, factor, fmt), byte


def modelopt(x, fmt, multiplier):
    amax = amax_propagating(x)
    wanted = np.clip(amax / (F(6) * multiplier), F(2.0**-9), F(448))
    wanted[amax == 0] = 1
    byte, value = e4m3(wanted)
    quotient = x / (value * multiplier)[:, None]
    codes = elements(quotient, fmt)
    codes[(quotient == 0) & (codes == 8)] = 0
    return codes, byte


def mega16(x, fmt, _):
    byte, value = e4m3(amax_ignoring(x) * (F(1) / F(6)))
    factor = np.where(value == 0, F(0), np.fmin(F(1) / value, FLT_MAX))
    return scaled(x, factor, fmt), byte


def poison(codes, byte, amax, fmt):
    """Blocks whose maximum is not finite get the NaN scale."""
    bad = ~np.isfinite(amax)
    byte[bad] = 0xFF
    codes[bad] = {6: 7, 448: 0x7F, 57344: 0x7E}[ELEMENTS[fmt][0]]
    return codes, byte


def ue8m0_up(x, fmt, _):
    amax = amax_propagating(x)
    wanted = amax / F(ELEMENTS[fmt][0])
    # Subnormal quotients count as the smallest normal number.
    exponent = np.where((wanted > 0) & (wanted < F(2.0**-126)), -126,
                        ceil_log2(wanted))
    byte, value = power(exponent)
    factor = np.where(amax == 0, F(0), F(1) / value)
    return poison(scaled(x, factor, fmt), byte, amax, fmt)


def ocp(x, fmt, _):
    amax = amax_propagating(x)
    byte, value = power(floor_log2(amax) - ELEMENTS[fmt][1])
    factor = np.where(amax == 0, F(0), F(1) / value)
    return poison(scaled(x, factor, fmt), byte, amax, fmt)


def _two_level(x, fmt, wanted, encode):
    byte, value = e4m3(wanted)
    factor = np.where(value == 0, F(0), F(1) / (value * (F(1) / encode)))
    return scaled(x, factor, fmt), byte, value


def triton_nearest(x, fmt, encode):
    return _two_level(x, fmt, amax_ignoring(x) / F(6) * encode, encode)[:2]


def four_over_six(x, fmt, encode, squared=True):
    amax = amax_ignoring(x)
    candidates = []
    for wanted in (amax / F(6) * encode, F(1.5) * amax / F(6) * encode):
        codes, byte, value = _two_level(x, fmt, wanted, encode)
        back = codes.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(F)
        error = np.abs(back * (value * (F(1) / encode))[:, None] - x)
        if squared:
            error = error * error
        total = np.zeros(len(x), F)
        for column in error.T:  # in order, one rounding each
            total = total + column
        candidates.append((codes, byte, total))
    (codes6, byte6, error6), (codes4, byte4, error4) = candidates
    four = error4 < error6
    return (np.where(four[:, None], codes4, codes6),
            np.where(four, byte4, byte6))
