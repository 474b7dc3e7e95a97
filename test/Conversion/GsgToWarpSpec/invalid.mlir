// What kernels cannot do is refused with the nearest form that they can.
// RUN: nvfp4-opt %s --split-input-file --verify-diagnostics --gsg-decompose-scaled \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map unknown-type-conversion=identity-layout-map" \
// RUN:   --gsg-assign-scale-layout --convert-gsg-to-warpspec

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @strategy(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support the strategy <m = 128, n = 24, k = 256, swap_ab = true>: expected n = 8, 16, 32, 64, 128, 192 or 256, for which there are kernels, but got 24; the nearest one is <m = 128, n = 16, k = 256, }}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 24, k = 256, swap_ab = true>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @tile(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support the strategy <m = 128, n = 96, k = 256>: expected n = 64, 128, 192 or 256 with weights on n, but got 96}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 96, k = 256>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @stages(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{expected 1 to 5 stages of 36864 bytes in 232448 bytes of shared memory, but got 9; the nearest one is <m = 128, n = 128, k = 256, stages = 5, }}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, stages = 9>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x63, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x63, nvfp4>
func.func @odd(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support an odd K; pad K to 64}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @list(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support this matmul_list; run gsg-split-list first}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @plain_rows(%a: tensor<16x64xbf16>, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support rows without scales; quantise them, or use target sm_90a or cpu}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : tensor<16x64xbf16>) rhs(%b : !b) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}
