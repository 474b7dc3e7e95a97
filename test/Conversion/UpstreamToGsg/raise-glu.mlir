// SwiGLU on the columns of a product, written out in several ways, is glu. Each
// edit makes it something else.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

// No gate beside the sigmoid, another number, other columns, no quotient; another
// limit of the second factor, a clamp of the gate from below, an exponent of the gate
// before its clamp, and one of another sign.
// RUN: sed 's/mulf %%s1, %%g1/mulf %%s1, %%one/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/addf %%one, %%e1/addf %%two, %%e1/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/%%y\[0, 32\]/%%y[0, 31]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/divf %%one, %%d1/mulf %%one, %%d1/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/maximumf %%u2, %%least/maximumf %%u2, %%one/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2
// RUN: sed 's/minimumf %%g2, %%most/maximumf %%g2, %%most/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2
// RUN: sed 's/mulf %%g3, %%slope/mulf %%g2, %%slope/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2
// RUN: sed 's/%%slope = arith.constant -1.702/%%slope = arith.constant 1.702/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT2

// KEPT-LABEL: func.func @halves(
// KEPT-NOT:     grouped_scaled_gemm.glu
// KEPT:       func.func @clamped(
// KEPT2-LABEL: func.func @clamped(
// KEPT2-NOT:     grouped_scaled_gemm.glu
// KEPT2:       func.func @permuted(

#id = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @halves(
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul
// CHECK:         %[[H:.*]] = grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>(%[[Y]] : tensor<8x64xf32>) outs(%{{.*}} : tensor<8x32xbf16>)
// CHECK-NEXT:    return %[[H]]
func.func @halves(%x: tensor<8x64xbf16>, %codes: tensor<64x32xi8>, %scales: tensor<64x4xf8E4M3FN>) -> tensor<8x32xbf16> {
  %w = grouped_scaled_gemm.make_scaled %codes, %scales : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> -> !grouped_scaled_gemm.scaled<64x64, nvfp4>
  %ye = tensor.empty() : tensor<8x64xf32>
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : tensor<8x64xbf16>) rhs(%w : !grouped_scaled_gemm.scaled<64x64, nvfp4>) outs(%ye : tensor<8x64xf32>) -> tensor<8x64xf32>
  %gate = tensor.extract_slice %y[0, 0] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  %up = tensor.extract_slice %y[0, 32] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %silu = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%g1: f32, %u1: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %n1 = arith.negf %g1 : f32
    %e1 = math.exp %n1 : f32
    %d1 = arith.addf %one, %e1 : f32
    %s1 = arith.divf %one, %d1 : f32
    %v1 = arith.mulf %s1, %g1 : f32
    linalg.yield %v1 : f32
  } -> tensor<8x32xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%silu, %up : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%s: f32, %u: f32, %o: f32):
    %v = arith.mulf %s, %u : f32
    linalg.yield %v : f32
  } -> tensor<8x32xf32>
  %be = tensor.empty() : tensor<8x32xbf16>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<8x32xf32>) outs(%be : tensor<8x32xbf16>) {
  ^bb0(%v: f32, %o: bf16):
    %r = arith.truncf %v : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<8x32xbf16>
  return %b : tensor<8x32xbf16>
}

// gpt-oss: columns that alternate, clamps, a quotient that is one division.

// CHECK-LABEL: func.func @clamped(
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul
// CHECK:         %[[H:.*]] = grouped_scaled_gemm.glu <swiglu, gate = <1, gate_first>, alpha = 1.702{{[0-9e+]*}}, beta = 1.0{{[0-9e+]*}}, limit = 7.0{{[0-9e+]*}}>(%[[Y]] : tensor<8x64xf32>) outs(%{{.*}} : tensor<8x32xf32>)
// CHECK-NEXT:    return %[[H]]
func.func @clamped(%x: tensor<8x64xbf16>, %codes: tensor<64x32xi8>, %scales: tensor<64x4xf8E4M3FN>) -> tensor<8x32xf32> {
  %w = grouped_scaled_gemm.make_scaled %codes, %scales : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> -> !grouped_scaled_gemm.scaled<64x64, nvfp4>
  %ye = tensor.empty() : tensor<8x64xf32>
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : tensor<8x64xbf16>) rhs(%w : !grouped_scaled_gemm.scaled<64x64, nvfp4>) outs(%ye : tensor<8x64xf32>) -> tensor<8x64xf32>
  %gate = tensor.extract_slice %y[0, 0] [8, 32] [1, 2] : tensor<8x64xf32> to tensor<8x32xf32>
  %up = tensor.extract_slice %y[0, 1] [8, 32] [1, 2] : tensor<8x64xf32> to tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%g2: f32, %u2: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %most = arith.constant 7.0 : f32
    %least = arith.constant -7.0 : f32
    %slope = arith.constant -1.702 : f32
    %g3 = arith.minimumf %g2, %most : f32
    %above = arith.maximumf %u2, %least : f32
    %u3 = arith.minimumf %most, %above : f32
    %t = arith.mulf %g3, %slope : f32
    %p = math.exp %t : f32
    %d = arith.addf %p, %one : f32
    %u4 = arith.addf %u3, %one : f32
    %n = arith.mulf %u4, %g3 : f32
    %v = arith.divf %n, %d : f32
    linalg.yield %v : f32
  } -> tensor<8x32xf32>
  return %h : tensor<8x32xf32>
}

// In the order of tokens: the rows are permuted after the activation.

// CHECK-LABEL: func.func @permuted(
// CHECK-SAME:    %[[PLACES:[a-z0-9]+]]: tensor<8xi32>
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul
// CHECK:         %[[H:.*]] = grouped_scaled_gemm.glu <swiglu, gate = <halves, up_first>>(%[[Y]] :
// CHECK:         grouped_scaled_gemm.permute(%[[H]] : tensor<8x32xf32>) by(%[[PLACES]] : tensor<8xi32>)
func.func @permuted(%x: tensor<8x64xbf16>, %codes: tensor<64x32xi8>, %scales: tensor<64x4xf8E4M3FN>, %places: tensor<8xi32>)
    -> tensor<4x2x32xf32> {
  %w = grouped_scaled_gemm.make_scaled %codes, %scales : tensor<64x32xi8>, tensor<64x4xf8E4M3FN> -> !grouped_scaled_gemm.scaled<64x64, nvfp4>
  %ye = tensor.empty() : tensor<8x64xf32>
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : tensor<8x64xbf16>) rhs(%w : !grouped_scaled_gemm.scaled<64x64, nvfp4>) outs(%ye : tensor<8x64xf32>) -> tensor<8x64xf32>
  %p = grouped_scaled_gemm.permute(%y : tensor<8x64xf32>) by(%places : tensor<8xi32>) outs(%ye : tensor<8x64xf32>) -> tensor<8x64xf32>
  %t = tensor.expand_shape %p [[0, 1], [2]] output_shape [4, 2, 64] : tensor<8x64xf32> into tensor<4x2x64xf32>
  %up = tensor.extract_slice %t[0, 0, 0] [4, 2, 32] [1, 1, 1] : tensor<4x2x64xf32> to tensor<4x2x32xf32>
  %gate = tensor.extract_slice %t[0, 0, 32] [4, 2, 32] [1, 1, 1] : tensor<4x2x64xf32> to tensor<4x2x32xf32>
  %e = tensor.empty() : tensor<4x2x32xf32>
  %h = linalg.generic {indexing_maps = [affine_map<(t, s, n) -> (t, s, n)>, affine_map<(t, s, n) -> (t, s, n)>,
                                        affine_map<(t, s, n) -> (t, s, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%gate, %up : tensor<4x2x32xf32>, tensor<4x2x32xf32>) outs(%e : tensor<4x2x32xf32>) {
  ^bb0(%g: f32, %u: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %g : f32
    %p1 = math.exp %n : f32
    %d = arith.addf %p1, %one : f32
    %s = arith.divf %g, %d : f32
    %v = arith.mulf %u, %s : f32
    linalg.yield %v : f32
  } -> tensor<4x2x32xf32>
  return %h : tensor<4x2x32xf32>
}
