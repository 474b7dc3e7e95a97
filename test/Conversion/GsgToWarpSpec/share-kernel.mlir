// RUN: nvfp4-opt %s --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s --implicit-check-not=nvfp4_gemm_1_name
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --convert-gsg-to-warpspec | FileCheck %s --implicit-check-not=nvfp4_gemm_1_name

// Equal kernels are one, whatever the products' places and extents are; each
// launch has its own place for messages. Another epilogue is another kernel.

!scaled = !grouped_scaled_gemm.scaled<?x?, nvfp4>

// CHECK-DAG: llvm.mlir.global internal constant @nvfp4_gemm_0_where
// CHECK-DAG: llvm.mlir.global internal constant @nvfp4_gemm_1_where
// CHECK-DAG: llvm.mlir.global internal constant @nvfp4_gemm_2_where

// CHECK-LABEL: func.func @products
// CHECK: %[[FIRST:.*]] = llvm.mlir.addressof @nvfp4_gemm_0_name
// CHECK: llvm.call @nvfp4_task_begin(%{{.*}}, %{{.*}}, %[[FIRST]])
// CHECK: llvm.mlir.addressof @nvfp4_gemm_0_threads
// CHECK: llvm.mlir.addressof @nvfp4_gemm_1_where
// CHECK: %[[AGAIN:.*]] = llvm.mlir.addressof @nvfp4_gemm_0_name
// CHECK: llvm.call @nvfp4_task_begin(%{{.*}}, %{{.*}}, %[[AGAIN]])
// CHECK: llvm.mlir.addressof @nvfp4_gemm_0_threads
// CHECK: %[[OTHER:.*]] = llvm.mlir.addressof @nvfp4_gemm_2_name
// CHECK: llvm.call @nvfp4_task_begin(%{{.*}}, %{{.*}}, %[[OTHER]])
// CHECK: llvm.mlir.addressof @nvfp4_gemm_2_threads

// CHECK: gpu.module @nvfp4_kernels
// CHECK: warpspec.kernel @nvfp4_gemm_0
// CHECK: warpspec.kernel @nvfp4_gemm_2
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
