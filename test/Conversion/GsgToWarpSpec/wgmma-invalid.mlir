// What kernels for sm_90a cannot do is refused with the nearest form that they can.
// RUN: nvfp4-opt %s --split-input-file --verify-diagnostics --gsg-decompose-scaled \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map unknown-type-conversion=identity-layout-map" \
// RUN:   --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @columns(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 128, n = 64, k = 128>: expected n = 128 or 256, but got 64; the nearest one is <m = 128, n = 128, k = 128>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 64, k = 128>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @rows(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 128, n = 256, k = 128>: expected m a multiple of 8 up to 96 for n = 256, but got 128; the nearest one is <m = 96, n = 256, k = 128>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 128>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @stages(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 96, n = 256, k = 128, stages = 9>: expected 2 to 4 stages of 43008 bytes, which fit into shared memory, but got 9; the nearest one is <m = 96, n = 256, k = 128, stages = 4>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 96, n = 256, k = 128, stages = 9>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, mxfp8_e4m3>
!b = !grouped_scaled_gemm.scaled<32x64, mxfp8_e4m3>
func.func @stages_of_bytes(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 96, n = 256, k = 128, stages = 4>: expected 2 to 3 stages of 59392 bytes, which fit into shared memory, but got 4; the nearest one is <m = 96, n = 256, k = 128, stages = 3>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 96, n = 256, k = 128, stages = 4>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// Columns of an addend are not moved, so neither are the weights.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @halves(%a: !a, %b: !b, %c: tensor<16x32xf32>, %d: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the gate layout #grouped_scaled_gemm.gate<halves, gate_first> with addend or preact_outs; bring weights, bias, addend and preact_outs to runs of 1, 2, 4, 8, 16 or 32 by grouped_scaled_gemm.relayout_gate}}
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%c : tensor<16x32xf32>)
      activation = <swiglu, gate = <halves, gate_first>> outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %e : tensor<16x16xf32>
}

// -----

// Layouts of sm_100a.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @outer_gate(%a: !a, %b: !b, %c: tensor<16x32xf32>, %d: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support addend and preact_outs in another gate layout than the weights; run gsg-assign-scale-layout{target=sm_90a}}}
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) addend(%c : tensor<16x32xf32>)
      activation = <swiglu, gate = <8, gate_first>> outer_gate = <halves, gate_first>
      outs(%d : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %e : tensor<16x16xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x64, nvfp4, wgmma>
func.func @laid_gates(%a: !a, %b: !b, %c: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the gate layout #grouped_scaled_gemm.gate<halves, gate_first> of weights that relayout_weights has laid out; bring weights, bias, addend and preact_outs to runs of 1, 2, 4, 8, 16 or 32 by grouped_scaled_gemm.relayout_gate first}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <swiglu, gate = <halves, gate_first>> outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %d : tensor<16x64xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @scheduler(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 64, n = 128, k = 128, scheduler = dynamic_counter>: expected scheduler static_persistent, for which there are kernels, but got dynamic_counter; the nearest one is <m = 64, n = 128, k = 128>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 128, k = 128, scheduler = dynamic_counter>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @dynamic_n(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 64, n = 128, k = 128, swap_ab = true, dynamic_n = true>: expected dynamic_n = false, for which there are kernels, but got true; the nearest one is <m = 64, n = 128, k = 128>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 128, k = 128, swap_ab = true, dynamic_n = true>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @cluster(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 64, n = 128, k = 128, cluster_m = 2>: expected cluster_m = 1, for which there are kernels, but got 2; the nearest one is <m = 64, n = 128, k = 128>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 128, k = 128, cluster_m = 2>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// Stages of K = 256 and of the widest rows are too large for two.
!a = !grouped_scaled_gemm.scaled<16x256, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x256, nvfp4>
func.func @wide_and_deep(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error@+1 {{kernels for sm_90a do not support the strategy <m = 248, n = 128, k = 256>: expected a tile of which 2 stages fit into shared memory, but got stages of 145408 bytes; the nearest one is <m = 248, n = 128, k = 128>}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 248, n = 128, k = 256>} -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// Stages of K = 256 must fit the K of every problem of a list.
!a = !grouped_scaled_gemm.scaled<16x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x512, nvfp4>
!c = !grouped_scaled_gemm.scaled<16x384, nvfp4>
!d = !grouped_scaled_gemm.scaled<32x384, nvfp4>
!o = tensor<16x32xf32>
func.func @deep_list(%a: !a, %b: !b, %c: !c, %d: !d, %o: !o) -> (!o, !o) {
  // expected-error@+1 {{expected k = 128, or 256 if K is known to be a positive multiple of it, but got 256 with K = 384; the nearest one is <m = 64, n = 128, k = 128>}}
  %r:2 = grouped_scaled_gemm.matmul_list lhs(%a : !a, %c : !c) rhs(%b : !b, %d : !d) outs(%o, %o : !o, !o)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 128, k = 256>} -> !o, !o
  return %r#0, %r#1 : !o, !o
}

// -----

!a = !grouped_scaled_gemm.scaled<16x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x512, nvfp4>
!c = !grouped_scaled_gemm.scaled<16x?, nvfp4>
!d = !grouped_scaled_gemm.scaled<32x?, nvfp4>
!o = tensor<16x32xf32>
func.func @unknown_list(%a: !a, %b: !b, %c: !c, %d: !d, %o: !o) -> (!o, !o) {
  // expected-error@+1 {{but got 256 with a K that is not known; the nearest one is <m = 64, n = 128, k = 128>}}
  %r:2 = grouped_scaled_gemm.matmul_list lhs(%a : !a, %c : !c) rhs(%b : !b, %d : !d) outs(%o, %o : !o, !o)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 128, k = 256>} -> !o, !o
  return %r#0, %r#1 : !o, !o
}
