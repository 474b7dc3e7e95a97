// Each entry has symbols of other systems, which pass their arguments on with
// the table of the artefact.
// RUN: nvfp4-opt %s -nvfp4-export-functions -split-input-file -verify-diagnostics | FileCheck %s

llvm.mlir.global external constant @nvfp4_metadata("{}\00") {addr_space = 0 : i32}
llvm.func @nvfp4_entry_f(%values: !llvm.ptr) {
  llvm.return
}
llvm.func @nvfp4_entry_elsewhere(!llvm.ptr)

// CHECK-NOT: elsewhere{{$}}
// CHECK: llvm.mlir.global internal constant @nvfp4_name_nvfp4_metadata("nvfp4_metadata\00")
// CHECK: llvm.mlir.global internal constant @nvfp4_name_nvfp4_entry_f("nvfp4_entry_f\00")
// CHECK: llvm.mlir.global internal constant @nvfp4_name_f("f\00")
// CHECK-LABEL: llvm.mlir.global internal @nvfp4_artefact() {{.*}}: !llvm.array<7 x ptr> {
// CHECK: %[[NULLS:.*]] = llvm.mlir.zero
// CHECK: %[[NAME:.*]] = llvm.mlir.addressof @nvfp4_name_nvfp4_metadata
// CHECK: %[[ONE:.*]] = llvm.insertvalue %[[NAME]], %[[NULLS]][1]
// CHECK: %[[ADDRESS:.*]] = llvm.mlir.addressof @nvfp4_metadata
// CHECK: %[[TWO:.*]] = llvm.insertvalue %[[ADDRESS]], %[[ONE]][2]
// CHECK: llvm.mlir.addressof @nvfp4_entry_f
// CHECK: %[[LAST:.*]] = llvm.insertvalue %{{.*}}, %{{.*}}[4]
// CHECK: llvm.return %[[LAST]]

// Nothing runs when the artefact is unloaded.
// CHECK-NOT: global_dtors

// CHECK-LABEL: llvm.func @__tvm_ffi_f(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i32, %arg3: !llvm.ptr) -> i32 {
// CHECK-NEXT: %[[ARTEFACT:.*]] = llvm.mlir.addressof @nvfp4_artefact
// CHECK-NEXT: %[[NAME:.*]] = llvm.mlir.addressof @nvfp4_name_f
// CHECK-NEXT: %[[STATUS:.*]] = llvm.call @nvfp4_tvm_ffi_call(%[[ARTEFACT]], %[[NAME]], %arg0, %arg1, %arg2, %arg3)
// CHECK-NEXT: llvm.return %[[STATUS]] : i32
// CHECK: llvm.func @__tvm_ffi__doc_f
// CHECK-LABEL: llvm.func @nvfp4_xla_ffi_f(%arg0: !llvm.ptr) -> !llvm.ptr {
// CHECK: llvm.call @nvfp4_xla_call(%{{.*}}, %{{.*}}, %arg0)

// -----

// No description: the module is called in another way.
// CHECK-LABEL: module
// CHECK-NOT: __tvm_ffi
llvm.func @nvfp4_entry_g(%values: !llvm.ptr) {
  llvm.return
}

// -----

llvm.mlir.global external constant @nvfp4_metadata("{}\00") {addr_space = 0 : i32}
llvm.func @nvfp4_entry_f(%values: !llvm.ptr) {
  llvm.return
}
// expected-error @below {{'llvm.func' op expected no symbol 'nvfp4_artefact' before functions are exported}}
llvm.func @nvfp4_artefact()
