// Kernels for sm_90a that no model is of choose their tile, and the remark at each says which.
// RUN: nvfp4-compile --explain --target=sm_90a %s 2>&1 | FileCheck %s

!a = !grouped_scaled_gemm.scaled<16x256, mxfp4>
!b = !grouped_scaled_gemm.scaled<512x256, mxfp4>
!w = !grouped_scaled_gemm.scaled<512x256, nvfp4>
// CHECK: explain-wgmma-own.mlir:[[#@LINE+5]]:{{[0-9]+}}: remark: no strategy: its kernel takes tiles of at most <m = 96, n = 256, k = 128>; the model for sm_90a is of NVFP4 weights beside rows with scales, in groups along M
// CHECK-NEXT: floor {{[0-9.]+}} us (memory {{[0-9.]+}}, products {{[0-9.]+}}) on sm_90a
// CHECK: explain-wgmma-own.mlir:[[#@LINE+5]]:{{[0-9]+}}: remark: no strategy: its kernel takes tiles of at most <m = 192, n = 128, k = 128>
// CHECK: floor {{[0-9.]+}} us
func.func @f(%a: !a, %b: !b, %p: tensor<16x256xbf16>, %w: !w, %c: tensor<16x512xbf16>) -> (tensor<16x512xbf16>, tensor<16x512xbf16>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x512xbf16>) -> tensor<16x512xbf16>
  %e = grouped_scaled_gemm.matmul <dense> lhs(%p : tensor<16x256xbf16>) rhs(%w : !w)
      outs(%c : tensor<16x512xbf16>) {expected_rows = 384 : i64} -> tensor<16x512xbf16>
  return %d, %e : tensor<16x512xbf16>, tensor<16x512xbf16>
}
