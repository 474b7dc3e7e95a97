// What cannot be lowered is an error at the operation, with the reason.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=generic -split-input-file -verify-diagnostics

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @value_form(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  // expected-error @+1 {{expected memrefs in storage form; run gsg-decompose-scaled and one-shot-bufferize first}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @columns_apart(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>,
                         %bs: memref<32x4xf8E4M3FN>, %c: memref<16x32xf32, strided<[64, 2]>>) {
  // expected-error @+1 {{expected memrefs with contiguous rows}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%c : memref<16x32xf32, strided<[64, 2]>>)
  return
}

// -----

// An addend in another gate layout than the weights is for sm_100a.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @outer_gate(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>,
                      %bs: memref<32x4xf8E4M3FN>, %c: memref<16x32xf32>, %d: memref<16x16xf32>) {
  // expected-error @+1 {{expected no outer_gate: addend and preact_outs in the gate layout of the weights; leave out gsg-assign-scale-layout}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      addend(%c : memref<16x32xf32>) activation = <swiglu, gate = <8, gate_first>> outer_gate = <halves, gate_first>
      outs(%d : memref<16x16xf32>)
  return
}

// -----

// target_c8
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4, wgmma>
func.func @coded(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<1x2x2304xi8>, %bs: memref<1xf32>,
                 %c: memref<16x32xf32>) {
  // expected-error @+1 {{'grouped_scaled_gemm.matmul' op expected target sm_90a for weights in the layout 'wgmma', but got cpu; grouped_scaled_gemm.relayout_weights brings them back to linear}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<1x2x2304xi8>, memref<1xf32> as !b)
      outs(%c : memref<16x32xf32>)
  return
}
