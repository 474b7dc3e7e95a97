// target_c10: gate layouts that kernels for sm_90a cannot pair get no strategy; gsg-assign-scale-layout, which they name, moves those of memrefs.
// RUN: nvfp4-opt %s --gsg-select-strategy="kernels explain target=sm_90a" --split-input-file --verify-diagnostics -o /dev/null

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @halves(%a: !a, %b: !b, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // expected-error @below {{kernels for sm_90a do not support the gate layout #grouped_scaled_gemm.gate<halves, gate_first>; run gsg-assign-scale-layout{target=sm_90a} after one-shot-bufferize}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <swiglu, gate = <halves, gate_first>> outs(%c : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @addend(%a: !a, %b: !b, %e: tensor<64x64xf32>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // expected-error @below {{kernels for sm_90a do not support the gate layout #grouped_scaled_gemm.gate<halves, gate_first> with addend or preact_outs; bring weights}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%e : tensor<64x64xf32>)
      activation = <swiglu, gate = <halves, gate_first>> outs(%c : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @outer(%a: !a, %b: !b, %e: tensor<64x64xf32>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // expected-error @below {{kernels for sm_90a do not support addend and preact_outs in another gate layout than the weights; run gsg-assign-scale-layout{target=sm_90a} after one-shot-bufferize}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%e : tensor<64x64xf32>)
      activation = <swiglu, gate = <8, gate_first>> outer_gate = <halves, gate_first>
      outs(%c : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}

// -----

// Runs of up to 32 have kernels.
!a = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
func.func @runs(%a: !a, %b: !b, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // expected-remark @below {{strategy <}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <swiglu, gate = <8, gate_first>> outs(%c : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %d : tensor<64x32xf32>
}
