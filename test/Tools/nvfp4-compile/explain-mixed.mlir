// FP4 beside FP8 has kernels for any K, of 128 elements a stage, so --explain names what they will be.
// RUN: nvfp4-compile --explain --target=sm_100a %s 2>&1 | FileCheck %s
// RUN: nvfp4-compile --target=sm_100a --emit=ptx -o - %s | FileCheck %s --check-prefix=PTX

// PTX: .entry
// CHECK: explain-mixed.mlir:[[#@LINE+6]]:{{[0-9]+}}: remark: {{[2-4]}} versions, predicted to lose
// CHECK-NEXT: 1 to {{[0-9]+}} rows, for {{[0-9]+}}: <m = {{.*}}, k = 128,
// CHECK: explain-mixed.mlir:[[#@LINE+4]]:{{[0-9]+}}: remark: keeps its strategy <m = {{.*}}, k = 128,
!x = !grouped_scaled_gemm.scaled<?x?, mxfp8_e4m3>
!w = !grouped_scaled_gemm.scaled<?x?, mxfp4>
func.func @mixed(%x: !x, %w: !w, %c: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%x : !x) rhs(%w : !w) outs(%c : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %d : tensor<?x?xbf16>
}
