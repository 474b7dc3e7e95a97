// RUN: nvfp4-opt %s --nvfp4-guard-allocations | FileCheck %s

// CHECK: llvm.func @_mlir_memref_to_llvm_alloc(i64) -> (!llvm.ptr {llvm.noalias})

// The size is known but for two extents.

// CHECK-LABEL: func @dynamic(
// CHECK-SAME:      %[[N:.*]]: index, %[[M:.*]]: index
// CHECK:         %[[KNOWN:.*]] = llvm.mlir.constant(12 : i64)
// CHECK:         %[[ROWS:.*]] = llvm.call @nvfp4_memory_bytes(%[[KNOWN]], %{{.*}})
// CHECK:         llvm.call @nvfp4_memory_bytes(%[[ROWS]], %{{.*}})
// CHECK-NEXT:    memref.alloc(%[[N]], %[[M]])
func.func @dynamic(%n: index, %m: index) -> memref<?x3x?xf32> {
  %0 = memref.alloc(%n, %m) : memref<?x3x?xf32>
  return %0 : memref<?x3x?xf32>
}

// A size that is known needs no check.

// CHECK-LABEL: func @static(
// CHECK-NEXT:    memref.alloc()
func.func @static() -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}

// Unless 64 bits do not hold it.

// CHECK-LABEL: func @overflow(
// CHECK:         llvm.mlir.constant(9223372036854775807 : i64)
// CHECK:         llvm.call @nvfp4_memory_bytes
// CHECK-NEXT:    memref.alloc()
func.func @overflow() -> memref<4611686018427387904x4xf32> {
  %0 = memref.alloc() : memref<4611686018427387904x4xf32>
  return %0 : memref<4611686018427387904x4xf32>
}
