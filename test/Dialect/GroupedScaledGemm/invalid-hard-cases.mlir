// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Row 13 of docs/Tests.md: blocks of 8 and 64, UE4M3 scales of blocks of 32, FP8 beside FP4, a wrong number of groups,
// more than one matrix. Each has a diagnostic of its own.

// storage_c9: blocks of 8 need twice the scales
func.func @blocks_of_8(%v: tensor<16x32xi8>, %s: tensor<16x8xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of shape 16x4 for the layout 'linear', but got 16x8, too large in dimension 1 (one scale for each 16 elements, not for 8)}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<16x32xi8>, tensor<16x8xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<16x64, nvfp4>
  return
}

// -----

// storage_c9: blocks of 64 have a quarter of the scales
func.func @blocks_of_64(%v: tensor<16x32xi8>, %s: tensor<16x1xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of shape 16x4 for the layout 'linear', but got 16x1, too small in dimension 1 (one scale for each 16 elements, not for 64)}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<16x32xi8>, tensor<16x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<16x64, nvfp4>
  return
}

// -----

// storage_c9: also along rows
func.func @columns_of_64(%v: tensor<64x8xi8>, %s: tensor<1x16xf8E8M0FNU>) {
  // expected-error @below {{expected scales of the result of shape 2x16 for the layout 'linear', but got 1x16, too small in dimension 0 (one scale for each 32 elements, not for 64)}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<64x8xi8>, tensor<1x16xf8E8M0FNU>
      -> !grouped_scaled_gemm.scaled<64x16, mxfp4, axis = 0>
  return
}

// -----

// scaled_c6: a format fixes its block, there is no other
// expected-error @below {{expected a format, one of nvfp4, mxfp4, nvfp4_e8m0, mxfp8_e4m3, mxfp8_e5m2, but got 'nvfp4_v64'}}
func.func private @format_of_64(!grouped_scaled_gemm.scaled<16x64, nvfp4_v64>)

// -----

// storage_c7: UE4M3 scales have blocks of 16
func.func @ue4m3_blocks_of_32(%v: tensor<16x32xi8>, %s: tensor<16x2xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of element type 'f8E8M0FNU' for format mxfp4 with blocks of 32, but got 'f8E4M3FN'}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<16x32xi8>, tensor<16x2xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<16x64, mxfp4>
  return
}

// -----

// matmul_c6: FP8 activations have other blocks than FP4 weights with UE4M3 scales
!a = !grouped_scaled_gemm.scaled<16x64, mxfp8_e4m3>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @fp8_and_nvfp4(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs and rhs of equal block size and scale type, but got mxfp8_e4m3 (32, 'f8E8M0FNU') and nvfp4 (16, 'f8E4M3FN')}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// storage_c5: FP8 values are no FP4 operand
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @fp8_as_fp4(%a: tensor<16x32xf8E4M3FN>, %as: tensor<16x4xf8E4M3FN>, %b: tensor<32x32xi8>,
    %bs: tensor<32x4xf8E4M3FN>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected values of lhs of element type 'i8' for format nvfp4, but got 'f8E4M3FN'}}
  %d = grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : tensor<16x32xf8E4M3FN>, tensor<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// grouping_c5: as many ends as weights
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>
func.func @number_of_groups(%a: !a, %w: !w, %g: tensor<3xi32>, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected groups of length G for the 4 groups of grouping 'ragged_rows', but got 3}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<3xi32>)
      lhs(%a : !a) rhs(%w : !w) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// matmul_c2: L matrices are a batch, not a dense product
!a = !grouped_scaled_gemm.scaled<2x16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @more_than_one_matrix(%a: !a, %b: !b, %c: tensor<16x32xf32>) {
  // expected-error @below {{expected lhs of rank 2 for grouping 'dense', but got '!grouped_scaled_gemm.scaled<2x16x64, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}
