// RUN: nvfp4-opt %s --convert-gsg-to-cpu --canonicalize | FileCheck %s

// Rows in parallel, copied to the bit; a row without a token becomes zeros,
// without a read.

// CHECK-LABEL: func @permute(
// CHECK-SAME:    %[[INPUT:.*]]: memref<?x16xbf16>, %[[TOKENS:.*]]: memref<?xi32>, %[[OUT:.*]]: memref<?x16xbf16>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK:         scf.parallel (%[[ROW:.*]]) =
// CHECK:           %[[TOKEN:.*]] = memref.load %[[TOKENS]][%[[ROW]]]
// CHECK:           arith.cmpi ult
// CHECK:           scf.if
// CHECK:             %[[VALUE:.*]] = memref.load %[[INPUT]]
// CHECK-NEXT:        memref.store %[[VALUE]], %[[OUT]][%[[ROW]],
// CHECK:           } else {
// CHECK-NOT:         memref.load
// CHECK:             memref.store %[[ZERO]], %[[OUT]][%[[ROW]],
// CHECK:         return
func.func @permute(%x: memref<?x16xbf16>, %tokens: memref<?xi32>, %y: memref<?x16xbf16>) {
  grouped_scaled_gemm.permute(%x : memref<?x16xbf16>) by(%tokens : memref<?xi32>)
      outs(%y : memref<?x16xbf16>)
  return
}
