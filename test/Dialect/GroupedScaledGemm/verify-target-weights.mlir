// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_90a" -o /dev/null
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_100a" --verify-diagnostics
// RUN: nvfp4-opt %s --gsg-verify-target --verify-diagnostics

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<32x64, nvfp4, wgmma>

// target_c8: weights laid out for one target.
func.func @product(%a: !a, %w: !w, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error-re @below {{expected target sm_90a for weights in the layout 'wgmma', but got {{cpu|sm_100a}}; grouped_scaled_gemm.relayout_weights brings them back to linear}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%w : !w)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// Laying them out is for every machine.
func.func @relayout(%b: !b) -> !w {
  %w = grouped_scaled_gemm.relayout_weights(%b : !b) -> !w
  return %w : !w
}
