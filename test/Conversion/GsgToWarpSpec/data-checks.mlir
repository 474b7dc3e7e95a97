// Block 0 checks offsets and factors, in the role that stores results, before
// its first tile.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec="target=sm_90a data-checks" | FileCheck %s
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s --check-prefix=WITHOUT

// WITHOUT-NOT: warpspec.data
// WITHOUT-NOT: llvm.cmpxchg

!b = !grouped_scaled_gemm.scaled<4x384x512, mxfp4, wgmma>

// CHECK-LABEL: func.func @ragged
// CHECK: %[[RECORD:.*]] = warpspec.data_record
// CHECK: %[[CHECKS:.*]] = warpspec.data_checks "{{.*}}: grouped_scaled_gemm.matmul" [#warpspec.data_check<groups, "", "", [0, 8]>, #warpspec.data_check<factor, "", "", [1]>]
// CHECK: warpspec.launch @{{.*}}(%{{.*}}, %[[RECORD]], %[[CHECKS]], %{{.*}}
// CHECK-NOT: warpspec.launch
func.func @ragged(%a: memref<64x512xbf16>, %ends: memref<4xi32>,
                  %b: memref<4x6x8x2304xi8>, %bs: memref<4xf32>, %out: memref<64x384xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends, align = 8> groups(%ends : memref<4xi32>)
      lhs(%a : memref<64x512xbf16>) rhs(%b scaled_by %bs : memref<4x6x8x2304xi8>, memref<4xf32> as !b)
      outs(%out : memref<64x384xbf16>)
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: role @math
// CHECK: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[BLOCK]], %c0
// CHECK: scf.if %[[FIRST]] {
// CHECK: %[[THREAD:.*]] = warpspec.thread_index
// Offsets, then factors.
// CHECK: scf.for %{{.*}} = %[[THREAD]]
// CHECK: llvm.cmpxchg
// CHECK: scf.for %{{.*}} = %[[THREAD]]
// CHECK: llvm.cmpxchg
// CHECK: warpspec.for_each_tile
// CHECK-NOT: llvm.cmpxchg
// CHECK: role @load
// CHECK-NOT: llvm.cmpxchg
