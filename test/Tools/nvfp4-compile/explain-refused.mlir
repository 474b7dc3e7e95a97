// --explain names no strategy for a product that gets no kernel, nor for what is beside it.
// RUN: not nvfp4-compile --explain --target=sm_100a %s 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: not nvfp4-compile --explain --target=sm_90a %s 2>&1 | FileCheck %s --implicit-check-not=remark:

!a = !grouped_scaled_gemm.scaled<64x256, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x256, nvfp4>
func.func @remainder(%a: !a, %b: !b, %c: tensor<64x512xf32>) -> tensor<64x512xf32> {
  // CHECK: explain-refused.mlir:[[#@LINE+1]]:{{[0-9]+}}: error: {{.*}}kernels for sm_{{[0-9]+}}a do not support 'arith.remf' in an epilogue region
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        %y = arith.remf %z, %z : f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %d : tensor<64x512xf32>
}
func.func @beside(%a: !a, %b: !b, %c: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %d : tensor<64x512xf32>
}
