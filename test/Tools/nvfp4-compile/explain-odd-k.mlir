// An odd K has kernels, so --explain names what they will be.
// RUN: nvfp4-compile --explain --target=sm_100a %s 2>&1 | FileCheck %s
// RUN: nvfp4-compile --target=sm_100a --emit=ptx -o - %s | FileCheck %s --check-prefix=PTX

// PTX: .entry
// CHECK: explain-odd-k.mlir:[[#@LINE+4]]:{{[0-9]+}}: remark: strategy <m = {{.*}}>
!a = !grouped_scaled_gemm.scaled<16x255, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x255, nvfp4>
func.func @odd(%a: !a, %b: !b, %c: tensor<16x512xbf16>) -> tensor<16x512xbf16> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x512xbf16>) -> tensor<16x512xbf16>
  return %d : tensor<16x512xbf16>
}
