// Operations of the dialect may be inlined, with their regions.
//
// RUN: nvfp4-opt %s --inline | FileCheck %s

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-NOT: @inner
// CHECK-LABEL: func.func @outer
// CHECK: grouped_scaled_gemm.matmul
// CHECK: activation = <custom>
// CHECK: arith.negf
// CHECK: grouped_scaled_gemm.permute
// CHECK-NOT: call
func.func @outer(%x: !a, %w: !a, %t: tensor<8xi32>, %y: tensor<64x64xf32>, %p: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %r = func.call @inner(%x, %w, %t, %y, %p) : (!a, !a, tensor<8xi32>, tensor<64x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

func.func private @inner(%x: !a, %w: !a, %t: tensor<8xi32>, %y: tensor<64x64xf32>, %p: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %z = grouped_scaled_gemm.matmul <dense> lhs(%x : !a) rhs(%w : !a) activation = <custom>
      epilogue {
      ^bb0(%s: f32):
        %n = arith.negf %s : f32
        grouped_scaled_gemm.yield %n : f32
      }
      outs(%y : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = grouped_scaled_gemm.permute(%z : tensor<64x64xf32>) by(%t : tensor<8xi32>) outs(%p : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
