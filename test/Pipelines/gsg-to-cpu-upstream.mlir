// What remains of upstream dialects reaches the LLVM dialect, with OpenMP
// threads and without.
// RUN: nvfp4-opt %s -gsg-to-cpu | FileCheck %s --check-prefixes=CHECK,THREADS
// RUN: nvfp4-opt %s -gsg-to-cpu=threads=false | FileCheck %s --check-prefixes=CHECK,SERIAL

// CHECK-NOT: unrealized_conversion_cast
// CHECK-LABEL: llvm.func @double(
// THREADS: omp.parallel
// THREADS: omp.wsloop
// SERIAL-NOT: omp.
func.func @double(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = memref.dim %x, %c0 : memref<?xf32>
  scf.parallel (%i) = (%c0) to (%d) step (%c1) {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<?xf32>
  }
  return
}

// An input is not written: the result is a copy. bf16 is rounded by integer
// operations.
// CHECK-LABEL: llvm.func @insert(
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.lshr
// CHECK: llvm.call @_mlir_memref_to_llvm_alloc
// CHECK: "llvm.intr.memcpy"
func.func @insert(%x: tensor<8xbf16>, %v: f32) -> tensor<8xbf16> {
  %c0 = arith.constant 0 : index
  %b = arith.truncf %v : f32 to bf16
  %r = tensor.insert %b into %x[%c0] : tensor<8xbf16>
  return %r : tensor<8xbf16>
}
// CHECK: llvm.func @nvfp4_entry_double(
// CHECK: llvm.func @nvfp4_entry_insert(
