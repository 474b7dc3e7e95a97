// RUN: nvfp4-opt %s --convert-gsg-to-gpu --cse | FileCheck %s

// A warp has a row: vectors of four pairs, and a sum in f64 over its threads by
// ten shuffles of halves. Without a sum there are no shuffles.

!z = memref<?x64xf32, #gpu.address_space<global>>
!dy = memref<?x32xf32, #gpu.address_space<global>>
!p = memref<?xf32, #gpu.address_space<global>>

// CHECK-LABEL: func @with_sum
// CHECK:       gpu.launch {{.*}}function(@nvfp4_glu_backward)
// CHECK:         %[[FACTOR:.*]] = memref.load %arg2
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} iter_args({{.*}}) -> (f64)
// CHECK-COUNT-3:   vector.load {{.*}} vector<4xf32>
// CHECK:           vector.broadcast %[[FACTOR]]
// CHECK-COUNT-2:   vector.store {{.*}} vector<4xf32>
// CHECK:           scf.yield {{.*}} : f64
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK-NOT:     gpu.shuffle
// CHECK:         arith.truncf %{{.*}} : f64 to f32
// CHECK:         memref.store %{{.*}}, %arg4
func.func @with_sum(%z: !z, %dy: !dy, %p: !p, %dz: !z, %dp: !p) {
  grouped_scaled_gemm.glu_backward <swiglu, gate = <8, gate_first>>(%z : !z) gradient(%dy : !dy) prob(%p : !p)
      outs(%dz : !z) prob_outs(%dp : !p)
  return
}

// CHECK-LABEL: func @without_sum
// CHECK:       gpu.launch {{.*}}function(@nvfp4_glu_backward)
// CHECK-NOT:     gpu.shuffle
// CHECK:       return
func.func @without_sum(%z: !z, %dz: !z) {
  grouped_scaled_gemm.glu_backward <silu>(%z : !z) gradient(%z : !z) outs(%dz : !z)
  return
}
