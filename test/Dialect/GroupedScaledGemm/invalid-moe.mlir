// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of glu, its gradient, route, sort_tokens, permute and combine; each case names the one of docs/Spec.md that it breaks.

// glu_c1: a custom activation is a region of matmul
func.func @glu_c1(%z: tensor<4x16xf32>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected an activation with a formula, but got 'custom', which is the epilogue region of matmul}}
  %y = grouped_scaled_gemm.glu <custom>(%z : tensor<4x16xf32>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// glu_c2: there is a last dimension
func.func @glu_c2(%z: tensor<f32>, %o: tensor<f32>) {
  // expected-error @below {{expected an input of rank 1 or more, but got rank 0}}
  %y = grouped_scaled_gemm.glu <silu>(%z : tensor<f32>)
      outs(%o : tensor<f32>) -> tensor<f32>
  return
}

// -----

// glu_c3: pairs halve the last dimension
func.func @glu_c3(%z: tensor<4x16xf32>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected outs of shape 4x8 (of the activation), but got 4x16}}
  %y = grouped_scaled_gemm.glu <swiglu, gate = <1, gate_first>>(%z : tensor<4x16xf32>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// glu_backward_c1: a custom activation is a region of matmul
func.func @glu_backward_c1(%z: tensor<4x16xf32>, %o: tensor<4x16xf32>) {
  // expected-error @below {{expected an activation with a formula, but got 'custom', which is the epilogue region of matmul}}
  %y = grouped_scaled_gemm.glu_backward <custom>(%z : tensor<4x16xf32>) gradient(%z : tensor<4x16xf32>)
      outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// glu_backward_c2: there is a last dimension
func.func @glu_backward_c2(%z: tensor<f32>, %o: tensor<f32>) {
  // expected-error @below {{expected an input of rank 1 or more, but got rank 0}}
  %y = grouped_scaled_gemm.glu_backward <silu>(%z : tensor<f32>) gradient(%z : tensor<f32>)
      outs(%o : tensor<f32>) -> tensor<f32>
  return
}

// -----

// glu_backward_c3: the destination is of the pre-activation
func.func @glu_backward_c3(%z: tensor<4x16xf32>, %d: tensor<4x8xf32>) {
  // expected-error @below {{expected outs of shape 4x16 (of the input), but got 4x8}}
  %y = grouped_scaled_gemm.glu_backward <swiglu, gate = <1, gate_first>>(%z : tensor<4x16xf32>)
      gradient(%d : tensor<4x8xf32>) outs(%d : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// glu_backward_c4: pairs halve the last dimension of the gradient
func.func @glu_backward_c4(%z: tensor<4x16xf32>) {
  // expected-error @below {{expected gradient of shape 4x8 (of the activation), but got 4x16}}
  %y = grouped_scaled_gemm.glu_backward <swiglu, gate = <1, gate_first>>(%z : tensor<4x16xf32>)
      gradient(%z : tensor<4x16xf32>) outs(%z : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// glu_backward_c5: a factor for each row
func.func @glu_backward_c5(%z: tensor<4x16xf32>, %p: tensor<16xf32>) {
  // expected-error @below {{expected prob of shape 4 (of the rows of the input), but got 16}}
  %y = grouped_scaled_gemm.glu_backward <silu>(%z : tensor<4x16xf32>) gradient(%z : tensor<4x16xf32>)
      prob(%p : tensor<16xf32>) outs(%z : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// glu_backward_c6: groups of rows
func.func @glu_backward_c6(%z: tensor<4x16xf32>, %g: tensor<2xi32>) {
  // expected-error @below {{expected grouping ragged_rows or masked, but got 'ragged_k'}}
  %y = grouped_scaled_gemm.glu_backward <silu>(%z : tensor<4x16xf32>) gradient(%z : tensor<4x16xf32>)
      groups(%g : tensor<2xi32>) as <ragged_k, ends> outs(%z : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// glu_backward_c6: masked groups are of a stack
func.func @glu_backward_c6_masked(%z: tensor<4x16xf32>, %g: tensor<4xi32>) {
  // expected-error @below {{expected input of rank 3, [G, M, N] for masked, but got rank 2}}
  %y = grouped_scaled_gemm.glu_backward <silu>(%z : tensor<4x16xf32>) gradient(%z : tensor<4x16xf32>)
      groups(%g : tensor<4xi32>) as <masked> outs(%z : tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// glu_backward_c5: and a gradient of it
func.func @glu_backward_c5_of_outs(%z: tensor<2x4x16xf32>, %p: tensor<2xf32>) {
  // expected-error @below {{expected prob_outs of shape 2x4 (of the rows of the input), but got 2}}
  %y:2 = grouped_scaled_gemm.glu_backward <silu>(%z : tensor<2x4x16xf32>) gradient(%z : tensor<2x4x16xf32>)
      outs(%z : tensor<2x4x16xf32>) prob_outs(%p : tensor<2xf32>) -> tensor<2x4x16xf32>, tensor<2xf32>
  return
}

// -----

// sum_rows_c1: rows of a matrix or of a stack
func.func @sum_rows_c1(%x: tensor<16xf32>) {
  // expected-error @below {{expected an input of rank 2 or 3, but got rank 1}}
  %y = grouped_scaled_gemm.sum_rows(%x : tensor<16xf32>) outs(%x : tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

// grouping_c13: groups and grouping go together
func.func @sum_rows_grouping_c13(%x: tensor<4x16xf32>, %o: tensor<16xf32>) {
  // expected-error @below {{expected groups and grouping together, but got grouping alone}}
  %y = "grouped_scaled_gemm.sum_rows"(%x, %o) {grouping = #grouped_scaled_gemm.grouping<ragged_rows, ends>,
      operandSegmentSizes = array<i32: 1, 0, 0, 1>} : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

// sum_rows_c2: groups cut rows
func.func @sum_rows_c2(%x: tensor<4x16xf32>, %e: tensor<2xi32>, %o: tensor<2x16xf32>) {
  // expected-error @below {{expected grouping ragged_rows or masked, but got 'ragged_k'}}
  %y = grouped_scaled_gemm.sum_rows(%x : tensor<4x16xf32>) groups(%e : tensor<2xi32>) as <ragged_k, ends>
      outs(%o : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

// sum_rows_c2: of a matrix
func.func @sum_rows_c2_rank(%x: tensor<2x4x16xf32>, %e: tensor<2xi32>, %o: tensor<2x16xf32>) {
  // expected-error @below {{expected input of rank 2, [R, N] for ragged_rows, but got rank 3}}
  %y = grouped_scaled_gemm.sum_rows(%x : tensor<2x4x16xf32>) groups(%e : tensor<2xi32>) as <ragged_rows, ends>
      outs(%o : tensor<2x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

// sum_rows_c3: a row of each group
func.func @sum_rows_c3(%x: tensor<4x16xf32>, %e: tensor<2xi32>, %o: tensor<3x16xf32>) {
  // expected-error @below {{expected outs of shape 2x16 (of a row of each group), but got 3x16}}
  %y = grouped_scaled_gemm.sum_rows(%x : tensor<4x16xf32>) groups(%e : tensor<2xi32>) as <ragged_rows, ends>
      outs(%o : tensor<3x16xf32>) -> tensor<3x16xf32>
  return
}

// -----

// sum_rows_c4: a factor for each row
func.func @sum_rows_c4(%x: tensor<2x4x16xf32>, %p: tensor<4xf32>, %o: tensor<2x16xf32>) {
  // expected-error @below {{expected prob of shape 2x4 (of the rows of the input), but got 4}}
  %y = grouped_scaled_gemm.sum_rows(%x : tensor<2x4x16xf32>) prob(%p : tensor<4xf32>) outs(%o : tensor<2x16xf32>)
      -> tensor<2x16xf32>
  return
}

// -----

// gate_c2: pairs need an even number
func.func @gate_c2(%z: tensor<4x15xf32>, %o: tensor<4x7xf32>) {
  // expected-error @below {{expected N to be a multiple of twice the gate granularity 1, but got 15 (nearest: 14)}}
  %y = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>(%z : tensor<4x15xf32>)
      outs(%o : tensor<4x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

// route_c1: logits are a matrix
func.func @route_c1(%l: tensor<16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected logits of rank 2, [T, E], but got rank 1}}
  %r:2 = grouped_scaled_gemm.route topk_softmax(%l : tensor<16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c1: experts are a matrix
func.func @route_c1(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8xi32>) {
  // expected-error @below {{expected experts of rank 2, [T, top_k], but got rank 1}}
  %r:2 = grouped_scaled_gemm.route topk_softmax(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8xi32>)
      -> tensor<8x4xf32>, tensor<8xi32>
  return
}

// -----

// route_c2: as many weights as experts
func.func @route_c2(%l: tensor<8x16xf32>, %w: tensor<8x2xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected weights of shape 8x4 ([T, top_k]), but got 8x2}}
  %r:2 = grouped_scaled_gemm.route topk_softmax(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x2xf32>, tensor<8x4xi32>)
      -> tensor<8x2xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c2: as many rows as tokens
func.func @route_c2(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<9x4xi32>) {
  // expected-error @below {{expected experts of shape 8x4 ([T, top_k]), but got 9x4}}
  %r:2 = grouped_scaled_gemm.route topk_softmax(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<9x4xi32>)
      -> tensor<8x4xf32>, tensor<9x4xi32>
  return
}

// -----

// route_c3: at least one expert a token
func.func @route_c3(%l: tensor<8x16xf32>, %w: tensor<8x0xf32>, %e: tensor<8x0xi32>) {
  // expected-error @below {{expected top_k >= 1, but got 0}}
  %r:2 = grouped_scaled_gemm.route topk_softmax(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x0xf32>, tensor<8x0xi32>)
      -> tensor<8x0xf32>, tensor<8x0xi32>
  return
}

// -----

// route_c4: few methods have a bias
func.func @route_c4(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>, %b: tensor<16xf32>) {
  // expected-error @below {{expected a bias with deepseek_v3 or minimax2 only, but got 'topk'}}
  %r:2 = grouped_scaled_gemm.route topk(%l : tensor<8x16xf32>) bias(%b : tensor<16xf32>)
      outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c5: one method has groups of experts
func.func @route_c5(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected n_group, topk_group and routed_scaling with deepseek_v3 only, but got 'minimax2'}}
  %r:2 = grouped_scaled_gemm.route minimax2(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      {n_group = 2 : i64} -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c5: one method scales its weights
func.func @route_c5(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected n_group, topk_group and routed_scaling with deepseek_v3 only, but got 'sigmoid_renorm'}}
  %r:2 = grouped_scaled_gemm.route sigmoid_renorm(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      {routed_scaling = 2.5 : f32} -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c6: llama4 chooses one expert
func.func @route_c6(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected top_k = 1 for llama4, but got 4}}
  %r:2 = grouped_scaled_gemm.route llama4(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c7: kept groups are some of the groups
func.func @route_c7(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected 1 <= topk_group <= n_group, but got 3 and 2}}
  %r:2 = grouped_scaled_gemm.route deepseek_v3(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      {n_group = 2 : i64, topk_group = 3 : i64} -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c7: at least one group
func.func @route_c7(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected 1 <= topk_group <= n_group, but got 1 and 0}}
  %r:2 = grouped_scaled_gemm.route deepseek_v3(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      {n_group = 0 : i64} -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c8: groups are of one size
func.func @route_c8(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected n_group to divide the 16 experts, but got 3}}
  %r:2 = grouped_scaled_gemm.route deepseek_v3(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      {n_group = 3 : i64} -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c9: no more experts than there are
func.func @route_c9(%l: tensor<8x16xf32>, %w: tensor<8x17xf32>, %e: tensor<8x17xi32>) {
  // expected-error @below {{expected top_k <= 16, the experts to choose from, but got 17}}
  %r:2 = grouped_scaled_gemm.route topk_softmax(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x17xf32>, tensor<8x17xi32>)
      -> tensor<8x17xf32>, tensor<8x17xi32>
  return
}

// -----

// route_c9: no more experts than the kept groups hold
func.func @route_c9(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>) {
  // expected-error @below {{expected top_k <= 2, the experts to choose from, but got 4}}
  %r:2 = grouped_scaled_gemm.route deepseek_v3(%l : tensor<8x16xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      {n_group = 8 : i64} -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// route_c10: one bias an expert
func.func @route_c10(%l: tensor<8x16xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>, %b: tensor<8xf32>) {
  // expected-error @below {{expected bias of shape 16 ([E]), but got 8}}
  %r:2 = grouped_scaled_gemm.route deepseek_v3(%l : tensor<8x16xf32>) bias(%b : tensor<8xf32>)
      outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
      -> tensor<8x4xf32>, tensor<8x4xi32>
  return
}

// -----

// sort_tokens_c1: experts are a matrix
func.func @sort_tokens_c1(%x: tensor<64xi32>, %e: tensor<32xi32>, %t: tensor<256xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected experts of rank 2, [T, k], but got rank 1}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>) 
      -> tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>
  return
}

// -----

// sort_tokens_c1: ends are a vector
func.func @sort_tokens_c1(%x: tensor<64x4xi32>, %e: tensor<1x32xi32>, %t: tensor<256xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected ends of rank 1, [E], but got rank 2}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<1x32xi32>, tensor<256xi32>, tensor<64x4xi32>) 
      -> tensor<1x32xi32>, tensor<256xi32>, tensor<64x4xi32>
  return
}

// -----

// sort_tokens_c1: tokens of rows are a vector
func.func @sort_tokens_c1(%x: tensor<64x4xi32>, %e: tensor<32xi32>, %t: tensor<1x256xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected token_of_row of rank 1, [rows], but got rank 2}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<1x256xi32>, tensor<64x4xi32>) 
      -> tensor<32xi32>, tensor<1x256xi32>, tensor<64x4xi32>
  return
}

// -----

// sort_tokens_c2: one row a slot
func.func @sort_tokens_c2(%x: tensor<64x4xi32>, %e: tensor<32xi32>, %t: tensor<256xi32>, %r: tensor<64x2xi32>) {
  // expected-error @below {{expected row_of_slot of shape 64x4 ([T, k]), but got 64x2}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<256xi32>, tensor<64x2xi32>) 
      -> tensor<32xi32>, tensor<256xi32>, tensor<64x2xi32>
  return
}

// -----

// sort_tokens_c3: align is positive and fits i32
func.func @sort_tokens_c3(%x: tensor<64x4xi32>, %e: tensor<32xi32>, %t: tensor<256xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected align in [1, 2147483647], but got 0}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>) {align = 0 : i64}
      -> tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>
  return
}

// -----

// sort_tokens_c3: rows are counted in i32
func.func @sort_tokens_c3_wide(%x: tensor<64x4xi32>, %e: tensor<32xi32>, %t: tensor<256xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected align in [1, 2147483647], but got 2305843009213693953}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>) {align = 2305843009213693953 : i64}
      -> tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>
  return
}

// -----

// sort_tokens_c4: rows are counted in i32
func.func @sort_tokens_c4(%x: tensor<64x4xi32>, %e: tensor<32xi32>, %t: tensor<256xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected T*k + E*(align-1) to fit i32, in which rows are counted}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>) {align = 2147483647 : i64}
      -> tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>
  return
}

// -----

// sort_tokens_c5: every pair has a row
func.func @sort_tokens_c5(%x: tensor<64x4xi32>, %e: tensor<32xi32>, %t: tensor<255xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected token_of_row to hold at least T*k + E*(align-1) = 256 entries, but got 255}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<255xi32>, tensor<64x4xi32>) 
      -> tensor<32xi32>, tensor<255xi32>, tensor<64x4xi32>
  return
}

// -----

// sort_tokens_c5: so has the padding
func.func @sort_tokens_c5(%x: tensor<64x4xi32>, %e: tensor<32xi32>, %t: tensor<256xi32>, %r: tensor<64x4xi32>) {
  // expected-error @below {{expected token_of_row to hold at least T*k + E*(align-1) = 480 entries, but got 256}}
  %s:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<64x4xi32>)
      outs(%e, %t, %r : tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>) {align = 8 : i64}
      -> tensor<32xi32>, tensor<256xi32>, tensor<64x4xi32>
  return
}

// -----

// permute_c1: tokens are rows of a matrix
func.func @permute_c1(%x: tensor<64xbf16>, %t: tensor<256xi32>, %o: tensor<256x32xbf16>) {
  // expected-error @below {{expected input of rank 2, [T, K], but got rank 1}}
  %p = grouped_scaled_gemm.permute(%x : tensor<64xbf16>) by(%t : tensor<256xi32>)
      outs(%o : tensor<256x32xbf16>) -> tensor<256x32xbf16>
  return
}

// -----

// permute_c1: the order is a vector
func.func @permute_c1(%x: tensor<64x32xbf16>, %t: tensor<64x4xi32>, %o: tensor<256x32xbf16>) {
  // expected-error @below {{expected token_of_row of rank 1, [rows], but got rank 2}}
  %p = grouped_scaled_gemm.permute(%x : tensor<64x32xbf16>) by(%t : tensor<64x4xi32>)
      outs(%o : tensor<256x32xbf16>) -> tensor<256x32xbf16>
  return
}

// -----

// permute_c2: one row an entry
func.func @permute_c2(%x: tensor<64x32xbf16>, %t: tensor<256xi32>, %o: tensor<255x32xbf16>) {
  // expected-error @below {{expected outs of shape 256x32 ([rows, K]), but got 255x32}}
  %p = grouped_scaled_gemm.permute(%x : tensor<64x32xbf16>) by(%t : tensor<256xi32>)
      outs(%o : tensor<255x32xbf16>) -> tensor<255x32xbf16>
  return
}

// -----

// permute_c3: elements do not change
func.func @permute_c3(%x: tensor<64x32xbf16>, %t: tensor<256xi32>, %o: tensor<256x32xf32>) {
  // expected-error @below {{expected input and outs of equal element type, but got 'bf16' and 'f32'}}
  %p = grouped_scaled_gemm.permute(%x : tensor<64x32xbf16>) by(%t : tensor<256xi32>)
      outs(%o : tensor<256x32xf32>) -> tensor<256x32xf32>
  return
}

// -----

// combine_c1: rows of a matrix are summed
func.func @combine_c1(%y: tensor<256xbf16>, %r: tensor<64x4xi32>, %w: tensor<64x4xf32>, %o: tensor<64x32xbf16>) {
  // expected-error @below {{expected input of rank 2, [rows, N], but got rank 1}}
  %c = grouped_scaled_gemm.combine(%y : tensor<256xbf16>) by(%r : tensor<64x4xi32>)
      weights(%w : tensor<64x4xf32>) outs(%o : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return
}

// -----

// combine_c1: slots are a matrix
func.func @combine_c1(%y: tensor<256x32xbf16>, %r: tensor<64xi32>, %w: tensor<64x4xf32>, %o: tensor<64x32xbf16>) {
  // expected-error @below {{expected row_of_slot of rank 2, [T, k], but got rank 1}}
  %c = grouped_scaled_gemm.combine(%y : tensor<256x32xbf16>) by(%r : tensor<64xi32>)
      weights(%w : tensor<64x4xf32>) outs(%o : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return
}

// -----

// combine_c2: one weight a slot
func.func @combine_c2(%y: tensor<256x32xbf16>, %r: tensor<64x4xi32>, %w: tensor<64x3xf32>, %o: tensor<64x32xbf16>) {
  // expected-error @below {{expected weights of shape 64x4 ([T, k]), but got 64x3}}
  %c = grouped_scaled_gemm.combine(%y : tensor<256x32xbf16>) by(%r : tensor<64x4xi32>)
      weights(%w : tensor<64x3xf32>) outs(%o : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return
}

// -----

// combine_c3: one row a token
func.func @combine_c3(%y: tensor<256x32xbf16>, %r: tensor<64x4xi32>, %w: tensor<64x4xf32>, %o: tensor<256x32xbf16>) {
  // expected-error @below {{expected outs of shape 64x32 ([T, N]), but got 256x32}}
  %c = grouped_scaled_gemm.combine(%y : tensor<256x32xbf16>) by(%r : tensor<64x4xi32>)
      weights(%w : tensor<64x4xf32>) outs(%o : tensor<256x32xbf16>) -> tensor<256x32xbf16>
  return
}

// -----

// dest_c3: the output is no input
func.func @dest_c3(%x: memref<64x32xbf16>, %t: memref<64xi32>) {
  // expected-error @below {{expected outputs that overlap no other operand, but operands #0 and #2 are the same memref}}
  grouped_scaled_gemm.permute(%x : memref<64x32xbf16>) by(%t : memref<64xi32>)
      outs(%x : memref<64x32xbf16>)
  return
}

// -----

// amax_c1: of matrices
func.func @amax_c1(%x: tensor<16xf32>, %o: tensor<f32>) {
  // expected-error @below {{expected an input of rank 2 or 3, but got rank 1}}
  %y = grouped_scaled_gemm.amax(%x : tensor<16xf32>) outs(%o : tensor<f32>) -> tensor<f32>
  return
}

// -----

// amax_c2: a number of each matrix
func.func @amax_c2(%x: tensor<3x4x16xf32>, %o: tensor<4xf32>) {
  // expected-error @below {{expected outs of shape 3 (of a number of each matrix), but got 4}}
  %y = grouped_scaled_gemm.amax(%x : tensor<3x4x16xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// amax_c3: what would be transposed?
func.func @amax_c3(%x: tensor<4x16xf32>, %o: tensor<f32>) {
  // expected-error @below {{expected transposed with hadamard, which it turns, but got transposed alone}}
  %y = grouped_scaled_gemm.amax(%x : tensor<4x16xf32>) outs(%o : tensor<f32>) {transposed} -> tensor<f32>
  return
}

// -----

// quantize_c5: squares have blocks of several lines
func.func @quantize_c5(%x: tensor<16x16xf32>) {
  // expected-error @below {{expected no hadamard with two_d, whose blocks are of several lines}}
  %y = grouped_scaled_gemm.quantize <te, two_d>(%x : tensor<16x16xf32>) hadamard = <normalized>
      -> !grouped_scaled_gemm.scaled<16x16, nvfp4>
  return
}

// -----

// hadamard_c3: a bit for each of 16 elements
func.func @hadamard_c3(%x: tensor<16x16xf32>) {
  %y = grouped_scaled_gemm.quantize <te>(%x : tensor<16x16xf32>)
      // expected-error @below {{expected a sign_mask of 16 bits, in [0, 65535], but got 65536}}
      hadamard = <sign_mask = 65536> -> !grouped_scaled_gemm.scaled<16x16, nvfp4>
  return
}
