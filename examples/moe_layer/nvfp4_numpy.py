# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVFP4 in numpy: an independent statement of what the example computes.

Nothing here calls the compiler. Products are formed in float64 from exactly
dequantised operands, so the results serve as the oracle of the example.
"""

import ml_dtypes
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6] * 2, np.float64) * np.repeat([1, -1], 8)
BLOCK = 16


def to_e4m3(x):
    """Rounds float32 to E4M3 (nearest even, saturating); returns float32."""
    clipped = np.clip(x.astype(np.float32), -448, 448)
    return clipped.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)


def to_codes(x):
    """Rounds float32 to E2M1 codes, nearest even, saturating, sign kept."""
    a = np.abs(x)
    code = np.zeros(a.shape, np.uint8)
    # A tie goes to the even code: 0.25 down, 0.75 up, and so on.
    for limit, up_on_tie in ((0.25, 0), (0.75, 1), (1.25, 0), (1.75, 1), (2.5, 0), (3.5, 1), (5, 0)):
        code += (a >= limit) if up_on_tie else (a > limit)
    return code | (np.signbit(x).astype(np.uint8) << 3)


def pack(codes):
    """Two codes a byte, the even index in the low nibble."""
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def unpack(packed):
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)


def dequantize(packed, scales, block=BLOCK):
    """Exact float64 values of packed codes with one scale a block: a number, or as a byte the exponent of UE8M0."""
    numbers = np.asarray(scales, np.float64)
    factors = np.exp2(numbers - 127) if scales.dtype == np.uint8 else numbers
    return E2M1[unpack(packed)] * np.repeat(factors, block, axis=-1)


def quantize_weight(w):
    """ModelOpt: returns (packed, scales, multiplier of the whole tensor)."""
    w = w.astype(np.float32)
    multiplier = np.float32(np.abs(w).max()) / np.float32(6 * 448)
    blocks = w.reshape(*w.shape[:-1], -1, BLOCK)
    amax = np.abs(blocks).max(-1)
    scale = amax / (np.float32(6) * multiplier)
    scale = np.where(amax == 0, np.float32(1), np.clip(scale, 2.0**-9, 448))
    scale = to_e4m3(scale)
    codes = to_codes(blocks / (scale * multiplier)[..., None])
    return pack(codes.reshape(w.shape)), scale.astype(ml_dtypes.float8_e4m3fn), multiplier


def quantize_activation(x, encode):
    """TensorRT-LLM, vLLM: returns (packed, scales as float32)."""
    x = x.astype(np.float32)
    encode = np.float32(encode)
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
    amax = np.abs(blocks).max(-1)
    scale = to_e4m3(encode * (amax * (np.float32(1) / np.float32(6))))
    with np.errstate(divide="ignore"):
        inverse = np.float32(1) / (scale * (np.float32(1) / encode))
    factor = np.where(scale != 0, inverse, np.float32(0))
    codes = to_codes(blocks * factor[..., None])
    return pack(codes.reshape(x.shape)), scale
