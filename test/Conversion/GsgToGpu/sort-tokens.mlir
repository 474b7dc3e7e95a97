// A block of each expert counts in shared memory, and places its own entries.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu | FileCheck %s

!e = memref<?x8xi32, #gpu.address_space<global>>
!n = memref<128xi32, #gpu.address_space<global>>
!t = memref<?xi32, #gpu.address_space<global>>

// CHECK-LABEL: func.func @sort
// CHECK: %[[BLOCKS:.*]] = arith.constant 128 : index
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %[[BLOCKS]],
// CHECK-SAME: threads({{.*}}) in (%{{.*}} = %c256,
// CHECK-SAME: workgroup(%[[COUNTS:.*]] : memref<128xi32, #gpu.address_space<workgroup>>, %{{.*}} : memref<256xi32, #gpu.address_space<workgroup>>)
// CHECK: gpu.barrier
// CHECK: memref.atomic_rmw addi %{{.*}}, %[[COUNTS]]
// CHECK: gpu.barrier
func.func @sort(%e: !e, %n: !n, %t: !t, %r: !e) {
  grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e) {align = 8 : i64}
  return
}
