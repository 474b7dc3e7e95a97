// A stock mlir-opt parses our types and operations, runs our passes and
// pipelines, and bufferizes our operations through the external models.

// UNSUPPORTED: asan
// DEFINE: %{opt} = %nvfp4_llvm_tools/mlir-opt --load-dialect-plugin=%nvfp4_lib/libNVFP4Plugin.so --load-pass-plugin=%nvfp4_lib/libNVFP4Plugin.so

// RUN: %{opt} %s | FileCheck %s --check-prefix=PARSED
// RUN: %{opt} %s -pass-pipeline='builtin.module(gsg-decompose-scaled)' | FileCheck %s --check-prefix=STORAGE
// RUN: %{opt} %s -pass-pipeline='builtin.module(gsg-decompose-scaled,one-shot-bufferize{bufferize-function-boundaries})' | FileCheck %s --check-prefix=BUFFERS
// RUN: %{opt} %s -pass-pipeline='builtin.module(gsg-to-cpu{isa=generic threads=false})' | FileCheck %s --check-prefix=LLVM
// RUN: not %{opt} %s -pass-pipeline='builtin.module(gsg-to-cpu{isa=z80})' 2>&1 | FileCheck %s --check-prefix=WRONG

!act = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w   = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// PARSED-LABEL: func.func @product(
// PARSED:         grouped_scaled_gemm.matmul <dense>
// STORAGE-LABEL: func.func @product(
// STORAGE-SAME:    tensor<16x32xi8> {{.*}}tensor<16x4xf8E4M3FN>
// STORAGE:         scaled_by
// BUFFERS-LABEL: func.func @product(
// BUFFERS:         grouped_scaled_gemm.matmul <dense> {{.*}}memref<16x32xi8
// LLVM:          llvm.func @product(
// LLVM-NOT:      grouped_scaled_gemm.matmul
// WRONG:         expected {{.*}}z80
func.func @product(%x: !act, %w: !w, %out: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !act) rhs(%w : !w)
      outs(%out : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}
