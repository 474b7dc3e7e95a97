// A Mixture-of-Experts layer in NVFP4: 16 experts, top 4, hidden 1024, expert
// width 768, any number of tokens.
//
//   router -> top-k -> permutation -> quantised activations
//          -> gate/up product + SwiGLU + re-quantisation (one operation)
//          -> down product -> weighted, deterministic combination
//
// Weights are K-major, as checkpoints store them; gate and up rows are halves
// of one matrix and keep their own global scales (alpha is [experts, 2]).

!act   = !grouped_scaled_gemm.scaled<?x1024, nvfp4>
!glu   = !grouped_scaled_gemm.scaled<?x768, nvfp4>
!w13   = !grouped_scaled_gemm.scaled<16x1536x1024, nvfp4>
!w2    = !grouped_scaled_gemm.scaled<16x1024x768, nvfp4>

// Scores of every expert for every token, in f32.
func.func @router(%x: tensor<?x1024xbf16>, %w: tensor<16x1024xf32>)
    -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %tokens = tensor.dim %x, %c0 : tensor<?x1024xbf16>
  %empty = tensor.empty(%tokens) : tensor<?x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x16xf32>)
      -> tensor<?x16xf32>
  %logits = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                       affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<?x1024xbf16>, tensor<16x1024xf32>)
      outs(%init : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %logits : tensor<?x16xf32>
}

// The experts of each token and their weights.
func.func @route(%logits: tensor<?x16xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %c0 = arith.constant 0 : index
  %tokens = tensor.dim %logits, %c0 : tensor<?x16xf32>
  %w = tensor.empty(%tokens) : tensor<?x4xf32>
  %e = tensor.empty(%tokens) : tensor<?x4xi32>
  %weights, %experts = grouped_scaled_gemm.route topk_softmax
      (%logits : tensor<?x16xf32>)
      outs(%w, %e : tensor<?x4xf32>, tensor<?x4xi32>)
      -> tensor<?x4xf32>, tensor<?x4xi32>
  return %weights, %experts : tensor<?x4xf32>, tensor<?x4xi32>
}

// Where each expert's rows end, which token each row holds, where each
// (token, slot) went.
func.func @sort(%experts: tensor<?x4xi32>)
    -> (tensor<16xi32>, tensor<?xi32>, tensor<?x4xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %tokens = tensor.dim %experts, %c0 : tensor<?x4xi32>
  %rows = arith.muli %tokens, %c4 : index
  %e = tensor.empty() : tensor<16xi32>
  %t = tensor.empty(%rows) : tensor<?xi32>
  %r = tensor.empty(%tokens) : tensor<?x4xi32>
  %s:3 = grouped_scaled_gemm.sort_tokens(%experts : tensor<?x4xi32>)
      outs(%e, %t, %r : tensor<16xi32>, tensor<?xi32>, tensor<?x4xi32>)
      -> tensor<16xi32>, tensor<?xi32>, tensor<?x4xi32>
  return %s#0, %s#1, %s#2 : tensor<16xi32>, tensor<?xi32>, tensor<?x4xi32>
}

// Activations in expert order, quantised with the checkpoint's scale.
func.func @quantize(%x: tensor<?x1024xbf16>, %token_of_row: tensor<?xi32>,
                    %encode: tensor<1xf32>) -> !act {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %token_of_row, %c0 : tensor<?xi32>
  %empty = tensor.empty(%rows) : tensor<?x1024xbf16>
  %permuted = grouped_scaled_gemm.permute(%x : tensor<?x1024xbf16>)
      by(%token_of_row : tensor<?xi32>) outs(%empty : tensor<?x1024xbf16>)
      -> tensor<?x1024xbf16>
  %s = tensor.extract %encode[%c0] : tensor<1xf32>
  %q = grouped_scaled_gemm.quantize <trtllm>(%permuted : tensor<?x1024xbf16>)
      global_scale(%s : f32) -> !act
  return %q : !act
}

// Gate and up, SwiGLU, and the FP4 input of the next product, in one. A result in
// FP4 needs no sigmoid to the last bit, for which kernels would use f64.
func.func @gate_up(%x: !act, %ends: tensor<16xi32>, %w: !w13,
                   %alpha: tensor<16x2xf32>, %encode: tensor<1xf32>) -> !glu {
  %c0 = arith.constant 0 : index
  %s = tensor.extract %encode[%c0] : tensor<1xf32>
  %h = grouped_scaled_gemm.matmul <ragged_rows, ends>
      groups(%ends : tensor<16xi32>) lhs(%x : !act) rhs(%w : !w13)
      alpha(%alpha : tensor<16x2xf32>)
      activation = <swiglu, gate = <halves, gate_first>>
      quantizer = <trtllm> global_scale(%s : f32)
      {math = #grouped_scaled_gemm<math fast>} -> !glu
  return %h : !glu
}

func.func @down(%h: !glu, %rows: index, %ends: tensor<16xi32>, %w: !w2,
                %alpha: tensor<16xf32>) -> tensor<?x1024xbf16> {
  %empty = tensor.empty(%rows) : tensor<?x1024xbf16>
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends>
      groups(%ends : tensor<16xi32>) lhs(%h : !glu) rhs(%w : !w2)
      alpha(%alpha : tensor<16xf32>)
      outs(%empty : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

func.func @combine(%y: tensor<?x1024xbf16>, %row_of_slot: tensor<?x4xi32>,
                   %weights: tensor<?x4xf32>) -> tensor<?x1024xbf16> {
  %c0 = arith.constant 0 : index
  %tokens = tensor.dim %weights, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%tokens) : tensor<?x1024xbf16>
  %out = grouped_scaled_gemm.combine(%y : tensor<?x1024xbf16>)
      by(%row_of_slot : tensor<?x4xi32>) weights(%weights : tensor<?x4xf32>)
      outs(%empty : tensor<?x1024xbf16>) -> tensor<?x1024xbf16>
  return %out : tensor<?x1024xbf16>
}

// The whole layer.
func.func @layer(%x: tensor<?x1024xbf16>, %router: tensor<16x1024xf32>,
                 %w13: !w13, %alpha13: tensor<16x2xf32>, %encode13: tensor<1xf32>,
                 %w2: !w2, %alpha2: tensor<16xf32>, %encode2: tensor<1xf32>)
    -> tensor<?x1024xbf16> {
  %c0 = arith.constant 0 : index
  %logits = call @router(%x, %router)
      : (tensor<?x1024xbf16>, tensor<16x1024xf32>) -> tensor<?x16xf32>
  %weights, %experts = call @route(%logits)
      : (tensor<?x16xf32>) -> (tensor<?x4xf32>, tensor<?x4xi32>)
  %ends, %token_of_row, %row_of_slot = call @sort(%experts)
      : (tensor<?x4xi32>) -> (tensor<16xi32>, tensor<?xi32>, tensor<?x4xi32>)
  %q = call @quantize(%x, %token_of_row, %encode13)
      : (tensor<?x1024xbf16>, tensor<?xi32>, tensor<1xf32>) -> !act
  %h = call @gate_up(%q, %ends, %w13, %alpha13, %encode2)
      : (!act, tensor<16xi32>, !w13, tensor<16x2xf32>, tensor<1xf32>) -> !glu
  %rows = tensor.dim %token_of_row, %c0 : tensor<?xi32>
  %y = call @down(%h, %rows, %ends, %w2, %alpha2)
      : (!glu, index, tensor<16xi32>, !w2, tensor<16xf32>) -> tensor<?x1024xbf16>
  %out = call @combine(%y, %row_of_slot, %weights)
      : (tensor<?x1024xbf16>, tensor<?x4xi32>, tensor<?x4xf32>)
      -> tensor<?x1024xbf16>
  return %out : tensor<?x1024xbf16>
}
