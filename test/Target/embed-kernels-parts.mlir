// Kernels have images of their own, unless they refer to the same definition.
// Memory and functions that several kernels declare are declared in each image,
// and once in that of all.
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_90a > %t
// RUN: FileCheck %s --input-file=%t --check-prefix=SHARED
// RUN: FileCheck %s --input-file=%t --check-prefix=OWN
// RUN: FileCheck %s --input-file=%t --check-prefix=ALL
// RUN: FileCheck %s --input-file=%t --check-prefix=ENTRIES
// The same without threads.
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_90a -mlir-disable-threading | diff %t -

// SHARED: @kernels_first_entry_image("{{.*}}.extern .shared {{.*}} memory[];{{.*}} table[8]{{.*}}.entry first({{.*}}.entry second(
// OWN: @kernels_third_entry_image("
// OWN-SAME: .extern .shared {{[^;]*}} memory[];
// OWN-NOT: {{(table|first|second)}}
// OWN-SAME: .entry third(
// ALL: @kernels_image("{{.*}} memory[];{{.*}} table[8]{{.*}}.entry first({{.*}}.entry second(
// ALL-NOT: {{(\.version|memory\[\];|\.extern)}}
// ALL-SAME: .entry third(

// ENTRIES: @kernels_third_entry()
// ENTRIES: llvm.mlir.addressof @kernels_third_entry_image
// ENTRIES: @kernels_second_entry()
// ENTRIES: llvm.mlir.addressof @kernels_first_entry_image
// ENTRIES: @kernels_first_entry()
// ENTRIES: llvm.mlir.addressof @kernels_first_entry_image
llvm.mlir.global external constant @kernels_first_entry() : i8
llvm.mlir.global external constant @kernels_second_entry() : i8
llvm.mlir.global external constant @kernels_third_entry() : i8
llvm.mlir.global external constant @kernels_image() : !llvm.array<0 x i8>

gpu.module @kernels {
  llvm.mlir.global external @memory() {addr_space = 3 : i32} : !llvm.array<0 x i8>
  llvm.mlir.global internal constant @table(dense<[1, 2]> : tensor<2xi32>) {addr_space = 1 : i32} : !llvm.array<2 x i32>
  llvm.func internal @use(%at: i64, %to: !llvm.ptr) attributes {passthrough = ["noinline"]} {
    %table = llvm.mlir.addressof @table : !llvm.ptr<1>
    %entry = llvm.getelementptr %table[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %value = llvm.load volatile %entry : !llvm.ptr<1> -> i32
    llvm.store volatile %value, %to : i32, !llvm.ptr
    llvm.return
  }
  llvm.func @vprintf(!llvm.ptr, !llvm.ptr) -> i32
  llvm.func @first(%at: i64, %to: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    %memory = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %printed = llvm.call @vprintf(%to, %to) : (!llvm.ptr, !llvm.ptr) -> i32
    %value = llvm.load volatile %memory : !llvm.ptr<3> -> i32
    llvm.store volatile %value, %to : i32, !llvm.ptr
    llvm.call @use(%at, %to) : (i64, !llvm.ptr) -> ()
    llvm.return
  }
  llvm.func @second(%at: i64, %to: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    llvm.call @use(%at, %to) : (i64, !llvm.ptr) -> ()
    llvm.return
  }
  llvm.func @third(%to: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    %memory = llvm.mlir.addressof @memory : !llvm.ptr<3>
    %printed = llvm.call @vprintf(%to, %to) : (!llvm.ptr, !llvm.ptr) -> i32
    %value = llvm.load volatile %memory : !llvm.ptr<3> -> i32
    llvm.store volatile %value, %to : i32, !llvm.ptr
    llvm.return
  }
  // No kernel calls it.
  llvm.func internal @unused(%to: !llvm.ptr) attributes {passthrough = ["noinline"]} {
    %c0 = llvm.mlir.constant(0 : i64) : i64
    llvm.call @use(%c0, %to) : (i64, !llvm.ptr) -> ()
    llvm.return
  }
}
