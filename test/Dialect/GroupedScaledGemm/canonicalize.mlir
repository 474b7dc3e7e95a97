// RUN: nvfp4-opt %s --canonicalize --split-input-file | FileCheck %s

// split(make(v, s)) is v, s.

// CHECK-LABEL: func @split_of_make(
// CHECK-SAME:    %[[V:.*]]: tensor<4x8xi8>, %[[S:.*]]: tensor<4x1xf8E4M3FN>)
// CHECK-NEXT:    return %[[V]], %[[S]]
func.func @split_of_make(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>)
    -> (tensor<4x8xi8>, tensor<4x1xf8E4M3FN>) {
  %m = grouped_scaled_gemm.make_scaled %v, %s
      : tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
      -> !grouped_scaled_gemm.scaled<4x16, nvfp4>
  %w, %t = grouped_scaled_gemm.split_scaled %m
      : !grouped_scaled_gemm.scaled<4x16, nvfp4>
      -> tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
  return %w, %t : tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
}

// -----

// make(split(a)) is a.

!a = !grouped_scaled_gemm.scaled<4x16, nvfp4>

// CHECK-LABEL: func @make_of_split(
// CHECK-SAME:    %[[A:.*]]: !{{.*}}) ->
// CHECK-NEXT:    return %[[A]]
func.func @make_of_split(%a: !a) -> !a {
  %v, %s = grouped_scaled_gemm.split_scaled %a
      : !a -> tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
  %m = grouped_scaled_gemm.make_scaled %v, %s
      : tensor<4x8xi8>, tensor<4x1xf8E4M3FN> -> !a
  return %m : !a
}

// -----

// Halves of different values make a new one.

!a = !grouped_scaled_gemm.scaled<4x16, nvfp4>

// CHECK-LABEL: func @make_of_two(
// CHECK:         grouped_scaled_gemm.make_scaled
func.func @make_of_two(%a: !a, %b: !a) -> !a {
  %v, %s = grouped_scaled_gemm.split_scaled %a
      : !a -> tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
  %w, %t = grouped_scaled_gemm.split_scaled %b
      : !a -> tensor<4x8xi8>, tensor<4x1xf8E4M3FN>
  %m = grouped_scaled_gemm.make_scaled %v, %t
      : tensor<4x8xi8>, tensor<4x1xf8E4M3FN> -> !a
  return %m : !a
}

// -----

// A re-layout to the same type is nothing.

!a = !grouped_scaled_gemm.scaled<4x16, nvfp4>

// CHECK-LABEL: func @same_layout(
// CHECK-SAME:    %[[A:.*]]: !{{.*}}) ->
// CHECK-NEXT:    return %[[A]]
func.func @same_layout(%a: !a) -> !a {
  %b = grouped_scaled_gemm.relayout_scales(%a : !a) -> !a
  return %b : !a
}

// -----

// The same in storage form: the scales stay.

!a = !grouped_scaled_gemm.scaled<4x16, nvfp4>

// CHECK-LABEL: func @same_layout_storage(
// CHECK-SAME:    %{{.*}}: tensor<4x8xi8>, %[[S:.*]]: tensor<4x1xf8E4M3FN>, %
// CHECK-NEXT:    return %[[S]]
func.func @same_layout_storage(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>,
                               %o: tensor<4x1xf8E4M3FN>) -> tensor<4x1xf8E4M3FN> {
  %b = grouped_scaled_gemm.relayout_scales(
      %v scaled_by %s : tensor<4x8xi8>, tensor<4x1xf8E4M3FN> as !a)
      outs(%o : tensor<4x1xf8E4M3FN> as !a) -> tensor<4x1xf8E4M3FN>
  return %b : tensor<4x1xf8E4M3FN>
}

// -----

// Tiles have padding, which the result has as zeros and the operand as anything.

!a = !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked_8x4>

// CHECK-LABEL: func @same_tiles_storage(
// CHECK-NEXT:    %[[B:.*]] = grouped_scaled_gemm.relayout_scales
// CHECK:         return %[[B]]
func.func @same_tiles_storage(%v: tensor<4x8xi8>, %s: tensor<1x1x8x4xf8E4M3FN>,
    %o: tensor<1x1x8x4xf8E4M3FN>) -> tensor<1x1x8x4xf8E4M3FN> {
  %b = grouped_scaled_gemm.relayout_scales(
      %v scaled_by %s : tensor<4x8xi8>, tensor<1x1x8x4xf8E4M3FN> as !a)
      outs(%o : tensor<1x1x8x4xf8E4M3FN> as !a) -> tensor<1x1x8x4xf8E4M3FN>
  return %b : tensor<1x1x8x4xf8E4M3FN>
}

// -----

// With groups, rows of none have padding in the result and anything in the
// operand.

!a = !grouped_scaled_gemm.scaled<?x16, nvfp4>

// CHECK-LABEL: func @same_layout_with_groups(
// CHECK-NEXT:    %[[B:.*]] = grouped_scaled_gemm.relayout_scales
// CHECK:         return %[[B]]
func.func @same_layout_with_groups(%v: tensor<?x8xi8>, %s: tensor<?x1xf8E4M3FN>,
    %g: tensor<2xi32>, %o: tensor<?x1xf8E4M3FN>) -> tensor<?x1xf8E4M3FN> {
  %b = grouped_scaled_gemm.relayout_scales(
      %v scaled_by %s : tensor<?x8xi8>, tensor<?x1xf8E4M3FN> as !a)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends>
      outs(%o : tensor<?x1xf8E4M3FN> as !a) -> tensor<?x1xf8E4M3FN>
  return %b : tensor<?x1xf8E4M3FN>
}

// -----

// Two re-layouts are one.

!l = !grouped_scaled_gemm.scaled<4x16, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked>
!e = !grouped_scaled_gemm.scaled<4x16, nvfp4, blocked_8x4>

// CHECK-LABEL: func @two_layouts(
// CHECK-SAME:    %[[A:.*]]: ![[L:.*]]) ->
// CHECK-NEXT:    %[[E:.*]] = grouped_scaled_gemm.relayout_scales(%[[A]] : ![[L]]) -> !{{.*}}
// CHECK-NEXT:    return %[[E]]
func.func @two_layouts(%a: !l) -> !e {
  %b = grouped_scaled_gemm.relayout_scales(%a : !l) -> !b
  %e = grouped_scaled_gemm.relayout_scales(%b : !b) -> !e
  return %e : !e
}

// -----

// There and back is nothing, also by way of groups.

!l = !grouped_scaled_gemm.scaled<?x16, nvfp4>
!c = !grouped_scaled_gemm.scaled<?x16, nvfp4, blocked, starts = compact>

// CHECK-LABEL: func @there_and_back(
// CHECK-SAME:    %[[A:[^:]*]]: !
// CHECK-NEXT:    return %[[A]]
func.func @there_and_back(%a: !l, %g: tensor<2xi32>) -> !l {
  %b = grouped_scaled_gemm.relayout_scales(%a : !l)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends> -> !c
  %c = grouped_scaled_gemm.relayout_scales(%b : !c)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends> -> !l
  return %c : !l
}

// -----

// Scales that start by different groups move twice.

!l = !grouped_scaled_gemm.scaled<?x16, nvfp4>
!c = !grouped_scaled_gemm.scaled<?x16, nvfp4, blocked, starts = compact>

// CHECK-LABEL: func @other_groups(
// CHECK-COUNT-2: grouped_scaled_gemm.relayout_scales
func.func @other_groups(%a: !c, %g: tensor<2xi32>, %h: tensor<2xi32>) -> !c {
  %b = grouped_scaled_gemm.relayout_scales(%a : !c)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends> -> !l
  %c = grouped_scaled_gemm.relayout_scales(%b : !l)
      groups(%h : tensor<2xi32>) as <ragged_rows, ends> -> !c
  return %c : !c
}

// -----

// Equal gate conventions, by another name.

!w = !grouped_scaled_gemm.scaled<2x64x16, nvfp4>

// CHECK-LABEL: func @same_gate(
// CHECK-SAME:    %[[W:.*]]: !{{.*}}) ->
// CHECK-NEXT:    return %[[W]]
func.func @same_gate(%w: !w) -> !w {
  %r = grouped_scaled_gemm.relayout_gate(%w : !w)
      from <halves, gate_first> to <32, gate_first> -> !w
  return %r : !w
}

// -----

// The order of the halves matters.

!w = !grouped_scaled_gemm.scaled<2x64x16, nvfp4>

// CHECK-LABEL: func @other_order(
// CHECK:         grouped_scaled_gemm.relayout_gate
func.func @other_order(%w: !w) -> !w {
  %r = grouped_scaled_gemm.relayout_gate(%w : !w)
      from <halves, gate_first> to <halves, up_first> -> !w
  return %r : !w
}

// -----

// A pair of inverse permutations is nothing; others become one.

!w = !grouped_scaled_gemm.scaled<64x16, nvfp4>

// CHECK-LABEL: func @gate_pairs(
// CHECK-SAME:    %[[W:.*]]: !{{.*}}, %[[B:.*]]: tensor<64xf32>, %[[O:.*]]: tensor<64xf32>)
// CHECK-NEXT:    %[[R:.*]] = grouped_scaled_gemm.relayout_gate(%[[B]] : tensor<64xf32>) from <8, up_first> to <16, up_first>
// CHECK-NEXT:    return %[[W]], %[[R]]
func.func @gate_pairs(%w: !w, %b: tensor<64xf32>, %o: tensor<64xf32>)
    -> (!w, tensor<64xf32>) {
  %x = grouped_scaled_gemm.relayout_gate(%w : !w)
      from <halves, gate_first> to <8, up_first> -> !w
  %y = grouped_scaled_gemm.relayout_gate(%x : !w)
      from <8, up_first> to <32, gate_first> -> !w
  %c = grouped_scaled_gemm.relayout_gate(%b : tensor<64xf32>)
      from <8, up_first> to <1, gate_first> outs(%o : tensor<64xf32>) -> tensor<64xf32>
  %d = grouped_scaled_gemm.relayout_gate(%c : tensor<64xf32>)
      from <1, gate_first> to <16, up_first> outs(%o : tensor<64xf32>) -> tensor<64xf32>
  return %y, %d : !w, tensor<64xf32>
}

// -----

// Quantising loses bits: dequantize(quantize(x)) is not x.

!a = !grouped_scaled_gemm.scaled<4x16, nvfp4>

// CHECK-LABEL: func @not_folded(
// CHECK:         grouped_scaled_gemm.quantize
// CHECK:         grouped_scaled_gemm.dequantize
func.func @not_folded(%x: tensor<4x16xf32>, %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<4x16xf32>) -> !a
  %d = grouped_scaled_gemm.dequantize(%q : !a) outs(%o : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %d : tensor<4x16xf32>
}

// -----

// The extent of a result is that of its destination.

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @extent_of_result(
// CHECK-SAME:    %[[C:[a-z0-9]*]]: tensor<?x32xf32>
// CHECK:         %[[DIM:.*]] = tensor.dim %[[C]]
// CHECK:         return %[[DIM]]
func.func @extent_of_result(%a: !a, %b: !b, %c: tensor<?x32xf32>) -> index {
  %0 = arith.constant 0 : index
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  %n = tensor.dim %d, %0 : tensor<?x32xf32>
  return %n : index
}

// -----

// Casts of a product without an epilogue are folded; results are those of the
// destinations, values of type scaled in between have none.

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!y = !grouped_scaled_gemm.scaled<?x64, nvfp4>

// CHECK-LABEL: func @casts(
// CHECK-SAME:    %[[Z:[^:]*]]: tensor<16x64xf32>, %[[M:[^:]*]]: tensor<1xf32>)
// CHECK:         %[[R:.*]]:3 = grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:      preact_outs(%[[Z]] : tensor<16x64xf32>)
// CHECK-SAME:      amax_outs(%[[M]] : tensor<1xf32>)
// CHECK-SAME:      -> tensor<16x64xf32>, !{{.*}}, tensor<1xf32>
// CHECK-DAG:     %[[P:.*]] = tensor.cast %[[R]]#0 : tensor<16x64xf32> to tensor<?x64xf32>
// CHECK-DAG:     %[[A:.*]] = tensor.cast %[[R]]#2 : tensor<1xf32> to tensor<?xf32>
// CHECK:         return %[[P]], %[[R]]#1, %[[A]]
func.func @casts(%a: !a, %b: !b, %z: tensor<16x64xf32>, %m: tensor<1xf32>)
    -> (tensor<?x64xf32>, !y, tensor<?xf32>) {
  %zd = tensor.cast %z : tensor<16x64xf32> to tensor<?x64xf32>
  %md = tensor.cast %m : tensor<1xf32> to tensor<?xf32>
  %r:3 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      quantizer = <te> preact_outs(%zd : tensor<?x64xf32>)
      amax_outs(%md : tensor<?xf32>)
      -> tensor<?x64xf32>, !y, tensor<?xf32>
  return %r#0, %r#1, %r#2 : tensor<?x64xf32>, !y, tensor<?xf32>
}

// -----

// In storage form the types stay: they say less than the tensors.

!a = !grouped_scaled_gemm.scaled<?x16, nvfp4>

// CHECK-LABEL: func @casts_in_storage(
// CHECK-SAME:    %[[V:[^:]*]]: tensor<4x8xi8>, %[[S:[^:]*]]: tensor<4x1xf8E4M3FN>, %[[O:[^:]*]]: tensor<4x16xf32>)
// CHECK:         %[[R:.*]] = grouped_scaled_gemm.dequantize(%[[V]] scaled_by %[[S]]
// CHECK-SAME:      -> tensor<4x16xf32>
// CHECK-NEXT:    return %[[R]]
func.func @casts_in_storage(%v: tensor<4x8xi8>, %s: tensor<4x1xf8E4M3FN>,
                            %o: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %vd = tensor.cast %v : tensor<4x8xi8> to tensor<?x8xi8>
  %sd = tensor.cast %s : tensor<4x1xf8E4M3FN> to tensor<?x1xf8E4M3FN>
  %od = tensor.cast %o : tensor<4x16xf32> to tensor<?x16xf32>
  %r = grouped_scaled_gemm.dequantize(
      %vd scaled_by %sd : tensor<?x8xi8>, tensor<?x1xf8E4M3FN> as !a)
      outs(%od : tensor<?x16xf32>) -> tensor<?x16xf32>
  %rs = tensor.cast %r : tensor<?x16xf32> to tensor<4x16xf32>
  return %rs : tensor<4x16xf32>
}
