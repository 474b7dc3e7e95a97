// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of relayout_scales and relayout_gate; each case names the one of docs/Spec.md that it breaks.

// relayout_scales_c1: a result is scaled
func.func @relayout_scales_c1(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>) {
  // expected-error @below {{expected a result of type scaled, or scales with the scaled type that they get}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4>)
      -> tensor<4x1xf8E4M3FN>
  return
}

// -----

// relayout_scales_c2: values do not change
func.func @relayout_scales_c2(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>) {
  // expected-error @below {{expected a result that differs from the input in the layout of its scales only, but got '!grouped_scaled_gemm.scaled<4x16, nvfp4>' and '!grouped_scaled_gemm.scaled<4x32, nvfp4, blocked>'}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4>)
      -> !grouped_scaled_gemm.scaled<4x32, nvfp4, blocked>
  return
}

// -----

// relayout_scales_c2: nor do blocks turn, in tiles or out of them
func.func @relayout_scales_c2(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4, blocked>) {
  // expected-error @below {{expected a result that differs from the input in the layout of its scales only, but got '!grouped_scaled_gemm.scaled<64x64, nvfp4, blocked>' and '!grouped_scaled_gemm.scaled<64x64, nvfp4, axis = 0>'}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4, blocked>)
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4, axis = 0>
  return
}

// -----

// relayout_scales_c2: nor does the format
func.func @relayout_scales_c2(%a: !grouped_scaled_gemm.scaled<4x32, nvfp4>) {
  // expected-error @below {{expected a result that differs from the input in the layout of its scales only}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<4x32, nvfp4>)
      -> !grouped_scaled_gemm.scaled<4x32, mxfp4>
  return
}

// -----

// relayout_scales_c3: scales that start by group need groups
func.func @relayout_scales_c3(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>) {
  // expected-error @below {{expected groups, because the scales start by group, but got none}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4>)
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked, starts = compact>
  return
}

// -----

// grouping_c9: masked groups have no starts
func.func @grouping_c9(%a: !grouped_scaled_gemm.scaled<2x4x16, nvfp4>, %g: tensor<2xi32>) {
  // expected-error @below {{expected starts = whole for the result, whose rows belong to no ragged groups, but got 'compact'}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<2x4x16, nvfp4>) groups(%g : tensor<2xi32>) as <masked>
      -> !grouped_scaled_gemm.scaled<2x4x16, nvfp4, blocked, starts = compact>
  return
}

// -----

// grouping_c14: ragged rows are those of a matrix
func.func @grouping_c14(%a: !grouped_scaled_gemm.scaled<2x4x16, nvfp4>, %g: tensor<2xi32>) {
  // expected-error @below {{expected a scaled type of rank 2 for grouping 'ragged_rows', but got '!grouped_scaled_gemm.scaled<2x4x16, nvfp4>'}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<2x4x16, nvfp4>) groups(%g : tensor<2xi32>) as <ragged_rows, ends>
      -> !grouped_scaled_gemm.scaled<2x4x16, nvfp4, blocked>
  return
}

// -----

// grouping_c3: a dense matrix has no groups
func.func @grouping_c3(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>, %g: tensor<2xi32>) {
  // expected-error @below {{expected no groups for grouping 'dense', but got some}}
  %r = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<4x16, nvfp4>) groups(%g : tensor<2xi32>) as <dense>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked>
  return
}

// -----

// grouping_c13: groups and grouping come together
func.func @grouping_c13(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>, %g: tensor<2xi32>) {
  // expected-error @below {{expected groups and grouping together, but got groups alone}}
  %r = "grouped_scaled_gemm.relayout_scales"(%a, %g) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>}>
      : (!grouped_scaled_gemm.scaled<4x16, nvfp4>, tensor<2xi32>) -> !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked>
  return
}

// -----

// grouping_c13: grouping and groups come together
func.func @grouping_c13(%a: !grouped_scaled_gemm.scaled<4x16, nvfp4>) {
  // expected-error @below {{expected groups and grouping together, but got grouping alone}}
  %r = "grouped_scaled_gemm.relayout_scales"(%a) <{grouping = #grouped_scaled_gemm.grouping<ragged_rows>,
      operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
      : (!grouped_scaled_gemm.scaled<4x16, nvfp4>) -> !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked>
  return
}

// -----

// relayout_gate_c1: weights have rows
func.func @relayout_gate_c1(%a: !grouped_scaled_gemm.scaled<16, nvfp4>) {
  // expected-error @below {{expected weights of rank 2 or 3 with blocks along the last dimension and starts = whole, but got '!grouped_scaled_gemm.scaled<16, nvfp4>'}}
  %r = grouped_scaled_gemm.relayout_gate(%a : !grouped_scaled_gemm.scaled<16, nvfp4>) from <halves, gate_first> to <16, up_first>
      -> !grouped_scaled_gemm.scaled<16, nvfp4>
  return
}

// -----

// relayout_gate_c1: rows do not share scales
func.func @relayout_gate_c1(%a: !grouped_scaled_gemm.scaled<32x16, nvfp4, axis = 0>) {
  // expected-error @below {{expected weights of rank 2 or 3 with blocks along the last dimension}}
  %r = grouped_scaled_gemm.relayout_gate(%a : !grouped_scaled_gemm.scaled<32x16, nvfp4, axis = 0>) from <halves, gate_first> to <16, up_first>
      -> !grouped_scaled_gemm.scaled<32x16, nvfp4, axis = 0>
  return
}

// -----

// relayout_gate_c2: a scaled result has no destination
func.func @relayout_gate_c2(%a: !grouped_scaled_gemm.scaled<32x16, nvfp4>, %o: tensor<32x16xf32>) {
  // expected-error @below {{expected no outs for a result of type scaled}}
  %r = grouped_scaled_gemm.relayout_gate(%a : !grouped_scaled_gemm.scaled<32x16, nvfp4>) from <halves, gate_first> to <16, up_first>
      outs(%o : tensor<32x16xf32>) -> !grouped_scaled_gemm.scaled<32x16, nvfp4>
  return
}

// -----

// relayout_gate_c4: a plain tensor has a destination
func.func @relayout_gate_c4(%a: tensor<32xf32>) {
  // expected-error @below {{expected outs without scales for a plain tensor}}
  %r = grouped_scaled_gemm.relayout_gate(%a : tensor<32xf32>) from <halves, gate_first> to <16, up_first>
      -> tensor<32xf32>
  return
}

// -----

// relayout_gate_c5: elements do not change
func.func @relayout_gate_c5(%a: tensor<32xf32>, %o: tensor<32xbf16>) {
  // expected-error @below {{expected input and outs of equal element type and rank 1 or more, but got 'tensor<32xf32>' and 'tensor<32xbf16>'}}
  %r = grouped_scaled_gemm.relayout_gate(%a : tensor<32xf32>) from <halves, gate_first> to <16, up_first>
      outs(%o : tensor<32xbf16>) -> tensor<32xbf16>
  return
}

// -----

// relayout_gate_c5: there is a dimension to order
func.func @relayout_gate_c5(%a: tensor<f32>, %o: tensor<f32>) {
  // expected-error @below {{expected input and outs of equal element type and rank 1 or more}}
  %r = grouped_scaled_gemm.relayout_gate(%a : tensor<f32>) from <halves, gate_first> to <16, up_first>
      outs(%o : tensor<f32>) -> tensor<f32>
  return
}

// -----

// relayout_gate_c3: the type does not change in storage form
func.func @relayout_gate_c3(%v: tensor<32x8xi8>, %s: tensor<32x1xf8E4M3FN>, %ov: tensor<32x16xi8>, %os: tensor<32x1xf8E8M0FNU>) {
  // expected-error @below {{expected a result of the type of the input, '!grouped_scaled_gemm.scaled<32x16, nvfp4>', but got '!grouped_scaled_gemm.scaled<32x32, mxfp4>'}}
  %r:2 = grouped_scaled_gemm.relayout_gate(
      %v scaled_by %s : tensor<32x8xi8>, tensor<32x1xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x16, nvfp4>)
      from <halves, gate_first> to <16, up_first>
      outs(%ov scaled_by %os : tensor<32x16xi8>, tensor<32x1xf8E8M0FNU> as !grouped_scaled_gemm.scaled<32x32, mxfp4>)
      -> tensor<32x16xi8>, tensor<32x1xf8E8M0FNU>
  return
}

// -----

// gate_c2: rows are a multiple of twice the granularity
func.func @gate_c2(%a: !grouped_scaled_gemm.scaled<48x16, nvfp4>) {
  // expected-error @below {{expected N to be a multiple of twice the gate granularity 16, but got 48 (nearest: 32)}}
  %r = grouped_scaled_gemm.relayout_gate(%a : !grouped_scaled_gemm.scaled<48x16, nvfp4>) from <halves, gate_first> to <16, up_first>
      -> !grouped_scaled_gemm.scaled<48x16, nvfp4>
  return
}

// -----

// dest_c2: the type of a scaled result is that of the input
func.func @dest_c2(%a: !grouped_scaled_gemm.scaled<32x16, nvfp4>) {
  // expected-error @below {{expected result #0 of type '!grouped_scaled_gemm.scaled<32x16, nvfp4>' as its destination, but got '!grouped_scaled_gemm.scaled<64x16, nvfp4>'}}
  %r = grouped_scaled_gemm.relayout_gate(%a : !grouped_scaled_gemm.scaled<32x16, nvfp4>) from <halves, gate_first> to <16, up_first>
      -> !grouped_scaled_gemm.scaled<64x16, nvfp4>
  return
}
