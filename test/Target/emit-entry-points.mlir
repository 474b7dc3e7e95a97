// One entry of type void(void **) for each function with a C interface.
// RUN: nvfp4-opt %s -nvfp4-emit-entry-points -split-input-file -verify-diagnostics | FileCheck %s

llvm.func @scalar(%x: i32) -> f32 {
  %r = llvm.mlir.constant(1.0 : f32) : f32
  llvm.return %r : f32
}
llvm.func @_mlir_ciface_scalar(%x: i32) -> f32 {
  %r = llvm.call @scalar(%x) : (i32) -> f32
  llvm.return %r : f32
}
// A descriptor is passed on; the struct of results is the callee's first
// argument and the caller's last value.
llvm.func @memref(%x: !llvm.ptr) -> !llvm.struct<(ptr, i64)> {
  %r = llvm.mlir.poison : !llvm.struct<(ptr, i64)>
  llvm.return %r : !llvm.struct<(ptr, i64)>
}
llvm.func @_mlir_ciface_memref(%r: !llvm.ptr, %x: !llvm.ptr) {
  llvm.return
}
llvm.func @_mlir_ciface_elsewhere(i32)

// CHECK-NOT: nvfp4_entry_elsewhere
// CHECK-LABEL: llvm.func @nvfp4_entry_scalar(%arg0: !llvm.ptr) {
// CHECK: %[[POINTER:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[X:.*]] = llvm.load %[[POINTER]] : !llvm.ptr -> i32
// CHECK: %[[RESULT:.*]] = llvm.call @_mlir_ciface_scalar(%[[X]]) : (i32) -> f32
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %arg0[1]
// CHECK: %[[STORAGE:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.store %[[RESULT]], %[[STORAGE]] : f32, !llvm.ptr

// CHECK-LABEL: llvm.func @nvfp4_entry_memref(%arg0: !llvm.ptr) {
// CHECK: %[[LAST:.*]] = llvm.getelementptr %arg0[1]
// CHECK: %[[STORAGE:.*]] = llvm.load %[[LAST]]
// CHECK: %[[DESCRIPTOR:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call @_mlir_ciface_memref(%[[STORAGE]], %[[DESCRIPTOR]])

// -----

// expected-error @below {{'llvm.func' op expected a function 'f' beside its C interface}}
llvm.func @_mlir_ciface_f() {
  llvm.return
}
