// RUN: nvfp4-opt %s --convert-gsg-to-cpu | FileCheck %s

// Tokens in parallel; keys of scores live in a buffer of one row a token.

// CHECK-LABEL: func @route(
// CHECK:         %[[KEYS:.*]] = memref.alloc(%{{.*}}) : memref<?x?xi32>
// CHECK:         scf.parallel
// CHECK:           memref.store %{{.*}}, %{{.*}} : memref<?x4xi32>
// CHECK:           memref.store %{{.*}}, %{{.*}} : memref<?x4xf32>
// CHECK:         memref.dealloc %[[KEYS]]
func.func @route(%l: memref<?x128xf32>, %w: memref<?x4xf32>,
                 %e: memref<?x4xi32>) {
  grouped_scaled_gemm.route topk_softmax (%l : memref<?x128xf32>)
      outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
  return
}
