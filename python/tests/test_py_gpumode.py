# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contest's ten tests, with its inputs (bytes 0 and 1, scales 1 and 2) and with every byte, against numpy."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4 import gpumode
from nvfp4_formats import E2M1, store_scales


def make(rng, sizes, full, reordered):
    """(data, expected) with c full of NaN."""
    abc, plain, blocked, problems, expected = [], [], [], [], []
    for m, n, k in sizes:
        sides = []
        for rows in (m, n):
            values = rng.integers(0, 256 if full else 2, (1, rows, k // 2), np.uint8)
            scales = rng.integers(1, 3, (1, rows, k // 16)).astype(ml_dtypes.float8_e4m3fn)
            codes = np.stack([values & 15, values >> 4], -1).reshape(rows, k)
            sides.append((values, scales, E2M1[codes] * np.repeat(scales[0].astype(float), 16, -1)))
        (a, sfa, x), (b, sfb, w) = sides
        c = np.full((1, m, n), np.nan, np.float16).transpose(1, 2, 0)
        abc.append((a.transpose(1, 2, 0), b.transpose(1, 2, 0), c))
        plain.append((sfa.transpose(1, 2, 0), sfb.transpose(1, 2, 0)))
        blocked.append(tuple(
            store_scales(s.view(np.uint8), "blocked").view(ml_dtypes.float8_e4m3fn).transpose(3, 4, 1, 5, 2, 0)
            for s in (sfa, sfb)))
        problems.append((m, n, k, 1))
        expected.append((x @ w.T).astype(np.float32).astype(np.float16))
    return ((abc, plain, blocked, problems) if reordered else (abc, plain, problems)), expected


@pytest.mark.parametrize("full", [False, True], ids=["contest", "every-byte"])
@pytest.mark.parametrize("number", range(10))
def test_contest(rng, number, full):
    data, expected = make(rng, gpumode.TESTS[number], full, reordered=full)
    results = gpumode.custom_kernel(data)
    assert len(results) == len(expected)
    for result, (_, _, c), want in zip(results, data[0], expected):
        assert result is c
        np.testing.assert_array_equal(result[:, :, 0], want)


def test_the_contest_on_simulated_blackwell(rng):
    data, expected = make(rng, ((40, 128, 256), (72, 64, 128)), True, reordered=True)
    for result, want in zip(gpumode.custom_kernel(data, target="sm_100a+sim"), expected):
        np.testing.assert_array_equal(result[:, :, 0], want)


def test_sizes_must_agree(rng):
    (abc, plain, _), _ = make(rng, [(4, 8, 32)], False, False)
    with pytest.raises(nvfp4.ArgumentError, match=r"problem 0: expected a of shape \(5, 16, 1\), but got \(4, 16, 1\)"):
        gpumode.custom_kernel((abc, plain, [(5, 8, 32, 1)]))
    a, b, c = abc[0]
    with pytest.raises(nvfp4.ArgumentError, match="expected b of problem 0 as uint8, but got float4_e2m1fn"):
        gpumode.custom_kernel(([(a, b.view(ml_dtypes.float4_e2m1fn), c)], plain, [(4, 8, 32, 1)]))
    with pytest.raises(nvfp4.ArgumentError, match="3 or 4"):
        gpumode.custom_kernel((abc, plain))
    with pytest.raises(nvfp4.ArgumentError, match="one length"):
        gpumode.custom_kernel((abc, plain, []))


def test_batches_and_columns_first(rng):
    """L of 2, and a c that is not row-major, which is written through a copy."""
    (abc, plain, _), (expected, other) = make(rng, [(4, 8, 32), (4, 8, 32)], True, False)
    a, b, sfa, sfb = (np.concatenate([x, y], 2) for x, y in
                      ((abc[0][0], abc[1][0]), (abc[0][1], abc[1][1]), (plain[0][0], plain[1][0]), (plain[0][1], plain[1][1])))
    c = np.full((4, 8, 2), np.nan, np.float16)
    result, = gpumode.custom_kernel(([(a, b, c)], [(sfa, sfb)], [(4, 8, 32, 2)]))
    assert result is c
    np.testing.assert_array_equal(c[:, :, 0], expected)
    np.testing.assert_array_equal(c[:, :, 1], other)
