// RUN: nvfp4-opt %s --convert-gsg-to-cpu --canonicalize --split-input-file | FileCheck %s

// Tokens in parallel; the sum over a token's slots is one fma a slot, in the
// order of the slots, and a slot without a row leaves it as it is.

// CHECK-LABEL: func @weighted(
// CHECK-SAME:    %[[INPUT:[a-z0-9]*]]: memref<?x16xbf16>, %[[ROWS:[a-z0-9]*]]: memref<?x4xi32>, %[[WEIGHTS:[a-z0-9]*]]: memref<?x4xf32>, %[[OUT:[a-z0-9]*]]: memref<?x16xf16>
// CHECK:         scf.parallel (%[[TOKEN:.*]]) =
// CHECK:           scf.for %[[SLOT:.*]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
// CHECK:             memref.load %[[ROWS]][%[[TOKEN]], %[[SLOT]]]
// CHECK:             scf.if
// CHECK:               memref.load %[[INPUT]]
// CHECK:               %[[WEIGHT:.*]] = memref.load %[[WEIGHTS]][%[[TOKEN]], %[[SLOT]]]
// CHECK:               math.fma %[[WEIGHT]], %{{.*}}, %[[SUM]] : f32
// CHECK:             } else {
// CHECK:               scf.yield %[[SUM]]
// CHECK:           arith.truncf {{.*}} : f32 to f16
// CHECK:           memref.store %{{.*}}, %[[OUT]][%[[TOKEN]],
// CHECK:         return
func.func @weighted(%x: memref<?x16xbf16>, %rows: memref<?x4xi32>, %weights: memref<?x4xf32>,
                    %y: memref<?x16xf16>) {
  grouped_scaled_gemm.combine(%x : memref<?x16xbf16>) by(%rows : memref<?x4xi32>)
      weights(%weights : memref<?x4xf32>) outs(%y : memref<?x16xf16>)
  return
}

// -----

// Without weights every slot counts once.

// CHECK-LABEL: func @unweighted(
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK:         math.fma %[[ONE]],
func.func @unweighted(%x: memref<?x16xbf16>, %rows: memref<?x4xi32>, %y: memref<?x16xf32>) {
  grouped_scaled_gemm.combine(%x : memref<?x16xbf16>) by(%rows : memref<?x4xi32>)
      outs(%y : memref<?x16xf32>)
  return
}
