// Blocks of a cut tile wait for one another: its launch is cooperative (2). Others may begin before the one ahead ends (1).
// RUN: nvfp4-compile %s --target=sm_90a --emit=mlir | FileCheck %s

// CHECK: llvm.mlir.global internal constant @nvfp4_kernels_nvfp4_gemm_1_entry()
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.insertvalue %[[ONE]], %{{.*}}[5]
// CHECK: llvm.mlir.global internal constant @nvfp4_kernels_nvfp4_gemm_0_entry()
// CHECK: %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
// CHECK: llvm.insertvalue %[[TWO]], %{{.*}}[5]

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<8x384x512, nvfp4>

func.func @cut(%a: memref<?x256xi8>, %as: memref<?x32xf8E4M3FN>, %ends: memref<8xi32>,
               %b: memref<8x384x256xi8>, %bs: memref<8x384x32xf8E4M3FN>, %out: memref<?x384xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>)
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x32xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<8x384x256xi8>, memref<8x384x32xf8E4M3FN> as !b)
      outs(%out : memref<?x384xbf16>) {expected_rows = 100000}
  return
}

func.func @whole(%a: memref<?x256xi8>, %as: memref<?x32xf8E4M3FN>, %ends: memref<8xi32>,
                 %b: memref<8x384x256xi8>, %bs: memref<8x384x32xf8E4M3FN>, %out: memref<?x384xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>)
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x32xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<8x384x256xi8>, memref<8x384x32xf8E4M3FN> as !b)
      outs(%out : memref<?x384xbf16>) {expected_rows = 1000}
  return
}
