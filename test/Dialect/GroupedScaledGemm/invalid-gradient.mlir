// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of products with gradient_of; each case names the one of docs/Spec.md that it breaks.

// matmul_c44: the gradient is that at a pre-activation
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c44(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>) {
  // expected-error @below {{expected gradient_of and preact together, but got gradient_of alone}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <halves, gate_first>>
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c44: a pre-activation is read for a gradient
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c44(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>) {
  // expected-error @below {{expected gradient_of and preact together, but got preact alone}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c45: a product without gradient has no gradient of factors
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c45(%a: !a, %b: !b, %c: tensor<16x32xf32>, %p: tensor<16xf32>) {
  // expected-error @below {{expected prob_outs with gradient_of only, but got no gradient_of}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) prob_outs(%p : tensor<16xf32>) -> tensor<16x32xf32>, tensor<16xf32>
  return
}

// -----

// matmul_c46: a custom activation has no formula
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c46(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>) {
  // expected-error @below {{expected gradient_of an activation with a formula, but got 'custom'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <custom> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c47: the activation belongs to the forward pass
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_activation(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>) {
  // expected-error @below {{expected no activation beside gradient_of, but got one; apply it in the product of the forward pass}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <relu> gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c47: parameters stand in the attribute
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_params(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %p: tensor<1x3xf32>) {
  // expected-error @below {{expected no activation_params beside gradient_of, but got one; write alpha, beta and limit in gradient_of}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation_params(%p : tensor<1x3xf32>) gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c47: a bias belongs to the forward pass
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_bias(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %n: tensor<32xf32>) {
  // expected-error @below {{expected no bias beside gradient_of, but got one; add it in the product of the forward pass}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      bias(%n : tensor<32xf32>) gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c47: factors are those of the result
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_prob(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %p: tensor<16xf32>) {
  // expected-error @below {{expected prob at 'post_activation' beside gradient_of, but got 'gemm'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      prob(%p : tensor<16xf32>) at gemm gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c47: the destination is no gradient of y
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_beta(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %s: f32) {
  // expected-error @below {{expected an addend with beta beside gradient_of, because the destination holds no gradient of y}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      beta(%s : f32) gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c47: dy is not a result
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_preact(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %n: tensor<16x32xf32>) {
  // expected-error @below {{expected no preact_outs beside gradient_of, but got one; compute the product without gradient_of to keep it}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      preact_outs(%n : tensor<16x32xf32>) outs(%c : tensor<16x64xf32>) -> tensor<16x32xf32>, tensor<16x64xf32>
  return
}

// -----

// matmul_c47: a maximum is taken of the result
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_amax(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %m: tensor<1xf32>) {
  // expected-error @below {{expected no amax_outs beside gradient_of, but got one; use grouped_scaled_gemm.amax on the result}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) amax_outs(%m : tensor<1xf32>) -> tensor<16x64xf32>, tensor<1xf32>
  return
}

// -----

// matmul_c47: groups along K have gradients of weights
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c47_ragged_k(%a: !a, %b: !b, %g: tensor<2xi32>, %z: tensor<2x16x64xbf16>, %c: tensor<2x16x64xf32>) {
  // expected-error @below {{expected no gradient_of for grouping 'ragged_k', which the gradient of weights has; use ragged_rows}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends, align = 16> groups(%g : tensor<2xi32>) lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<2x16x64xbf16>)
      outs(%c : tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  return
}

// -----

// matmul_c48: pairs have two columns of the pre-activation
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c48(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %n: tensor<16x32xbf16>) {
  // expected-error @below {{expected preact of shape 16x64 ([M, N]), but got 16x32}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <halves, gate_first>> preact(%n : tensor<16x32xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c48: whose layout splits them
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c48_gate(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>) {
  // expected-error @below {{expected N to be a multiple of twice the gate granularity 24, but got 64 (nearest: 48)}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <24, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return
}

// -----

// matmul_c49: one gradient for each factor
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c49(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %p: tensor<32xf32>) {
  // expected-error @below {{expected prob_outs of shape 16 ([M]), but got 32}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%c : tensor<16x64xf32>) prob_outs(%p : tensor<32xf32>) -> tensor<16x64xf32>, tensor<32xf32>
  return
}

// -----

// matmul_c25: the result has the columns of the pre-activation
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c25(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>, %n: tensor<16x32xf32>) {
  // expected-error @below {{expected outs of shape 16x64 ([M, N]), but got 16x32}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      gradient_of = <swiglu, gate = <halves, gate_first>> preact(%z : tensor<16x64xbf16>)
      outs(%n : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}
