// Passes find kernels wherever they stand; what becomes PTX stands in a gpu.module.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --warpspec-to-nvvm
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --warpspec-verify-schedule --warpspec-plan-memory --warpspec-materialize-stages --warpspec-insert-fences --warpspec-lower-roles --convert-warpspec-to-nvvm | FileCheck %s
// RUN: not warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(convert-warpspec-to-nvvm))' 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: unable to schedule pass 'ConvertWarpSpecToNVVMPass' on a PassManager intended to run on 'warpspec.kernel'

gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @inside() attributes {gpu.kernel
  warpspec.kernel @inside() {
    warpspec.roles
    role @work warps(4) {
    }
  }
}

// -----

// expected-error @below {{expected to be in a gpu.module, of which PTX is made}}
warpspec.kernel @outside() {
  warpspec.roles
  role @work warps(4) {
  }
}
