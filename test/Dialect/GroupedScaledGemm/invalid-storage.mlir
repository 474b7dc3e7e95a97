// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of values and scales in storage; each case names the one of docs/Spec.md that it breaks.

// form_c2: a scaled value is made of tensors
func.func @form_c2(%v: memref<4x8xi8>, %s: memref<4x1xf8E4M3FN>) {
  // expected-error @below {{expected tensors beside values of type scaled, but got 'memref<4x1xf8E4M3FN>'}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : memref<4x8xi8>, memref<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// storage_c5: FP4 values are bytes
func.func @storage_c5(%v: tensor<4x8xf32>, %s: tensor<4x1xf8E4M3FN>) {
  // expected-error @below {{expected values of the result of element type 'i8' for format nvfp4, but got 'f32'}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x8xf32>, tensor<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// storage_c5: FP8 values have the type of the format
func.func @storage_c5(%v: tensor<4x32xf8E4M3FN>, %s: tensor<4x1xf8E8M0FNU>) {
  // expected-error @below {{expected values of the result of element type 'f8E5M2' for format mxfp8_e5m2, but got 'f8E4M3FN'}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>
      -> !grouped_scaled_gemm.scaled<4x32, mxfp8_e5m2>
  return
}

// -----

// storage_c6: two FP4 values a byte
func.func @storage_c6(%v: tensor<4x16xi8>, %s: tensor<4x1xf8E4M3FN>) {
  // expected-error @below {{expected values of the result of shape 4x8 for '!grouped_scaled_gemm.scaled<4x16, nvfp4>', but got 4x16}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x16xi8>, tensor<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// storage_c6: an odd K is rounded up
func.func @storage_c6(%v: tensor<4x8xi8>, %s: tensor<4x2xf8E4M3FN>) {
  // expected-error @below {{of shape 4x9 for '!grouped_scaled_gemm.scaled<4x17, nvfp4>', but got 4x8}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x8xi8>, tensor<4x2xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x17, nvfp4>
  return
}

// -----

// storage_c6: the rank of values is that of the type
func.func @storage_c6(%v: tensor<32xi8>, %s: tensor<4x1xf8E4M3FN>) {
  // expected-error @below {{expected values of the result of shape 4x8 for '!grouped_scaled_gemm.scaled<4x16, nvfp4>', but got 32}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<32xi8>, tensor<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// storage_c7: E4M3 scales belong to blocks of 16
func.func @storage_c7(%v: tensor<4x16xi8>, %s: tensor<4x1xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of element type 'f8E8M0FNU' for format mxfp4 with blocks of 32, but got 'f8E4M3FN'}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x16xi8>, tensor<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x32, mxfp4>
  return
}

// -----

// storage_c7: UE8M0 scales do not belong to nvfp4
func.func @storage_c7(%v: tensor<4x16xi8>, %s: tensor<4x2xf8E8M0FNU>) {
  // expected-error @below {{expected scales of the result of element type 'f8E4M3FN' for format nvfp4 with blocks of 16, but got 'f8E8M0FNU'}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x16xi8>, tensor<4x2xf8E8M0FNU>
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// storage_c8: linear scales have the rank of the type
func.func @storage_c8(%v: tensor<4x8xi8>, %s: tensor<1x1x32x4x4xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of rank 2 for the layout 'linear' (4x1), but got rank 5 (1x1x32x4x4)}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x8xi8>, tensor<1x1x32x4x4xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  return
}

// -----

// storage_c8: blocked scales come in tiles
func.func @storage_c8(%v: tensor<128x32xi8>, %s: tensor<128x4xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of rank 5 for the layout 'blocked' (1x1x32x4x4), but got rank 2 (128x4)}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<128x32xi8>, tensor<128x4xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<128x64, nvfp4, blocked>
  return
}

// -----

// storage_c9: scales are not too few
func.func @storage_c9(%v: tensor<4x16xi8>, %s: tensor<4x1xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of shape 4x2 for the layout 'linear', but got 4x1, too small in dimension 1}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x16xi8>, tensor<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// storage_c9: row tiles are not too few
func.func @storage_c9(%v: tensor<129x32xi8>, %s: tensor<1x1x32x4x4xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of shape 2x1x32x4x4 for the layout 'blocked', but got 1x1x32x4x4, too small in dimension 0}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<129x32xi8>, tensor<1x1x32x4x4xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<129x64, nvfp4, blocked>
  return
}

// -----

// storage_c9: tiles have their own shape
func.func @storage_c9(%v: tensor<16x32xi8>, %s: tensor<2x1x32x4xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of shape 2x1x8x4 for the layout 'blocked_8x4', but got 2x1x32x4, too large in dimension 2}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<16x32xi8>, tensor<2x1x32x4xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<16x64, nvfp4, blocked_8x4>
  return
}

// -----

// storage_c9: scales are not too many
func.func @storage_c9(%v: tensor<4x16xi8>, %s: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of shape 4x2 for the layout 'linear', but got 4x4, too large in dimension 1}}
  %m = grouped_scaled_gemm.make_scaled %v, %s : tensor<4x16xi8>, tensor<4x4xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4>
  return
}

// -----

// split_scaled_c1: the types of the halves follow from the type
func.func @split_scaled_c1(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>) {
  // expected-error @below {{expected values of the operand of shape 4x8 for '!grouped_scaled_gemm.scaled<4x16, nvfp4>', but got 4x16}}
  %v, %s = grouped_scaled_gemm.split_scaled %a : !grouped_scaled_gemm.scaled<4x16, nvfp4>
      -> tensor<4x16xi8>, tensor<4x1xf8E4M3FN>
  return
}

// -----

// storage_c1: values alone are no scaled operand
func.func @storage_c1(%v: tensor<4x8xi8>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected input of type scaled, or values with scales (scaled_by), but got 'tensor<4x8xi8>'}}
  %d = grouped_scaled_gemm.dequantize(%v : tensor<4x8xi8>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// storage_c2: scales come with their type
func.func @storage_c2(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected one tensor of scales and one type for each of the 1 values of input, but got 1 and 0}}
  %d = "grouped_scaled_gemm.dequantize"(%v, %s, %o) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}>
      : (tensor<4x8xi8>, tensor<4x1xf8E4M3FN>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// storage_c2: a type comes with scales
func.func @storage_c2(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected one tensor of scales and one type for each of the 1 values of input, but got 0 and 1}}
  %d = "grouped_scaled_gemm.dequantize"(%v, %o) <{input_types = [!grouped_scaled_gemm.scaled<4x16, nvfp4>],
      operandSegmentSizes = array<i32: 1, 0, 0, 0, 1>}>
      : (tensor<4x8xi8>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// storage_c3: the type is a scaled type
func.func @storage_c3(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected types of input to be scaled types, but got i32}}
  %d = grouped_scaled_gemm.dequantize(%v scaled_by %s : tensor<4x8xi8>, tensor<4x1xf8E4M3FN> as i32)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// storage_c3: types are types
func.func @storage_c3(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected types of input to be scaled types, but got 7 : i64}}
  %d = "grouped_scaled_gemm.dequantize"(%v, %s, %o) <{input_types = [7],
      operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}>
      : (tensor<4x8xi8>, tensor<4x1xf8E4M3FN>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// storage_c4: a scaled value has its scales already
func.func @storage_c4(%v: !grouped_scaled_gemm.scaled<4x16, nvfp4>, %s: tensor<4x1xf8E4M3FN>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected values and scales of input of known rank, but got '!grouped_scaled_gemm.scaled<4x16, nvfp4>' and 'tensor<4x1xf8E4M3FN>'}}
  %d = grouped_scaled_gemm.dequantize(%v scaled_by %s : !grouped_scaled_gemm.scaled<4x16, nvfp4>, tensor<4x1xf8E4M3FN>
      as !grouped_scaled_gemm.scaled<4x16, nvfp4>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// storage_c10: scales have values beside them
func.func @storage_c10(%x: tensor<4x16xf32>, %s: tensor<4x1xf8E4M3FN>) {
  // expected-error @below {{expected a destination of the values beside that of the scales}}
  %q = "grouped_scaled_gemm.quantize"(%x, %s) <{quantizer = #grouped_scaled_gemm.quantizer<te>,
      operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 1>}>
      : (tensor<4x16xf32>, tensor<4x1xf8E4M3FN>) -> tensor<4x1xf8E4M3FN>
  return
}
