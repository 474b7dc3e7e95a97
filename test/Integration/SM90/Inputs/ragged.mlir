// Experts of one size, as many rows each as the offsets say.
!a = !grouped_scaled_gemm.scaled<?x2048, nvfp4>
!b = !grouped_scaled_gemm.scaled<?x7168x2048, nvfp4>
func.func @f(%a: !a, %b: !b, %ends: tensor<?xi32>, %alpha: tensor<?xf32>,
             %init: tensor<?x7168xbf16>) -> tensor<?x7168xbf16> {
  %r = grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : tensor<?xi32>)
      lhs(%a : !a) rhs(%b : !b) alpha(%alpha : tensor<?xf32>)
      outs(%init : tensor<?x7168xbf16>) -> tensor<?x7168xbf16>
  return %r : tensor<?x7168xbf16>
}
