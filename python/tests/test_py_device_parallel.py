# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that threads of a parallel loop start belong to the call of the thread before it."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4_formats import random_scaled

TEXT = """
!w = !grouped_scaled_gemm.scaled<64x128, nvfp4>
!row = memref<24x128xbf16, strided<[128, 1], offset: ?>>
!part = memref<24x64xf32, strided<[64, 1], offset: ?>>
func.func @f(%x: memref<12x24x128xbf16>, %v: memref<64x64xi8>, %s: memref<64x8xf8E4M3FN>, %y: memref<12x24x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  scf.parallel (%i) = (%c0) to (%c12) step (%c1) {
    %a = memref.subview %x[%i, 0, 0] [1, 24, 128] [1, 1, 1] : memref<12x24x128xbf16> to !row
    %c = memref.subview %y[%i, 0, 0] [1, 24, 64] [1, 1, 1] : memref<12x24x64xf32> to !part
    %ad = memref.alloc() : memref<24x128xbf16>
    %cd = memref.alloc() : memref<24x64xf32>
    memref.copy %a, %ad : !row to memref<24x128xbf16>
    grouped_scaled_gemm.matmul <dense> lhs(%ad : memref<24x128xbf16>)
        rhs(%v scaled_by %s : memref<64x64xi8>, memref<64x8xf8E4M3FN> as !w) outs(%cd : memref<24x64xf32>)
    memref.copy %cd, %c : memref<24x64xf32> to !part
    scf.reduce
  }
  return
}
"""


@pytest.mark.parametrize("threads", [1, 4])
def test_products_of_a_parallel_loop(rng, threads):
    x = rng.standard_normal((12, 24, 128)).astype(ml_dtypes.bfloat16)
    weights = random_scaled(rng, (64, 128), "nvfp4").store()
    got, wanted = (np.full((12, 24, 64), np.nan, np.float32) for _ in range(2))
    program = nvfp4.compile(TEXT, "sm_90a+sim")
    before = nvfp4.num_threads()
    nvfp4.set_num_threads(threads)
    try:
        program.run(x, *weights, got)
    finally:
        nvfp4.set_num_threads(before)
    nvfp4.compile(TEXT.replace("scf.parallel (%i) = (%c0) to (%c12) step (%c1) {", "scf.for %i = %c0 to %c12 step %c1 {")
                  .replace("    scf.reduce\n", ""), "sm_90a+sim").run(x, *weights, wanted)
    np.testing.assert_array_equal(got, wanted)
    assert np.isfinite(got).all()
