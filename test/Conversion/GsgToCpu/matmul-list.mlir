// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=generic | FileCheck %s

// A list of products is one product whose table is written where the operation
// stands, one entry a problem: one call, one set of functions.

!a0 = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b0 = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!a1 = !grouped_scaled_gemm.scaled<?x128, nvfp4>
!b1 = !grouped_scaled_gemm.scaled<96x128, nvfp4>

// CHECK-LABEL: func @two_problems(
// CHECK-SAME:    %[[FIRST:[a-z0-9]*]]: memref<16x32xf32>, %[[SECOND:[a-z0-9]*]]: memref<?x96xf32>
// CHECK-DAG:     memref.extract_aligned_pointer_as_index %[[FIRST]]
// CHECK-DAG:     memref.extract_aligned_pointer_as_index %[[SECOND]]
// CHECK:         call @nvfp4_matmul_list_0(%{{.*}}) : (!llvm.ptr) -> ()
// CHECK-NOT:     call @nvfp4_matmul
// CHECK:         return
// CHECK-NOT:   @nvfp4_matmul_list_1_
func.func @two_problems(
    %c0: memref<16x32xf32>, %c1: memref<?x96xf32>,
    %a0: memref<16x32xi8>, %as0: memref<16x4xf8E4M3FN>, %b0: memref<32x32xi8>, %bs0: memref<32x4xf8E4M3FN>,
    %a1: memref<?x64xi8>, %as1: memref<?x8xf8E4M3FN>, %b1: memref<96x64xi8>, %bs1: memref<96x8xf8E4M3FN>) {
  grouped_scaled_gemm.matmul_list
      lhs(%a0 scaled_by %as0 : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a0,
          %a1 scaled_by %as1 : memref<?x64xi8>, memref<?x8xf8E4M3FN> as !a1)
      rhs(%b0 scaled_by %bs0 : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b0,
          %b1 scaled_by %bs1 : memref<96x64xi8>, memref<96x8xf8E4M3FN> as !b1)
      outs(%c0, %c1 : memref<16x32xf32>, memref<?x96xf32>)
  return
}
