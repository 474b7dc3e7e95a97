// RUN: nvfp4-opt %s --gsg-to-cpu | FileCheck %s

// A loop inside a parallel loop becomes control flow inside the region of the
// threads.

// CHECK:     llvm.func @f(
// CHECK:       omp.parallel
// CHECK:         omp.loop_nest
// CHECK:           llvm.cond_br
// CHECK-NOT: memref.
func.func @f(%m: memref<?x?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %m, %c0 : memref<?x?xf32>
  %columns = memref.dim %m, %c1 : memref<?x?xf32>
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    scf.for %j = %c0 to %columns step %c1 {
      memref.store %x, %m[%i, %j] : memref<?x?xf32>
    }
    scf.reduce
  }
  return
}
