// RUN: nvfp4-opt %s --verify-roundtrip --split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --mlir-print-op-generic --verify-roundtrip --split-input-file -o /dev/null

// Every op in every form: values, tensors in storage form, memrefs.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @matmul_all_clauses(
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%{{[a-z0-9]*}} : !{{[a-z0-9]*}}) rhs(%{{[a-z0-9]*}} : !{{[a-z0-9]*}})
// CHECK-SAME:      alpha(%{{[a-z0-9]*}} : tensor<1x2xf32>) row_scale(%{{[a-z0-9]*}} : tensor<16xf32>) beta(%{{[a-z0-9]*}} : f32) addend(%{{[a-z0-9]*}} : tensor<16x32xbf16>)
// CHECK-SAME:      bias(%{{[a-z0-9]*}} : tensor<1x32xf16>) prob(%{{[a-z0-9]*}} : tensor<16xf32>) at{{ +}}bias
// CHECK-SAME:      activation = <swiglu, gate = <8, up_first>> outer_gate = <halves, up_first> activation_params(%{{[a-z0-9]*}} : tensor<1x3xf32>)
// CHECK-SAME:      quantizer = <te, rounding = stochastic> global_scale(%{{[a-z0-9]*}} : f32) seed(%{{[a-z0-9]*}})
// CHECK-SAME:      preact_outs(%{{[a-z0-9]*}} : tensor<16x32xbf16>) amax_outs(%{{[a-z0-9]*}} : tensor<1xf32>)
// CHECK-SAME:      determinism = #grouped_scaled_gemm<determinism batch_invariant>
// CHECK-SAME:      math = #grouped_scaled_gemm<math fast>
// CHECK-SAME:      strategy = #grouped_scaled_gemm.strategy<m = 16, n = 32, k = 64>
// CHECK-SAME:      tail = #grouped_scaled_gemm<tail zero>
func.func @matmul_all_clauses(%a: !a, %b: !b, %alpha: tensor<1x2xf32>, %beta: f32,
    %add: tensor<16x32xbf16>, %bias: tensor<1x32xf16>, %p: tensor<16xf32>,
    %params: tensor<1x3xf32>, %seed: i64, %z: tensor<16x32xbf16>, %amax: tensor<1xf32>)
    -> !grouped_scaled_gemm.scaled<16x16, nvfp4, blocked> {
  %d:3 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      alpha(%alpha : tensor<1x2xf32>) row_scale(%p : tensor<16xf32>) beta(%beta : f32)
      addend(%add : tensor<16x32xbf16>) bias(%bias : tensor<1x32xf16>)
      prob(%p : tensor<16xf32>) at bias
      activation = <swiglu, gate = <8, up_first>> outer_gate = <halves, up_first>
      activation_params(%params : tensor<1x3xf32>)
      quantizer = <te, rounding = stochastic> global_scale(%beta : f32) seed(%seed)
      preact_outs(%z : tensor<16x32xbf16>) amax_outs(%amax : tensor<1xf32>)
      {math = #grouped_scaled_gemm<math fast>, tail = #grouped_scaled_gemm<tail zero>,
       determinism = #grouped_scaled_gemm<determinism batch_invariant>,
       strategy = #grouped_scaled_gemm.strategy<m = 16, n = 32, k = 64>}
      -> tensor<16x32xbf16>, !grouped_scaled_gemm.scaled<16x16, nvfp4, blocked>, tensor<1xf32>
  return %d#1 : !grouped_scaled_gemm.scaled<16x16, nvfp4, blocked>
}

// -----

// Groupings, with zero-size extents and mixed formats.

// CHECK-LABEL: func @groupings(
func.func @groupings(
    %r: !grouped_scaled_gemm.scaled<?x33, mxfp8_e4m3>,
    %w0: !grouped_scaled_gemm.scaled<1x33, mxfp4>, %w1: !grouped_scaled_gemm.scaled<1x33, mxfp4>,
    %x: !grouped_scaled_gemm.scaled<0x0, nvfp4>, %y: !grouped_scaled_gemm.scaled<5x0, nvfp4>,
    %m: !grouped_scaled_gemm.scaled<2x8x64, mxfp8_e5m2>, %n: !grouped_scaled_gemm.scaled<2x4x64, mxfp8_e4m3>,
    %k: !grouped_scaled_gemm.scaled<8x?, nvfp4, blocked, starts = compact>,
    %l: !grouped_scaled_gemm.scaled<4x?, nvfp4, starts = compact>,
    %g: tensor<2xi32>, %s: tensor<3xi64>, %c0: tensor<?x1xf32>, %c1: tensor<0x5xf32>,
    %c2: tensor<2x8x4xf16>) {
  // CHECK: matmul <ragged_rows, ends, align = 128> groups(%{{[a-z0-9]*}} : tensor<2xi32>) lhs(%{{[^)]*}}) rhs(%{{[a-z0-9]*}} : !{{[a-z0-9]*}}, %{{[a-z0-9]*}} : !{{[a-z0-9]*}}) outs
  %0 = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 128> groups(%g : tensor<2xi32>)
      lhs(%r : !grouped_scaled_gemm.scaled<?x33, mxfp8_e4m3>)
      rhs(%w0 : !grouped_scaled_gemm.scaled<1x33, mxfp4>, %w1 : !grouped_scaled_gemm.scaled<1x33, mxfp4>)
      outs(%c0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  // CHECK: matmul <ragged_rows, starts> groups(%{{[a-z0-9]*}} : tensor<3xi64>)
  %1 = grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%s : tensor<3xi64>)
      lhs(%r : !grouped_scaled_gemm.scaled<?x33, mxfp8_e4m3>)
      rhs(%w0 : !grouped_scaled_gemm.scaled<1x33, mxfp4>, %w1 : !grouped_scaled_gemm.scaled<1x33, mxfp4>)
      outs(%c0 : tensor<?x1xf32>) -> tensor<?x1xf32>
  // CHECK: matmul <dense>
  %2 = grouped_scaled_gemm.matmul <dense> lhs(%x : !grouped_scaled_gemm.scaled<0x0, nvfp4>)
      rhs(%y : !grouped_scaled_gemm.scaled<5x0, nvfp4>) outs(%c1 : tensor<0x5xf32>) -> tensor<0x5xf32>
  // CHECK: matmul <masked>
  %3 = grouped_scaled_gemm.matmul <masked> groups(%g : tensor<2xi32>)
      lhs(%m : !grouped_scaled_gemm.scaled<2x8x64, mxfp8_e5m2>)
      rhs(%n : !grouped_scaled_gemm.scaled<2x4x64, mxfp8_e4m3>) outs(%c2 : tensor<2x8x4xf16>) -> tensor<2x8x4xf16>
  // CHECK: matmul <batched>
  %4 = grouped_scaled_gemm.matmul <batched>
      lhs(%m : !grouped_scaled_gemm.scaled<2x8x64, mxfp8_e5m2>)
      rhs(%n : !grouped_scaled_gemm.scaled<2x4x64, mxfp8_e4m3>) outs(%c2 : tensor<2x8x4xf16>) -> tensor<2x8x4xf16>
  // CHECK: matmul <ragged_k, starts>
  %5 = grouped_scaled_gemm.matmul <ragged_k, starts> groups(%s : tensor<3xi64>)
      lhs(%k : !grouped_scaled_gemm.scaled<8x?, nvfp4, blocked, starts = compact>)
      rhs(%l : !grouped_scaled_gemm.scaled<4x?, nvfp4, starts = compact>) outs(%c2 : tensor<2x8x4xf16>) -> tensor<2x8x4xf16>
  return
}

// -----

// Constant offsets that satisfy every constraint.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>

// CHECK-LABEL: func @constant_groups(
// CHECK-COUNT-3: grouped_scaled_gemm.matmul
func.func @constant_groups(%a: !a, %b: !b, %w: !w, %c: tensor<16x32xf32>, %d: tensor<4x16x32xf32>) {
  // An empty group repeats the end before it, behind which the next one is aligned.
  %ends = arith.constant dense<[3, 3, 6, 16]> : tensor<4xi32>
  %0 = grouped_scaled_gemm.matmul <ragged_rows, ends, align = 4> groups(%ends : tensor<4xi32>)
      lhs(%a : !a) rhs(%w : !w) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  %none = arith.constant dense<0> : tensor<4xi32>
  %1 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%none : tensor<4xi32>)
      lhs(%a : !a) rhs(%w : !w) outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  // Starts at blocks, known without an alignment.
  %k = arith.constant dense<[16, 48, 48, 50]> : tensor<4xi32>
  %2 = grouped_scaled_gemm.matmul <ragged_k, ends> groups(%k : tensor<4xi32>)
      lhs(%a : !a) rhs(%b : !b) outs(%d : tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
  return
}

// -----

// Storage form on memrefs, with strides and an epilogue region.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
!q = !grouped_scaled_gemm.scaled<16x32, nvfp4>

// CHECK-LABEL: func @memrefs(
// CHECK:         lhs(%{{[a-z0-9]*}} scaled_by %{{[a-z0-9]*}} : memref<16x32xi8, strided<[64, 1]>>, memref<16x4xf8E4M3FN> as !{{[a-z0-9]*}})
// CHECK:         epilogue {
// CHECK:         outs(%{{[a-z0-9]*}} scaled_by %{{[a-z0-9]*}} : memref<16x16xi8>, memref<16x2xf8E4M3FN> as !{{[a-z0-9]*}})
func.func @memrefs(%a: memref<16x32xi8, strided<[64, 1]>>, %as: memref<16x4xf8E4M3FN>,
                   %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>, %r: memref<16xf32>,
                   %g: memref<1xf32>, %n: memref<32xf32>, %v: memref<16x16xi8>,
                   %s: memref<16x2xf8E4M3FN>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8, strided<[64, 1]>>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      activation = <custom>
      row(%r : memref<16xf32>) column(%n : memref<32xf32>) group(%g : memref<1xf32>)
      epilogue {
      ^bb0(%z: f32, %x: f32, %y: f32, %w: f32):
        %0 = math.fma %z, %x, %y : f32
        %1 = arith.maximumf %0, %w : f32
        grouped_scaled_gemm.yield %1 : f32
      }
      quantizer = <modelopt>
      outs(%v scaled_by %s : memref<16x16xi8>, memref<16x2xf8E4M3FN> as !q)
  return
}

// -----

// CHECK-LABEL: func @storage_ops(
func.func @storage_ops(%v: tensor<64x16xi8>, %s: tensor<64x2xf8E4M3FN>, %t: tensor<1x1x32x4x4xf8E4M3FN>,
                       %g: tensor<2xi32>, %f: tensor<64x32xf32>, %seed: i64, %gs: tensor<2xf32>) {
  // CHECK: relayout_scales(%{{[a-z0-9]*}} scaled_by %{{[a-z0-9]*}} : tensor<64x16xi8>, tensor<64x2xf8E4M3FN> as !{{[a-z0-9]*}}) outs(%{{[a-z0-9]*}} : tensor<1x1x32x4x4xf8E4M3FN> as !{{[a-z0-9]*}}) -> tensor<1x1x32x4x4xf8E4M3FN>
  %0 = grouped_scaled_gemm.relayout_scales(%v scaled_by %s : tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
          as !grouped_scaled_gemm.scaled<64x32, nvfp4>)
      outs(%t : tensor<1x1x32x4x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<64x32, nvfp4, blocked>)
      -> tensor<1x1x32x4x4xf8E4M3FN>
  // CHECK: relayout_gate(%{{[a-z0-9]*}} scaled_by %{{[^)]*}}) from <halves, gate_first> to <8, up_first> outs(%{{[a-z0-9]*}} scaled_by
  %1:2 = grouped_scaled_gemm.relayout_gate(%v scaled_by %s : tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
          as !grouped_scaled_gemm.scaled<64x32, nvfp4>) from <halves, gate_first> to <8, up_first>
      outs(%v scaled_by %s : tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
          as !grouped_scaled_gemm.scaled<64x32, nvfp4>) -> tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
  // CHECK: quantize <te>(%{{[a-z0-9]*}} : tensor<64x32xf32>) groups(%{{[a-z0-9]*}} : tensor<2xi32>) as <ragged_rows, ends> global_scale(%{{[a-z0-9]*}} : tensor<2xf32>) outs
  %2:2 = grouped_scaled_gemm.quantize <te>(%f : tensor<64x32xf32>)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends> global_scale(%gs : tensor<2xf32>)
      outs(%v scaled_by %s : tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
          as !grouped_scaled_gemm.scaled<64x32, nvfp4>) -> tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
  // CHECK: dequantize(%{{[a-z0-9]*}} scaled_by %{{[^)]*}}) groups(%{{[a-z0-9]*}} : tensor<2xi32>) as <ragged_rows, ends> global_scale(%{{[a-z0-9]*}} : tensor<2xf32>) outs
  %3 = grouped_scaled_gemm.dequantize(%v scaled_by %s : tensor<64x16xi8>, tensor<64x2xf8E4M3FN>
          as !grouped_scaled_gemm.scaled<64x32, nvfp4>)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends> global_scale(%gs : tensor<2xf32>)
      outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  // CHECK: quantize <te, rounding = stochastic, two_d>(%{{[a-z0-9]*}} : tensor<64x32xf32>) seed(%{{[^)]*}})
  %4 = grouped_scaled_gemm.quantize <te, rounding = stochastic, two_d>(%f : tensor<64x32xf32>)
      seed(%seed) -> !grouped_scaled_gemm.scaled<64x32, nvfp4>
  // Column scales of aligned groups.
  // CHECK: quantize <te>(%{{[^)]*}}) groups(%{{[a-z0-9]*}} : tensor<2xi32>) as <ragged_rows, ends, align = 16>
  %5 = grouped_scaled_gemm.quantize <te>(%f : tensor<64x32xf32>)
      groups(%g : tensor<2xi32>) as <ragged_rows, ends, align = 16>
      -> !grouped_scaled_gemm.scaled<64x32, nvfp4, axis = 0>
  // CHECK: quantize <te>(%{{[a-z0-9]*}} : tensor<64x32xf32>) hadamard = <normalized, sign_mask = 55272> groups(%{{[a-z0-9]*}} : tensor<2xi32>) as <ragged_k, ends, align = 16> {transposed}
  %7 = grouped_scaled_gemm.quantize <te>(%f : tensor<64x32xf32>) hadamard = <normalized, sign_mask = 55272>
      groups(%g : tensor<2xi32>) as <ragged_k, ends, align = 16> {transposed}
      -> !grouped_scaled_gemm.scaled<32x64, nvfp4>
  // CHECK: amax(%{{[a-z0-9]*}} : tensor<64x32xf32>) hadamard = <> outs(%{{[a-z0-9]*}} : tensor<f32>) {transposed} -> tensor<f32>
  %most = tensor.empty() : tensor<f32>
  %8 = grouped_scaled_gemm.amax(%f : tensor<64x32xf32>) hadamard = <> outs(%most : tensor<f32>) {transposed} -> tensor<f32>
  // CHECK: hadamard %{{[a-z0-9]*}} outs(%{{[^)]*}}) {normalized, sign_mask = 27368 : i32}
  %6 = grouped_scaled_gemm.hadamard %f outs(%f) {normalized, sign_mask = 27368 : i32}
      : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

// -----

// CHECK-LABEL: func @layer_ops(
func.func @layer_ops(%z: memref<?x16xbf16>, %y: memref<?x8xf32>, %l: memref<?x16xf32>, %b: memref<16xf32>,
                     %w: memref<?x4xf32>, %e: memref<?x4xi32>, %ends: memref<16xi32>, %t: memref<?xi32>,
                     %r: memref<?x4xi32>, %x: memref<?x16xbf16>, %o: memref<?x16xf16>,
                     %p: memref<?xf32>, %dp: memref<?xf32>, %sums: memref<16x16xf32>) {
  // CHECK: glu <geglu_tanh, gate = <halves, gate_first>>(%{{[a-z0-9]*}} : memref<?x16xbf16>) outs(%{{[a-z0-9]*}} : memref<?x8xf32>)
  grouped_scaled_gemm.glu <geglu_tanh, gate = <halves, gate_first>>(%z : memref<?x16xbf16>)
      outs(%y : memref<?x8xf32>)
  // CHECK: glu_backward <swiglu, gate = <1, up_first>>(%{{[a-z0-9]*}} : memref<?x16xbf16>) gradient(%{{[a-z0-9]*}} : memref<?x8xf32>) prob(%{{[a-z0-9]*}} : memref<?xf32>) outs(%{{[a-z0-9]*}} : memref<?x16xf16>) prob_outs(%{{[a-z0-9]*}} : memref<?xf32>)
  grouped_scaled_gemm.glu_backward <swiglu, gate = <1, up_first>>(%z : memref<?x16xbf16>)
      gradient(%y : memref<?x8xf32>) prob(%p : memref<?xf32>) outs(%o : memref<?x16xf16>) prob_outs(%dp : memref<?xf32>)
  // CHECK: glu_backward <relu2>(%{{[a-z0-9]*}} : memref<?x16xbf16>) gradient(%{{[a-z0-9]*}} : memref<?x16xbf16>) outs(%{{[a-z0-9]*}} : memref<?x16xf16>)
  grouped_scaled_gemm.glu_backward <relu2>(%z : memref<?x16xbf16>) gradient(%x : memref<?x16xbf16>)
      outs(%o : memref<?x16xf16>)
  // CHECK: sum_rows(%{{[a-z0-9]*}} : memref<?x16xbf16>) groups(%{{[a-z0-9]*}} : memref<16xi32>) as <ragged_rows, ends, align = 8> prob(%{{[a-z0-9]*}} : memref<?xf32>) outs(%{{[a-z0-9]*}} : memref<16x16xf32>)
  grouped_scaled_gemm.sum_rows(%z : memref<?x16xbf16>) groups(%ends : memref<16xi32>) as <ragged_rows, ends, align = 8>
      prob(%p : memref<?xf32>) outs(%sums : memref<16x16xf32>)
  // CHECK: sum_rows(%{{[a-z0-9]*}} : memref<?x16xbf16>) outs(%{{[a-z0-9]*}} : memref<16xf32>)
  grouped_scaled_gemm.sum_rows(%z : memref<?x16xbf16>) outs(%b : memref<16xf32>)
  // CHECK: route{{ +}}deepseek_v3(%{{[^)]*}}) bias(%{{[a-z0-9]*}} : memref<16xf32>) outs(%{{[a-z0-9]*}}, %{{[a-z0-9]*}} : memref<?x4xf32>, memref<?x4xi32>) {n_group = 4 : i64, routed_scaling = 2.500000e+00 : f32, topk_group = 2 : i64}
  grouped_scaled_gemm.route deepseek_v3(%l : memref<?x16xf32>) bias(%b : memref<16xf32>)
      outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
      {n_group = 4 : i64, topk_group = 2 : i64, routed_scaling = 2.5 : f32}
  // CHECK: sort_tokens(%{{[^)]*}}) outs(%{{[a-z0-9]*}}, %{{[a-z0-9]*}}, %{{[a-z0-9]*}} : memref<16xi32>, memref<?xi32>, memref<?x4xi32>) {align = 128 : i64}
  grouped_scaled_gemm.sort_tokens(%e : memref<?x4xi32>)
      outs(%ends, %t, %r : memref<16xi32>, memref<?xi32>, memref<?x4xi32>) {align = 128 : i64}
  // CHECK: permute(%{{[^)]*}}) by(%{{[a-z0-9]*}} : memref<?xi32>) outs(%{{[a-z0-9]*}} : memref<?x16xbf16>)
  grouped_scaled_gemm.permute(%z : memref<?x16xbf16>) by(%t : memref<?xi32>) outs(%x : memref<?x16xbf16>)
  // CHECK: combine(%{{[^)]*}}) by(%{{[^)]*}}) outs(%{{[a-z0-9]*}} : memref<?x16xf16>)
  grouped_scaled_gemm.combine(%x : memref<?x16xbf16>) by(%r : memref<?x4xi32>) outs(%o : memref<?x16xf16>)
  return
}

// -----

// Rows without scales beside weights in either form.

!b = !grouped_scaled_gemm.scaled<4x32x64, nvfp4>

// CHECK-LABEL: func @plain_rows(
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%{{[a-z0-9]*}} : tensor<4xi32>) lhs(%{{[a-z0-9]*}} : tensor<?x64xbf16>) rhs(%{{[a-z0-9]*}} : !{{[a-z0-9]*}})
func.func @plain_rows(%a: tensor<?x64xbf16>, %ends: tensor<4xi32>, %b: !b, %c: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %d = grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : tensor<4xi32>)
      lhs(%a : tensor<?x64xbf16>) rhs(%b : !b) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %d : tensor<?x32xf32>
}

// CHECK-LABEL: func @plain_rows_on_memrefs(
// CHECK:         lhs(%{{[a-z0-9]*}} : memref<16x64xf16>) rhs(%{{[a-z0-9]*}} scaled_by %{{[a-z0-9]*}} : memref<32x32xi8>, memref<32x4xf8E4M3FN> as
func.func @plain_rows_on_memrefs(%a: memref<16x64xf16>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>, %c: memref<16x32xf16>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a : memref<16x64xf16>)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      outs(%c : memref<16x32xf16>)
  return
}

// -----

// Weights for sm_90a, in both forms.

!l = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<64x64, nvfp4, wgmma>
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>

// CHECK-LABEL: func @relayout_weights(
// CHECK:         grouped_scaled_gemm.relayout_weights(%{{[a-z0-9]*}} : !{{[a-z0-9]*}}) -> !{{[a-z0-9]*}}
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%{{[a-z0-9]*}} : !{{[a-z0-9]*}}) rhs(%{{[a-z0-9]*}} : !{{[a-z0-9]*}})
// CHECK:         grouped_scaled_gemm.split_scaled %{{[a-z0-9]*}} : !{{[a-z0-9]*}} -> tensor<1x2x2304xi8>, tensor<1xf32>
func.func @relayout_weights(%b: !l, %a: !a, %c: tensor<16x64xf32>)
    -> (tensor<16x64xf32>, tensor<1x2x2304xi8>, tensor<1xf32>) {
  %w = grouped_scaled_gemm.relayout_weights(%b : !l) -> !w
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%w : !w) outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  %v, %s = grouped_scaled_gemm.split_scaled %w : !w -> tensor<1x2x2304xi8>, tensor<1xf32>
  return %d, %v, %s : tensor<16x64xf32>, tensor<1x2x2304xi8>, tensor<1xf32>
}

// CHECK-LABEL: func @relayout_weights_on_memrefs(
// CHECK:         relayout_weights(%{{[a-z0-9]*}} scaled_by %{{[a-z0-9]*}} : memref<1x2x2304xi8>, memref<1xf32> as
// CHECK-SAME:      outs(%{{[a-z0-9]*}} scaled_by %{{[a-z0-9]*}} : memref<64x32xi8>, memref<64x4xf8E4M3FN> as
func.func @relayout_weights_on_memrefs(%w: memref<1x2x2304xi8>, %f: memref<1xf32>,
                                       %v: memref<64x32xi8>, %s: memref<64x4xf8E4M3FN>) {
  grouped_scaled_gemm.relayout_weights(%w scaled_by %f : memref<1x2x2304xi8>, memref<1xf32> as !w)
      outs(%v scaled_by %s : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !l)
  return
}
// On memory of a device a number is a memref without dimensions.
// CHECK-LABEL: func.func @amax_on_device
func.func @amax_on_device(%x: memref<64x32xf32, #gpu.address_space<global>>, %y: memref<f32, #gpu.address_space<global>>) {
  // CHECK: amax(%{{[a-z0-9]*}} : memref<64x32xf32, #gpu.address_space<global>>) outs(%{{[a-z0-9]*}} : memref<f32, #gpu.address_space<global>>)
  grouped_scaled_gemm.amax(%x : memref<64x32xf32, #gpu.address_space<global>>)
      outs(%y : memref<f32, #gpu.address_space<global>>)
  return
}
