!a = !grouped_scaled_gemm.scaled<?x2048, nvfp4>
!b = !grouped_scaled_gemm.scaled<1x7168x2048, nvfp4>
func.func @parts(%a: !a, %b: !b, %ends: tensor<1xi32>, %alpha: tensor<1xf32>, %init: tensor<?x7168xbf16>) -> tensor<?x7168xbf16> {
  %r = grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : tensor<1xi32>) lhs(%a : !a) rhs(%b : !b) alpha(%alpha : tensor<1xf32>)
      outs(%init : tensor<?x7168xbf16>)
      {determinism = #grouped_scaled_gemm<determinism relaxed>,
       strategy = #grouped_scaled_gemm.strategy<m = 64, n = 256, k = 128, stages = 5>} -> tensor<?x7168xbf16>
  return %r : tensor<?x7168xbf16>
}
