// Weights for sm_90a in a product: a CPU has no kernel for them, and the
// interpreter, which brings them back itself, takes no other bytes.
// REQUIRES: x86
// RUN: not nvfp4-run %s 2>&1 | FileCheck %s
// RUN: not nvfp4-run %s --device=reference 2>&1 | FileCheck %s --check-prefix=BYTES

!n = !grouped_scaled_gemm.scaled<1x32, nvfp4>
!nc = !grouped_scaled_gemm.scaled<1x32, nvfp4, wgmma>

// target_c8
// CHECK: expected target sm_90a for weights in the layout 'wgmma', but got cpu; grouped_scaled_gemm.relayout_weights brings them back to linear
// relayout_weights_c5
// BYTES: expected weights as relayout_weights lays them out, but got others in row 0, column 0
func.func @product() -> tensor<1x1xf32> {
  %v = arith.constant dense<1> : tensor<1x2x2304xi8>
  %f = arith.constant dense<128.0> : tensor<1xf32>
  %c = grouped_scaled_gemm.make_scaled %v, %f : tensor<1x2x2304xi8>, tensor<1xf32> -> !nc
  %a = arith.constant dense<17> : tensor<1x16xi8>
  %s = arith.constant dense<1.0> : tensor<1x2xf8E4M3FN>
  %x = grouped_scaled_gemm.make_scaled %a, %s : tensor<1x16xi8>, tensor<1x2xf8E4M3FN> -> !n
  %o = arith.constant dense<0.0> : tensor<1x1xf32>
  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !n) rhs(%c : !nc) outs(%o : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
