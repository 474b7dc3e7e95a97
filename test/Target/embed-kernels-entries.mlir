// A kernel that the host's code names gets its nvfp4_kernel_entry, and the list
// by which the runtime finds the entries of an artefact.
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_100a | FileCheck %s --implicit-check-not=gpu.module

// CHECK-DAG: llvm.mlir.global internal constant @kernels_pair_entry_image("{{.*}}.target sm_100a{{.*}}.entry pair({{.*}}\00")
// CHECK-DAG: llvm.mlir.global internal constant @kernels_pair_entry_name("pair\00")
// CHECK-DAG: llvm.mlir.global external constant @nvfp4_kernels() {{.*}}: !llvm.array<2 x ptr>
// CHECK-DAG: llvm.mlir.global internal constant @kernels_pair_entry() {{.*}}: !llvm.struct<(ptr, ptr, i32, i32, i32, i32)>
// CHECK-NOT: @kernels_other_entry

// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_100a | FileCheck %s --check-prefix=FIELDS
// FIELDS-LABEL: llvm.mlir.global internal constant @kernels_pair_entry()
// FIELDS: llvm.mlir.constant(192 : i32)
// FIELDS: llvm.mlir.constant(4096 : i32)
// Blocks of a cluster, and NVFP4_LAUNCH_PROGRAMMATIC.
// FIELDS: llvm.mlir.constant(2 : i32)
// FIELDS: llvm.mlir.constant(1 : i32)
llvm.mlir.global external constant @kernels_pair_entry() : i8

llvm.func @host() -> !llvm.ptr {
  %entry = llvm.mlir.addressof @kernels_pair_entry : !llvm.ptr
  llvm.return %entry : !llvm.ptr
}

gpu.module @kernels {
  warpspec.kernel_info @pair shared_bytes(4096)
  llvm.func @pair() attributes {gpu.kernel, nvvm.kernel,
                                nvvm.cluster_dim = array<i32: 2, 1, 1>,
                                nvvm.reqntid = array<i32: 192, 1, 1>} {
    nvvm.griddepcontrol wait
    llvm.return
  }
  // Nobody starts it.
  warpspec.kernel_info @other shared_bytes(0)
  llvm.func @other() attributes {gpu.kernel, nvvm.kernel,
                                 nvvm.reqntid = array<i32: 32, 1, 1>} {
    llvm.return
  }
}
