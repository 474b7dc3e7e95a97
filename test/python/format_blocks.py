# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of the tests of quantisers: (quantiser, format) pairs and blocks."""

import ml_dtypes
import numpy as np

import format_formulas as formulas

POWER_FORMATS = ["nvfp4_e8m0", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2"]
CASES = (
    [(name, "nvfp4") for name in ("cutlass", "trtllm", "te", "modelopt",
                                  "mega16", "triton_nearest",
                                  "four_over_six")] +
    [(name, fmt) for name in ("cutlass", "trtllm", "te", "ue8m0_up", "ocp")
     for fmt in POWER_FORMATS])


def has_global(name, fmt):
    if name == "te":
        return fmt == "nvfp4"
    return name not in ("mega16", "ue8m0_up", "ocp")


def formula(name):
    return getattr(formulas, name)


def blocks(width, seed=0):
    """Rows of every kind: Gaussian, outliers, bf16, all scales of magnitude,
    ties, zeros, tiny and huge maxima, NaN and infinity."""
    random = np.random.default_rng(seed)
    gaussian = random.standard_normal((2000, width)).astype(np.float32)
    outliers = gaussian * np.where(random.random(gaussian.shape) < 0.05, 40, 1)
    magnitudes = gaussian * np.exp2(random.integers(-140, 110, (2000, 1)))
    bf16 = (random.integers(0, 2**16, (2000, width), dtype=np.uint16)
            .view(ml_dtypes.bfloat16).astype(np.float32))
    bf16[~np.isfinite(bf16)] = 1
    ties = random.choice(
        np.float32([0, .25, .75, 1.25, 1.75, 2.5, 3.5, 5, 6, -0.0, -.25, -5]),
        (2000, width))
    zero = np.zeros((1, width), np.float32)
    one_subnormal = zero.copy()
    one_subnormal[0, 3] = 2.0**-149
    tiny = zero.copy()
    tiny[0, 1] = -1e-30
    largest = zero + np.float32(6 * 448)
    poisoned = gaussian[:200].copy()
    poisoned[np.arange(200), random.integers(0, width, 200)] = np.nan
    infinite = gaussian[:200].copy()
    infinite[np.arange(200), random.integers(0, width, 200)] = np.where(
        random.random(200) < 0.5, np.inf, -np.inf)
    with np.errstate(all="ignore"):
        return np.concatenate([
            gaussian, outliers, magnitudes, bf16, ties, zero, -zero,
            one_subnormal, tiny, largest, poisoned, infinite,
        ]).astype(np.float32)


def few_blocks(width, seed=0):
    """Forty of them: five of each random kind, and each of the others."""
    rows = blocks(width, seed)
    return np.concatenate([rows[:10000:400], rows[10000:10010], rows[-5:]])


def edge_blocks(width, global_scale, largest):
    """Blocks whose maximum puts the scale within 4 ulps of where its byte
    changes, so that a different order of operations shows: midpoints of E4M3
    under the global scale, as encode scale and as multiplier, and powers of
    two."""
    e4m3 = (np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)
            .astype(np.float64))
    middles = (e4m3[1:] + e4m3[:-1]) / 2
    centres = np.concatenate(
        [unit * middles * scale for unit in (6, 4)
         for scale in (1 / global_scale, global_scale)] +
        [largest * np.exp2(np.arange(-40.0, 40)) / global_scale])
    centres = centres.astype(np.float32).view(np.int32)
    amax = (centres[:, None] + np.arange(-4, 5, dtype=np.int32)).ravel()
    fractions = np.random.default_rng(8).uniform(-1, 1, (amax.size, width))
    fractions[:, width // 2] = 1
    return (fractions * amax.view(np.float32)[:, None]).astype(np.float32)
