// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of quantize, dequantize and hadamard; each case names the one of docs/Spec.md that it breaks.

// quantize_c1: a result is scaled
func.func @quantize_c1(%x: tensor<4x16xf32>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected one result of type scaled, or outs with scales (scaled_by), but got results ('tensor<4x16xf32>') and outs without scales}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// quantize_c1: one result
func.func @quantize_c1(%x: tensor<4x16xf32>) {
  // expected-error @below {{expected one result of type scaled, or outs with scales (scaled_by), but got results ('!grouped_scaled_gemm.scaled<4x16, nvfp4>', '!grouped_scaled_gemm.scaled<4x16, nvfp4>') and no outs}}
  %q:2 = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>)
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>, !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// quantize_c2: the result has the shape of the input
func.func @quantize_c2(%x: tensor<4x16xf32>) {
  // expected-error @below {{expected input of shape 4x32 (that of the result), but got 4x16}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>)
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// quantize_c2: the result has the rank of the input
func.func @quantize_c2(%x: tensor<16xf32>) {
  // expected-error @below {{expected input of shape 4x32 (that of the result), but got 16}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<16xf32>)
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// quantize_c2: or that of the input with its last two dimensions exchanged
func.func @quantize_c2(%x: tensor<2x16x4xf32>) {
  // expected-error @below {{expected input of shape 2x32x4 (that of the result, transposed), but got 2x16x4}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<2x16x4xf32>) {transposed}
      -> !grouped_scaled_gemm.scaled<2x4x32, nvfp4>
  return
}

// -----

// quantize_c4: there are two dimensions to exchange
func.func @quantize_c4(%x: tensor<16xf32>) {
  // expected-error @below {{expected a result of rank 2 or 3 with transposed, but got '!grouped_scaled_gemm.scaled<16, nvfp4>'}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<16xf32>) {transposed}
      -> !grouped_scaled_gemm.scaled<16, nvfp4>
  return
}

// -----

// quantize_c3: one global scale a group
func.func @quantize_c3(%x: tensor<4x16xf32>, %g: tensor<2xi32>, %s: tensor<3xf32>) {
  // expected-error @below {{expected global_scale to be a scalar or of shape 2 ([G]), but got 3}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>) groups(%g : tensor<2xi32>) as <ragged_rows, ends>
      global_scale(%s : tensor<3xf32>)
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// quantize_c9: per_row is of global scales
func.func @quantize_c9(%x: tensor<4x16xf32>) {
  // expected-error @below {{expected a global_scale with per_row, but got none}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>) {per_row} -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// quantize_c9: one global scale a row
func.func @quantize_c9(%x: tensor<4x16xf32>, %s: tensor<5xf32>) {
  // expected-error @below {{expected global_scale with per_row of shape 4 ([M]), but got 5}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>) global_scale(%s : tensor<5xf32>) {per_row}
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// quantize_c9: one global scale a row of each matrix
func.func @quantize_c9(%x: tensor<2x4x16xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expected global_scale with per_row of shape 2x4 ([G, M]), but got 4}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<2x4x16xf32>) global_scale(%s : tensor<4xf32>) {per_row}
      -> !grouped_scaled_gemm.scaled<2x4x16, nvfp4>
  return
}

// -----

// quantize_c9: blocks lie along rows
func.func @quantize_c9(%x: tensor<16x4xf32>, %s: tensor<16xf32>) {
  // expected-error @below {{expected blocks along the last dimension of a matrix or of a stack of them with per_row}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<16x4xf32>) global_scale(%s : tensor<16xf32>) {per_row}
      -> !grouped_scaled_gemm.scaled<16x4, nvfp4, axis = 0>
  return
}

// -----

// quantize_c10: rows of a transposed result are columns
func.func @quantize_c10(%x: tensor<16x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expected per_row without transposed, whose rows are columns of the input}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<16x4xf32>) global_scale(%s : tensor<4xf32>) {per_row, transposed}
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// quantize_c10: squares are of several rows
func.func @quantize_c10(%x: tensor<16x16xf32>, %s: tensor<16xf32>) {
  // expected-error @below {{expected per_row without two_d, whose blocks are of several rows}}
  %q = grouped_scaled_gemm.quantize <te, two_d>(%x : tensor<16x16xf32>) global_scale(%s : tensor<16xf32>) {per_row}
      -> !grouped_scaled_gemm.scaled<16x16, nvfp4>
  return
}

// -----

// quantize_c3: one global scale a matrix
func.func @quantize_c3(%x: tensor<5x4x16xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{expected global_scale to be a scalar or of shape 5 ([G]), but got 4}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<5x4x16xf32>) global_scale(%s : tensor<4xf32>)
      -> !grouped_scaled_gemm.scaled<5x4x16, nvfp4>
  return
}

// -----

// grouping_c11: column scales of ragged rows start at a block
func.func @grouping_c11(%x: tensor<64x16xf32>, %g: tensor<2xi32>) {
  // expected-error @below {{expected group starts along the blocks of the result that are known multiples of the block size 16, but got align = 1; use align = 16 or starts = compact}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<64x16xf32>) groups(%g : tensor<2xi32>) as <ragged_rows, ends>
      -> !grouped_scaled_gemm.scaled<64x16, nvfp4, axis = 0>
  return
}

// -----

// grouping_c9: scales that start by group need groups
func.func @grouping_c9(%x: tensor<4x16xf32>) {
  // expected-error @below {{expected starts = whole for the result, whose rows belong to no ragged groups, but got 'compact'}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>)
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked, starts = compact>
  return
}

// -----

// quantizer_c3: quantisers of UE4M3
func.func @quantizer_c3(%x: tensor<4x32xf32>) {
  // expected-error @below {{expected a format with UE4M3 scales (nvfp4) for quantizer 'mega16', but got 'mxfp4'}}
  %q = grouped_scaled_gemm.quantize <mega16>(%x : tensor<4x32xf32>)
      -> !grouped_scaled_gemm.scaled<4x32, mxfp4>
  return
}

// -----

// quantizer_c3: quantisers of UE8M0
func.func @quantizer_c3(%x: tensor<4x32xf32>) {
  // expected-error @below {{expected a format with UE8M0 scales (mxfp4, nvfp4_e8m0, mxfp8_*) for quantizer 'ue8m0_up', but got 'nvfp4'}}
  %q = grouped_scaled_gemm.quantize <ue8m0_up>(%x : tensor<4x32xf32>)
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// quantizer_c3: four_over_six writes UE4M3
func.func @quantizer_c3(%x: tensor<4x32xf32>) {
  // expected-error @below {{expected a format with UE4M3 scales (nvfp4) for quantizer 'four_over_six', but got 'mxfp8_e4m3'}}
  %q = grouped_scaled_gemm.quantize <four_over_six>(%x : tensor<4x32xf32>)
      -> !grouped_scaled_gemm.scaled<4x32, mxfp8_e4m3>
  return
}

// -----

// quantizer_c4: stochastic rounding has a seed
func.func @quantizer_c4(%x: tensor<4x32xf32>) {
  // expected-error @below {{expected a seed for rounding = stochastic, but got none}}
  %q = grouped_scaled_gemm.quantize <te, rounding = stochastic>(%x : tensor<4x32xf32>)
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// quantizer_c4: other rounding has none
func.func @quantizer_c4(%x: tensor<4x32xf32>, %s: i64) {
  // expected-error @below {{expected no seed for rounding = nearest, but got one}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x32xf32>) seed(%s)
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// quantizer_c5: 8-bit values round to nearest
func.func @quantizer_c5(%x: tensor<4x32xf32>, %s: i64) {
  // expected-error @below {{expected rounding = nearest and neg_zero = keep for the 8-bit values of 'mxfp8_e4m3', but got 'stochastic' and 'keep'}}
  %q = grouped_scaled_gemm.quantize <te, rounding = stochastic>(%x : tensor<4x32xf32>) seed(%s)
      -> !grouped_scaled_gemm.scaled<4x32, mxfp8_e4m3>
  return
}

// -----

// quantizer_c5: 8-bit values keep negative zero
func.func @quantizer_c5(%x: tensor<4x32xf32>) {
  // expected-error @below {{expected rounding = nearest and neg_zero = keep for the 8-bit values of 'mxfp8_e5m2', but got 'nearest' and 'flush'}}
  %q = grouped_scaled_gemm.quantize <cutlass, neg_zero = flush>(%x : tensor<4x32xf32>)
      -> !grouped_scaled_gemm.scaled<4x32, mxfp8_e5m2>
  return
}

// -----

// quantizer_c6: one level of scales has no second
func.func @quantizer_c6(%x: tensor<4x32xf32>, %s: f32) {
  // expected-error @below {{expected no global_scale for quantizer 'ocp' and format 'mxfp4', which have one level of scales, but got 'f32'}}
  %q = grouped_scaled_gemm.quantize <ocp>(%x : tensor<4x32xf32>) global_scale(%s : f32)
      -> !grouped_scaled_gemm.scaled<4x32, mxfp4>
  return
}

// -----

// quantizer_c6: te with UE8M0 scales has one level
func.func @quantizer_c6(%x: tensor<4x32xf32>, %s: f32) {
  // expected-error @below {{expected no global_scale for quantizer 'te' and format 'mxfp4', which have one level of scales, but got 'f32'}}
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x32xf32>) global_scale(%s : f32)
      -> !grouped_scaled_gemm.scaled<4x32, mxfp4>
  return
}

// -----

// quantizer_c7: squares need rows
func.func @quantizer_c7(%x: tensor<32xf32>) {
  // expected-error @below {{expected two_d for matrices without groups, but got rank 1}}
  %q = grouped_scaled_gemm.quantize <te, two_d>(%x : tensor<32xf32>)
      -> !grouped_scaled_gemm.scaled<32, nvfp4>
  return
}

// -----

// dequantize_c1: the result has the logical shape
func.func @dequantize_c1(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>, %o: tensor<4x8xf32>) {
  // expected-error @below {{expected outs of shape 4x16 (that of the input), but got 4x8}}
  %d = grouped_scaled_gemm.dequantize(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// dequantize_c3: one global scale a row
func.func @dequantize_c3(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>, %o: tensor<4x16xf32>, %s: f32) {
  // expected-error @below {{expected global_scale with per_row of shape 4 ([M]), but got scalar}}
  %d = grouped_scaled_gemm.dequantize(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4>) global_scale(%s : f32)
      outs(%o : tensor<4x16xf32>) {per_row} -> tensor<4x16xf32>
  return
}

// -----

// dequantize_c2: one global scale a group
func.func @dequantize_c2(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>, %o: tensor<4x16xf32>, %g: tensor<2xi32>, %s: tensor<1xf32>) {
  // expected-error @below {{expected global_scale to be a scalar or of shape 2 ([G]), but got 1}}
  %d = grouped_scaled_gemm.dequantize(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4>) groups(%g : tensor<2xi32>) as <ragged_rows, ends>
      global_scale(%s : tensor<1xf32>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// grouping_c9: scales that start by group need groups
func.func @grouping_c9(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked, starts = upper_bound>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected starts = whole for the input, whose rows belong to no ragged groups, but got 'upper_bound'}}
  %d = grouped_scaled_gemm.dequantize(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked, starts = upper_bound>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// hadamard_c1: runs of 16
func.func @hadamard_c1(%x: tensor<4x24xf32>, %o: tensor<4x24xf32>) {
  // expected-error @below {{expected a last dimension that is a multiple of 16, but got 24 (nearest: 16)}}
  %y = grouped_scaled_gemm.hadamard %x outs(%o) : tensor<4x24xf32>, tensor<4x24xf32> -> tensor<4x24xf32>
  return
}

// -----

// hadamard_c1: there is a last dimension
func.func @hadamard_c1(%x: tensor<f32>, %o: tensor<f32>) {
  // expected-error @below {{expected a last dimension that is a multiple of 16, but got rank 0}}
  %y = grouped_scaled_gemm.hadamard %x outs(%o) : tensor<f32>, tensor<f32> -> tensor<f32>
  return
}

// -----

// hadamard_c2: the shape stays
func.func @hadamard_c2(%x: tensor<4x32xf32>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected outs of shape 4x32 (that of the input), but got 4x16}}
  %y = grouped_scaled_gemm.hadamard %x outs(%o) : tensor<4x32xf32>, tensor<4x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// hadamard_c3: one sign an element
func.func @hadamard_c3(%x: tensor<4x32xf32>, %o: tensor<4x32xf32>) {
  // expected-error @below {{expected a sign_mask of 16 bits, in [0, 65535], but got 65536}}
  %y = grouped_scaled_gemm.hadamard %x outs(%o) {sign_mask = 65536 : i32} : tensor<4x32xf32>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

// hadamard_c3: no negative mask
func.func @hadamard_c3(%x: tensor<4x32xf32>, %o: tensor<4x32xf32>) {
  // expected-error @below {{expected a sign_mask of 16 bits, in [0, 65535], but got -1}}
  %y = grouped_scaled_gemm.hadamard %x outs(%o) {sign_mask = -1 : i32} : tensor<4x32xf32>, tensor<4x32xf32> -> tensor<4x32xf32>
  return
}

// -----

// dest_c3: the output is no input
func.func @dest_c3(%x: memref<4x32xf32>) {
  // expected-error @below {{expected outputs that overlap no other operand, but operands #0 and #1 are the same memref}}
  grouped_scaled_gemm.hadamard %x outs(%x) : memref<4x32xf32>, memref<4x32xf32>
  return
}

// -----

// dest_c1: memrefs have no results
func.func @dest_c1(%x: memref<4x32xf32>, %y: memref<4x32xf32>) {
  // expected-error @below {{expected operands that are all tensors or all memrefs}}
  %r = grouped_scaled_gemm.hadamard %x outs(%y) : memref<4x32xf32>, memref<4x32xf32> -> tensor<4x32xf32>
  return
}
