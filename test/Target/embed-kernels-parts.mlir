// Kernels have images of their own, unless they refer to the same definition.
// What several declare is declared in each image, and once in that of all.
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_90a > %t
// RUN: FileCheck %s --input-file=%t --check-prefix=SHARED
// RUN: FileCheck %s --input-file=%t --check-prefix=OWN
// RUN: FileCheck %s --input-file=%t --check-prefix=ALL
// RUN: FileCheck %s --input-file=%t --check-prefix=ENTRIES
// The same without threads.
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_90a -mlir-disable-threading | diff %t -

// SHARED: @kernels_first_entry_image("{{.*}}.extern .shared {{.*}} memory[];{{.*}} table[8]{{.*}}.entry first({{.*}}.entry second(
// OWN: @kernels_third_entry_image("
// OWN-NOT: {{(table|first|second)}}
// OWN-SAME: .extern .shared {{.*}} memory[];{{.*}}.entry third(
// ALL: @kernels_image("{{.*}}.version
// ALL-NOT: .version
// ALL-SAME: memory[];
// ALL-NOT: memory[];
// ALL-SAME: table[8]{{.*}}.entry first({{.*}}.entry second({{.*}}.entry third(

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
  llvm.func @first(%at: i64, %to: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    %memory = llvm.mlir.addressof @memory : !llvm.ptr<3>
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
    %value = llvm.load volatile %memory : !llvm.ptr<3> -> i32
    llvm.store volatile %value, %to : i32, !llvm.ptr
    llvm.return
  }
}
