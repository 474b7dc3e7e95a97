// RUN: nvfp4-opt %s --convert-gsg-to-cpu --canonicalize | FileCheck %s

// Sixteen neighbours are transformed in registers by four stages of
// butterflies; `normalized` multiplies by 1/4 once, at the end.

// CHECK-LABEL: func @normalized(
// CHECK-DAG:     %[[QUARTER:.*]] = arith.constant dense<2.500000e-01> : vector<16xf32>
// CHECK:         scf.parallel
// CHECK-COUNT-4:   arith.subf {{.*}} : vector<16xf32>
// CHECK-NOT:       arith.subf
// CHECK:           arith.mulf %{{.*}}, %[[QUARTER]]
// CHECK:         return
func.func @normalized(%x: memref<?x256xbf16>, %y: memref<?x256xbf16>) {
  grouped_scaled_gemm.hadamard %x outs(%y) {normalized}
      : memref<?x256xbf16>, memref<?x256xbf16>
  return
}

// The mask flips signs before the first stage.

// CHECK-LABEL: func @signs(
// CHECK-DAG:     %[[SIGNS:.*]] = arith.constant dense<[-2147483648, 0, -2147483648, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]> : vector<16xi32>
// CHECK:         scf.parallel
// CHECK:           arith.xori %{{.*}}, %[[SIGNS]]
// CHECK:           arith.subf
// CHECK-NOT:       dense<2.500000e-01>
// CHECK:         return
func.func @signs(%x: memref<?x256xf32>, %y: memref<?x256xf32>) {
  grouped_scaled_gemm.hadamard %x outs(%y) {sign_mask = 5 : i32}
      : memref<?x256xf32>, memref<?x256xf32>
  return
}
