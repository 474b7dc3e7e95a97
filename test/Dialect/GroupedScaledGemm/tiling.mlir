// RUN: nvfp4-opt %s --transform-interpreter --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s

// Rows and columns of a dense product; the bias follows the columns, the prob
// the rows, and K stays whole.

!a = !grouped_scaled_gemm.scaled<128x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<256x64, nvfp4>

// CHECK-LABEL: func @dense(
// CHECK-SAME:    %[[R:[a-z0-9]*]]: tensor<128xf32>, %{{[a-z0-9]*}}: tensor<256xf32>, %[[P:[a-z0-9]*]]: tensor<128xf32>,
// CHECK:         scf.forall (%[[I:.*]], %[[J:.*]]) in (4, 4) shared_outs(%[[ACC:.*]] =
// CHECK-DAG:       %[[M:.*]] = affine.apply {{.*}}(%[[I]])
// CHECK-DAG:       %[[N:.*]] = affine.apply {{.*}}(%[[J]])
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[M]], 0] [32, 32] [1, 1] : tensor<128x32xi8>
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[M]], 0] [32, 4] [1, 1] : tensor<128x4xf8E4M3FN>
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[N]], 0] [64, 32] [1, 1] : tensor<256x32xi8>
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[N]]] [64] [1] : tensor<256xf32>
// CHECK-DAG:       tensor.extract_slice %[[R]][%[[M]]] [32] [1] : tensor<128xf32>
// CHECK-DAG:       tensor.extract_slice %[[P]][%[[M]]] [32] [1] : tensor<128xf32>
// CHECK-DAG:       tensor.extract_slice %[[ACC]][%[[M]], %[[N]]] [32, 64] [1, 1]
// CHECK:           grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:        -> tensor<32x64xf32>
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %[[ACC]][%[[M]], %[[N]]] [32, 64] [1, 1]
func.func @dense(%a: !a, %b: !b, %r: tensor<128xf32>, %bias: tensor<256xf32>, %p: tensor<128xf32>,
                 %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      row_scale(%r : tensor<128xf32>) bias(%bias : tensor<256xf32>) prob(%p : tensor<128xf32>) at post_activation
      outs(%c : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %d : tensor<128x256xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A batch is cut into matrices first.

!a = !grouped_scaled_gemm.scaled<4x128x64, mxfp8_e4m3>
!b = !grouped_scaled_gemm.scaled<4x256x64, mxfp8_e4m3>

// CHECK-LABEL: func @batched(
// CHECK:         scf.forall (%[[L:.*]], %[[I:.*]], %[[J:.*]]) in (4, 2, 2)
// CHECK:           grouped_scaled_gemm.matmul <batched>
// CHECK-SAME:        alpha(%{{.*}} : tensor<1xf32>)
// CHECK-SAME:        -> tensor<1x64x128xbf16>
func.func @batched(%a: !a, %b: !b, %x: tensor<4xf32>, %c: tensor<4x128x256xbf16>)
    -> tensor<4x128x256xbf16> {
  %d = grouped_scaled_gemm.matmul <batched> lhs(%a : !a) rhs(%b : !b)
      alpha(%x : tensor<4xf32>)
      outs(%c : tensor<4x128x256xbf16>) -> tensor<4x128x256xbf16>
  return %d : tensor<4x128x256xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [1, 64, 128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Rows of ragged groups depend on data; columns are the one dimension to cut.
// The activations stay whole.

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked, starts = compact>
!w = !grouped_scaled_gemm.scaled<8x256x64, nvfp4, blocked>

// CHECK-LABEL: func @ragged_columns(
// CHECK-SAME:    %[[A:[^:]*]]: !
// CHECK:         scf.forall (%[[J:.*]]) in (2)
// CHECK:           tensor.extract_slice %{{.*}} [8, 1, 1, 32, 4, 4] {{.*}} : tensor<8x2x1x32x4x4xf8E4M3FN>
// CHECK:           grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-SAME:        lhs(%[[A]] :
// CHECK-SAME:        -> tensor<?x128xf32>
func.func @ragged_columns(%a: !a, %w: !w, %g: tensor<8xi32>, %c: tensor<?x256xf32>)
    -> tensor<?x256xf32> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%g : tensor<8xi32>)
      lhs(%a : !a) rhs(%w : !w) outs(%c : tensor<?x256xf32>) -> tensor<?x256xf32>
  return %d : tensor<?x256xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Whole groups of a masked product, with their row counts.

!a = !grouped_scaled_gemm.scaled<6x32x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<6x64x64, nvfp4>

// CHECK-LABEL: func @masked(
// CHECK:         scf.forall (%[[G:.*]], %[[J:.*]]) in (3, 2)
// CHECK:           grouped_scaled_gemm.matmul <masked>
// CHECK-SAME:        groups(%{{.*}} : tensor<2xi32>)
// CHECK-SAME:        -> tensor<2x32x32xf32>
func.func @masked(%a: !a, %w: !w, %g: tensor<6xi32>, %c: tensor<6x32x64xf32>)
    -> tensor<6x32x64xf32> {
  %d = grouped_scaled_gemm.matmul <masked> groups(%g : tensor<6xi32>)
      lhs(%a : !a) rhs(%w : !w) outs(%c : tensor<6x32x64xf32>) -> tensor<6x32x64xf32>
  return %d : tensor<6x32x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [2, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Every gradient is cut alike.

!a = !grouped_scaled_gemm.scaled<64x?, nvfp4, starts = compact>
!b = !grouped_scaled_gemm.scaled<96x?, nvfp4, starts = compact>

// CHECK-LABEL: func @ragged_k(
// CHECK:         scf.forall (%[[I:.*]], %[[J:.*]]) in (2, 3)
// CHECK:           grouped_scaled_gemm.matmul <ragged_k, ends>
// CHECK-SAME:        -> tensor<4x32x32xf32>
func.func @ragged_k(%a: !a, %b: !b, %g: tensor<4xi32>, %c: tensor<4x64x96xf32>)
    -> tensor<4x64x96xf32> {
  %d = grouped_scaled_gemm.matmul <ragged_k, ends> groups(%g : tensor<4xi32>)
      lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  return %d : tensor<4x64x96xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [32, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile of 32 columns of a GLU reads 64 rows of the weights; bias and
// pre-activation have the columns of the product.

!a = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x64, nvfp4>

// CHECK: #[[TWICE:.*]] = affine_map<(d0) -> (d0 * 64)>
// CHECK-LABEL: func @glu(
// CHECK:         scf.forall (%[[J:.*]]) in (2)
// CHECK:           %[[N:.*]] = affine.apply #[[TWICE]](%[[J]])
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[N]], 0] [64, 32] [1, 1] : tensor<128x32xi8>
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[N]]] [64] [1] : tensor<128xbf16>
// CHECK:           grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:        preact_outs(%{{.*}} : tensor<32x64xf32>)
// CHECK-SAME:        -> tensor<32x64xf32>, tensor<32x32xbf16>
func.func @glu(%a: !a, %b: !b, %bias: tensor<128xbf16>, %z: tensor<32x128xf32>,
               %c: tensor<32x64xbf16>) -> (tensor<32x128xf32>, tensor<32x64xbf16>) {
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      bias(%bias : tensor<128xbf16>)
      activation = <swiglu, gate = <16, gate_first>>
      preact_outs(%z : tensor<32x128xf32>) outs(%c : tensor<32x64xbf16>)
      -> tensor<32x128xf32>, tensor<32x64xbf16>
  return %d#0, %d#1 : tensor<32x128xf32>, tensor<32x64xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The epilogue region and its operands move into the tile.

!a = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @region(
// CHECK:           grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:        row(%{{.*}} : tensor<16xf32>)
// CHECK-SAME:        column(%{{.*}} : tensor<32xf32>)
// CHECK-SAME:        epilogue {
// CHECK:               arith.mulf
func.func @region(%a: !a, %b: !b, %r: tensor<32xf32>, %k: tensor<64xf32>,
                  %c: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom> row(%r : tensor<32xf32>) column(%k : tensor<64xf32>)
      epilogue {
      ^bb0(%z: f32, %x: f32, %y: f32):
        %0 = arith.mulf %z, %x : f32
        %1 = arith.addf %0, %y : f32
        grouped_scaled_gemm.yield %1 : f32
      }
      outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %d : tensor<32x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [16, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A product is fused into the tile of its consumer.

!a = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @fuse(
// CHECK-NOT:     grouped_scaled_gemm.matmul
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             grouped_scaled_gemm.matmul <dense> {{.*}} -> tensor<16x32xf32>
// CHECK:             linalg.abs ins({{.*}} : tensor<16x32xf32>)
func.func @fuse(%a: !a, %b: !b, %c: tensor<32x64xf32>, %e: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  %f = linalg.abs ins(%d : tensor<32x64xf32>) outs(%e : tensor<32x64xf32>)
      -> tensor<32x64xf32>
  return %f : tensor<32x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %abs = transform.structured.match ops{["linalg.abs"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.fuse %abs tile_sizes [16, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A quantised result in storage form: two bytes of values and one scale stand
// for 16 columns.

!a = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!q = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @quantised(
// CHECK:           grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:        quantizer = <te>
// CHECK-SAME:        tensor<32x16xi8>, tensor<32x2xf8E4M3FN>
func.func @quantised(%a: tensor<32x32xi8>, %as: tensor<32x4xf8E4M3FN>,
                     %b: tensor<64x32xi8>, %bs: tensor<64x4xf8E4M3FN>,
                     %v: tensor<32x32xi8>, %s: tensor<32x4xf8E4M3FN>)
    -> (tensor<32x32xi8>, tensor<32x4xf8E4M3FN>) {
  %d:2 = grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> as !b)
      quantizer = <te>
      outs(%v scaled_by %s : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !q)
      -> tensor<32x32xi8>, tensor<32x4xf8E4M3FN>
  return %d#0, %d#1 : tensor<32x32xi8>, tensor<32x4xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Rows without scales are cut like the others.

!b = !grouped_scaled_gemm.scaled<256x64, nvfp4>

// CHECK-LABEL: func @plain_rows(
// CHECK:         scf.forall (%[[I:.*]], %[[J:.*]]) in (4, 4) shared_outs
// CHECK-DAG:       %[[M:.*]] = affine.apply {{.*}}(%[[I]])
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[M]], 0] [32, 64] [1, 1] : tensor<128x64xbf16>
// CHECK:           grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:        lhs(%{{.*}} : tensor<32x64xbf16>)
func.func @plain_rows(%a: tensor<128x64xbf16>, %b: !b, %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : tensor<128x64xbf16>) rhs(%b : !b)
      outs(%c : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %d : tensor<128x256xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// An expanded epilogue is that of each tile, whose clauses are slices.

!a = !grouped_scaled_gemm.scaled<128x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<256x64, nvfp4>

// CHECK-LABEL: func @expanded(
// CHECK:         %[[BIAS:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}] [64] [1] : tensor<256xf32>
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:        bias(%[[BIAS]] :
// CHECK-SAME:        activation = <custom> epilogue {
// CHECK:           load_clause bias
// CHECK:           store_result
func.func @expanded(%a: !a, %b: !b, %bias: tensor<256xf32>, %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) bias(%bias : tensor<256xf32>) activation = <custom>
      epilogue {
      ^bb0(%acc: f32):
        %0 = grouped_scaled_gemm.load_clause bias
        %y = arith.addf %acc, %0 : f32
        grouped_scaled_gemm.store_result %y
      }
      outs(%c : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %d : tensor<128x256xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [32, 64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
