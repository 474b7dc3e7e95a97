// Squares of bf16 numbers, computed in f32.
func.func @square(%x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  %wide = arith.extf %x : tensor<2x4xbf16> to tensor<2x4xf32>
  %square = arith.mulf %wide, %wide : tensor<2x4xf32>
  %y = arith.truncf %square : tensor<2x4xf32> to tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}
