// RUN: nvfp4-opt %s --gsg-decompose-exchange --split-input-file | FileCheck %s

// A layer on several ranks as the program of one rank.

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>

// CHECK-LABEL: func @layer(
// CHECK-SAME:    %[[X:[a-z0-9]*]]: tensor<?x64xbf16>, %[[E:[a-z0-9]*]]: tensor<?x2xi32>, %[[W:[a-z0-9]*]]: tensor<?x2xf32>,
// CHECK-NOT:     tokens
// CHECK:         %[[SORT:.*]]:3 = grouped_scaled_gemm.sort_tokens(%[[E]] : tensor<?x2xi32>)
// CHECK-SAME:      -> tensor<4xi32>, tensor<?xi32>, tensor<?x2xi32>
// CHECK:         %[[ROWS:.*]] = grouped_scaled_gemm.permute(%[[X]] : tensor<?x64xbf16>) by(%[[SORT]]#1 : tensor<?xi32>)
// CHECK:         grouped_scaled_gemm.quantize <trtllm>(%[[ROWS]] : tensor<?x64xbf16>)
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[SORT]]#0 : tensor<4xi32>)
// CHECK-NOT:     yield_rows
// CHECK:         %[[O:.*]] = grouped_scaled_gemm.combine(%[[Y]] : tensor<?x32xf32>) by(%[[SORT]]#2 : tensor<?x2xi32>) weights(%[[W]] : tensor<?x2xf32>)
// CHECK-NEXT:    return %[[O]] : tensor<?x32xbf16>
func.func @layer(%x: tensor<?x64xbf16>, %experts: tensor<?x2xi32>, %weights: tensor<?x2xf32>, %tokens: tensor<2xi32>, %w: !w)
    -> tensor<?x32xbf16> {
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xbf16>) to(%experts : tensor<?x2xi32>)
      weights(%weights : tensor<?x2xf32>) tokens(%tokens : tensor<2xi32>) attributes {capacity = 9 : i64} {
  ^bb0(%rows: tensor<?x64xbf16>, %ends: tensor<4xi32>):
    %c0 = arith.constant 0 : index
    %count = tensor.dim %rows, %c0 : tensor<?x64xbf16>
    %q = grouped_scaled_gemm.quantize <trtllm>(%rows : tensor<?x64xbf16>) -> !a
    %e = tensor.empty(%count) : tensor<?x32xf32>
    %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%q : !a) rhs(%w : !w)
        outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
    grouped_scaled_gemm.yield_rows %y : tensor<?x32xf32>
  } -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}

// -----

// Rows that a body returns as they are, and static extents.

// CHECK-LABEL: func @rows(
// CHECK:         %[[ROWS:.*]] = grouped_scaled_gemm.permute(%{{.*}}) by(%{{.*}} : tensor<?xi32>) outs(%{{.*}} : tensor<?x64xf32>)
// CHECK:         grouped_scaled_gemm.combine(%[[ROWS]] : tensor<?x64xf32>) {{.*}} outs(%{{.*}} : tensor<3x64xf32>) -> tensor<3x64xf32>
func.func @rows(%x: tensor<3x64xf32>, %e: tensor<3x2xi32>, %w: tensor<3x2xf32>, %t: tensor<1xi32>) -> tensor<3x64xf32> {
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<3x64xf32>) to(%e : tensor<3x2xi32>) weights(%w : tensor<3x2xf32>)
      tokens(%t : tensor<1xi32>) {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<4xi32>):
    grouped_scaled_gemm.yield_rows %rows : tensor<?x64xf32>
  } -> tensor<3x64xf32>
  return %o : tensor<3x64xf32>
}

// -----

// Sums by rank: a combine for each, over its slots, and a rounding after the last addition.

// CHECK-LABEL: func @by_rank(
// CHECK-SAME:    %[[Y:[a-z0-9]*]]: tensor<6x64xf32>, %[[S:[a-z0-9]*]]: tensor<3x2xi32>, %[[W:[a-z0-9]*]]: tensor<3x2xf32>,
// CHECK-SAME:    %[[E:[a-z0-9]*]]: tensor<3x2xi32>,
// Expert 1 has copies on both ranks, expert 2 on the second one.
// CHECK-DAG:     %[[TABLE:.*]] = arith.constant dense<{{\[\[\[}}0, 0], [0, 0{{\]\]}}, {{\[\[}}0, 0], [1, 1{{\]\]}}, {{\[\[}}1, 1], [1, 1{{\]\]\]}}> : tensor<3x2x2xi32>
// CHECK:         %[[RANK:.*]] = linalg.generic {{.*}} ins(%[[E]] : tensor<3x2xi32>)
// CHECK:           tensor.extract %[[TABLE]]
// CHECK:         %[[OWN0:.*]] = linalg.generic {{.*}} ins(%[[RANK]], %[[S]] : tensor<3x2xi32>, tensor<3x2xi32>)
// CHECK:         %[[SUM0:.*]] = grouped_scaled_gemm.combine(%[[Y]] : tensor<6x64xf32>) by(%[[OWN0]] : tensor<3x2xi32>) {{.*}} -> tensor<3x64xf32>
// CHECK:         %[[OWN1:.*]] = linalg.generic {{.*}} ins(%[[RANK]], %[[S]] : tensor<3x2xi32>, tensor<3x2xi32>)
// CHECK:         %[[SUM1:.*]] = grouped_scaled_gemm.combine(%[[Y]] : tensor<6x64xf32>) by(%[[OWN1]] : tensor<3x2xi32>)
// CHECK:         %[[TOTAL1:.*]] = linalg.generic {{.*}} ins(%[[SUM0]], %[[SUM1]] : tensor<3x64xf32>, tensor<3x64xf32>)
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}} ins(%[[TOTAL1]] : tensor<3x64xf32>)
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
func.func @by_rank(%y: tensor<6x64xf32>, %s: tensor<3x2xi32>, %w: tensor<3x2xf32>, %e: tensor<3x2xi32>, %ends: tensor<3xi32>,
                   %t: tensor<2xi32>) -> tensor<3x64xbf16> {
  %o = grouped_scaled_gemm.return_rows(%y : tensor<6x64xf32>) by(%s : tensor<3x2xi32>) weights(%w : tensor<3x2xf32>)
      from(%e : tensor<3x2xi32>) ends(%ends : tensor<3xi32>) tokens(%t : tensor<2xi32>)
      {rank_grouped, table = [[0], [0, 1], [1]]} -> tensor<3x64xbf16>
  return %o : tensor<3x64xbf16>
}

// -----

// Seven experts on three ranks: three, two and two of them.

// CHECK-LABEL: func @neighbours(
// CHECK-NOT:     dense<
// CHECK:         linalg.generic
// CHECK:         ^bb0(%[[IN:.*]]: i32, %{{.*}}: i32):
// CHECK:           %[[E:.*]] = arith.index_cast %[[IN]] : i32 to index
// CHECK:           %[[FIRST:.*]] = arith.constant 3 : index
// CHECK:           arith.cmpi slt, %[[E]], %[[FIRST]]
// CHECK:           arith.divsi %[[E]], %{{.*}} : index
func.func @neighbours(%y: tensor<6x64xf32>, %s: tensor<3x2xi32>, %w: tensor<3x2xf32>, %e: tensor<3x2xi32>, %ends: tensor<7xi32>,
                      %t: tensor<3xi32>) -> tensor<3x64xf32> {
  %o = grouped_scaled_gemm.return_rows(%y : tensor<6x64xf32>) by(%s : tensor<3x2xi32>) weights(%w : tensor<3x2xf32>)
      from(%e : tensor<3x2xi32>) ends(%ends : tensor<7xi32>) tokens(%t : tensor<3xi32>) {rank_grouped} -> tensor<3x64xf32>
  return %o : tensor<3x64xf32>
}
