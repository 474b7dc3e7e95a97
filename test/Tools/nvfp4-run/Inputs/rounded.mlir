// Blocks so far apart that f32 need not hold their sum, which lies between two
// numbers of bf16.
!t = !grouped_scaled_gemm.scaled<1x32, nvfp4>
func.func @rounded() -> tensor<1x1xbf16> {
  %x = arith.constant dense<[[113, 119, 119, 119, 119, 119, 119, 119, 119, 119, 119, 119, 119, 119, 119, 119]]> : tensor<1x16xi8>
  %y = arith.constant dense<119> : tensor<1x16xi8>
  %s = arith.constant dense<[[448.0, 0.001953125]]> : tensor<1x2xf8E4M3FN>
  %z = arith.constant dense<0.0> : tensor<1x1xbf16>
  %a = grouped_scaled_gemm.make_scaled %x, %s : tensor<1x16xi8>, tensor<1x2xf8E4M3FN> -> !t
  %b = grouped_scaled_gemm.make_scaled %y, %s : tensor<1x16xi8>, tensor<1x2xf8E4M3FN> -> !t
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !t) rhs(%b : !t) outs(%z : tensor<1x1xbf16>) -> tensor<1x1xbf16>
  return %d : tensor<1x1xbf16>
}
