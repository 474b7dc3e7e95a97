// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of groups and group starts; each case names the one of docs/Spec.md that it breaks.

// grouping_c3: ragged rows need offsets
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c3(%a: !a, %w: !w, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected groups for grouping 'ragged_rows', but got none}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> lhs(%a : !a) rhs(%w : !w)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c3: dense products have no offsets
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c3(%a: !a, %b: !b, %c: tensor<16x32xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{expected no groups for grouping 'dense', but got some}}
  %d = grouped_scaled_gemm.matmul <dense> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c12: offsets are i32 or i64
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c12(%a: !a, %w: !w, %g: tensor<4xf32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{operand #0 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xf32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c12: offsets are no i16
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c12(%a: !a, %w: !w, %g: tensor<4xi16>, %c: tensor<16x32xf32>) {
  // expected-error @below {{operand #0 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi16>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c4: offsets are a vector
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c4(%a: !a, %w: !w, %g: tensor<2x2xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected groups to be a vector, but got 'tensor<2x2xi32>'}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<2x2xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c4: a scalar tensor is no vector
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c4(%a: !a, %w: !w, %g: tensor<i32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected groups to be a vector, but got 'tensor<i32>'}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<i32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c5: G ends
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c5(%a: !a, %w: !w, %g: tensor<5xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected groups of length G for the 4 groups of grouping 'ragged_rows', but got 5}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<5xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c5: G+1 starts
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c5(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected groups of length G+1 for the 4 groups of grouping 'ragged_rows', but got 4}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c5: G row counts
!a = !grouped_scaled_gemm.scaled<4x16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c5(%a: !a, %w: !w, %g: tensor<3xi32>, %c: tensor<4x16x32xf32>) {
  // expected-error @below {{expected groups of length G for the 4 groups of grouping 'masked', but got 3}}
  %d = grouped_scaled_gemm.matmul <masked> groups(%g : tensor<3xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// grouping_c5: starts hold at least the end of nothing
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c5(%a: !a, %b: !b, %g: tensor<0xi32>, %c: tensor<?x16x32xf32>) {
  // expected-error @below {{expected at least 1 group start, but got 0}}
  %d = grouped_scaled_gemm.matmul <ragged_k, starts, align = 16> groups(%g : tensor<0xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<?x16x32xf32>) -> tensor<?x16x32xf32>
  return
}

// -----

// grouping_c5: a hostile length does not overflow
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c5(%a: !a, %w: !w, %g: tensor<9223372036854775807xi32>,
    %c: tensor<16x32xf32>) {
  // expected-error @below {{expected groups of length G+1 for the 4 groups of grouping 'ragged_rows', but got 9223372036854775807}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%g : tensor<9223372036854775807xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c6: ends within the rows
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c6(%a: !a, %w: !w, %c: tensor<16x32xf32>) {
  %g = arith.constant dense<[4, 8, 8, 17]> : tensor<4xi32>
  // expected-error @below {{expected group end #3 in [0, 16], but got 17}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c6: no negative end, also of unknown rows
!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c6(%a: !a, %w: !w, %c: tensor<?x32xf32>) {
  %g = arith.constant dense<-1> : tensor<4xi32>
  // expected-error @below {{expected group end #0 in [0, inf), but got -1}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  return
}

// -----

// grouping_c6: row counts within the rows
!a = !grouped_scaled_gemm.scaled<4x16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c6(%a: !a, %w: !w, %c: tensor<4x16x32xf32>) {
  %g = arith.constant dense<[16, 17, 0, 1]> : tensor<4xi32>
  // expected-error @below {{expected group count #1 in [0, 16], but got 17}}
  %d = grouped_scaled_gemm.matmul <masked> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// grouping_c7: ends do not decrease
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c7(%a: !a, %w: !w, %c: tensor<16x32xf32>) {
  %g = arith.constant dense<[4, 8, 7, 16]> : tensor<4xi32>
  // expected-error @below {{expected group end #2 >= 8, the one before it, but got 7}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c7: starts do not decrease
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c7(%a: !a, %w: !w, %c: tensor<16x32xf32>) {
  %g = arith.constant dense<[0, 4, 8, 12, 11]> : tensor<5xi64>
  // expected-error @below {{expected group start #4 >= 12, the one before it, but got 11}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%g : tensor<5xi64>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c7: a group that is not empty ends behind its aligned start
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c7(%a: !a, %w: !w, %c: tensor<16x32xf32>) {
  %g = arith.constant dense<[2, 3, 8, 8]> : tensor<4xi32>
  // expected-error @below {{expected group end #1 >= 4, where the group starts, but got 3}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 4> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c8: starts are multiples of align
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c8(%a: !a, %w: !w, %c: tensor<16x32xf32>) {
  %g = arith.constant dense<[0, 6, 8, 8, 15]> : tensor<5xi32>
  // expected-error @below {{expected group start #1 to be a multiple of align = 4, but got 6 (nearest: 4)}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, starts, align = 4> groups(%g : tensor<5xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c9: only ragged operands have group starts
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4, blocked, starts = compact>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c9(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected starts = whole for lhs, whose rows belong to no ragged groups, but got 'compact'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c9: weights of ragged rows have no group starts
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4, blocked, starts = upper_bound>
func.func @grouping_c9(%a: !a, %w: !w, %g: tensor<4xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected starts = whole for rhs, whose rows belong to no ragged groups, but got 'upper_bound'}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) 
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c10: upper_bound is a rule for rows
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4, blocked, starts = upper_bound>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c10(%a: !a, %b: !b, %g: tensor<4xi32>, %c: tensor<4x16x32xf32>) {
  // expected-error @below {{expected starts = compact or whole for lhs, whose groups lie along its blocks, but got 'upper_bound'}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends, align = 16> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// grouping_c11: groups along K start at a block
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c11(%a: !a, %b: !b, %g: tensor<4xi32>, %c: tensor<4x16x32xf32>) {
  // expected-error @below {{expected group starts along the blocks of lhs that are known multiples of the block size 16, but got align = 1; use align = 16 or starts = compact}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// grouping_c11: the alignment is a multiple of the block
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4, starts = compact>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c11(%a: !a, %b: !b, %g: tensor<4xi32>, %c: tensor<4x16x32xf32>) {
  // expected-error @below {{but got align = 24; use align = 32 or starts = compact}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends, align = 24> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// grouping_c11: constant starts are looked at
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c11(%a: !a, %b: !b, %c: tensor<4x16x32xf32>) {
  %g = arith.constant dense<[16, 24, 48, 64]> : tensor<4xi32>
  // expected-error @below {{expected group starts along the blocks of lhs that are known multiples of the block size 16}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// grouping_c11: column scales of ragged rows start at a block
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @grouping_c11(%a: !a, %w: !w, %g: tensor<4xi32>) {
  // expected-error @below {{expected group starts along the blocks of the quantised result that are known multiples of the block size 16, but got align = 1}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<4xi32>) lhs(%a : !a) rhs(%w : !w) quantizer = <te>
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4, axis = 0>
  return
}

// -----

// grouping_c9: a dense result has no group starts
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @grouping_c9(%a: !a, %b: !b) {
  // expected-error @below {{expected starts = whole for the quantised result, whose rows belong to no ragged groups, but got 'compact'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te>
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4, blocked, starts = compact>
  return
}
