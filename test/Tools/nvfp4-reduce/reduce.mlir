// A module shrinks to what a script finds interesting: its product.

// RUN: nvfp4-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/has-matmul.sh' | FileCheck %s

!x = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-NOT: math.exp
func.func @other(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}
// CHECK: func.func @product(
// CHECK: grouped_scaled_gemm.matmul
// CHECK-NOT: math.exp
func.func @product(%x: !x, %w: !w, %out: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w)
      outs(%out : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}
