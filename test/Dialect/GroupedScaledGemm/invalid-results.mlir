// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of results and destinations; each case names the one of docs/Spec.md that it breaks.

// matmul_c23: a scaled result has a quantizer
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c23(%a: !a, %b: !b) {
  // expected-error @below {{expected a quantizer for a result of type scaled, but got none}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// matmul_c23: a quantizer has a scaled result
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c23(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected a result of type scaled for a quantizer, but got none}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <trtllm>
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c24: only quantisers have a global scale
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c24(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: f32) {
  // expected-error @below {{expected global_scale and seed with a quantizer only}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) global_scale(%x : f32)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c25: the destination has the shape of the product
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c25(%a: !a, %b: !b, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected outs of shape 16x32 ([M, N]), but got 16x16}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return
}

// -----

// matmul_c25: pairs halve the columns
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c25(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected outs of shape 16x16 ([M, N]), but got 16x32}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <halves, up_first>>
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c25: groups along K have one result each
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c25(%a: !a, %b: !b, %g: tensor<4xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected outs of shape 4x16x32 ([G, M, N]), but got 16x32}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends, align = 16> groups(%g : tensor<4xi32>)
      lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c26: destinations are f32, f16 or bf16
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c26(%a: !a, %b: !b, %c: tensor<16x32xf64>) {
  // expected-error @below {{expected outs of element type f32, f16 or bf16, but got 'f64'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf64>) -> tensor<16x32xf64>
  return
}

// -----

// matmul_c27: the quantised result has the shape of the product
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c27(%a: !a, %b: !b) {
  // expected-error @below {{expected quantised result of shape 16x32 ([M, N]), but got 16x64}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te>
      -> !grouped_scaled_gemm.scaled<16x64, nvfp4>
  return
}

// -----

// matmul_c28: one global scale a group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c28(%a: !a, %w: !w, %g: tensor<4xi32>, %x: tensor<3xf32>) {
  // expected-error @below {{expected global_scale to be a scalar or of shape 4 ([G]), but got 3}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) quantizer = <te> global_scale(%x : tensor<3xf32>)
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// matmul_c29: no block of the result is cut
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<40x64, nvfp4>
func.func @matmul_c29(%a: !a, %b: !b) {
  // expected-error @below {{expected quantised columns to be a multiple of the block size 16, but got N_out = 40 (nearest: 48)}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te>
      -> !grouped_scaled_gemm.scaled<16x40, nvfp4>
  return
}

// -----

// quantizer_c3: trtllm and the rest know their scales
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @quantizer_c3(%a: !a, %b: !b) {
  // expected-error @below {{expected a format with UE4M3 scales (nvfp4) for quantizer 'modelopt', but got 'mxfp4'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <modelopt>
      -> !grouped_scaled_gemm.scaled<16x32, mxfp4>
  return
}

// -----

// quantizer_c4: stochastic rounding has a seed
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @quantizer_c4(%a: !a, %b: !b) {
  // expected-error @below {{expected a seed for rounding = stochastic, but got none}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te, rounding = stochastic>
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// quantizer_c7: squares of 16x16 do not cross groups
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @quantizer_c7(%a: !a, %w: !w, %g: tensor<4xi32>) {
  // expected-error @below {{expected two_d for matrices without groups, but got groups}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) quantizer = <te, two_d>
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// matmul_c30: the pre-activation has the shape of the product
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c30(%a: !a, %b: !b, %z: tensor<16x16xf32>, %c: tensor<16x16xf32>) {
  // expected-error @below {{expected preact_outs of shape 16x32 ([M, N]), but got 16x16}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <swiglu, gate = <1, gate_first>>
      preact_outs(%z : tensor<16x16xf32>)
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>, tensor<16x16xf32>
  return
}

// -----

// matmul_c31: one amax a group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @matmul_c31(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>, %x: tensor<5xf32>) {
  // expected-error @below {{expected amax_outs of shape 4 ([G]), but got 5}}
  %d:2 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) amax_outs(%x : tensor<5xf32>)
      -> tensor<16x32xf32>, tensor<5xf32>
  return
}

// -----

// matmul_c32: a scaled result has no destination
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c32(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected no outs for a result of type scaled, but got 'tensor<16x32xf32>'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te>
      outs(%c : tensor<16x32xf32>)
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// matmul_c33: a product has a result
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @matmul_c33(%a: !a, %b: !b) {
  // expected-error @below {{expected outs, a result of type scaled or copies, but got none}}
  grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
  return
}

// -----

// dest_c1: one result a destination
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @dest_c1(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected 1 results for its destinations, but got 0}}
  grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>)
  return
}

// -----

// dest_c2: the result has the type of its destination
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @dest_c2(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected result #0 of type 'tensor<16x32xf32>' as its destination, but got 'tensor<16x?xf32>'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x?xf32>
  return
}

// -----

// dest_c2: preact, out, amax
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @dest_c2(%a: !a, %b: !b, %c: tensor<16x32xf32>, %x: tensor<1xf32>) {
  // expected-error @below {{expected result #0 of type 'tensor<16x32xf32>' as its destination, but got 'tensor<1xf32>'}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) amax_outs(%x : tensor<1xf32>)
      -> tensor<1xf32>, tensor<16x32xf32>
  return
}

// -----

// dest_c3: the output is no input
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @dest_c3(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
    %c: memref<16x32xf32>, %x: f32) {
  // expected-error @below {{expected outputs that overlap no other operand, but operands #5 and #6 are the same memref}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b) beta(%x : f32) addend(%c : memref<16x32xf32>)
      outs(%c : memref<16x32xf32>)
  return
}

// -----

// dest_c3: outputs are different
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @dest_c3(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
    %c: memref<16x32xf32>) {
  // expected-error @below {{expected outputs that overlap no other operand, but operands #5 and #4 are the same memref}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b) 
      preact_outs(%c : memref<16x32xf32>) outs(%c : memref<16x32xf32>)
  return
}
