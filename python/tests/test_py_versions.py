# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One artefact for few and for many rows: every version of a product gives the same bits."""

import re

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4_formats import random_scaled

TEXT = """
func.func @f(%x: {rows}, %w: !grouped_scaled_gemm.scaled<3x256x256, {format}>, %ends: tensor<3xi32>, %a: tensor<3xf32>,
    %y: tensor<?x256xf32>) -> tensor<?x256xf32> {{
  %r = grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : tensor<3xi32>) lhs(%x : {rows})
      rhs(%w : !grouped_scaled_gemm.scaled<3x256x256, {format}>) alpha(%a : tensor<3xf32>) outs(%y : tensor<?x256xf32>)
      -> tensor<?x256xf32>
  return %r : tensor<?x256xf32>
}}
"""


def list_ranges(text, target):
    """Most rows of each version but the last, which has no bound."""
    return [int(most) for most in re.findall(r"^\d+ to (\d+) rows, for \d+: <", nvfp4.explain(text, target), re.M)]


@pytest.mark.parametrize("target, format, scaled", [("sm_90a", "nvfp4", False), ("sm_90a", "mxfp4", True),
                                                    ("sm_100a", "nvfp4", True), ("sm_100a", "mxfp8_e4m3", True)])
def test_versions_give_the_same_bits(rng, target, format, scaled):
    text = TEXT.format(rows=f"!grouped_scaled_gemm.scaled<?x256, {format}>" if scaled else "tensor<?x256xbf16>", format=format)
    borders = list_ranges(text, target)
    assert 1 <= len(borders) <= 3
    many = nvfp4.compile(text, target + "+sim")
    one = nvfp4.compile(text, target + "+sim", versions=1)
    kernels = [len(re.findall(r"\.entry ", program.ir("ptx"))) for program in (many, one)]
    assert kernels[1] == 1 and 2 <= kernels[0] <= len(borders) + 1
    host = nvfp4.compile(text)
    w = random_scaled(rng, (3, 256, 256), format, lattice=False).store()
    alpha = np.array([0.5, 2, 3], np.float32)
    # The border of the first two versions, one row, and none; borders of thousands of rows take the simulator minutes.
    for rows in {0, 1, 70, *(rows + more for rows in borders if rows <= 1300 for more in (0, 1))}:
        x = (random_scaled(rng, (rows, 256), format, lattice=False).store() if scaled
             else rng.standard_normal((rows, 256)).astype(ml_dtypes.bfloat16))
        ends = np.array([rows // 3, rows // 3, rows - rows // 5], np.int32)
        got, wanted = (program.run(x, w, ends, alpha, np.full((rows, 256), np.nan, np.float32)) for program in (many, one))
        np.testing.assert_array_equal(got, wanted)
        close = host.run(x, w, ends, alpha, np.full((rows, 256), np.nan, np.float32))
        # Sums are in another order on the CPU.
        np.testing.assert_allclose(got, close, rtol=1e-4, atol=1e-6 * np.nanmax(np.abs(close), initial=0))


@pytest.mark.parametrize("versions", [0, -1, 2.5, True, 65])
def test_a_bad_number_is_refused(versions):
    with pytest.raises(nvfp4.ArgumentError, match="expected versions as a whole number from 1 to 64"):
        nvfp4.compile(TEXT.format(rows="tensor<?x256xbf16>", format="nvfp4"), "sm_90a+sim", versions=versions)
