// TOSA's block-scaled product, and products of what TOSA dequantises.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

// CHECK-DAG: ![[XT:.*]] = !grouped_scaled_gemm.scaled<16x64, mxfp8_e4m3>
// CHECK-DAG: ![[WT:.*]] = !grouped_scaled_gemm.scaled<48x64, mxfp8_e4m3>
// CHECK-DAG: ![[ROWS:.*]] = !grouped_scaled_gemm.scaled<?x64, mxfp8_e4m3>
// CHECK-DAG: ![[XB:.*]] = !grouped_scaled_gemm.scaled<5x?x64, mxfp4>
// CHECK-DAG: ![[WB:.*]] = !grouped_scaled_gemm.scaled<5x48x64, mxfp4>

// CHECK-LABEL: func.func @one_matrix(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x16x64xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<1x16x2xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<1x48x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<1x48x2xf8E8M0FNU>
// CHECK-DAG:     %[[XF:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]]
// CHECK-DAG:     %[[XSF:.*]] = tensor.collapse_shape %[[XS]] {{\[\[}}0, 1], [2]]
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled %[[XF]], %[[XSF]] {{.*}} -> ![[XT]]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled {{.*}} -> ![[WT]]
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <dense> lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] : {{.*}}) outs(%{{.*}} : tensor<16x48xf32>)
// CHECK:         %[[RESULT:.*]] = tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [1, 16, 48]
// CHECK:         return %[[RESULT]]
func.func @one_matrix(%x: tensor<1x16x64xf8E4M3FN>, %xs: tensor<1x16x2xf8E8M0FNU>, %w: tensor<1x48x64xf8E4M3FN>,
                      %ws: tensor<1x48x2xf8E8M0FNU>) -> tensor<1x16x48xf32> {
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<1x16x64xf8E4M3FN>, tensor<1x16x2xf8E8M0FNU>, tensor<1x48x64xf8E4M3FN>, tensor<1x48x2xf8E8M0FNU>) -> tensor<1x16x48xf32>
  return %y : tensor<1x16x48xf32>
}

// Weights that all matrices share, whose number and rows are not known.

// CHECK-LABEL: func.func @shared_weights(
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled {{.*}} -> ![[ROWS]]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled {{.*}} -> ![[WT]]
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <dense> lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] : {{.*}}) outs(%{{.*}} : tensor<?x48xf32>)
// CHECK:         tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [%{{.*}}, %{{.*}}, 48]
func.func @shared_weights(%x: tensor<?x?x64xf8E4M3FN>, %xs: tensor<?x?x2xf8E8M0FNU>, %w: tensor<1x48x64xf8E4M3FN>,
                          %ws: tensor<1x48x2xf8E8M0FNU>) -> tensor<?x?x48xf32> {
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<?x?x64xf8E4M3FN>, tensor<?x?x2xf8E8M0FNU>, tensor<1x48x64xf8E4M3FN>, tensor<1x48x2xf8E8M0FNU>) -> tensor<?x?x48xf32>
  return %y : tensor<?x?x48xf32>
}

// A batch whose number the weights have.

// CHECK-LABEL: func.func @batch(
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled {{.*}} -> ![[XB]]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled {{.*}} -> ![[WB]]
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <batched> lhs(%[[LHS]] : {{.*}}) rhs(%[[RHS]] : {{.*}}) outs(%{{.*}} : tensor<5x?x48xf32>)
// CHECK:         tensor.cast %[[Y]] : tensor<5x?x48xf32> to tensor<?x?x48xf32>
func.func @batch(%x: tensor<?x?x64xf4E2M1FN>, %xs: tensor<?x?x2xf8E8M0FNU>, %w: tensor<5x48x64xf4E2M1FN>,
                 %ws: tensor<5x48x2xf8E8M0FNU>) -> tensor<?x?x48xf32> {
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<?x?x64xf4E2M1FN>, tensor<?x?x2xf8E8M0FNU>, tensor<5x48x64xf4E2M1FN>, tensor<5x48x2xf8E8M0FNU>) -> tensor<?x?x48xf32>
  return %y : tensor<?x?x48xf32>
}

// CHECK-LABEL: func.func @casts(
// CHECK-NOT:     tosa
// CHECK:         grouped_scaled_gemm.matmul <batched>
func.func @casts(%x: tensor<3x16x64xf8E4M3FN>, %xs: tensor<3x16x2xf8E8M0FNU>, %w: tensor<3x64x64xf8E5M2>,
                 %ws: tensor<3x64x2xf8E8M0FNU>, %out: tensor<3x16x64xf32>) -> tensor<3x16x64xf32> {
  %xd = tosa.cast_from_block_scaled %x, %xs {block_size = BLOCK_SIZE_32}
      : (tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>) -> tensor<3x16x64xf32>
  %wd = tosa.cast_from_block_scaled %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<3x64x64xf8E5M2>, tensor<3x64x2xf8E8M0FNU>) -> tensor<3x64x64xbf16>
  %we = arith.extf %wd : tensor<3x64x64xbf16> to tensor<3x64x64xf32>
  %y = linalg.batch_matmul indexing_maps = [affine_map<(g, m, n, k) -> (g, m, k)>, affine_map<(g, m, n, k) -> (g, n, k)>,
                                            affine_map<(g, m, n, k) -> (g, m, n)>]
      ins(%xd, %we : tensor<3x16x64xf32>, tensor<3x64x64xf32>) outs(%out : tensor<3x16x64xf32>) -> tensor<3x16x64xf32>
  return %y : tensor<3x16x64xf32>
}
