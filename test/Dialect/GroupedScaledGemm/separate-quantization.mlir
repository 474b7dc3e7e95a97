// Kernels quantise what lies in one row of a thread; the rest of the quantised results go through f32 to the host.
// RUN: nvfp4-opt %s --gsg-separate-quantization --split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --gsg-to-sm100-kernels --split-input-file -o /dev/null
// RUN: nvfp4-opt %s --gsg-to-sm90-kernels --split-input-file -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x24x64, nvfp4>
!o = !grouped_scaled_gemm.scaled<?x24, nvfp4, starts = compact, axis = 0>

// The factor, the seed and the groups are those of the quantisation; the bytes of the tail are zero first.
// CHECK-LABEL: func @along_rows(
// CHECK-SAME:      %[[ENDS:[a-z0-9]+]]: memref<2xi32>,
// CHECK-SAME:      %[[FACTOR:[a-z0-9]+]]: f32, %[[SEED:[a-z0-9]+]]: i64, %[[VALUES:[a-z0-9]+]]: memref<?x12xi8>
// CHECK:         %[[Y:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x24xf32>
// CHECK:         linalg.fill {{.*}} outs(%[[VALUES]]
// CHECK:         linalg.fill {{.*}} outs(%{{.*}} : memref<?x24xf8E4M3FN>)
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[ENDS]]
// CHECK-NOT:     quantizer
// CHECK:           outs(%[[Y]] : memref<?x24xf32>)
// CHECK:         grouped_scaled_gemm.quantize <te, rounding = stochastic>(%[[Y]] : memref<?x24xf32>)
// CHECK-SAME:      groups(%[[ENDS]] : memref<2xi32>) as <ragged_rows, ends>
// CHECK-SAME:      global_scale(%[[FACTOR]] : f32) seed(%[[SEED]])
// CHECK-SAME:      outs(%[[VALUES]] scaled_by
// CHECK:         memref.dealloc %[[Y]]
func.func @along_rows(%ends: memref<2xi32>, %x: memref<?x32xi8>, %xs: memref<?x4xf8E4M3FN>,
                      %w: memref<2x24x32xi8>, %ws: memref<2x24x4xf8E4M3FN>, %factor: f32, %seed: i64,
                      %o: memref<?x12xi8>, %os: memref<?x24xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<2xi32>)
      lhs(%x scaled_by %xs : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<2x24x32xi8>, memref<2x24x4xf8E4M3FN> as !b)
      quantizer = <te, rounding = stochastic> global_scale(%factor : f32) seed(%seed)
      outs(%o scaled_by %os : memref<?x12xi8>, memref<?x24xf8E4M3FN> as !o)
      {tail = #grouped_scaled_gemm<tail zero>}
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @squares(
// CHECK:         grouped_scaled_gemm.matmul
// CHECK:         grouped_scaled_gemm.quantize <te, two_d>
func.func @squares(%x: memref<16x32xi8>, %xs: memref<16x4xf8E4M3FN>, %w: memref<32x32xi8>, %ws: memref<32x4xf8E4M3FN>,
                   %o: memref<16x16xi8>, %os: memref<16x2xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%x scaled_by %xs : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      quantizer = <te, two_d>
      outs(%o scaled_by %os : memref<16x16xi8>, memref<16x2xf8E4M3FN> as !grouped_scaled_gemm.scaled<16x32, nvfp4>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @tiles_of_8x4(
// CHECK:         grouped_scaled_gemm.matmul
// CHECK:         grouped_scaled_gemm.quantize <te>
func.func @tiles_of_8x4(%x: memref<16x32xi8>, %xs: memref<16x4xf8E4M3FN>, %w: memref<64x32xi8>,
                        %ws: memref<64x4xf8E4M3FN>, %o: memref<16x32xi8>, %os: memref<2x1x8x4xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%x scaled_by %xs : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !b)
      quantizer = <te>
      outs(%o scaled_by %os : memref<16x32xi8>, memref<2x1x8x4xf8E4M3FN>
           as !grouped_scaled_gemm.scaled<16x64, nvfp4, blocked_8x4>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// A kernel does this one.
// CHECK-LABEL: func @along_columns(
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     grouped_scaled_gemm.quantize
func.func @along_columns(%x: memref<16x32xi8>, %xs: memref<16x4xf8E4M3FN>, %w: memref<32x32xi8>,
                         %ws: memref<32x4xf8E4M3FN>, %o: memref<16x16xi8>, %os: memref<16x2xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%x scaled_by %xs : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      quantizer = <te>
      outs(%o scaled_by %os : memref<16x16xi8>, memref<16x2xf8E4M3FN> as !grouped_scaled_gemm.scaled<16x32, nvfp4>)
  return
}
