// A gradient of low rank has few rows of A, which lie on N.
// RUN: nvfp4-compile --explain --target=sm_100a %s 2>&1 | FileCheck %s
// RUN: nvfp4-compile --target=sm_100a --emit=ptx -o - %s | FileCheck %s --check-prefix=PTX

// PTX: .entry
// CHECK: explain-low-rank.mlir:[[#@LINE+4]]:{{[0-9]+}}: remark: strategy <m = {{.*}}, swap_ab = true>
!gx = !grouped_scaled_gemm.scaled<16x40001, nvfp4, starts = compact>
!gw = !grouped_scaled_gemm.scaled<4096x40001, nvfp4, starts = compact>
func.func @groups(%ends: tensor<8xi32>, %x: !gx, %w: !gw, %c: tensor<8x16x4096xf32>) -> tensor<8x16x4096xf32> {
  %d = grouped_scaled_gemm.matmul <ragged_k, ends> groups(%ends : tensor<8xi32>) lhs(%x : !gx) rhs(%w : !gw)
      outs(%c : tensor<8x16x4096xf32>) -> tensor<8x16x4096xf32>
  return %d : tensor<8x16x4096xf32>
}
