// Products that are not in storage form on memrefs.
// RUN: nvfp4-opt %s --split-input-file --verify-diagnostics --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec
// RUN: nvfp4-opt %s --split-input-file --verify-diagnostics --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @list(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  // expected-error@+1 {{expected storage form on memrefs; run gsg-decompose-scaled and one-shot-bufferize first}}
  %d:2 = grouped_scaled_gemm.matmul_list lhs(%a : !a, %a : !a) rhs(%b : !b, %b : !b)
      outs(%c, %c : tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>, tensor<16x32xf32>
  return %d#0, %d#1 : tensor<16x32xf32>, tensor<16x32xf32>
}
