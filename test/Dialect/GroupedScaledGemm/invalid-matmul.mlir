// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of the operands of matmul; each case names the one of docs/Spec.md that it breaks.

// matmul_c1: one left-hand side
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c1(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected 1 lhs and at least 1 rhs, but got 2 and 1}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a, %a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c1: at least one right-hand side
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c1(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected 1 lhs and at least 1 rhs, but got 1 and 0}}
  %d = "grouped_scaled_gemm.matmul"(%a, %c) <{grouping = #grouped_scaled_gemm.grouping<dense>,
      operandSegmentSizes = array<i32: 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0>}> ({})
      : (!a, tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c2: the grouping fixes the rank of lhs
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c2(%a: !a, %b: !b, %c: tensor<4x16x32xf32>) {
  // expected-error @below {{expected lhs of rank 3 for grouping 'batched', but got '!grouped_scaled_gemm.scaled<16x64, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul <batched> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// matmul_c3: dense products have one matrix of weights
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c3(%a: !a, %w: !w, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected rhs [N, K] for grouping 'dense', but got '!grouped_scaled_gemm.scaled<4x32x64, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%w : !w)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c3: the weights of one group do not serve four
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c3(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected rhs [G, N, K], or one [N, K] a group, for 4 groups, but got 1 of type '!grouped_scaled_gemm.scaled<32x64, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c3: stacked weights are one operand
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c3(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected rhs [G, N, K], or one [N, K] a group, for grouping 'ragged_rows', but got '!grouped_scaled_gemm.scaled<4x32x64, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>)
      lhs(%a : !a) rhs(%w : !w, %w : !w)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c3: one right-hand side without groups of weights
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c3(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected 1 rhs for grouping 'dense', but got 2}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b, %b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c4: weights of the groups have one type
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!e = !grouped_scaled_gemm.scaled<48x64, nvfp4>
func.func @matmul_c4(%a: !a, %b: !b, %e: !e, %g: tensor<2xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected weights of one type, but got '!grouped_scaled_gemm.scaled<32x64, nvfp4>' and '!grouped_scaled_gemm.scaled<48x64, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<2xi32>)
      lhs(%a : !a) rhs(%b : !b, %e : !e)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c5: operands are K-major
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4, axis = 0>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c5(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs with blocks along K, axis 1, but got axis 0; quantise it along K}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c5: weights are K-major
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4, axis = 0>
func.func @matmul_c5(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected rhs with blocks along K, axis 1, but got axis 0; quantise it along K}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c6: block sizes are equal
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, mxfp4>
func.func @matmul_c6(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs and rhs of equal block size and scale type, but got nvfp4 (16, 'f8E4M3FN') and mxfp4 (32, 'f8E8M0FNU')}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c6: scale types are equal
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4_e8m0>
func.func @matmul_c6(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs and rhs of equal block size and scale type, but got nvfp4 (16, 'f8E4M3FN') and nvfp4_e8m0 (16, 'f8E8M0FNU')}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c7: K is equal
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x96, nvfp4>
func.func @matmul_c7(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs and rhs of equal K, but got 64 and 96}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c8: as many matrices in a batch on both sides
!a = !grouped_scaled_gemm.scaled<3x16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c8(%a: !a, %w: !w, %c: tensor<3x16x32xf32>) {
  // expected-error @below {{expected as many groups in lhs as in rhs, but got 3 and 4}}
  %d = grouped_scaled_gemm.matmul <batched> lhs(%a : !a) rhs(%w : !w)
      outs(%c : tensor<3x16x32xf32>) -> tensor<3x16x32xf32>
  return
}

// -----

// matmul_c8: a mask for as many groups as there are weights
!a = !grouped_scaled_gemm.scaled<5x16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c8(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<5x16x32xf32>) {
  // expected-error @below {{expected as many groups in lhs as in rhs, but got 5 and 4}}
  %d = grouped_scaled_gemm.matmul <masked> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<5x16x32xf32>) -> tensor<5x16x32xf32>
  return
}

// -----

// matmul_c9: one alpha a group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c9(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<3xf32>) {
  // expected-error @below {{expected alpha to be a scalar or of shape 4 ([G]), but got 3}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) alpha(%x : tensor<3xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c9: two alphas need pairs
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c9(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<4x2xf32>) {
  // expected-error @below {{expected alpha to be a scalar or of shape 4 ([G]), but got 4x2}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) alpha(%x : tensor<4x2xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c9: no third alpha
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c9(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x16xf32>, %x: tensor<4x3xf32>) {
  // expected-error @below {{expected alpha to be a scalar or of shape 4 ([G]) or 4x2 ([G, 2]), but got 4x3}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) alpha(%x : tensor<4x3xf32>) activation = <swiglu, gate = <1, gate_first>>
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c9: a tensor of rank 0 is no scalar
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c9(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<f32>) {
  // expected-error @below {{expected alpha to be a scalar or of shape 1 ([G]), but got scalar}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) alpha(%x : tensor<f32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c10: one beta a group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c10(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<4x2xf32>) {
  // expected-error @below {{expected beta to be a scalar or of shape 4 ([G]), but got 4x2}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) beta(%x : tensor<4x2xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c11: in-place accumulation needs the columns of the product
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c11(%a: !a, %b: !b, %x: f32, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected an addend with beta, because the destination has the columns of y, not of z}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) beta(%x : f32) activation = <geglu_tanh, gate = <16, up_first>>
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c11: in-place accumulation needs a destination in full precision
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c11(%a: !a, %b: !b, %x: f32) {
  // expected-error @below {{expected an addend with beta, because a quantised destination cannot be accumulated to}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) beta(%x : f32) quantizer = <trtllm>
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// matmul_c12: the addend has the shape of the product
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c12(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<32x16xf32>) {
  // expected-error @below {{expected addend of shape 16x32 ([M, N]), but got 32x16}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%x : tensor<32x16xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c13: one bias a column
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c13(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<16xf32>) {
  // expected-error @below {{expected bias of shape 32 ([N]) or 1x32 ([G, N]), but got 16}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%x : tensor<16xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c13: one bias a column and group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c13(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<5x32xf32>) {
  // expected-error @below {{expected bias of shape 32 ([N]) or 4x32 ([G, N]), but got 5x32}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) bias(%x : tensor<5x32xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c55: one scale a row
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c55(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<4xf32>) {
  // expected-error @below {{expected row_scale of shape 16 ([M]), but got 4}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) row_scale(%x : tensor<4xf32>)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c55: scales of the rows of a batch have the group in front
!a = !grouped_scaled_gemm.scaled<4x16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c55(%a: !a, %w: !w, %c: tensor<4x16x32xf32>, %x: tensor<16xf32>) {
  // expected-error @below {{expected row_scale of shape 4x16 ([G, M]), but got 16}}
  %d = grouped_scaled_gemm.matmul <batched> lhs(%a : !a) rhs(%w : !w) row_scale(%x : tensor<16xf32>)
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// matmul_c14: one prob a row
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c14(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<15xf32>) {
  // expected-error @below {{expected prob of shape 16 ([M]), but got 15}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) prob(%x : tensor<15xf32>) at pre_activation
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c14: prob of a masked product has the group in front
!a = !grouped_scaled_gemm.scaled<4x16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c14(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<4x16x32xf32>, %x: tensor<16xf32>) {
  // expected-error @below {{expected prob of shape 4x16 ([G, M]), but got 16}}
  %d = grouped_scaled_gemm.matmul <masked> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) prob(%x : tensor<16xf32>) at gemm
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// matmul_c15: prob on the bias needs one
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c15(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<16xf32>) {
  // expected-error @below {{expected a bias for prob at 'bias', but got none}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) prob(%x : tensor<16xf32>) at bias
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c39: a hint of rows is positive
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c39(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @+2 {{attribute 'expected_rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) {expected_rows = 0 : i64} -> tensor<16x32xf32>
  return
}

// -----

// matmul_c40: rows without scales are of 16 bits
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c40(%a: tensor<16x64xf32>, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs of type scaled, with scales (scaled_by), or of bf16 or f16, but got 'tensor<16x64xf32>'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : tensor<16x64xf32>) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c7, with rows without scales
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c7_plain(%a: tensor<16x32xbf16>, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs and rhs of equal K, but got 32 and 64}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : tensor<16x32xbf16>) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c2, with rows without scales
!b = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c2_plain(%a: tensor<16x64xbf16>, %b: !b, %c: tensor<4x16x32xf32>) {
  // expected-error @below {{expected lhs of rank 3 for grouping 'batched', but got 'tensor<16x64xbf16>'}}
  %d = grouped_scaled_gemm.matmul <batched> lhs(%a : tensor<16x64xbf16>) rhs(%b : !b)
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// matmul_c41: the gate layout of an addend is one
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c41_kind(%a: !a, %b: !b, %c: tensor<16x32xf32>, %d: tensor<16x16xf32>) {
  // expected-error @+2 {{expected '<'}}
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%c : tensor<16x32xf32>)
      activation = <swiglu, gate = <8, gate_first>> outer_gate = 16
      outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c41: without pairs there is none
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c41_pairs(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected an activation with gates in the order of #grouped_scaled_gemm.gate<halves, gate_first>, but got no gates}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%c : tensor<16x32xf32>) outer_gate = <halves, gate_first>
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c41: the order is that of the activation
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c41_order(%a: !a, %b: !b, %c: tensor<16x32xf32>, %d: tensor<16x16xf32>) {
  // expected-error @below {{expected an activation with gates in the order of #grouped_scaled_gemm.gate<halves, up_first>, but got #grouped_scaled_gemm.gate<8, gate_first>}}
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%c : tensor<16x32xf32>)
      activation = <swiglu, gate = <8, gate_first>> outer_gate = <halves, up_first>
      outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c41: it is of an addend or a stored pre-activation
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c41_operand(%a: !a, %b: !b, %d: tensor<16x16xf32>) {
  // expected-error @below {{expected outer_gate with addend or preact_outs, but got neither}}
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <swiglu, gate = <8, gate_first>> outer_gate = <halves, gate_first>
      outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c41, gate_c2: it splits N
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c41_columns(%a: !a, %b: !b, %c: tensor<16x32xf32>, %d: tensor<16x16xf32>) {
  // expected-error @below {{expected N to be a multiple of twice the gate granularity 3, but got 32 (nearest: 30)}}
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%c : tensor<16x32xf32>)
      activation = <swiglu, gate = <8, gate_first>> outer_gate = <3, gate_first>
      outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// op_c1: an attribute that nothing would read
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @op_c1(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected no attribute grouped_scaled_gemm.outer_gate beside those of the operation}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%c : tensor<16x32xf32>)
      outs(%c : tensor<16x32xf32>)
      {grouped_scaled_gemm.outer_gate = #grouped_scaled_gemm.gate<halves, gate_first>} -> tensor<16x32xf32>
  return
}
