// The weights of layer.mlir as kernels for sm_90a read them, made once and
// offline: rows of gate and up in runs of 32, so that one tile of the product
// has both, and blocks whose bits are in the decoder's order. It runs on a CPU.

!w13 = !grouped_scaled_gemm.scaled<16x1536x1024, nvfp4>
!w2  = !grouped_scaled_gemm.scaled<16x1024x768, nvfp4>
!c13 = !grouped_scaled_gemm.scaled<16x1536x1024, nvfp4, wgmma>
!c2  = !grouped_scaled_gemm.scaled<16x1024x768, nvfp4, wgmma>

func.func @w13(%w: !w13) -> !c13 {
  %runs = grouped_scaled_gemm.relayout_gate(%w : !w13)
      from <halves, gate_first> to <32, gate_first> -> !w13
  %coded = grouped_scaled_gemm.relayout_weights(%runs : !w13) -> !c13
  return %coded : !c13
}

func.func @w2(%w: !w2) -> !c2 {
  %coded = grouped_scaled_gemm.relayout_weights(%w : !w2) -> !c2
  return %coded : !c2
}
