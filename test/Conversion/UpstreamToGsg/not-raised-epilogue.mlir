// RUN: nvfp4-opt %s -verify-diagnostics --raise-to-grouped-scaled-gemm=explain | FileCheck %s

// A product is raised; what works on its elements stays a loop, and a remark says so, also behind a change of shape. What
// does not read a product has none.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#o = affine_map<(m, n, k) -> (m, n)>
#xs = affine_map<(m, n, k) -> (m, k floordiv 32)>
#ws = affine_map<(m, n, k) -> (n, k floordiv 32)>
#id = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>

// CHECK-LABEL: func.func @silu_and_bias(
// CHECK:         grouped_scaled_gemm.matmul
// CHECK:         linalg.generic
// CHECK:         linalg.map
func.func @silu_and_bias(%x: tensor<8x64xf8E4M3FN>, %xs: tensor<8x2xf8E8M0FNU>, %w: tensor<16x64xf8E4M3FN>,
                         %ws: tensor<16x2xf8E8M0FNU>, %bias: tensor<16xf32>, %out: tensor<8x16xf32>, %flat: tensor<128xf32>)
    -> (tensor<8x16xf32>, tensor<128xf32>, tensor<8x16xf32>) {
  %y = linalg.generic {indexing_maps = [#x, #xs, #w, #ws, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<8x16xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  // expected-remark @below {{not raised: expected glu or quantize behind a product, which gsg-fuse-epilogue moves into its epilogue, but got linalg.generic, which is a loop of its own over the result}}
  %biased = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %bias : tensor<8x16xf32>, tensor<16xf32>) outs(%out : tensor<8x16xf32>) {
  ^bb0(%z: f32, %b: f32, %unused: f32):
    %r = arith.addf %z, %b : f32
    linalg.yield %r : f32
  } -> tensor<8x16xf32>
  %line = tensor.collapse_shape %y [[0, 1]] : tensor<8x16xf32> into tensor<128xf32>
  // expected-remark @below {{not raised: expected glu or quantize behind a product, which gsg-fuse-epilogue moves into its epilogue, but got linalg.map}}
  %magnitude = linalg.map {math.absf} ins(%line : tensor<128xf32>) outs(%flat : tensor<128xf32>)
  %other = linalg.map {math.absf} ins(%biased : tensor<8x16xf32>) outs(%out : tensor<8x16xf32>)
  return %biased, %magnitude, %other : tensor<8x16xf32>, tensor<128xf32>, tensor<8x16xf32>
}
