// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of matmul_list; each case names the one of docs/Spec.md that it breaks.

// matmul_list_c1: as many on both sides
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
func.func @matmul_list_c1(%a: !a, %b: !b, %c: tensor<64x128xf16>) {
  // expected-error @below {{expected as many lhs as rhs as outs, at least 1, but got 2, 1 and 1}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a, %a : !a) rhs(%b : !b) 
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}

// -----

// matmul_list_c1: as many results
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
func.func @matmul_list_c1(%a: !a, %b: !b, %c: tensor<64x128xf16>) {
  // expected-error @below {{expected as many lhs as rhs as outs, at least 1, but got 1, 1 and 2}}
  %d:2 = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) 
      outs(%c, %c : tensor<64x128xf16>, tensor<64x128xf16>) -> tensor<64x128xf16>, tensor<64x128xf16>
  return
}

// -----

// matmul_list_c2: one alpha a problem
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
func.func @matmul_list_c2(%a: !a, %b: !b, %c: tensor<64x128xf16>, %x: tensor<2xf32>) {
  // expected-error @below {{expected alpha to be a scalar or of shape 1 (one a problem), but got 2}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) alpha(%x : tensor<2xf32>)
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}

// -----

// matmul_list_c2: one beta a problem
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
func.func @matmul_list_c2(%a: !a, %b: !b, %c: tensor<64x128xf16>, %x: tensor<2xf32>) {
  // expected-error @below {{expected beta to be a scalar or of shape 1 (one a problem), but got 2}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) beta(%x : tensor<2xf32>)
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}

// -----

// matmul_list_c3: problems are matrices
!a = !grouped_scaled_gemm.scaled<2x64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
func.func @matmul_list_c3(%a: !a, %b: !b, %c: tensor<64x128xf16>) {
  // expected-error @below {{expected matrices of rank 2 with blocks along axis 1 and starts = whole for problem 0, but got '!grouped_scaled_gemm.scaled<2x64x512, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}

// -----

// matmul_list_c3: operands are K-major
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4, axis = 0>
func.func @matmul_list_c3(%a: !a, %b: !b, %c: tensor<64x128xf16>) {
  // expected-error @below {{expected matrices of rank 2 with blocks along axis 1 and starts = whole for problem 0}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}

// -----

// matmul_list_c4: problems share their formats
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
!e = !grouped_scaled_gemm.scaled<64x512, mxfp4>
!f = !grouped_scaled_gemm.scaled<128x512, mxfp4>
func.func @matmul_list_c4(%a: !a, %b: !b, %e: !e, %f: !f, %c: tensor<64x128xf16>) {
  // expected-error @below {{expected all problems to share the formats of problem 0, but got mxfp4 and mxfp4 for problem 1}}
  %d:2 = grouped_scaled_gemm.matmul_list lhs(%a : !a, %e : !e) rhs(%b : !b, %f : !f)
      outs(%c, %c : tensor<64x128xf16>, tensor<64x128xf16>) -> tensor<64x128xf16>, tensor<64x128xf16>
  return
}

// -----

// matmul_list_c5: block sizes are equal
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, mxfp4>
func.func @matmul_list_c5(%a: !a, %b: !b, %c: tensor<64x128xf16>) {
  // expected-error @below {{expected lhs and rhs of equal block size and scale type, but got nvfp4 and mxfp4}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}

// -----

// matmul_list_c6: K is equal
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x256, nvfp4>
func.func @matmul_list_c6(%a: !a, %b: !b, %c: tensor<64x128xf16>) {
  // expected-error @below {{expected lhs and rhs of equal K for problem 0, but got 512 and 256}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) 
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}

// -----

// matmul_list_c7: results have their own M and N
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
func.func @matmul_list_c7(%a: !a, %b: !b, %c: tensor<64x128xf16>, %e: tensor<64x64xf16>) {
  // expected-error @below {{expected outs of problem 0 of shape 64x128 ([M, N]), but got 64x64}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%b : !b) 
      outs(%e : tensor<64x64xf16>) -> tensor<64x64xf16>
  return
}

// -----

// form_c3: one form
!a = !grouped_scaled_gemm.scaled<64x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x512, nvfp4>
func.func @form_c3(%a: !a, %b: !b, %c: tensor<64x128xf16>,
    %v: tensor<128x256xi8>, %s: tensor<128x32xf8E4M3FN>) {
  // expected-error @below {{expected scaled operands and results in one form, but got lhs in value form and rhs in storage form}}
  %d = grouped_scaled_gemm.matmul_list lhs(%a : !a) rhs(%v scaled_by %s : tensor<128x256xi8>, tensor<128x32xf8E4M3FN> as !b) 
      outs(%c : tensor<64x128xf16>) -> tensor<64x128xf16>
  return
}
