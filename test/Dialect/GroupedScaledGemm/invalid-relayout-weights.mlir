// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Weights laid out for sm_90a, and the op that lays them out; each case names
// the constraint of docs/Spec.md that it breaks.

// scaled_c7: weights are matrices
// expected-error @below {{expected weights of rank 2 or 3 with blocks along the last dimension and starts = whole for the layout 'wgmma', but got rank 1, axis 0 and starts = whole}}
func.func private @scaled_c7(!grouped_scaled_gemm.scaled<64, nvfp4, wgmma>)

// -----

// scaled_c7: with blocks along K
// expected-error @below {{for the layout 'wgmma_f16', but got rank 2, axis 0 and starts = whole}}
func.func private @scaled_c7(!grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma_f16, axis = 0>)

// -----

// scaled_c7: that start with no group
// expected-error @below {{for the layout 'wgmma', but got rank 2, axis 1 and starts = compact}}
func.func private @scaled_c7(!grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma, starts = compact>)

// -----

// scaled_c8: blocks of unknown rows have no places
// expected-error @below {{expected known positive N and K for the layout 'wgmma', but got ?}}
func.func private @scaled_c8(!grouped_scaled_gemm.scaled<?x64, nvfp4, wgmma>)

// -----

// scaled_c8: nor have those of none
// expected-error @below {{expected known positive N and K for the layout 'wgmma', but got 0}}
func.func private @scaled_c8(!grouped_scaled_gemm.scaled<2x64x0, nvfp4, wgmma>)

// -----

// scaled_c6: the layouts that there are
// expected-error @below {{expected a scale layout, one of linear, blocked, blocked_8x4, wgmma, wgmma_f16, but got 'wgmma_fp16'}}
func.func private @scaled_c6(!grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma_fp16>)

// -----

// storage_c6: values have the bytes of whole blocks
func.func @storage_c6(%v: tensor<1x2x2048xi8>, %s: tensor<1xf32>) {
  // expected-error @below {{expected values of the result of shape 1x2x2304 for '!grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>', but got 1x2x2048}}
  %w = grouped_scaled_gemm.make_scaled %v, %s : tensor<1x2x2048xi8>, tensor<1xf32>
      -> !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>
  return
}

// -----

// storage_c6: also of FP8, as bytes, and for K padded to 128
func.func @storage_c6(%v: tensor<3x2x4x4352xi8>, %s: tensor<3xf32>) {
  // expected-error @below {{expected values of the result of shape 3x2x2x4352 for}}
  %w = grouped_scaled_gemm.make_scaled %v, %s : tensor<3x2x4x4352xi8>, tensor<3xf32>
      -> !grouped_scaled_gemm.scaled<3x65x100, mxfp8_e4m3, wgmma>
  return
}

// -----

// storage_c7: factors are f32
func.func @storage_c7(%v: tensor<1x2x2304xi8>, %s: tensor<1xf8E4M3FN>) {
  // expected-error @below {{expected scales of the result of element type 'f32' for format nvfp4}}
  %w = grouped_scaled_gemm.make_scaled %v, %s : tensor<1x2x2304xi8>, tensor<1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>
  return
}

// -----

// storage_c9: one a matrix
func.func @storage_c9(%v: tensor<3x1x2x2304xi8>, %s: tensor<2xf32>) {
  // expected-error @below {{expected scales of the result of shape 3 for the layout 'wgmma', but got 2, too small in dimension 0}}
  %w = grouped_scaled_gemm.make_scaled %v, %s : tensor<3x1x2x2304xi8>, tensor<2xf32>
      -> !grouped_scaled_gemm.scaled<3x64x128, nvfp4, wgmma>
  return
}

// -----

// storage_c11: the layout is of rhs only
func.func @storage_c11(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>,
                       %b: !grouped_scaled_gemm.scaled<64x64, nvfp4>, %c: tensor<64x64xf32>) {
  // expected-error @below {{expected lhs in another layout than 'wgmma', which only the rhs of a product may have; grouped_scaled_gemm.relayout_weights brings weights back to linear}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x64, nvfp4>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}

// -----

// storage_c11: in storage form too
func.func @storage_c11(%a: memref<1x2x2304xi8>, %as: memref<1xf32>, %b: memref<64x64xf32>) {
  // expected-error @below {{expected input in another layout than 'wgmma'}}
  grouped_scaled_gemm.dequantize(%a scaled_by %as : memref<1x2x2304xi8>, memref<1xf32>
      as !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>) outs(%b : memref<64x64xf32>)
  return
}

// -----

// storage_c11: what is quantised is not laid out yet
func.func @storage_c11(%a: tensor<64x64xf32>) {
  // expected-error @below {{expected a result in another layout than 'wgmma'}}
  %q = grouped_scaled_gemm.quantize <te>(%a : tensor<64x64xf32>)
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>
  return
}

// -----

// storage_c11: there are no rows of gates to move
func.func @storage_c11(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>) {
  // expected-error @below {{in another layout than 'wgmma'}}
  %b = grouped_scaled_gemm.relayout_gate(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>)
      from <halves, gate_first> to <8, gate_first> -> !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>
  return
}

// -----

// storage_c11: values would have to move with their scales
func.func @storage_c11(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4>) {
  // expected-error @below {{expected a result in another layout than 'wgmma'}}
  %b = grouped_scaled_gemm.relayout_scales(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>
  return
}

// -----

// relayout_weights_c1: a result is scaled
func.func @relayout_weights_c1(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4>) {
  // expected-error @below {{expected no outs and one result of type scaled}}
  %r = grouped_scaled_gemm.relayout_weights(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      -> tensor<1x2x2304xi8>
  return
}

// -----

// relayout_weights_c1: storage goes to storage
func.func @relayout_weights_c1(%v: tensor<64x32xi8>, %s: tensor<64x4xf8E4M3FN>) {
  // expected-error @below {{expected destinations of values and scales in storage form}}
  %r = grouped_scaled_gemm.relayout_weights(%v scaled_by %s : tensor<64x32xi8>, tensor<64x4xf8E4M3FN>
      as !grouped_scaled_gemm.scaled<64x64, nvfp4>) -> !grouped_scaled_gemm.scaled<64x64, nvfp4>
  return
}

// -----

// relayout_weights_c2: the format stays
func.func @relayout_weights_c2(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4>) {
  // expected-error @below {{expected a result that differs from the input in its layout only, but got '!grouped_scaled_gemm.scaled<64x64, nvfp4>' and '!grouped_scaled_gemm.scaled<64x64, mxfp4, wgmma>'}}
  %r = grouped_scaled_gemm.relayout_weights(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      -> !grouped_scaled_gemm.scaled<64x64, mxfp4, wgmma>
  return
}

// -----

// relayout_weights_c2: and so do blocks and extents
func.func @relayout_weights_c2(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>) {
  // expected-error @below {{differs from the input in its layout only, but got '!grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>' and '!grouped_scaled_gemm.scaled<64x64, nvfp4, axis = 0>'}}
  %r = grouped_scaled_gemm.relayout_weights(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>)
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4, axis = 0>
  return
}

// -----

// relayout_weights_c2: unknown ones too
func.func @relayout_weights_c2(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>) {
  // expected-error @below {{differs from the input in its layout only, but got '!grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>' and '!grouped_scaled_gemm.scaled<?x64, nvfp4>'}}
  %r = grouped_scaled_gemm.relayout_weights(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>)
      -> !grouped_scaled_gemm.scaled<?x64, nvfp4>
  return
}

// -----

// relayout_weights_c3: scales in tiles come by way of linear ones
func.func @relayout_weights_c3(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4, blocked>) {
  // expected-error @below {{expected one of the layouts 'linear' and 'wgmma' or 'wgmma_f16' on each side, but got '!grouped_scaled_gemm.scaled<64x64, nvfp4, blocked>' and '!grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>'}}
  %r = grouped_scaled_gemm.relayout_weights(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4, blocked>)
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>
  return
}

// -----

// relayout_weights_c3: nor from one decoder's to the other's
func.func @relayout_weights_c3(%a: !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>) {
  // expected-error @below {{expected one of the layouts 'linear' and 'wgmma' or 'wgmma_f16' on each side}}
  %r = grouped_scaled_gemm.relayout_weights(%a : !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>)
      -> !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma_f16>
  return
}

// -----

// matmul_c42: groups along K begin at stages of their own
func.func @matmul_c42(%a: !grouped_scaled_gemm.scaled<64x128, nvfp4>, %g: tensor<2xi32>,
                      %b: !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>, %c: tensor<2x64x64xf32>) {
  // expected-error @below {{expected linear weights for grouping 'ragged_k', whose groups begin anywhere along K, but got '!grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>'}}
  %d = grouped_scaled_gemm.matmul <ragged_k> groups(%g : tensor<2xi32>)
      lhs(%a : !grouped_scaled_gemm.scaled<64x128, nvfp4>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>)
      outs(%c : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  return
}

// -----

// matmul_c43: scaled rows are multiplied in bf16
func.func @matmul_c43(%a: !grouped_scaled_gemm.scaled<64x128, nvfp4>,
                      %b: !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma_f16>, %c: tensor<64x64xf32>) {
  // expected-error @below {{expected the layout 'wgmma' of weights for rows that are multiplied in bf16, but got 'wgmma_f16'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !grouped_scaled_gemm.scaled<64x128, nvfp4>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma_f16>)
      outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}

// -----

// matmul_c43: and those of f16 in f16
func.func @matmul_c43(%a: tensor<64x128xf16>, %b: !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>,
                      %c: tensor<64x64xf32>) {
  // expected-error @below {{expected the layout 'wgmma_f16' of weights for rows that are multiplied in f16, but got 'wgmma'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : tensor<64x128xf16>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>)
      outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}

// -----

// matmul_c6: formats go together as those of linear weights do
func.func @matmul_c6(%a: !grouped_scaled_gemm.scaled<64x128, nvfp4>,
                     %b: !grouped_scaled_gemm.scaled<64x128, mxfp4, wgmma>, %c: tensor<64x64xf32>) {
  // expected-error @below {{expected lhs and rhs of equal block size and scale type, but got nvfp4 (16, 'f8E4M3FN') and mxfp4 (32, 'f8E8M0FNU')}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !grouped_scaled_gemm.scaled<64x128, nvfp4>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x128, mxfp4, wgmma>)
      outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}

// -----

// matmul_list_c8: a list has scaled rows
func.func @matmul_list_c8(%a: !grouped_scaled_gemm.scaled<64x128, nvfp4>,
                          %b: !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma_f16>, %c: tensor<64x64xf32>) {
  // expected-error @below {{expected the layout 'wgmma' of weights for rows that are multiplied in bf16, but got 'wgmma_f16' for problem 0}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !grouped_scaled_gemm.scaled<64x128, nvfp4>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma_f16>)
      outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}
