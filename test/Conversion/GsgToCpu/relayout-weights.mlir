// RUN: nvfp4-opt %s --convert-gsg-to-cpu --split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --gsg-emit-runtime-checks --split-input-file | FileCheck %s --check-prefix=CHECKED

// The runtime does it, matrix by matrix: format, multiplicand, matrices, N, K.

!l = !grouped_scaled_gemm.scaled<?x70x100, mxfp8_e4m3>
!c = !grouped_scaled_gemm.scaled<?x70x100, mxfp8_e4m3, wgmma_f16>

// CHECK-LABEL: func @forth(
// CHECK-SAME:    %[[V:[^:]*]]: memref<?x70x100xf8E4M3FN>,
// CHECK:         %[[DIM:.*]] = memref.dim %[[V]]
// CHECK:         %[[COUNT:.*]] = arith.index_cast %[[DIM]] : index to i64
// CHECK:         llvm.call @nvfp4_relayout_weights(%{{[^,]*}}, %c3_i32, %{{[^,]*}}, %[[COUNT]], %c70_i64, %c100_i64,
// The number of matrices is checked where it is known.
// CHECKED-LABEL: func @forth(
// CHECKED:         llvm.call @nvfp4_check_equal
// CHECKED:         scf.if
// CHECKED-NEXT:      grouped_scaled_gemm.relayout_weights
func.func @forth(%v: memref<?x70x100xf8E4M3FN>, %s: memref<?x70x4xf8E8M0FNU>,
                 %b: memref<?x2x2x4352xi8>, %f: memref<?xf32>) {
  grouped_scaled_gemm.relayout_weights(%v scaled_by %s
      : memref<?x70x100xf8E4M3FN>, memref<?x70x4xf8E8M0FNU> as !l)
      outs(%b scaled_by %f : memref<?x2x2x4352xi8>, memref<?xf32> as !c)
  return
}

// -----

// Memory with gaps is copied: one of many layers, whose rows are cut out.

!l = !grouped_scaled_gemm.scaled<64x128, nvfp4>
!c = !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>

// CHECK-LABEL: func @back(
// CHECK:         %[[DENSE:.*]] = memref.alloc() : memref<64x64xi8>
// CHECK:         llvm.call @nvfp4_relayout_weights_back(
// CHECK:         memref.copy %[[DENSE]], %{{.*}}
// CHECK:         memref.dealloc %[[DENSE]]
func.func @back(%b: memref<1x2x2304xi8>, %f: memref<1xf32>,
                %v: memref<64x64xi8, strided<[128, 1], offset: ?>>, %s: memref<64x8xf8E4M3FN>) {
  grouped_scaled_gemm.relayout_weights(%b scaled_by %f
      : memref<1x2x2304xi8>, memref<1xf32> as !c)
      outs(%v scaled_by %s : memref<64x64xi8, strided<[128, 1], offset: ?>>, memref<64x8xf8E4M3FN> as !l)
  return
}
