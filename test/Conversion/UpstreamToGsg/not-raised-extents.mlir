// Tensors whose elements i64 does not count are refused, and no extent wraps.

// RUN: nvfp4-opt %s -verify-diagnostics --raise-to-grouped-scaled-gemm=explain | FileCheck %s
// RUN: sed 's/4294967296x4294967296x/4611686018427387904x4x/g' %s | nvfp4-opt -verify-diagnostics --raise-to-grouped-scaled-gemm=explain | FileCheck %s
// RUN: sed 's/4294967296x4294967296x/4611686018427387904x3x/g' %s | nvfp4-opt -verify-diagnostics --raise-to-grouped-scaled-gemm=explain | FileCheck %s

#x = affine_map<(a, b, n, k) -> (a, b, k)>
#w = affine_map<(a, b, n, k) -> (n, k)>
#o = affine_map<(a, b, n, k) -> (a, b, n)>
#xs = affine_map<(a, b, n, k) -> (a, b, k floordiv 32)>
#ws = affine_map<(a, b, n, k) -> (n, k floordiv 32)>

// CHECK-LABEL: func.func @rows(
// CHECK-NOT:     grouped_scaled_gemm.matmul
func.func @rows(%x: tensor<4294967296x4294967296x64xf8E4M3FN>, %xs: tensor<4294967296x4294967296x2xf8E8M0FNU>, %w: tensor<16x64xf8E4M3FN>,
                %ws: tensor<16x2xf8E8M0FNU>, %out: tensor<4294967296x4294967296x16xf32>) -> tensor<4294967296x4294967296x16xf32> {
  // expected-remark @below {{not raised: expected tensors of fewer than 2^63 elements, but got tensor<4294967296x4294967296x16xf32>}}
  %y = linalg.generic {indexing_maps = [#x, #xs, #w, #ws, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<4294967296x4294967296x64xf8E4M3FN>, tensor<4294967296x4294967296x2xf8E8M0FNU>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<4294967296x4294967296x16xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4294967296x4294967296x16xf32>
  return %y : tensor<4294967296x4294967296x16xf32>
}

// Sums over more of K than a tensor can have.

// CHECK-LABEL: func.func @depth(
// CHECK-NOT:     grouped_scaled_gemm.matmul
func.func @depth(%x: tensor<8589934592x4294967296xf8E4M3FN>, %xs: tensor<8589934592x134217728xf8E8M0FNU>,
                 %w: tensor<16x8589934592x4294967296xf8E4M3FN>, %ws: tensor<16x8589934592x134217728xf8E8M0FNU>,
                 %out: tensor<16xf32>) -> tensor<16xf32> {
  // expected-remark @below {{not raised: expected tensors of fewer than 2^63 elements, but got tensor<8589934592x4294967296xf8E4M3FN>}}
  %y = linalg.generic {indexing_maps = [affine_map<(n, j, k) -> (j, k)>, affine_map<(n, j, k) -> (j, k floordiv 32)>,
                                        affine_map<(n, j, k) -> (n, j, k)>, affine_map<(n, j, k) -> (n, j, k floordiv 32)>,
                                        affine_map<(n, j, k) -> (n)>],
      iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<8589934592x4294967296xf8E4M3FN>, tensor<8589934592x134217728xf8E8M0FNU>,
          tensor<16x8589934592x4294967296xf8E4M3FN>, tensor<16x8589934592x134217728xf8E8M0FNU>)
      outs(%out : tensor<16xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// A K of 2^62, which one scale has.

// CHECK-LABEL: func.func @one_block(
// CHECK-NOT:     grouped_scaled_gemm.matmul
func.func @one_block(%x: tensor<1x4611686018427387905xf8E4M3FN>, %xs: tensor<1x1xf8E8M0FNU>,
                     %w: tensor<1x4611686018427387905xf8E4M3FN>, %ws: tensor<1x1xf8E8M0FNU>,
                     %out: tensor<1x1xf32>) -> tensor<1x1xf32> {
  // expected-remark @below {{but got blocks of 4611686018427387905 of f8E4M3FN}}
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (m, 0)>,
                                        affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (n, 0)>,
                                        affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<1x4611686018427387905xf8E4M3FN>, tensor<1x1xf8E8M0FNU>,
          tensor<1x4611686018427387905xf8E4M3FN>, tensor<1x1xf8E8M0FNU>)
      outs(%out : tensor<1x1xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
