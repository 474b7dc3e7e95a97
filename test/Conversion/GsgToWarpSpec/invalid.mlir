// What kernels cannot do is refused with the nearest form that they can.
// RUN: nvfp4-opt %s --split-input-file --verify-diagnostics --gsg-decompose-scaled \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map unknown-type-conversion=identity-layout-map" \
// RUN:   --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @strategy(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support the strategy <m = 128, n = 24, k = 256, swap_ab = true>: expected n = 8, 16, 32, 64, 128, 192 or 256, for which there are kernels, but got 24; the nearest one is <m = 128, n = 16, k = 256, }}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 24, k = 256, swap_ab = true>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @tile(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support the strategy <m = 128, n = 96, k = 256>: expected n = 64, 128, 192 or 256 with weights on n, but got 96}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 96, k = 256>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @stages(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{expected 1 to 5 stages of 36864 bytes in 232448 bytes of shared memory, but got 9; the nearest one is <m = 128, n = 128, k = 256, stages = 5, }}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, stages = 9>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @list(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support this matmul_list; run gsg-split-list first}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @tile_of_a_list(%a: !a, %b: !b, %c: tensor<16x32xf32>, %d: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  // expected-error@+1 {{'grouped_scaled_gemm.matmul_list' op kernels for sm_100a do not support the strategy <m = 128, n = 96, k = 256>}}
  %e:2 = grouped_scaled_gemm.matmul_list lhs(%a : !a, %a : !a) rhs(%b : !b, %b : !b) outs(%c, %d : tensor<16x32xf32>, tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 96, k = 256>} -> tensor<16x32xf32>, tensor<16x32xf32>
  return %e#0, %e#1 : tensor<16x32xf32>, tensor<16x32xf32>
}

// -----

!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @pair_of_rows(%a: tensor<16x64xbf16>, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support the strategy <m = 256, n = 128, k = 128, ctas = 2, swap_ab = true>: expected ctas = 1 beside rows without scales, for which there are kernels, but got 2; the nearest one is <m = 128, n = 128, k = 128, stages = 5, accumulator_stages = 2, scale_stages = 2, epilogue_n = 32, swap_ab = true>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : tensor<16x64xbf16>) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 256, n = 128, k = 128, ctas = 2, swap_ab = true>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// What a GPU needs a library for.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @library(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support 'arith.remf' in an epilogue region; use operations of arith other than remf, maxnumf and minnumf}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        %y = arith.remf %z, %z : f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// Numbers that it has not.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @numbers(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support 'arith.truncf' in an epilogue region; use operations of arith other than remf, maxnumf and minnumf on f16, bf16, f32, f64 and integers of at most 64 bits}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        %w = arith.truncf %z : f32 to f8E4M3FN
        %y = arith.extf %w : f8E4M3FN to f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// relayout_gate moves no weights whose groups are along K.
!x = !grouped_scaled_gemm.scaled<16x?, nvfp4, linear, starts = compact>
!w = !grouped_scaled_gemm.scaled<32x?, nvfp4, linear, starts = compact>
func.func @pairs_along_k(%ends: tensor<4xi32>, %x: !x, %w: !w, %c: tensor<4x16x16xf32>) -> tensor<4x16x16xf32> {
  // expected-error@+1 {{kernels for sm_100a do not support the gate layout #grouped_scaled_gemm.gate<halves, gate_first> of groups along K; use runs of 1, 2, 4, 8, 16, 32 or 64}}
  %d = grouped_scaled_gemm.matmul <ragged_k, ends> groups(%ends : tensor<4xi32>) lhs(%x : !x) rhs(%w : !w)
      activation = <swiglu, gate = <halves, gate_first>> outs(%c : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  return %d : tensor<4x16x16xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @scheduler(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{expected scheduler static_persistent, for which there are kernels, but got dynamic_counter; the nearest one is <m = 128, n = 128, k = 256, }}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, scheduler = dynamic_counter>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// target_c8
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4, wgmma>
func.func @coded(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{'grouped_scaled_gemm.matmul' op expected target sm_90a for weights in the layout 'wgmma', but got sm_100a; grouped_scaled_gemm.relayout_weights brings them back to linear}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}
