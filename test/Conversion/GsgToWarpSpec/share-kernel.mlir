// RUN: nvfp4-opt %s --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s

// Equal kernels are one, whatever the products' places and extents are. Another
// epilogue is another kernel.

!scaled = !grouped_scaled_gemm.scaled<?x?, nvfp4>

// CHECK-LABEL: func.func @products
// CHECK-COUNT-2: warpspec.launch @nvfp4_kernels::@nvfp4_gemm_0
// CHECK: warpspec.launch @nvfp4_kernels::@nvfp4_gemm_1
// CHECK-NOT: warpspec.launch

// CHECK: gpu.module @nvfp4_kernels
// CHECK: warpspec.kernel @nvfp4_gemm_0
// CHECK: warpspec.kernel @nvfp4_gemm_1
// CHECK-NOT: warpspec.kernel
func.func @products(%a: memref<?x?xi8>, %as: memref<?x?xf8E4M3FN>,
                    %b: memref<?x?xi8>, %bs: memref<?x?xf8E4M3FN>,
                    %c: memref<?x?xf32>, %d: memref<?x?xf32>, %alpha: f32) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
      rhs(%b scaled_by %bs : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
      outs(%c : memref<?x?xf32>)
  grouped_scaled_gemm.matmul <dense>
      lhs(%b scaled_by %bs : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
      rhs(%a scaled_by %as : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
      outs(%d : memref<?x?xf32>)
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
      rhs(%b scaled_by %bs : memref<?x?xi8>, memref<?x?xf8E4M3FN> as !scaled)
      alpha(%alpha : f32) outs(%c : memref<?x?xf32>)
  return
}
