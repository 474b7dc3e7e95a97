// RUN: not nvfp4-opt %s --transform-interpreter --split-input-file 2>&1 \
// RUN:   | FileCheck %s

// What tiling refuses, and why; upstream's own words follow each.

// A maximum over the whole group is not a sum of tiles.

func.func @amax(%a: !grouped_scaled_gemm.scaled<32x64, nvfp4>,
                %b: !grouped_scaled_gemm.scaled<64x64, nvfp4>,
                %c: tensor<32x64xf32>, %m: tensor<1xf32>)
    -> (tensor<32x64xf32>, tensor<1xf32>) {
  // CHECK: error: {{.*}} expected no amax_outs to tile rows or columns: it is a maximum over the whole group
  %d:2 = grouped_scaled_gemm.matmul <dense>
      lhs(%a : !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      outs(%c : tensor<32x64xf32>) amax_outs(%m : tensor<1xf32>)
      -> tensor<32x64xf32>, tensor<1xf32>
  return %d#0, %d#1 : tensor<32x64xf32>, tensor<1xf32>
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

// Two halves lie far apart, so their columns are not cut.

func.func @halves(%a: !grouped_scaled_gemm.scaled<32x64, nvfp4>,
                  %b: !grouped_scaled_gemm.scaled<128x64, nvfp4>,
                  %c: tensor<32x64xf32>) -> tensor<32x64xf32> {
  // CHECK: error: {{.*}} expected column tiles that are a multiple of the gate granularity 0 (0: halves, not tiled), but got 32
  %d = grouped_scaled_gemm.matmul <dense>
      lhs(%a : !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      rhs(%b : !grouped_scaled_gemm.scaled<128x64, nvfp4>)
      activation = <swiglu, gate = <halves, gate_first>>
      outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %d : tensor<32x64xf32>
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

// Scales in tiles of 128 rows are cut between tiles only.

func.func @blocked_scales(%a: !grouped_scaled_gemm.scaled<256x64, nvfp4, blocked>,
                          %b: !grouped_scaled_gemm.scaled<64x64, nvfp4>,
                          %c: tensor<256x64xf32>) -> tensor<256x64xf32> {
  // CHECK: error: {{.*}} expected row tiles that are a multiple of 128 for the scale layout of '!grouped_scaled_gemm.scaled<256x64, nvfp4, blocked>'; move the scales to the linear layout to tile by 32
  %d = grouped_scaled_gemm.matmul <dense>
      lhs(%a : !grouped_scaled_gemm.scaled<256x64, nvfp4, blocked>)
      rhs(%b : !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      outs(%c : tensor<256x64xf32>) -> tensor<256x64xf32>
  return %d : tensor<256x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [32, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The generator of stochastic rounding counts elements of the whole result.

func.func @stochastic(%a: tensor<32x32xi8>, %as: tensor<32x4xf8E4M3FN>,
                      %b: tensor<64x32xi8>, %bs: tensor<64x4xf8E4M3FN>, %seed: i64,
                      %v: tensor<32x32xi8>, %s: tensor<32x4xf8E4M3FN>)
    -> (tensor<32x32xi8>, tensor<32x4xf8E4M3FN>) {
  // CHECK: error: {{.*}} expected a quantizer with rounding = nearest and blocks within rows to tile a quantised result
  %d:2 = grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      rhs(%b scaled_by %bs : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      quantizer = <te, rounding = stochastic> seed(%seed)
      outs(%v scaled_by %s : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
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

// Columns of an addend in a gate layout of its own.

func.func @outer_gate(%a: tensor<32x32xi8>, %as: tensor<32x4xf8E4M3FN>,
                      %b: tensor<64x32xi8>, %bs: tensor<64x4xf8E4M3FN>,
                      %c: tensor<32x64xf32>, %d: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK: error: {{.*}} expected no outer_gate to tile; tile before gsg-assign-scale-layout
  %e = grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      rhs(%b scaled_by %bs : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      addend(%c : tensor<32x64xf32>) activation = <swiglu, gate = <8, gate_first>> outer_gate = <halves, gate_first>
      outs(%d : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %e : tensor<32x32xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %mm = transform.structured.match ops{["grouped_scaled_gemm.matmul"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %mm tile_sizes [0, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Copies.

func.func @copies(%a: tensor<32x32xi8>, %as: tensor<32x4xf8E4M3FN>,
                  %b: tensor<64x32xi8>, %bs: tensor<64x4xf8E4M3FN>, %c: tensor<32x64xf32>,
                  %v: tensor<64x16xi8>, %s: tensor<64x2xf8E4M3FN>) -> tensor<32x64xf32> {
  // CHECK: error: {{.*}} expected no copies to tile, whose blocks may cross tiles; tile before the product has them
  %e:3 = grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      rhs(%b scaled_by %bs : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      outs(%c : tensor<32x64xf32>)
      copies(<te> transposed outs(%v scaled_by %s : tensor<64x16xi8>, tensor<64x2xf8E4M3FN> as !grouped_scaled_gemm.scaled<64x32, nvfp4>))
      -> tensor<32x64xf32>, tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
  return %e#0 : tensor<32x64xf32>
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

// Gradients.

func.func @gradient(%a: tensor<32x32xi8>, %as: tensor<32x4xf8E4M3FN>,
                    %b: tensor<64x32xi8>, %bs: tensor<64x4xf8E4M3FN>, %z: tensor<32x64xf32>, %c: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  // CHECK: error: {{.*}} expected no gradient_of to tile; run gsg-decompose-gradient first
  %e = grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      rhs(%b scaled_by %bs : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<64x64, nvfp4>)
      gradient_of = <relu> preact(%z : tensor<32x64xf32>) outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %e : tensor<32x64xf32>
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
