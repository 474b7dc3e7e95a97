// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Value form, storage form, tensors, memrefs; each case names the one of docs/Spec.md that it breaks.

// form_c1: tensors and memrefs do not mix
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @form_c1(%a: tensor<16x32xi8>, %as: tensor<16x4xf8E4M3FN>, %b: tensor<32x32xi8>, %bs: tensor<32x4xf8E4M3FN>,
    %c: memref<16x32xf32>) {
  // expected-error @below {{expected operands that are all tensors or all memrefs, but got 'tensor<32x4xf8E4M3FN>' and 'memref<16x32xf32>'}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : tensor<16x32xi8>, tensor<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !b)
      outs(%c : memref<16x32xf32>)
  return
}

// -----

// form_c2: scaled values and memrefs do not mix
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @form_c2(%a: !a, %b: !b, %c: memref<16x32xf32>) {
  // expected-error @below {{expected tensors beside values of type scaled, but got 'memref<16x32xf32>'; memrefs need storage form (gsg-decompose-scaled)}}
  grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : memref<16x32xf32>)
  return
}

// -----

// form_c3: value form and storage form do not mix
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @form_c3(%a: !a, %b: tensor<32x32xi8>, %bs: tensor<32x4xf8E4M3FN>,
    %c: tensor<16x32xf32>) {
  // expected-error @below {{expected scaled operands and results in one form, but got lhs in value form and rhs in storage form}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a)
      rhs(%b scaled_by %bs : tensor<32x32xi8>, tensor<32x4xf8E4M3FN> as !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

// -----

// form_c3: the result has the form of the operands
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @form_c3(%a: !a, %b: !b, %v: tensor<16x16xi8>, %s: tensor<16x2xf8E4M3FN>) {
  // expected-error @below {{but got lhs in value form and result in storage form}}
  %d:2 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) quantizer = <trtllm>
      outs(%v scaled_by %s : tensor<16x16xi8>, tensor<16x2xf8E4M3FN>
           as !grouped_scaled_gemm.scaled<16x32, nvfp4>)
      -> tensor<16x16xi8>, tensor<16x2xf8E4M3FN>
  return
}
