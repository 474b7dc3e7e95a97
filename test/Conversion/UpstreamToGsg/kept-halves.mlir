// Low halves of bytes that are divided by what the high ones are multiplied by
// have no common alpha.

// RUN: nvfp4-opt %s -verify-diagnostics --raise-to-grouped-scaled-gemm='move-global-scales explain' | FileCheck %s

// CHECK-NOT: grouped_scaled_gemm.matmul
#mk = affine_map<(m, b, h) -> (m, b)>
func.func @halves_of_two_scales(%x: tensor<8x64xbf16>, %w: tensor<32x32xi8>, %ws: tensor<32x4xf8E4M3FN>, %g: f32, %out: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e1 = tensor.empty() : tensor<32x32x1xf32>
  %lo = linalg.generic {indexing_maps = [affine_map<(n,b,h)->(n,b)>, affine_map<(n,b,h)->(n,b,h)>], iterator_types=["parallel","parallel","parallel"]} ins(%w: tensor<32x32xi8>) outs(%e1: tensor<32x32x1xf32>) {
  ^bb0(%a: i8, %o: f32):
    %t = arith.trunci %a : i8 to i4
    %c = arith.bitcast %t : i4 to f4E2M1FN
    %v = arith.extf %c : f4E2M1FN to f32
    %r = arith.divf %v, %g : f32
    linalg.yield %r : f32
  } -> tensor<32x32x1xf32>
  %hi = linalg.generic {indexing_maps = [affine_map<(n,b,h)->(n,b)>, affine_map<(n,b,h)->(n,b,h)>], iterator_types=["parallel","parallel","parallel"]} ins(%w: tensor<32x32xi8>) outs(%e1: tensor<32x32x1xf32>) {
  ^bb0(%a: i8, %o: f32):
    %c4 = arith.constant 4 : i8
    %s = arith.shrui %a, %c4 : i8
    %t = arith.trunci %s : i8 to i4
    %c = arith.bitcast %t : i4 to f4E2M1FN
    %v = arith.extf %c : f4E2M1FN to f32
    %r = arith.mulf %v, %g : f32
    linalg.yield %r : f32
  } -> tensor<32x32x1xf32>
  %wv = tensor.concat dim(2) %lo, %hi : (tensor<32x32x1xf32>, tensor<32x32x1xf32>) -> tensor<32x32x2xf32>
  %wc = tensor.collapse_shape %wv [[0],[1,2]] : tensor<32x32x2xf32> into tensor<32x64xf32>
  // expected-remark @below {{not raised: expected two block-scaled operands, or one beside rows of bf16 or f16, but got one of f32}}
  %y = linalg.generic {indexing_maps = [affine_map<(m,n,k)->(m,k)>, affine_map<(m,n,k)->(n,k)>, affine_map<(m,n,k)->(n,k floordiv 16)>, affine_map<(m,n,k)->(m,n)>], iterator_types=["parallel","parallel","reduction"]} ins(%x,%wc,%ws: tensor<8x64xbf16>, tensor<32x64xf32>, tensor<32x4xf8E4M3FN>) outs(%out: tensor<8x32xf32>) {
  ^bb0(%a: bf16, %c: f32, %s: f8E4M3FN, %sum: f32):
    %ae = arith.extf %a : bf16 to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %v = arith.mulf %c, %se : f32
    %p = arith.mulf %ae, %v : f32
    %t = arith.addf %sum, %p : f32
    linalg.yield %t : f32
  } -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
