// RUN: nvfp4-opt %s --verify-roundtrip --split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --mlir-print-op-generic --verify-roundtrip --split-input-file -o /dev/null

// Operations across ranks, with every attribute.

// CHECK-LABEL: func @exchange(
// CHECK:         exchange_rows(%{{[a-z0-9]*}} : tensor<?x64xbf16>) to(%{{[a-z0-9]*}} : tensor<?x2xi32>) tokens(%{{[a-z0-9]*}} : tensor<3xi32>)
// CHECK-SAME:      {capacity = 7 : i64, table = {{\[\[}}0, 2], [1], [2], [0]]}
// CHECK-SAME:      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
// CHECK:         return_rows(%{{[a-z0-9]*}} : tensor<?x64xbf16>) by(%{{[^)]*}}) weights(%{{[^)]*}}) from(%{{[^)]*}}) ends(%{{[^)]*}})
// CHECK-SAME:      tokens(%{{[a-z0-9]*}} : tensor<3xi32>) {rank_grouped, table = {{\[\[}}0, 2], [1], [2], [0]]} -> tensor<?x64xf32>
func.func @exchange(%x: tensor<?x64xbf16>, %e: tensor<?x2xi32>, %w: tensor<?x2xf32>, %t: tensor<3xi32>) -> tensor<?x64xf32> {
  %r, %ends, %s = grouped_scaled_gemm.exchange_rows(%x : tensor<?x64xbf16>) to(%e : tensor<?x2xi32>)
      tokens(%t : tensor<3xi32>) {capacity = 7 : i64, table = [[0, 2], [1], [2], [0]]}
      -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
  %o = grouped_scaled_gemm.return_rows(%r : tensor<?x64xbf16>) by(%s : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>)
      from(%e : tensor<?x2xi32>) ends(%ends : tensor<4xi32>) tokens(%t : tensor<3xi32>)
      {rank_grouped, table = [[0, 2], [1], [2], [0]]} -> tensor<?x64xf32>
  return %o : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func @layer(
// CHECK:         expert_parallel(%{{[a-z0-9]*}} : tensor<6x64xf16>) to(%{{[a-z0-9]*}} : tensor<6x2xi32>) weights(%{{[a-z0-9]*}} : tensor<6x2xf32>)
// CHECK-SAME:      tokens(%{{[a-z0-9]*}} : tensor<2xi32>) attributes {capacity = 4 : i64, rank_grouped} {
// CHECK-NEXT:      ^bb0(%{{[a-z0-9]*}}: tensor<?x64xf16>, %{{[a-z0-9]*}}: tensor<3xi32>):
// CHECK-NEXT:      grouped_scaled_gemm.yield_rows %{{[a-z0-9]*}} : tensor<?x64xf16>
// CHECK-NEXT:    } -> tensor<6x64xbf16>
func.func @layer(%x: tensor<6x64xf16>, %e: tensor<6x2xi32>, %w: tensor<6x2xf32>, %t: tensor<2xi32>) -> tensor<6x64xbf16> {
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<6x64xf16>) to(%e : tensor<6x2xi32>) weights(%w : tensor<6x2xf32>)
      tokens(%t : tensor<2xi32>) attributes {capacity = 4 : i64, rank_grouped} {
  ^bb0(%rows: tensor<?x64xf16>, %ends: tensor<3xi32>):
    grouped_scaled_gemm.yield_rows %rows : tensor<?x64xf16>
  } -> tensor<6x64xbf16>
  return %o : tensor<6x64xbf16>
}
