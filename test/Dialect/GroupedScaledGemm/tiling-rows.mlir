// RUN: nvfp4-opt %s --transform-interpreter --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s

// A row of glu reads a row of the input; the last tile is what is left.

// CHECK-LABEL: func @glu_rows(
// CHECK-SAME:    %[[Z:[^:]*]]: tensor<?x5760xf32>
// CHECK:         scf.forall (%[[I:.*]]) in (%{{.*}}) shared_outs(%[[ACC:.*]] =
// CHECK-DAG:       %[[M:.*]] = affine.apply {{.*}}(%[[I]])
// CHECK-DAG:       %[[SIZE:.*]] = affine.min
// CHECK:           tensor.extract_slice %[[Z]][%[[M]], 0] [%[[SIZE]], 5760] [1, 1]
// CHECK:           tensor.extract_slice %[[ACC]][%[[M]], 0] [%[[SIZE]], 2880] [1, 1]
// CHECK:           grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>
// CHECK-SAME:        tensor<?x5760xf32>
// CHECK-SAME:        -> tensor<?x2880xf32>
// CHECK:           tensor.parallel_insert_slice %{{.*}} into %[[ACC]][%[[M]], 0] [%[[SIZE]], 2880] [1, 1]
func.func @glu_rows(%z: tensor<?x5760xf32>, %o: tensor<?x2880xf32>) -> tensor<?x2880xf32> {
  %y = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>(%z : tensor<?x5760xf32>)
      outs(%o : tensor<?x2880xf32>) -> tensor<?x2880xf32>
  return %y : tensor<?x2880xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.glu"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Columns are cut in whole pairs of runs: 32 columns of y are 64 of z.

// CHECK-LABEL: func @glu_columns(
// CHECK:         scf.for %[[I:.*]] = %c0 to %c128 step %c32 iter_args(
// CHECK:           scf.for %[[J:.*]] = %c0 to %c64 step %c32 iter_args(%[[ACC:.*]] =
// CHECK:             %[[TWICE:.*]] = affine.apply {{.*}}(%[[J]])
// CHECK:             tensor.extract_slice %{{.*}}[%[[I]], %[[TWICE]]] [32, 64] [1, 1]
// CHECK:             tensor.extract_slice %[[ACC]][%[[I]], %[[J]]] [32, 32] [1, 1]
// CHECK:             grouped_scaled_gemm.glu <swiglu, gate = <16, up_first>>
// CHECK-SAME:          -> tensor<32x32xbf16>
func.func @glu_columns(%z: tensor<128x128xf32>, %o: tensor<128x64xbf16>) -> tensor<128x64xbf16> {
  %y = grouped_scaled_gemm.glu <swiglu, gate = <16, up_first>>(%z : tensor<128x128xf32>)
      outs(%o : tensor<128x64xbf16>) -> tensor<128x64xbf16>
  return %y : tensor<128x64xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.glu"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %op tile_sizes [32, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Of unknown columns all are taken, in serial loops as well.

// CHECK-LABEL: func @glu_dynamic(
// CHECK-SAME:    %[[Z:[^:]*]]: tensor<?x?xf32>
// CHECK:         scf.for
// CHECK:           tensor.extract_slice %[[Z]][%{{.*}}, 0] [%{{.*}}, %{{.*}}] [1, 1]
// CHECK:           grouped_scaled_gemm.glu
func.func @glu_dynamic(%z: tensor<?x?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = grouped_scaled_gemm.glu <geglu_tanh, gate = <halves, gate_first>>(%z : tensor<?x?xf32>)
      outs(%o : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.glu"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loops = transform.structured.tile_using_for %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Without pairs columns are columns.

// CHECK-LABEL: func @relu(
// CHECK:           grouped_scaled_gemm.glu <relu>
// CHECK-SAME:        -> tensor<16x7xf32>
func.func @relu(%z: tensor<64x28xf32>, %o: tensor<64x28xf32>) -> tensor<64x28xf32> {
  %y = grouped_scaled_gemm.glu <relu>(%z : tensor<64x28xf32>) outs(%o : tensor<64x28xf32>) -> tensor<64x28xf32>
  return %y : tensor<64x28xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.glu"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [16, 7]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Runs of 16 stay whole.

// CHECK-LABEL: func @hadamard(
// CHECK:           grouped_scaled_gemm.hadamard {{.*}}sign_mask = 5
// CHECK-SAME:        tensor<1x8x32xf32>
func.func @hadamard(%x: tensor<2x64x128xf32>, %o: tensor<2x64x128xf32>) -> tensor<2x64x128xf32> {
  %y = grouped_scaled_gemm.hadamard %x outs(%o) {sign_mask = 5 : i32} : tensor<2x64x128xf32>, tensor<2x64x128xf32> -> tensor<2x64x128xf32>
  return %y : tensor<2x64x128xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.hadamard"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 8, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Rows of values and of linear scales are cut alike; the second-level scale is
// one for all.

!q = !grouped_scaled_gemm.scaled<?x64, nvfp4>

// CHECK-LABEL: func @quantize(
// CHECK:         scf.forall (%[[I:.*]]) in (%{{.*}}) shared_outs(%[[V:.*]] = %{{.*}}, %[[S:.*]] =
// CHECK:           tensor.extract_slice %[[V]][%[[M:.*]], 0] [%[[N:.*]], 32] [1, 1]
// CHECK:           tensor.extract_slice %[[S]][%[[M]], 0] [%[[N]], 4] [1, 1]
// CHECK:           tensor.extract_slice %{{.*}}[%[[M]], 0] [%[[N]], 64] [1, 1]
// CHECK:           grouped_scaled_gemm.quantize <trtllm>
// CHECK-SAME:        global_scale(%{{.*}} : f32)
// CHECK-DAG:       tensor.parallel_insert_slice %{{.*}} into %[[V]][%[[M]], 0] [%[[N]], 32]
// CHECK-DAG:       tensor.parallel_insert_slice %{{.*}} into %[[S]][%[[M]], 0] [%[[N]], 4]
func.func @quantize(%x: tensor<?x64xbf16>, %g: f32, %v: tensor<?x32xi8>, %s: tensor<?x4xf8E4M3FN>)
    -> (tensor<?x32xi8>, tensor<?x4xf8E4M3FN>) {
  %q:2 = grouped_scaled_gemm.quantize <trtllm>(%x : tensor<?x64xbf16>) global_scale(%g : f32)
      outs(%v scaled_by %s : tensor<?x32xi8>, tensor<?x4xf8E4M3FN> as !q)
      -> tensor<?x32xi8>, tensor<?x4xf8E4M3FN>
  return %q#0, %q#1 : tensor<?x32xi8>, tensor<?x4xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile of 128 rows is one tile of blocked scales; matrices have their own
// second-level scales.

!q = !grouped_scaled_gemm.scaled<4x256x64, nvfp4, blocked>

// CHECK-LABEL: func @quantize_blocked(
// CHECK:         scf.forall (%[[L:.*]], %[[I:.*]]) in (4, 2)
// CHECK:           tensor.extract_slice %{{.*}}[%[[L]], %[[I]], 0, 0, 0, 0] [1, 1, 1, 32, 4, 4]
// CHECK:           tensor.extract_slice %{{.*}}[%[[L]]] [1] [1] : tensor<4xf32>
// CHECK:           grouped_scaled_gemm.quantize <te>
// CHECK-SAME:        global_scale(%{{.*}} : tensor<1xf32>)
// CHECK-SAME:        as !
// CHECK:           tensor.parallel_insert_slice {{.*}}[%[[L]], %[[I]], 0, 0, 0, 0] [1, 1, 1, 32, 4, 4]
func.func @quantize_blocked(%x: tensor<4x256x64xf32>, %g: tensor<4xf32>, %v: tensor<4x256x32xi8>,
    %s: tensor<4x2x1x32x4x4xf8E4M3FN>) -> (tensor<4x256x32xi8>, tensor<4x2x1x32x4x4xf8E4M3FN>) {
  %q:2 = grouped_scaled_gemm.quantize <te>(%x : tensor<4x256x64xf32>) global_scale(%g : tensor<4xf32>)
      outs(%v scaled_by %s : tensor<4x256x32xi8>, tensor<4x2x1x32x4x4xf8E4M3FN> as !q)
      -> tensor<4x256x32xi8>, tensor<4x2x1x32x4x4xf8E4M3FN>
  return %q#0, %q#1 : tensor<4x256x32xi8>, tensor<4x2x1x32x4x4xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [1, 128]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// In value form the operand is taken apart and put together again.

!w = !grouped_scaled_gemm.scaled<64x128, mxfp8_e4m3>

// CHECK-LABEL: func @dequantize(
// CHECK:         scf.forall (%[[I:.*]]) in (4)
// CHECK:           grouped_scaled_gemm.dequantize
// CHECK-SAME:        -> tensor<16x128xf32>
func.func @dequantize(%w: !w, %o: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %d = grouped_scaled_gemm.dequantize(%w : !w) outs(%o : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %d : tensor<64x128xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.dequantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Dequantised rows are made where they are used.

!w = !grouped_scaled_gemm.scaled<64x128, nvfp4>

// CHECK-LABEL: func @fuse(
// CHECK-NOT:     grouped_scaled_gemm
// CHECK:         scf.for
// CHECK:           grouped_scaled_gemm.dequantize
// CHECK-SAME:        -> tensor<16x128xf32>
// CHECK:           grouped_scaled_gemm.glu <silu>
// CHECK-SAME:        -> tensor<16x128xf32>
func.func @fuse(%w: !w, %o: tensor<64x128xf32>, %p: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %d = grouped_scaled_gemm.dequantize(%w : !w) outs(%o : tensor<64x128xf32>) -> tensor<64x128xf32>
  %y = grouped_scaled_gemm.glu <silu>(%d : tensor<64x128xf32>) outs(%p : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.glu"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loops = transform.structured.fuse %op tile_sizes [16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
