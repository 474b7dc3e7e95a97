// The size of what was dequantised is that of the codes, so that nothing of it is
// left.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

#values = affine_map<(m, k) -> (m, k)>
#blocks = affine_map<(m, k) -> (m, k floordiv 32)>

// CHECK-LABEL: func.func @size_of_values(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xf8E4M3FN>
// CHECK-NOT:     linalg.generic
// CHECK:         tensor.dim %[[X]],
// CHECK-NOT:     linalg.generic
// CHECK:         grouped_scaled_gemm.matmul
func.func @size_of_values(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<?x2xf8E8M0FNU>,
                          %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf8E4M3FN>
  %xve = tensor.empty(%m) : tensor<?x64xf32>
  %xv = linalg.generic {indexing_maps = [#values, #blocks, #values], iterator_types = ["parallel", "parallel"]}
      ins(%x, %xs : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) outs(%xve : tensor<?x64xf32>) {
  ^bb0(%a: f8E4M3FN, %b: f8E8M0FNU, %o: f32):
    %d = arith.scaling_extf %a, %b : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %d : f32
  } -> tensor<?x64xf32>
  %wve = tensor.empty() : tensor<16x64xf32>
  %wv = linalg.generic {indexing_maps = [#values, #blocks, #values], iterator_types = ["parallel", "parallel"]}
      ins(%w, %ws : tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>) outs(%wve : tensor<16x64xf32>) {
  ^bb0(%a: f8E4M3FN, %b: f8E8M0FNU, %o: f32):
    %d = arith.scaling_extf %a, %b : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %d : f32
  } -> tensor<16x64xf32>
  %rows = tensor.dim %xv, %c0 : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows) : tensor<?x16xf32>
  %out = linalg.fill ins(%zero : f32) outs(%e : tensor<?x16xf32>) -> tensor<?x16xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%xv, %wv : tensor<?x64xf32>, tensor<16x64xf32>) outs(%out : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// Sizes of what is used besides stay, and those that do not exist.
// CHECK-LABEL: func.func @other_sizes(
// CHECK:         tensor.dim %{{.*}}, %c9
func.func @other_sizes(%x: tensor<4xf32>, %v: f32, %c: i1) -> index {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %filled = linalg.fill ins(%v : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  %d = scf.if %c -> index {
    %none = tensor.dim %filled, %c9 : tensor<4xf32>
    scf.yield %none : index
  } else {
    scf.yield %c0 : index
  }
  return %d : index
}
