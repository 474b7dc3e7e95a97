// A further factor may be a constant of the body that the product replaces.
// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm=move-global-scales | FileCheck %s

// CHECK-LABEL: func.func @constant_in_body(
// CHECK:         %[[ALPHA:.*]] = arith.constant 3.000000e-01 : f32
// CHECK:         grouped_scaled_gemm.matmul <dense> {{.*}} alpha(%[[ALPHA]] : f32)
func.func @constant_in_body(%x: tensor<24x64xbf16>, %w: tensor<32x64xf4E2M1FN>, %s: tensor<32x4xf8E4M3FN>,
                            %out: tensor<24x32xf32>) -> tensor<24x32xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                                        affine_map<(m, n, k) -> (n, k floordiv 16)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %s : tensor<24x64xbf16>, tensor<32x64xf4E2M1FN>, tensor<32x4xf8E4M3FN>)
      outs(%out : tensor<24x32xf32>) {
  ^bb0(%a: bf16, %b: f4E2M1FN, %bs: f8E4M3FN, %acc: f32):
    %factor = arith.constant 0.3 : f32
    %ae = arith.extf %a : bf16 to f32
    %be = arith.extf %b : f4E2M1FN to f32
    %se = arith.extf %bs : f8E4M3FN to f32
    %scaled = arith.mulf %be, %se : f32
    %further = arith.mulf %scaled, %factor : f32
    %p = arith.mulf %ae, %further : f32
    %sum = arith.addf %acc, %p : f32
    linalg.yield %sum : f32
  } -> tensor<24x32xf32>
  return %y : tensor<24x32xf32>
}
