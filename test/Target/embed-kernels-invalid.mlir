// What is declared for a launch is defined, or the object would not link.
// RUN: nvfp4-opt %s -nvfp4-embed-kernels=target=sm_100a -split-input-file -verify-diagnostics

llvm.mlir.global external constant @k_flags() : i32
gpu.module @kernels {
  // expected-error @below {{expected nvvm.reqntid and warpspec.kernel_info, as the module declares @k_flags}}
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    llvm.return
  }
}
