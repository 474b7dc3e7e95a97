// RUN: nvfp4-opt %s --gsg-decompose-scaled --split-input-file | FileCheck %s

// A scaled argument becomes its values and its scales, and remembers whose
// halves they are; the product keeps the logical types.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4, blocked>

// CHECK-LABEL: func @product(
// CHECK-SAME:    %[[A:[^:]*]]: tensor<16x32xi8> {grouped_scaled_gemm.values_of = ![[TA:[a-z0-9]*]]}, %[[SA:[^:]*]]: tensor<16x4xf8E4M3FN> {grouped_scaled_gemm.scales_of = ![[TA]]},
// CHECK-SAME:    %[[B:[^:]*]]: tensor<32x32xi8>
// CHECK-SAME:    %[[SB:[^:]*]]: tensor<1x1x32x4x4xf8E4M3FN>
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:      lhs(%[[A]] scaled_by %[[SA]] : tensor<16x32xi8>, tensor<16x4xf8E4M3FN> as ![[TA]])
// CHECK-SAME:      rhs(%[[B]] scaled_by %[[SB]] :
func.func @product(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// Making and splitting leave nothing behind.

// CHECK-LABEL: func @make_split(
// CHECK-SAME:    %[[V:[^:]*]]: tensor<4x8xi8>, %[[S:[^:]*]]: tensor<4x1xf8E4M3FN>
// CHECK-NEXT:    return %[[S]]
func.func @make_split(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>)
    -> tensor<4x1xf8E4M3FN> {
  %m = grouped_scaled_gemm.make_scaled %v, %s
      : tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  %data, %scales = grouped_scaled_gemm.split_scaled %m
      : !grouped_scaled_gemm.scaled<4x16, nvfp4>
      -> tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
  return %scales : tensor<4x1xf8E4M3FN>
}

// -----

// A quantised result of a ragged product gets zeroed destinations, with room
// for every group to start a tile of scales: (R + 32 * 127) / 128 tiles.

!act = !grouped_scaled_gemm.scaled<?x2880, nvfp4>
!out = !grouped_scaled_gemm.scaled<?x2880, nvfp4, blocked, starts = compact>
!w = !grouped_scaled_gemm.scaled<32x5760x2880, nvfp4>

// CHECK: #[[TILES:.*]] = affine_map<()[s0] -> ((s0 + 4064) ceildiv 128)>
// CHECK-LABEL: func @quantized_result(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x1440xi8>
// CHECK:         %[[R:.*]] = tensor.dim %[[X]]
// CHECK:         %[[V:.*]] = tensor.empty(%[[R]]) : tensor<?x1440xi8>
// CHECK:         %[[V0:.*]] = linalg.fill ins(%{{.*}} : i8) outs(%[[V]]
// CHECK:         %[[T:.*]] = affine.apply #[[TILES]]()[%[[R]]]
// CHECK:         %[[S:.*]] = tensor.empty(%[[T]]) : tensor<?x45x32x4x4xf8E4M3FN>
// CHECK:         %[[S0:.*]] = linalg.fill ins(%{{.*}} : f8E4M3FN) outs(%[[S]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-SAME:      outs(%[[V0]] scaled_by %[[S0]] :
func.func @quantized_result(%x: !act, %w: !w, %ends: tensor<32xi32>) -> !out {
  %h = grouped_scaled_gemm.matmul <ragged_rows, ends>
      groups(%ends : tensor<32xi32>) lhs(%x : !act) rhs(%w : !w)
      activation = <swiglu, gate = <halves, gate_first>>
      quantizer = <trtllm> -> !out
  return %h : !out
}

// -----

// A re-layout moves scales only; values pass through.

!l = !grouped_scaled_gemm.scaled<256x64, mxfp4>
!b = !grouped_scaled_gemm.scaled<256x64, mxfp4, blocked>

// CHECK-LABEL: func @relayout(
// CHECK-SAME:    %[[V:[^:]*]]: tensor<256x32xi8>
// CHECK-SAME:    %[[S:[^:]*]]: tensor<256x2xf8E8M0FNU>
// CHECK:         %[[ONE:.*]] = arith.constant 1.000000e+00 : f8E8M0FNU
// CHECK:         %[[R:.*]] = grouped_scaled_gemm.relayout_scales(%[[V]] scaled_by %[[S]]
// CHECK:         return %[[V]], %[[R]]
func.func @relayout(%w: !l) -> !b {
  %b = grouped_scaled_gemm.relayout_scales(%w : !l) -> !b
  return %b : !b
}

// -----

// Loops carry both halves.

!s = !grouped_scaled_gemm.scaled<8x32, mxfp8_e4m3>

// CHECK-LABEL: func @loop(
// CHECK:         scf.for {{.*}} -> (tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
func.func @loop(%a: !s, %n: index) -> !s {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> !s {
    scf.yield %x : !s
  }
  return %r : !s
}

// -----

// Rows without scales stay what they are.

!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @plain_rows(
// CHECK-SAME:    %[[A:[^:]*]]: tensor<16x64xbf16>, %[[B:[^:]*]]: tensor<32x32xi8>
// CHECK:         lhs(%[[A]] : tensor<16x64xbf16>) rhs(%[[B]] scaled_by
func.func @plain_rows(%a: tensor<16x64xbf16>, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : tensor<16x64xbf16>) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// Weights for sm_90a have other extents, of which only the first may be dynamic.

!l = !grouped_scaled_gemm.scaled<?x70x100, mxfp4>
!w = !grouped_scaled_gemm.scaled<?x70x100, mxfp4, wgmma>

// CHECK-LABEL: func @weights(
// CHECK-SAME:    %[[V:[^:]*]]: tensor<?x70x50xi8>
// CHECK:         %[[G:.*]] = tensor.dim %[[V]]
// CHECK:         %[[B:.*]] = tensor.empty(%[[G]]) : tensor<?x2x2x2304xi8>
// CHECK:         %[[F:.*]] = tensor.empty(%{{.*}}) : tensor<?xf32>
// CHECK:         grouped_scaled_gemm.relayout_weights(%[[V]] scaled_by %{{.*}}) outs(%[[B]] scaled_by %[[F]]
func.func @weights(%a: !l) -> !w {
  %w = grouped_scaled_gemm.relayout_weights(%a : !l) -> !w
  return %w : !w
}

// -----

// Columns of a result are rows of such weights, not of their memory.

!x = !grouped_scaled_gemm.scaled<?x128, nvfp4>
!w = !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>
!y = !grouped_scaled_gemm.scaled<?x?, nvfp4>

// CHECK-LABEL: func @quantized_columns(
// CHECK:         tensor.empty(%{{.*}}) : tensor<?x32xi8>
// CHECK:         tensor.empty(%{{.*}}) : tensor<?x4xf8E4M3FN>
// CHECK:         grouped_scaled_gemm.matmul
func.func @quantized_columns(%x: !x, %w: !w) -> !y {
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) quantizer = <te> -> !y
  return %y : !y
}

// -----

// Scales along rows start anew in each group: a block for each that is not full.

!c = !grouped_scaled_gemm.scaled<?x32, nvfp4, starts = compact, axis = 0>

// CHECK: #[[ROWS:.*]] = affine_map<()[s0, s1] -> (s1 * 4 + s0 ceildiv 16)>
// CHECK-LABEL: func @scales_of_groups_along_rows(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x32xf32>, %[[ENDS:[^:]*]]: tensor<?xi32>
// CHECK-DAG:     %[[R:.*]] = tensor.dim %[[X]]
// CHECK-DAG:     %[[G:.*]] = tensor.dim %[[ENDS]]
// CHECK:         %[[S:.*]] = affine.apply #[[ROWS]]()[%[[R]], %[[G]]]
// CHECK:         tensor.empty(%[[S]]) : tensor<?x32xf8E4M3FN>
func.func @scales_of_groups_along_rows(%x: tensor<?x32xf32>, %ends: tensor<?xi32>) -> !c {
  %q = grouped_scaled_gemm.quantize <mega16>(%x : tensor<?x32xf32>)
      groups(%ends : tensor<?xi32>) as <ragged_rows, ends> -> !c
  return %q : !c
}

// -----

// Each group along K has a matrix of the result: G comes from the offsets.

!x = !grouped_scaled_gemm.scaled<?x?, nvfp4>
!w = !grouped_scaled_gemm.scaled<32x?, nvfp4>
!r = !grouped_scaled_gemm.scaled<?x?x32, nvfp4>

// CHECK: #[[GROUPS:.*]] = affine_map<()[s0] -> (s0 - 1, 0)>
// CHECK-LABEL: func @matrices_of_groups_along_k(
// CHECK-SAME:    %[[STARTS:[^:]*]]: tensor<?xi32>, %[[X:[^:]*]]: tensor<?x?xi8>
// CHECK:         %[[N:.*]] = tensor.dim %[[STARTS]]
// CHECK:         %[[G:.*]] = affine.max #[[GROUPS]]()[%[[N]]]
// CHECK:         %[[R:.*]] = tensor.dim %[[X]]
// CHECK:         tensor.empty(%[[G]], %[[R]]) : tensor<?x?x16xi8>
// CHECK:         tensor.empty(%[[G]], %[[R]]) : tensor<?x?x2xf8E4M3FN>
func.func @matrices_of_groups_along_k(%starts: tensor<?xi32>, %x: !x, %w: !w) -> !r {
  %q = grouped_scaled_gemm.matmul <ragged_k, starts, align = 16> groups(%starts : tensor<?xi32>)
      lhs(%x : !x) rhs(%w : !w) quantizer = <mega16> -> !r
  return %q : !r
}
