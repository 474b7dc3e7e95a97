// One scale for all of K, in every way that it is read: the block is the one of
// the format with room for K.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id3 = affine_map<(r, b, j) -> (r, b, j)>
#blk = affine_map<(r, b, j) -> (r, b)>
#rk = affine_map<(r, k) -> (r, k)>
#r0 = affine_map<(r, k) -> (r, 0)>
#r = affine_map<(r, k) -> (r)>

// Blocks as a dimension of their own, which has one step.

// CHECK-DAG: ![[X32:.*]] = !grouped_scaled_gemm.scaled<16x32, mxfp8_e4m3>
// CHECK-DAG: ![[W32:.*]] = !grouped_scaled_gemm.scaled<48x32, mxfp8_e4m3>
// CHECK-DAG: ![[X9:.*]] = !grouped_scaled_gemm.scaled<16x9, mxfp8_e5m2>
// CHECK-DAG: ![[W9:.*]] = !grouped_scaled_gemm.scaled<48x9, mxfp8_e5m2>

// CHECK-LABEL: func.func @expanded(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<16x32xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<16x1xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<48x32xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<48x1xf8E8M0FNU>
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled %[[X]], %[[XS]] {{.*}} -> ![[X32]]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]] {{.*}} -> ![[W32]]
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] :
func.func @expanded(%x: tensor<16x32xf8E4M3FN>, %xs: tensor<16x1xf8E8M0FNU>, %w: tensor<48x32xf8E4M3FN>,
                    %ws: tensor<48x1xf8E8M0FNU>, %out: tensor<16x48xf32>) -> tensor<16x48xf32> {
  %xb = tensor.expand_shape %x [[0], [1, 2]] output_shape [16, 1, 32] : tensor<16x32xf8E4M3FN> into tensor<16x1x32xf8E4M3FN>
  %xe = tensor.empty() : tensor<16x1x32xf32>
  %xv = linalg.generic {indexing_maps = [#id3, #blk, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%xb, %xs : tensor<16x1x32xf8E4M3FN>, tensor<16x1xf8E8M0FNU>) outs(%xe : tensor<16x1x32xf32>) {
  ^bb0(%c: f8E4M3FN, %s: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %c, %s : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<16x1x32xf32>
  %xd = tensor.collapse_shape %xv [[0], [1, 2]] : tensor<16x1x32xf32> into tensor<16x32xf32>
  %wb = tensor.expand_shape %w [[0], [1, 2]] output_shape [48, 1, 32] : tensor<48x32xf8E4M3FN> into tensor<48x1x32xf8E4M3FN>
  %we = tensor.empty() : tensor<48x1x32xf32>
  %wv = linalg.generic {indexing_maps = [#id3, #blk, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wb, %ws : tensor<48x1x32xf8E4M3FN>, tensor<48x1xf8E8M0FNU>) outs(%we : tensor<48x1x32xf32>) {
  ^bb0(%c: f8E4M3FN, %s: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %c, %s : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<48x1x32xf32>
  %wd = tensor.collapse_shape %wv [[0], [1, 2]] : tensor<48x1x32xf32> into tensor<48x32xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xd, %wd : tensor<16x32xf32>, tensor<48x32xf32>)
      outs(%out : tensor<16x48xf32>) -> tensor<16x48xf32>
  return %y : tensor<16x48xf32>
}

// A K below the block, and scales as a column and as a vector.

// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<16x9xf8E5M2>, %[[XS:[a-z0-9]+]]: tensor<16x1xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<48x9xf8E5M2>, %[[WS:[a-z0-9]+]]: tensor<48xf8E8M0FNU>
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled %[[X]], %[[XS]] {{.*}} -> ![[X9]]
// CHECK-DAG:     %[[COLUMN:.*]] = tensor.expand_shape %[[WS]] {{.*}} into tensor<48x1xf8E8M0FNU>
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[COLUMN]] {{.*}} -> ![[W9]]
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] :
func.func @broadcast(%x: tensor<16x9xf8E5M2>, %xs: tensor<16x1xf8E8M0FNU>, %w: tensor<48x9xf8E5M2>,
                     %ws: tensor<48xf8E8M0FNU>, %out: tensor<16x48xf32>) -> tensor<16x48xf32> {
  %xe = tensor.empty() : tensor<16x9xf32>
  %xd = linalg.generic {indexing_maps = [#rk, #r0, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<16x9xf8E5M2>, tensor<16x1xf8E8M0FNU>) outs(%xe : tensor<16x9xf32>) {
  ^bb0(%c: f8E5M2, %s: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %c, %s : f8E5M2, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<16x9xf32>
  %we = tensor.empty() : tensor<48x9xf32>
  %wd = linalg.generic {indexing_maps = [#rk, #r, #rk], iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<48x9xf8E5M2>, tensor<48xf8E8M0FNU>) outs(%we : tensor<48x9xf32>) {
  ^bb0(%c: f8E5M2, %s: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %c, %s : f8E5M2, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<48x9xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xd, %wd : tensor<16x9xf32>, tensor<48x9xf32>)
      outs(%out : tensor<16x48xf32>) -> tensor<16x48xf32>
  return %y : tensor<16x48xf32>
}
