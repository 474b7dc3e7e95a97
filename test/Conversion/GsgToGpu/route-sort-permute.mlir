// Every block routes all tokens, whose bits say who comes before whom among the
// rows of an expert; the first block stores the order, and each moves its share
// of the rows.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu | FileCheck %s
// RUN: nvfp4-opt %s --convert-gsg-to-gpu=data-checks | FileCheck %s --check-prefix=DATA

!l = memref<?x32xf32, #gpu.address_space<global>>
!w = memref<?x4xf32, #gpu.address_space<global>>
!e = memref<?x4xi32, #gpu.address_space<global>>
!n = memref<32xi32, #gpu.address_space<global>>
!t = memref<?xi32, #gpu.address_space<global>>
!x = memref<?x64xbf16, #gpu.address_space<global>>

// CHECK-LABEL: func.func @route_sort_permute(
// CHECK-SAME: %[[L:[^:]*]]: {{.*}}, %[[W:[^:]*]]: memref<?x4xf32{{.*}}, %[[E:[^:]*]]: memref<?x4xi32{{.*}}, %[[N:[^:]*]]: memref<32xi32{{.*}}, %[[T:[^:]*]]: memref<?xi32{{.*}}, %[[R:[^:]*]]: memref<?x4xi32{{.*}}, %[[X:[^:]*]]: memref<?x64xbf16{{.*}}, %[[P:[^:]*]]: memref<?x64xbf16
// At most a block for each multiprocessor, and one where there are no rows.
// CHECK: %[[FEW:.*]] = arith.minui %{{.*}}, %c128
// CHECK: %[[BLOCKS:.*]] = arith.maxui %[[FEW]], %c1
// CHECK: gpu.launch blocks({{.*}} = %[[BLOCKS]],
// CHECK-SAME: function(@nvfp4_route_sort_permute) workgroup(%[[BITS:[^ ]*]] : memref<64xi32, {{.*}}>, %[[STARTS:[^ ]*]] : memref<32xi32, {{.*}}>, %[[SLOTS:[^ ]*]] : memref<256xi32,
// CHECK: nvvm.griddepcontrol wait
// CHECK: gpu.barrier
// CHECK: memref.load %[[L]]
// CHECK: memref.atomic_rmw ori %{{.*}}, %[[BITS]]
// CHECK: memref.store %{{.*}}, %[[E]]
// CHECK: memref.store %{{.*}}, %[[W]]
// CHECK: gpu.barrier
// CHECK: llvm.intr.ctpop
// CHECK-COUNT-5: gpu.shuffle up
// CHECK: memref.store %{{.*}}, %[[STARTS]]
// CHECK: memref.store %{{.*}}, %[[N]]
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %[[SLOTS]]
// CHECK: memref.store %{{.*}}, %[[R]]
// CHECK: memref.store %{{.*}}, %[[T]]
// CHECK: gpu.barrier
// CHECK: vector.load
// CHECK: vector.store
// CHECK-NOT: gpu.launch
// DATA: warpspec.data_checks {{.*}}"permute_c4"
func.func @route_sort_permute(%l: !l, %w: !w, %e: !e, %n: !n, %t: !t, %r: !e, %x: !x, %p: !x) {
  grouped_scaled_gemm.one_launch attributes {most_tokens = 64 : i64} {
    grouped_scaled_gemm.route topk_softmax (%l : !l) outs(%w, %e : !w, !e)
    grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e)
    grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  }
  return
}

// One block, and warps for 16 tokens.
// CHECK-LABEL: func.func @route_sort(
// CHECK: gpu.launch blocks({{.*}} = %c1, {{.*}}threads({{.*}} = %c512{{.*}}function(@nvfp4_route_sort)
// CHECK-NOT: vector.store
// CHECK: return
func.func @route_sort(%l: !l, %w: !w, %e: !e, %n: !n, %t: !t, %r: !e) {
  grouped_scaled_gemm.one_launch attributes {most_tokens = 16 : i64} {
    grouped_scaled_gemm.route topk_softmax (%l : !l) outs(%w, %e : !w, !e)
    grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e)
  }
  return
}
