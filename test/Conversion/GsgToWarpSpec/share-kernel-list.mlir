// RUN: nvfp4-opt %s --gsg-split-list=all --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s --implicit-check-not=nvfp4_gemm_1

// Problems of a list as products of their own: those that differ in extents only share a kernel.

!a0 = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b0 = !grouped_scaled_gemm.scaled<384x512, nvfp4>
!a1 = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b1 = !grouped_scaled_gemm.scaled<384x512, nvfp4>

// CHECK-LABEL: func.func @list
// CHECK-COUNT-2: warpspec.launch @nvfp4_kernels::@nvfp4_gemm_0

// CHECK: gpu.module @nvfp4_kernels
// CHECK: warpspec.kernel @nvfp4_gemm_0
// CHECK-NOT: warpspec.kernel
func.func @list(%a0: memref<?x256xi8>, %as0: memref<?x32xf8E4M3FN>,
                %b0: memref<384x256xi8>, %bs0: memref<384x32xf8E4M3FN>,
                %a1: memref<?x256xi8>, %as1: memref<?x32xf8E4M3FN>,
                %b1: memref<384x256xi8>, %bs1: memref<384x32xf8E4M3FN>,
                %alpha: memref<2xf32>, %c0: memref<?x384xf32>, %c1: memref<?x384xf32>) {
  grouped_scaled_gemm.matmul_list
      lhs(%a0 scaled_by %as0 : memref<?x256xi8>, memref<?x32xf8E4M3FN> as !a0,
          %a1 scaled_by %as1 : memref<?x256xi8>, memref<?x32xf8E4M3FN> as !a1)
      rhs(%b0 scaled_by %bs0 : memref<384x256xi8>, memref<384x32xf8E4M3FN> as !b0,
          %b1 scaled_by %bs1 : memref<384x256xi8>, memref<384x32xf8E4M3FN> as !b1)
      alpha(%alpha : memref<2xf32>) outs(%c0, %c1 : memref<?x384xf32>, memref<?x384xf32>)
  return
}
