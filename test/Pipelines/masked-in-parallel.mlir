// RUN: nvfp4-opt %s --gsg-to-cpu | FileCheck %s

// The tail of a row is read under a mask, by an operation that tells no memory
// effects; loops beside it become control flow inside the region of the threads
// all the same.

// CHECK:     llvm.func @quantize(
// CHECK:       omp.parallel
// CHECK:         omp.loop_nest
// CHECK:           llvm.cond_br
// CHECK:           llvm.intr.masked.load
// CHECK-NOT: memref.
func.func @quantize(%x: tensor<?x?xf32>)
    -> !grouped_scaled_gemm.scaled<?x?, nvfp4> {
  %q = grouped_scaled_gemm.quantize <mega16>(%x : tensor<?x?xf32>)
      -> !grouped_scaled_gemm.scaled<?x?, nvfp4>
  return %q : !grouped_scaled_gemm.scaled<?x?, nvfp4>
}
