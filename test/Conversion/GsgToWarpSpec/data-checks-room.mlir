// Scales that start by group: their buffer may be too small for some groups,
// which one thread then walks.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_100a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec="target=sm_100a data-checks" | FileCheck %s

!x = !grouped_scaled_gemm.scaled<64x512, nvfp4, blocked, starts = upper_bound>
!b = !grouped_scaled_gemm.scaled<4x384x512, nvfp4, blocked>

// CHECK: warpspec.data_checks {{.*}} [#warpspec.data_check<groups, "", "", [0, 1]>, #warpspec.data_check<room, "storage_c9", "rows of the scales of lhs">]
// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: role @epilogue
// CHECK: %[[THREAD:.*]] = warpspec.thread_index
// CHECK: scf.for
// CHECK: llvm.cmpxchg
// CHECK-DAG: %[[ONE:.*]] = arith.cmpi eq, %[[THREAD]], %c0
// CHECK-DAG: %[[SMALL:.*]] = arith.cmpi slt, %{{.*}} : i64
// CHECK: %[[WALKS:.*]] = arith.andi %[[ONE]], %[[SMALL]]
// CHECK: scf.if %[[WALKS]] {
// CHECK: scf.for %{{.*}} iter_args(
// CHECK: llvm.cmpxchg
// CHECK: warpspec.for_each_tile
func.func @room(%a: memref<64x256xi8>, %as: memref<1x8x32x4x4xf8E4M3FN>, %ends: memref<4xi32>, %b: memref<4x384x256xi8>,
                %bs: memref<4x3x8x32x4x4xf8E4M3FN>, %out: memref<64x384xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<4xi32>)
      lhs(%a scaled_by %as : memref<64x256xi8>, memref<1x8x32x4x4xf8E4M3FN> as !x)
      rhs(%b scaled_by %bs : memref<4x384x256xi8>, memref<4x3x8x32x4x4xf8E4M3FN> as !b)
      outs(%out : memref<64x384xbf16>)
  return
}
