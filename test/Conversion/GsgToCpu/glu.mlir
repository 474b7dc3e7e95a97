// RUN: nvfp4-opt %s --convert-gsg-to-cpu | FileCheck %s

// Neighbouring pairs are split by a shuffle; no library function is called.

// CHECK-LABEL: func @glu(
// CHECK:         scf.parallel
// CHECK:           vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK-NOT:     math.exp
// CHECK-NOT:     fastmath
// CHECK:         return
func.func @glu(%z: memref<?x5760xf32>, %y: memref<?x2880xbf16>) {
  grouped_scaled_gemm.glu <swiglu, gate = <1, gate_first>, alpha = 1.702,
                           beta = 1.0, limit = 7.0>
      (%z : memref<?x5760xf32>) outs(%y : memref<?x2880xbf16>)
  return
}
