// Kernels for sm_90a that no model is of choose their tile, and the remark at each says which: by the rows of a group, not
// by those of all.
// RUN: nvfp4-compile --explain --target=sm_90a %s 2>&1 | FileCheck %s

!a = !grouped_scaled_gemm.scaled<16x256, mxfp4>
!b = !grouped_scaled_gemm.scaled<512x256, mxfp4>
!wide = !grouped_scaled_gemm.scaled<384x256, mxfp4>
// CHECK: explain-wgmma-own.mlir:[[#@LINE+6]]:{{[0-9]+}}: remark: no strategy: its kernel takes tiles of at most <m = 96, n = 256, k = 128>; the model for sm_90a is of groups along M
// CHECK-NEXT: floor {{[0-9.]+}} us (memory {{[0-9.]+}}, products {{[0-9.]+}}) on sm_90a
// CHECK: explain-wgmma-own.mlir:[[#@LINE+6]]:{{[0-9]+}}: remark: no strategy: its kernel takes tiles of at most <m = 192, n = 128, k = 128>
// CHECK: floor {{[0-9.]+}} us
func.func @f(%a: !a, %wide: !wide, %b: !b, %ends: tensor<4xi32>, %c: tensor<4x16x512xbf16>, %d: tensor<4x384x512xbf16>)
    -> (tensor<4x16x512xbf16>, tensor<4x384x512xbf16>) {
  %e = grouped_scaled_gemm.matmul <ragged_k, align = 32> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<4x16x512xbf16>) {expected_rows = 384 : i64} -> tensor<4x16x512xbf16>
  %f = grouped_scaled_gemm.matmul <ragged_k, align = 32> groups(%ends : tensor<4xi32>) lhs(%wide : !wide) rhs(%b : !b)
      outs(%d : tensor<4x384x512xbf16>) -> tensor<4x384x512xbf16>
  return %e, %f : tensor<4x16x512xbf16>, tensor<4x384x512xbf16>
}
