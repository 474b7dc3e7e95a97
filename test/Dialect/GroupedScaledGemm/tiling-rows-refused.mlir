// RUN: not nvfp4-opt %s --transform-interpreter --split-input-file 2>&1 \
// RUN:   | FileCheck %s

// What tiling of row-wise operations refuses, and why; upstream's own words
// follow each.

func.func @halves(%z: tensor<8x128xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: error: {{.*}} expected column tiles that are a multiple of the gate granularity 0 (0: halves, not tiled), but got 32
  %y = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>(%z : tensor<8x128xf32>)
      outs(%o : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.glu"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @runs(%x: tensor<8x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // CHECK: error: {{.*}} expected column tiles that are a multiple of 16, but got 8
  %y = grouped_scaled_gemm.hadamard %x outs(%o) : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.hadamard"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @transposed(%x: tensor<64x32xf32>, %v: tensor<32x32xi8>, %s: tensor<32x4xf8E4M3FN>)
    -> (tensor<32x32xi8>, tensor<32x4xf8E4M3FN>) {
  // CHECK: error: {{.*}} expected a result that is not transposed, without hadamard, to tile it by rows
  %q:2 = grouped_scaled_gemm.quantize <te>(%x : tensor<64x32xf32>)
      outs(%v scaled_by %s : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      {transposed} -> tensor<32x32xi8>, tensor<32x4xf8E4M3FN>
  return %q#0, %q#1 : tensor<32x32xi8>, tensor<32x4xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @value_form(%x: tensor<32x64xf32>) -> !grouped_scaled_gemm.scaled<32x64, nvfp4> {
  // CHECK: error: {{.*}} expected results that are tensors to tile; run gsg-decompose-scaled first
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<32x64xf32>) -> !grouped_scaled_gemm.scaled<32x64, nvfp4>
  return %q : !grouped_scaled_gemm.scaled<32x64, nvfp4>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @groups(%w: !grouped_scaled_gemm.scaled<64x128, nvfp4>, %g: tensor<2xi32>,
                  %o: tensor<64x128xf32>) -> tensor<64x128xf32> {
  // CHECK: error: {{.*}} expected no groups to tile rows: which row belongs to which group depends on data
  %d = grouped_scaled_gemm.dequantize(%w : !grouped_scaled_gemm.scaled<64x128, nvfp4>)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends>
      outs(%o : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %d : tensor<64x128xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.dequantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @columns(%w: !grouped_scaled_gemm.scaled<64x128, nvfp4, axis = 0>,
                   %o: tensor<64x128xf32>) -> tensor<64x128xf32> {
  // CHECK: error: {{.*}} expected blocks along the last dimension to tile rows, but got '!grouped_scaled_gemm.scaled<64x128, nvfp4, axis = 0>'
  %d = grouped_scaled_gemm.dequantize(%w : !grouped_scaled_gemm.scaled<64x128, nvfp4, axis = 0>)
      outs(%o : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %d : tensor<64x128xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.dequantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @squares(%x: tensor<32x64xf32>, %v: tensor<32x32xi8>, %s: tensor<32x4xf8E4M3FN>)
    -> (tensor<32x32xi8>, tensor<32x4xf8E4M3FN>) {
  // CHECK: error: {{.*}} expected a quantizer with rounding = nearest and blocks within rows to tile a quantised result
  %q:2 = grouped_scaled_gemm.quantize <te, two_d>(%x : tensor<32x64xf32>)
      outs(%v scaled_by %s : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      -> tensor<32x32xi8>, tensor<32x4xf8E4M3FN>
  return %q#0, %q#1 : tensor<32x32xi8>, tensor<32x4xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

func.func @blocked(%x: tensor<256x64xf32>, %v: tensor<256x32xi8>, %s: tensor<2x1x32x4x4xf8E4M3FN>)
    -> (tensor<256x32xi8>, tensor<2x1x32x4x4xf8E4M3FN>) {
  // CHECK: error: {{.*}} expected row tiles that are a multiple of 128 for the scale layout of '!grouped_scaled_gemm.scaled<256x64, nvfp4, blocked>'; move the scales to the linear layout to tile by 64
  %q:2 = grouped_scaled_gemm.quantize <te>(%x : tensor<256x64xf32>)
      outs(%v scaled_by %s : tensor<256x32xi8>, tensor<2x1x32x4x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<256x64, nvfp4, blocked>)
      -> tensor<256x32xi8>, tensor<2x1x32x4x4xf8E4M3FN>
  return %q#0, %q#1 : tensor<256x32xi8>, tensor<2x1x32x4x4xf8E4M3FN>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["grouped_scaled_gemm.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %op tile_sizes [64]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
