// Few entries: a block of each expert counts in shared memory, and places its
// own. Many: three launches by pieces of 256 entries, with a table of counts.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu | FileCheck %s

!e = memref<?x8xi32, #gpu.address_space<global>>
!n = memref<128xi32, #gpu.address_space<global>>
!t = memref<?xi32, #gpu.address_space<global>>

// CHECK-LABEL: func.func @sort
// CHECK: %[[IS_FEW:.*]] = arith.cmpi ule, %{{.*}}, %c2048
// CHECK: scf.if %[[IS_FEW]]
// CHECK: %[[BLOCKS:.*]] = arith.constant 128 : index
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %[[BLOCKS]],
// CHECK-SAME: threads({{.*}}) in (%{{.*}} = %c256,
// CHECK-SAME: workgroup(%[[COUNTS:.*]] : memref<128xi32, #gpu.address_space<workgroup>>, %{{.*}} : memref<256xi32, #gpu.address_space<workgroup>>)
// CHECK: gpu.barrier
// CHECK: memref.atomic_rmw addi %{{.*}}, %[[COUNTS]]
// CHECK: gpu.barrier
// CHECK: gpu.terminator
// CHECK: } else {
// CHECK: %[[PIECES:.*]] = arith.ceildivui
// CHECK: %[[TABLE:.*]] = gpu.alloc (%[[PIECES]]) : memref<?x128xi32, #gpu.address_space<global>>
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %[[PIECES]],
// CHECK-SAME: function(@nvfp4_sort_tokens_count)
// CHECK: memref.store %{{.*}}, %[[TABLE]]
// CHECK: gpu.launch {{.*}}function(@nvfp4_sort_tokens_scan)
// CHECK: memref.store %{{.*}}, %[[TABLE]]
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %[[PIECES]],
// CHECK-SAME: function(@nvfp4_sort_tokens_place)
// CHECK: memref.load %[[TABLE]]
// CHECK: gpu.dealloc %[[TABLE]]
func.func @sort(%e: !e, %n: !n, %t: !t, %r: !e) {
  grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e) {align = 8 : i64}
  return
}
