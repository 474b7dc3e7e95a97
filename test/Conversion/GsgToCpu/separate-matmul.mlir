// Blocks along rows of a result cross tiles, and groups along K may start within
// four tiled scales: both become operations beside the product.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=generic --split-input-file | FileCheck %s

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x24x64, nvfp4>
!o = !grouped_scaled_gemm.scaled<?x24, nvfp4, starts = compact, axis = 0>

// CHECK-LABEL: func @column_scales(
// CHECK-SAME:    %{{.*}}: memref<2xi32>, %{{.*}}: memref<?x32xi8>, %{{.*}}: memref<?x4xf8E4M3FN>,
// CHECK-SAME:    %{{.*}}: memref<2x24x32xi8>, %{{.*}}: memref<2x24x4xf8E4M3FN>, %[[VALUES:.*]]: memref<?x12xi8>
// CHECK:         %[[ROWS:.*]] = memref.dim %[[VALUES]]
// CHECK:         %[[Y:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x24xf32>
// The tail: every byte of values and scales is zero first.
// CHECK:         linalg.fill {{.*}} outs(%[[VALUES]]
// CHECK:         linalg.fill {{.*}} outs(%{{.*}} : memref<?x24xf8E4M3FN>)
// CHECK:         call @nvfp4_matmul_0
// CHECK:         scf.parallel
// CHECK:           vector.reduction <maxui>
// CHECK:         memref.dealloc %[[Y]]
// CHECK-NOT:     grouped_scaled_gemm
// CHECK:         return
func.func @column_scales(%ends: memref<2xi32>, %x: memref<?x32xi8>, %xs: memref<?x4xf8E4M3FN>,
                         %w: memref<2x24x32xi8>, %ws: memref<2x24x4xf8E4M3FN>,
                         %o: memref<?x12xi8>, %os: memref<?x24xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<2xi32>)
      lhs(%x scaled_by %xs : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<2x24x32xi8>, memref<2x24x4xf8E4M3FN> as !b)
      quantizer = <mega16>
      outs(%o scaled_by %os : memref<?x12xi8>, memref<?x24xf8E4M3FN> as !o)
      {tail = #grouped_scaled_gemm<tail zero>}
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x256, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<32x256, nvfp4, blocked>

// CHECK-LABEL: func @within_four_scales(
// CHECK:         %[[LEFT:.*]] = memref.alloc() {{.*}} : memref<16x16xf8E4M3FN>
// CHECK:         %[[RIGHT:.*]] = memref.alloc() {{.*}} : memref<32x16xf8E4M3FN>
// CHECK:         call @nvfp4_matmul_0
// CHECK-DAG:     memref.dealloc %[[LEFT]]
// CHECK-DAG:     memref.dealloc %[[RIGHT]]
// CHECK:         return
func.func @within_four_scales(%ends: memref<4xi32>, %x: memref<16x128xi8>, %xs: memref<1x4x32x4x4xf8E4M3FN>,
                              %w: memref<32x128xi8>, %ws: memref<1x4x32x4x4xf8E4M3FN>, %c: memref<4x16x32xf32>) {
  grouped_scaled_gemm.matmul <ragged_k, ends, align = 32> groups(%ends : memref<4xi32>)
      lhs(%x scaled_by %xs : memref<16x128xi8>, memref<1x4x32x4x4xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<32x128xi8>, memref<1x4x32x4x4xf8E4M3FN> as !b)
      outs(%c : memref<4x16x32xf32>)
  return
}

// -----

// Four scales of 16 elements begin a word: scales are read where they lie.
!a = !grouped_scaled_gemm.scaled<16x256, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<32x256, nvfp4, blocked>

// CHECK-LABEL: func @at_four_scales(
// CHECK-NOT:     memref.alloc() {{.*}}f8E4M3FN
// CHECK:         return
func.func @at_four_scales(%ends: memref<4xi32>, %x: memref<16x128xi8>, %xs: memref<1x4x32x4x4xf8E4M3FN>,
                          %w: memref<32x128xi8>, %ws: memref<1x4x32x4x4xf8E4M3FN>, %c: memref<4x16x32xf32>) {
  grouped_scaled_gemm.matmul <ragged_k, ends, align = 64> groups(%ends : memref<4xi32>)
      lhs(%x scaled_by %xs : memref<16x128xi8>, memref<1x4x32x4x4xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<32x128xi8>, memref<1x4x32x4x4xf8E4M3FN> as !b)
      outs(%c : memref<4x16x32xf32>)
  return
}
