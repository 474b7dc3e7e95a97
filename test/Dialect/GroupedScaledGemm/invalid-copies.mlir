// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of copies of results; each case names the one of docs/Spec.md that it breaks.

// copies_c1: a copy in value form is a result of type scaled
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @copies_c1(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected a result of type scaled for each copy, the last results, but got 'tensor<16x32xf32>'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) copies(<te>) -> tensor<16x32xf32>
  return
}

// -----

// copies_c1: in storage form a copy has destinations
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @copies_c1(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
                     %c: memref<16x32xf32>) {
  // expected-error @below {{expected 1 destinations of values for 1 copies in storage form, but got 0}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%c : memref<16x32xf32>) copies(<te>)
  return
}

// -----

// quantizer_c4: seeds belong to copies in order, so that each has its own where it needs one
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!o = !grouped_scaled_gemm.scaled<16x32, nvfp4>
func.func @quantizer_c4(%a: !a, %b: !b, %seed: i64) {
  // expected-error @below {{expected a seed for the copy by #grouped_scaled_gemm.quantizer<te, rounding = stochastic>, but got none}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te, rounding = stochastic>, <te> seed(%seed)) -> !o, !o
  return
}

// -----

// quantizer_c4
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!o = !grouped_scaled_gemm.scaled<16x32, nvfp4>
func.func @quantizer_c4(%a: !a, %b: !b, %seed: i64) {
  // expected-error @below {{expected no seed for the copy by #grouped_scaled_gemm.quantizer<te>, but got one}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te> seed(%seed)) -> !o
  return
}

// -----

// copies_c2: a copy has the shape of y
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @copies_c2(%a: !a, %b: !b) {
  // expected-error @below {{expected copy of shape 16x32 ([M, N]), but got 32x16}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te>)
      -> !grouped_scaled_gemm.scaled<32x16, nvfp4>
  return
}

// -----

// copies_c2: or the transposed one
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @copies_c2(%a: !a, %b: !b) {
  // expected-error @below {{expected transposed copy of shape 32x16}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te> transposed)
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// copies_c3: one factor for each group
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @copies_c3(%a: !a, %b: !b, %s: tensor<2xf32>) {
  // expected-error @below {{expected global_scale of a copy to be a scalar or of shape 1 ([G]), but got 2}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te> global_scale(%s : tensor<2xf32>))
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// copies_c4: rows beyond the counts have no place in blocks along the rows of a matrix
!a = !grouped_scaled_gemm.scaled<2x16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x32x64, nvfp4>
func.func @copies_c4(%a: !a, %b: !b, %counts: tensor<2xi32>) {
  // expected-error @below {{expected no transposed copy for grouping 'masked', whose rows beyond the counts would be within blocks; give the copy a type with blocks along axis 1 instead}}
  %d = grouped_scaled_gemm.matmul <masked> groups(%counts : tensor<2xi32>) lhs(%a : !a) rhs(%b : !b)
      copies(<te> transposed) -> !grouped_scaled_gemm.scaled<2x32x16, nvfp4>
  return
}

// -----

// copies_c5: blocks along columns are whole
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<40x64, nvfp4>
func.func @copies_c5(%a: !a, %b: !b) {
  // expected-error @below {{expected columns of a copy to be a multiple of the block size 16, but got N_out = 40 (nearest: 48)}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te>)
      -> !grouped_scaled_gemm.scaled<16x40, nvfp4>
  return
}

// -----

// copies_c6: squares are not transformed
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @copies_c6(%a: !a, %b: !b) {
  // expected-error @below {{expected no hadamard with two_d}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) copies(<te, two_d> hadamard = <normalized>)
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return
}

// -----

// grouping_c11: groups along the blocks of a transposed copy begin at whole blocks
!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x32x64, nvfp4>
func.func @grouping_c11(%a: !a, %b: !b, %ends: tensor<2xi32>) {
  // expected-error @below {{expected group starts along the blocks of a copy that are known multiples of the block size 16, but got align = 8; use align = 16 or starts = compact}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 8> groups(%ends : tensor<2xi32>) lhs(%a : !a) rhs(%b : !b)
      copies(<te> transposed) -> !grouped_scaled_gemm.scaled<32x?, nvfp4>
  return
}

// -----

// quantizer_c7: squares need matrices without groups
!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x32x64, nvfp4>
func.func @quantizer_c7(%a: !a, %b: !b, %ends: tensor<2xi32>) {
  // expected-error @below {{expected two_d for matrices without groups}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>) lhs(%a : !a) rhs(%b : !b)
      copies(<te, two_d>) -> !grouped_scaled_gemm.scaled<?x32, nvfp4>
  return
}

// -----

// copies_c1: the clause has one copy or more, which only the generic form can break
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @copies_c1(%a: !a, %b: !b) {
  // expected-error @below {{expected at least one copy in copies, but got none; leave copies out}}
  "grouped_scaled_gemm.matmul"(%a, %b) <{copies = [], determinism = #grouped_scaled_gemm<determinism deterministic>,
      grouping = #grouped_scaled_gemm.grouping<dense>, math = #grouped_scaled_gemm<math strict>,
      operandSegmentSizes = array<i32: 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>,
      prob_position = #grouped_scaled_gemm<prob_position post_activation>, tail = #grouped_scaled_gemm<tail preserve>}> ({}) : (!a, !b) -> ()
  return
}
