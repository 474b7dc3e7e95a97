// Tools read operations of dialects that are not there where a pipeline comes first,
// and take none that it leaves.

// RUN: nvfp4-compile %s --pass-pipeline='builtin.module(stablehlo-to-gsg)' -o %t.so
// RUN: not nvfp4-run %s --pass-pipeline='builtin.module(stablehlo-to-gsg)' 2>&1 | FileCheck %s
// RUN: not nvfp4-compile %s --pass-pipeline='builtin.module(canonicalize)' -o %t.so 2>&1 | FileCheck %s --check-prefix=LEFT
// RUN: not nvfp4-compile %s -o %t.so 2>&1 | FileCheck %s --check-prefix=UNREAD

// CHECK: argument 0: [4] f32
// LEFT:   tools.mlir:[[@LINE+5]]:{{.*}}error: {{.*}}unregistered dialect
// UNREAD: tools.mlir:[[@LINE+4]]:{{.*}}error: {{.*}}unregistered dialect
// UNREAD: StableHLO is read, in MLIR's generic form, with --pass-pipeline='builtin.module(stablehlo-to-gsg)'

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
