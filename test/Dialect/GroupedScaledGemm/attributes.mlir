// RUN: nvfp4-opt %s --verify-roundtrip | FileCheck %s

// Attributes read back as they were printed; defaults are not printed.

// CHECK-LABEL: func private @grouping
// CHECK-SAME:    a = #grouped_scaled_gemm.grouping<dense>
// CHECK-SAME:    b = #grouped_scaled_gemm.grouping<batched>
// CHECK-SAME:    c = #grouped_scaled_gemm.grouping<ragged_rows, ends>
// CHECK-SAME:    d = #grouped_scaled_gemm.grouping<ragged_rows, starts, align = 128>
// CHECK-SAME:    e = #grouped_scaled_gemm.grouping<masked>
// CHECK-SAME:    f = #grouped_scaled_gemm.grouping<ragged_k, ends, align = 16>
func.func private @grouping() attributes {
  a = #grouped_scaled_gemm.grouping<dense>,
  b = #grouped_scaled_gemm.grouping<batched>,
  c = #grouped_scaled_gemm.grouping<ragged_rows, align = 1>,
  d = #grouped_scaled_gemm.grouping<ragged_rows, starts, align = 128>,
  e = #grouped_scaled_gemm.grouping<masked>,
  f = #grouped_scaled_gemm.grouping<ragged_k, ends, align = 16>}

// CHECK-LABEL: func private @activation
// CHECK-SAME:    a = #grouped_scaled_gemm.activation<identity>
// CHECK-SAME:    b = #grouped_scaled_gemm.activation<swiglu, gate = <32, gate_first>, alpha = 1.702000e+00, beta = 1.000000e+00, limit = 7.000000e+00, round_bf16>
// CHECK-SAME:    c = #grouped_scaled_gemm.activation<geglu_tanh, gate = <halves, up_first>>
// CHECK-SAME:    d = #grouped_scaled_gemm.activation<custom, gate = <1, gate_first>>
// CHECK-SAME:    e = #grouped_scaled_gemm.gate<64, up_first>
// CHECK-SAME:    f = #grouped_scaled_gemm.activation<reglu, gate = <8, gate_first>>
// CHECK-SAME:    g = #grouped_scaled_gemm.activation<gelu_tanh>
func.func private @activation() attributes {
  a = #grouped_scaled_gemm.activation<identity>,
  b = #grouped_scaled_gemm.activation<swiglu, gate = <32, gate_first>,
      alpha = 1.702, beta = 1.0, limit = 7.0, round_bf16>,
  c = #grouped_scaled_gemm.activation<geglu_tanh, gate = <halves, up_first>>,
  d = #grouped_scaled_gemm.activation<custom, gate = <1, gate_first>>,
  e = #grouped_scaled_gemm.gate<64, up_first>,
  f = #grouped_scaled_gemm.activation<reglu, gate = <8, gate_first>>,
  g = #grouped_scaled_gemm.activation<gelu_tanh>}

// CHECK-LABEL: func private @quantizer
// CHECK-SAME:    a = #grouped_scaled_gemm.quantizer<cutlass>
// CHECK-SAME:    b = #grouped_scaled_gemm.quantizer<te, neg_zero = flush, rounding = stochastic, two_d>
// CHECK-SAME:    c = #grouped_scaled_gemm.quantizer<four_over_six>
func.func private @quantizer() attributes {
  a = #grouped_scaled_gemm.quantizer<cutlass, neg_zero = keep>,
  b = #grouped_scaled_gemm.quantizer<te, two_d, neg_zero = flush, rounding = stochastic>,
  c = #grouped_scaled_gemm.quantizer<four_over_six>}

// CHECK-LABEL: func private @strategy
// CHECK-SAME:    a = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 64>
// CHECK-SAME:    b = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 64, stages = 1, ctas = 2, split_k = 3, swap_ab = true, scheduler = dynamic_counter>
// CHECK-SAME:    c = #grouped_scaled_gemm.strategy<m = 128, n = 8, k = 256, cluster_m = 2, cluster_n = 4, accumulator_stages = 2, scale_stages = 1, epilogue_n = 8, swap_ab = true, dynamic_n = true>
func.func private @strategy() attributes {
  a = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 64>,
  b = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 64, split_k = 3,
      ctas = 2, stages = 1, swap_ab = true, scheduler = dynamic_counter>,
  c = #grouped_scaled_gemm.strategy<m = 128, n = 8, k = 256, dynamic_n = true,
      swap_ab = true, epilogue_n = 8, scale_stages = 1, accumulator_stages = 2,
      cluster_n = 4, cluster_m = 2>}
