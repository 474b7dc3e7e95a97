// An odd K, and FP4 beside FP8 with any K, have kernels, so --explain names what they will be.
// RUN: nvfp4-compile --explain --target=sm_100a %s 2>&1 | FileCheck %s
// RUN: nvfp4-compile --target=sm_100a --emit=ptx -o - %s | FileCheck %s --check-prefix=PTX

// PTX-COUNT-3: .entry
// CHECK: explain-odd-k.mlir:[[#@LINE+6]]:{{[0-9]+}}: remark: strategy <m = {{.*}}>
// CHECK: explain-odd-k.mlir:[[#@LINE+11]]:{{[0-9]+}}: remark: strategy <m = {{.*}}, k = 128,
// CHECK: explain-odd-k.mlir:[[#@LINE+17]]:{{[0-9]+}}: remark: strategy <m = {{.*}}, swap_ab = true>
!a = !grouped_scaled_gemm.scaled<16x255, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x255, nvfp4>
func.func @odd(%a: !a, %b: !b, %c: tensor<16x512xbf16>) -> tensor<16x512xbf16> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x512xbf16>) -> tensor<16x512xbf16>
  return %d : tensor<16x512xbf16>
}
!x = !grouped_scaled_gemm.scaled<?x?, mxfp8_e4m3>
!w = !grouped_scaled_gemm.scaled<?x?, mxfp4>
func.func @mixed(%x: !x, %w: !w, %c: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) outs(%c : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}
!gx = !grouped_scaled_gemm.scaled<16x40001, nvfp4, starts = compact>
!gw = !grouped_scaled_gemm.scaled<4096x40001, nvfp4, starts = compact>
// A gradient of low rank: few rows of A, which lie on N.
func.func @groups(%ends: tensor<8xi32>, %x: !gx, %w: !gw, %c: tensor<8x16x4096xf32>) -> tensor<8x16x4096xf32> {
  %d = grouped_scaled_gemm.matmul <ragged_k, ends> groups(%ends : tensor<8xi32>) lhs(%x : !gx) rhs(%w : !gw)
      outs(%c : tensor<8x16x4096xf32>) -> tensor<8x16x4096xf32>
  return %d : tensor<8x16x4096xf32>
}
