// RUN: nvfp4-opt %s --gsg-verify-target --split-input-file -o /dev/null
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_90a" --split-input-file -o /dev/null
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_100a" --split-input-file --verify-diagnostics
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_103a" --split-input-file --verify-diagnostics
// RUN: not nvfp4-opt %s --gsg-verify-target="target=sm_80" --split-input-file 2>&1 | FileCheck %s

// target_c1: an unknown target; the known ones are named.
// CHECK: error: expected target cpu, sm_90a, sm_100a, sm_103a or sm_100f, but got 'sm_80'

// A product is legal everywhere.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4, blocked>
func.func @product(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// No kernel quantises by column scales: the host does, whatever the target.

func.func @column_scales(%x: tensor<64x32xf32>)
    -> !grouped_scaled_gemm.scaled<64x32, nvfp4, axis = 0> {
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<64x32xf32>)
      -> !grouped_scaled_gemm.scaled<64x32, nvfp4, axis = 0>
  return %q : !grouped_scaled_gemm.scaled<64x32, nvfp4, axis = 0>
}

// -----

// In storage form too.

func.func @storage(%x: tensor<64x32xf32>, %v: tensor<64x16xi8>, %s: tensor<4x32xf8E4M3FN>)
    -> (tensor<64x16xi8>, tensor<4x32xf8E4M3FN>) {
  %q:2 = grouped_scaled_gemm.quantize <te>(%x : tensor<64x32xf32>)
      outs(%v scaled_by %s : tensor<64x16xi8>, tensor<4x32xf8E4M3FN>
           as !grouped_scaled_gemm.scaled<64x32, nvfp4, axis = 0>)
      -> tensor<64x16xi8>, tensor<4x32xf8E4M3FN>
  return %q#0, %q#1 : tensor<64x16xi8>, tensor<4x32xf8E4M3FN>
}

// -----

// Neither does a kernel quantise its result so.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @product_with_column_scales(%a: !a, %b: !b) -> !grouped_scaled_gemm.scaled<16x32, nvfp4, axis = 0> {
  %q = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <te>
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4, axis = 0>
  return %q : !grouped_scaled_gemm.scaled<16x32, nvfp4, axis = 0>
}
