// A warp has a token: lane l has experts l and l + 32 in registers. Shuffles
// find the best key, the first expert of equal ones, and lane l stores slot l.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu | FileCheck %s

!x = memref<?x40xf32, #gpu.address_space<global>>
!w = memref<?x3xf32, #gpu.address_space<global>>
!e = memref<?x3xi32, #gpu.address_space<global>>

// CHECK-LABEL: func.func @route
// CHECK-SAME: %[[X:[^:]*]]: {{.*}}, %[[W:[^:]*]]: {{.*}}, %[[E:[^:]*]]: memref<?x3xi32
// CHECK: gpu.launch blocks({{.*}}threads({{.*}}function(@nvfp4_route)
// CHECK-NOT: workgroup(
// CHECK: %[[TOKEN:.*]] = arith.divui %{{.*}}, %c32
// CHECK: %[[LANE:.*]] = arith.remui %{{.*}}, %c32
// CHECK: memref.load %[[X]][%[[TOKEN]],
// Lanes 8 to 31 have no second expert.
// CHECK: %[[FORTY:.*]] = arith.constant 40 : i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[FORTY]]
// CHECK: scf.if %[[EXISTS]]
// CHECK: memref.load %[[X]][%[[TOKEN]],
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: scf.for
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: memref.store %{{.*}}, %[[E]][%[[TOKEN]], %[[LANE]]]
// CHECK: memref.store %{{.*}}, %[[W]][%[[TOKEN]], %[[LANE]]]
func.func @route(%x: !x, %w: !w, %e: !e) {
  grouped_scaled_gemm.route topk (%x : !x) outs(%w, %e : !w, !e)
  return
}
