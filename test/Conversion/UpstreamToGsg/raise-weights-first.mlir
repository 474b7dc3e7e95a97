// Products with the columns before the rows, as exporters write `einsum` with
// weights that are the first operand: a product whose result is transposed.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=move-global-scales | FileCheck %s

// CHECK-LABEL: func.func @added(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x64xbf16>, %[[W:[a-z0-9]+]]: tensor<16x64xf8E4M3FN>, %{{.*}}: tensor<16x2xf8E8M0FNU>, %[[OUT:[a-z0-9]+]]: tensor<16x8xf32>
// CHECK-DAG:     %[[BEFORE:.*]] = linalg.transpose ins(%[[OUT]] : tensor<16x8xf32>) outs(%{{.*}} : tensor<8x16xf32>) permutation = [1, 0]
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <dense> lhs(%[[X]] : tensor<8x64xbf16>) {{.*}} beta(%{{.*}} : f32) outs(%[[BEFORE]] : tensor<8x16xf32>)
// CHECK:         %[[AFTER:.*]] = linalg.transpose ins(%[[Y]] : tensor<8x16xf32>) outs(%{{.*}} : tensor<16x8xf32>) permutation = [1, 0]
// CHECK:         return %[[AFTER]]
func.func @added(%x: tensor<8x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
                 %out: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(n, m, k) -> (m, k)>, affine_map<(n, m, k) -> (n, k)>,
                                        affine_map<(n, m, k) -> (n, k floordiv 32)>, affine_map<(n, m, k) -> (n, m)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<16x8xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}

// The experts of each are columns of one product, unless each has a factor.

// CHECK-LABEL: func.func @all_experts(
// CHECK:         grouped_scaled_gemm.matmul <dense> {{.*}} outs(%{{.*}} : tensor<8x48xf32>) -> tensor<8x48xf32>
// CHECK:         linalg.transpose {{.*}} outs(%{{.*}} : tensor<48x8xf32>)
// CHECK:         tensor.expand_shape {{.*}} : tensor<48x8xf32> into tensor<3x16x8xf32>
func.func @all_experts(%x: tensor<8x64xbf16>, %w: tensor<3x16x64xf8E4M3FN>,
                       %ws: tensor<3x16x2xf8E8M0FNU>) -> tensor<3x16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x16x8xf32>
  %out = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x16x8xf32>) -> tensor<3x16x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(e, n, m, k) -> (m, k)>, affine_map<(e, n, m, k) -> (e, n, k)>,
        affine_map<(e, n, m, k) -> (e, n, k floordiv 32)>, affine_map<(e, n, m, k) -> (e, n, m)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<8x64xbf16>, tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>)
      outs(%out : tensor<3x16x8xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x16x8xf32>
  return %y : tensor<3x16x8xf32>
}

// CHECK-LABEL: func.func @all_experts_with_factors(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x64xbf16>
// CHECK:         grouped_scaled_gemm.matmul <batched> {{.*}} alpha(%{{.*}} : tensor<3xf32>) outs(%{{.*}} : tensor<3x8x16xf32>)
// CHECK:         linalg.transpose {{.*}} permutation = [0, 2, 1]
func.func @all_experts_with_factors(%x: tensor<8x64xbf16>, %w: tensor<3x16x64xf8E4M3FN>, %ws: tensor<3x16x2xf8E8M0FNU>,
                                    %g: tensor<3xf32>) -> tensor<3x16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x16x8xf32>
  %out = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x16x8xf32>) -> tensor<3x16x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(e, n, m, k) -> (m, k)>, affine_map<(e, n, m, k) -> (e, n, k)>,
        affine_map<(e, n, m, k) -> (e, n, k floordiv 32)>, affine_map<(e, n, m, k) -> (e)>, affine_map<(e, n, m, k) -> (e, n, m)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws, %g : tensor<8x64xbf16>, tensor<3x16x64xf8E4M3FN>, tensor<3x16x2xf8E8M0FNU>, tensor<3xf32>)
      outs(%out : tensor<3x16x8xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %c: f32, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %be = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %bc = arith.mulf %be, %c : f32
    %p = arith.mulf %ae, %bc : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x16x8xf32>
  return %y : tensor<3x16x8xf32>
}
