// A given strategy that only convert-gsg-to-warpspec can refuse.
// RUN: not nvfp4-compile --explain --target=sm_90a %s 2>&1 | FileCheck %s --implicit-check-not=remark:

!a = !grouped_scaled_gemm.scaled<16x256, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x256, nvfp4>
func.func @f(%a: !a, %b: !b, %c: tensor<16x512xbf16>) -> tensor<16x512xbf16> {
  // CHECK: explain-refused-strategy.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}kernels for sm_90a do not support the strategy <m = 64, n = 64, k = 128>: expected n = 128 or 256, but got 64; the nearest one is <m = 64, n = 128, k = 128>
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 64, k = 128>} -> tensor<16x512xbf16>
  return %d : tensor<16x512xbf16>
}
