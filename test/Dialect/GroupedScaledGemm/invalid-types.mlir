// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of the scaled type and of attributes; each case names the one of
// docs/Spec.md that it breaks.

// scaled_c1: vectors, matrices and stacks of matrices.
// expected-error @below {{expected a scaled type of rank 1 to 3, but got rank 4}}
func.func private @scaled_c1(!grouped_scaled_gemm.scaled<2x2x2x16, nvfp4>)

// -----

// scaled_c1: a scaled value has a dimension to cut into blocks.
// expected-error @below {{expected a scaled type of rank 1 to 3, but got rank 0}}
func.func private @scaled_c1(!grouped_scaled_gemm.scaled<, nvfp4>)

// -----

// scaled_c2: extents do not wrap around.
// expected-error @below {{invalid dimension}}
func.func private @scaled_c2(!grouped_scaled_gemm.scaled<18446744073709551616x16, nvfp4>)

// -----

// scaled_c3: blocks run along one of the last two dimensions.
// expected-error @below {{expected axis 2 or 1 for rank 3, but got 0}}
func.func private @scaled_c3(!grouped_scaled_gemm.scaled<32x16x16, nvfp4, axis = 0>)

// -----

// scaled_c3: a vector has one dimension.
// expected-error @below {{expected axis 0 for rank 1, but got -1}}
func.func private @scaled_c3(!grouped_scaled_gemm.scaled<32, nvfp4, axis = -1>)

// -----

// scaled_c4: layouts in tiles are K-major.
// expected-error @below {{expected the linear scale layout for blocks along axis 0, but got 'blocked'; layouts in tiles need blocks along axis 1}}
func.func private @scaled_c4(!grouped_scaled_gemm.scaled<32x16, nvfp4, blocked, axis = 0>)

// -----

// scaled_c5: upper_bound counts in tiles of 128 rows.
// expected-error @below {{expected the blocked scale layout for starts = upper_bound, but got 'linear'}}
func.func private @scaled_c5(!grouped_scaled_gemm.scaled<32x16, nvfp4, starts = upper_bound>)

// -----

// scaled_c6: formats are named.
// expected-error @below {{expected a format, one of nvfp4, mxfp4, nvfp4_e8m0, mxfp8_e4m3, mxfp8_e5m2, but got 'fp4'}}
func.func private @scaled_c6(!grouped_scaled_gemm.scaled<32x16, fp4>)

// -----

// scaled_c6: layouts are named.
// expected-error @below {{expected a scale layout, one of linear, blocked, blocked_8x4, wgmma, wgmma_f16, but got 'swizzled'}}
func.func private @scaled_c6(!grouped_scaled_gemm.scaled<32x16, nvfp4, swizzled>)

// -----

// grouping_c1: groups start at multiples of at least 1.
// expected-error @below {{expected align >= 1, but got 0}}
func.func private @grouping_c1() attributes {a = #grouped_scaled_gemm.grouping<ragged_rows, align = 0>}

// -----

// grouping_c2: only ragged groups have an alignment.
// expected-error @below {{expected no align for grouping 'masked', but got 8}}
func.func private @grouping_c2() attributes {a = #grouped_scaled_gemm.grouping<masked, align = 8>}

// -----

// grouping_c2: only ragged groups have offsets.
// expected-error @below {{expected no offsets kind for grouping 'batched', but got 'starts'}}
func.func private @grouping_c2() attributes {a = #grouped_scaled_gemm.grouping<batched, starts>}

// -----

// gate_c1: granularities are positive.
// expected-error @below {{expected a gate granularity >= 1 or 'halves', but got -1}}
func.func private @gate_c1() attributes {a = #grouped_scaled_gemm.gate<-1, up_first>}

// -----

// activation_c1: pairs are found through the gate layout.
// expected-error @below {{expected a gate layout for activation 'swiglu', such as gate = <halves, gate_first>, but got none}}
func.func private @activation_c1() attributes {a = #grouped_scaled_gemm.activation<swiglu>}

// -----

// activation_c2: others have no pairs.
// expected-error @below {{expected no gate layout for activation 'silu', but got #grouped_scaled_gemm.gate<1, up_first>}}
func.func private @activation_c2() attributes {a = #grouped_scaled_gemm.activation<silu, gate = <1, up_first>>}

// -----

// activation_c3: parameters are those of swiglu.
// expected-error @below {{expected alpha, beta and limit with activation 'swiglu' only, but got 'relu'}}
func.func private @activation_c3() attributes {a = #grouped_scaled_gemm.activation<relu, limit = 1.0>}

// -----

// activation_c4: limits are positive.
// expected-error @below {{expected limit > 0, but got 0.000000e+00}}
func.func private @activation_c4() attributes {a = #grouped_scaled_gemm.activation<swiglu, gate = <1, up_first>, limit = 0.0>}

// -----

// activation_c5: parameters are finite numbers of type f32.
// expected-error @below {{expected a finite number of type f32, but got 1.000000e+39}}
func.func private @activation_c5() attributes {a = #grouped_scaled_gemm.activation<swiglu, gate = <1, up_first>, alpha = 1.0e39>}

// -----

// quantizer_c1: one quantiser has squares.
// expected-error @below {{expected two_d with quantizer 'te' only, but got 'cutlass'}}
func.func private @quantizer_c1() attributes {a = #grouped_scaled_gemm.quantizer<cutlass, two_d>}

// -----

// quantizer_c2: a choice between two roundings is made by their error.
// expected-error @below {{expected rounding = nearest with quantizer 'four_over_six', but got 'stochastic'}}
func.func private @quantizer_c2() attributes {a = #grouped_scaled_gemm.quantizer<four_over_six, rounding = stochastic>}

// -----

// strategy_c1: tiles have extents.
// expected-error @below {{expected n >= 1, but got 0}}
func.func private @strategy_c1() attributes {a = #grouped_scaled_gemm.strategy<m = 1, n = 0, k = 1>}

// -----

// strategy_c1: an open parameter is left out.
// expected-error @below {{expected stages >= 1, but got 0}}
func.func private @strategy_c1() attributes {a = #grouped_scaled_gemm.strategy<m = 1, n = 1, k = 1, stages = 0>}

// -----

// strategy_c2: one or two CTAs share a tile.
// expected-error @below {{expected ctas 1 or 2, but got 3}}
func.func private @strategy_c2() attributes {a = #grouped_scaled_gemm.strategy<m = 1, n = 1, k = 1, ctas = 3>}

// -----

// strategy_c3: a tile has an extent in every dimension.
// expected-error @below {{expected k = 256 for FP4 operands on sm_100a, else 128}}
func.func private @strategy_c3() attributes {a = #grouped_scaled_gemm.strategy<m = 1, n = 1, stages = 2>}

// -----

// strategy_c3: parameters are named.
// expected-error @below {{expected m, n, k, stages, ctas, cluster_m, cluster_n, split_k, accumulator_stages, scale_stages, epilogue_n, swap_ab, dynamic_n or scheduler, but got 'q'}}
func.func private @strategy_c3() attributes {a = #grouped_scaled_gemm.strategy<q = 1>}
