// Kernels become PTX in constants; what nobody declared is not made.
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_100a -split-input-file | FileCheck %s --implicit-check-not=gpu.module
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_103a -split-input-file | FileCheck %s --check-prefix=SM103
// RUN: not nvfp4-opt %s -nvfp4-embed-kernels=target=sm_42 -split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET

// Machine code of ptxas beside it: a fat binary, which begins with this number.
// RUN: %if ptxas %{ nvfp4-opt %s "-nvfp4-embed-kernels=target=sm_100a assemble" -split-input-file | FileCheck %s --check-prefix=FAT %}
// FAT: llvm.mlir.global internal constant @kernels_image("P\EDU\BA

// SM103: @kernels_image("{{.*}}.target sm_103a
// TARGET: error: {{.*}}sm_42

// CHECK: llvm.mlir.global internal constant @kernels_image("{{.*}}.target sm_100a{{.*}}.entry k({{.*}}.reqntid 32{{.*}}\00")
// CHECK: llvm.mlir.global internal constant @k_threads(32 : i32) {{.*}}: i32
// CHECK: llvm.mlir.global internal constant @k_shared_bytes(4096 : i32) {{.*}}: i32
// CHECK: llvm.mlir.global internal constant @k_flags(0 : i32) {{.*}}: i32
// It waits for the launch before it.
// CHECK: llvm.mlir.global internal constant @late_flags(1 : i32) {{.*}}: i32
// Its blocks wait for one another as well.
// CHECK: llvm.mlir.global internal constant @parts_flags(2 : i32) {{.*}}: i32
// It waits for what somebody else stores, not for blocks of its own.
// CHECK: llvm.mlir.global internal constant @host_flags(1 : i32) {{.*}}: i32
// CHECK-NOT: @other_threads
// A name of no kernel stays a declaration.
// CHECK: llvm.mlir.global external constant @absent_threads() {{.*}}: i32
llvm.mlir.global external constant @kernels_image() : !llvm.array<0 x i8>
llvm.mlir.global external constant @k_threads() : i32
llvm.mlir.global external constant @k_shared_bytes() : i32
llvm.mlir.global external constant @k_flags() : i32
llvm.mlir.global external constant @late_flags() : i32
llvm.mlir.global external constant @parts_flags() : i32
llvm.mlir.global external constant @host_flags() : i32
llvm.mlir.global external constant @absent_threads() : i32
gpu.module @kernels {
  warpspec.kernel_info @late shared_bytes(0)
  llvm.func @late() attributes {gpu.kernel, nvvm.kernel,
                                nvvm.reqntid = array<i32: 32, 1, 1>} {
    nvvm.griddepcontrol wait
    llvm.return
  }
  warpspec.kernel_info @parts shared_bytes(0) cooperative
  llvm.func @parts() attributes {gpu.kernel, nvvm.kernel,
                                 nvvm.reqntid = array<i32: 32, 1, 1>} {
    nvvm.griddepcontrol wait
    llvm.return
  }
  warpspec.kernel_info @host shared_bytes(0)
  llvm.func @host(%flag: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel,
                                                   nvvm.reqntid = array<i32: 32, 1, 1>} {
    nvvm.griddepcontrol wait
    llvm.br ^wait
  ^wait:
    %value = llvm.load %flag atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %none = llvm.mlir.constant(0 : i32) : i32
    %open = llvm.icmp "eq" %value, %none : i32
    llvm.cond_br %open, ^wait, ^done
  ^done:
    llvm.return
  }
  warpspec.kernel_info @k shared_bytes(4096)
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel,
                             nvvm.reqntid = array<i32: 32, 1, 1>} {
    llvm.return
  }
  // Neither declared nor, without its bytes, a kernel of ours.
  llvm.func @other() attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    llvm.return
  }
}

// -----

// Two modules, two images.
// CHECK: llvm.mlir.global internal constant @first_image("{{.*}}.entry a(
// CHECK: llvm.mlir.global internal constant @second_image("{{.*}}.entry b(
llvm.mlir.global external constant @first_image() : !llvm.array<0 x i8>
llvm.mlir.global external constant @second_image() : !llvm.array<0 x i8>
gpu.module @first {
  llvm.func @a() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
gpu.module @second {
  llvm.func @b() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
