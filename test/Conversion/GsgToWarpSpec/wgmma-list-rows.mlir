// Stages of a list leave room for results that one of its problems alone has: rows of 16 bits that are no multiple of 16 bytes
// are staged as f32.
// RUN: nvfp4-opt %s --gsg-to-sm90-kernels -o /dev/null

!a = !grouped_scaled_gemm.scaled<130x288, mxfp4>
!b = !grouped_scaled_gemm.scaled<264x288, mxfp8_e4m3>
!c = !grouped_scaled_gemm.scaled<129x160, mxfp4>
!d = !grouped_scaled_gemm.scaled<130x160, mxfp8_e4m3>
!x = tensor<130x264xbf16>
!y = tensor<129x130xbf16>
func.func @f(%a: !a, %b: !b, %c: !c, %d: !d, %x: !x, %y: !y) -> (!x, !y) {
  %r:2 = grouped_scaled_gemm.matmul_list lhs(%a : !a, %c : !c) rhs(%b : !b, %d : !d) outs(%x, %y : !x, !y)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 256, k = 128>} -> !x, !y
  return %r#0, %r#1 : !x, !y
}
