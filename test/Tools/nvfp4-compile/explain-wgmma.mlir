// RUN: nvfp4-compile --explain --target=sm_90a %s 2>&1 | FileCheck %s

// Tiles of sm_90a are ranked by a model of their own, the chosen one first.

// CHECK: explain-wgmma.mlir:[[#@LINE+7]]:{{[0-9]+}}: remark: strategy <m = [[M:[0-9]+]], n = [[N:[0-9]+]], k = [[K:[0-9]+]]
// CHECK: tile {{.*}} waves
// CHECK-NEXT: [[M]]x[[N]]x[[K]]
// CHECK: remark: keeps its strategy; without it:
!a = !grouped_scaled_gemm.scaled<16x256, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x256, nvfp4>
func.func @f(%a: !a, %b: !b, %c: tensor<16x512xbf16>) -> (tensor<16x512xbf16>, tensor<16x512xbf16>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x512xbf16>) -> tensor<16x512xbf16>
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 256, k = 128>}
      -> tensor<16x512xbf16>
  return %d, %e : tensor<16x512xbf16>, tensor<16x512xbf16>
}
