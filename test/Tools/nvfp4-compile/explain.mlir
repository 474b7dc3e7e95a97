// RUN: nvfp4-compile --explain --target=sm_100a %s 2>&1 | FileCheck %s
// RUN: not nvfp4-compile --explain %s 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not nvfp4-compile --explain --target=sm_100a -o %t.so %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not nvfp4-compile --explain --target=sm_100a --emit=so %s 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not nvfp4-compile --explain --target=sm_100a -O3 %s 2>&1 | FileCheck %s --check-prefix=LEVEL

// OUTPUT: error: expected --explain, which writes no code, without -o
// EMIT: error: expected --explain, which writes no code, without --emit
// LEVEL: error: expected --explain, which writes no code, without -O

// --explain shows the candidates at each product and writes no file.

// CHECK: explain.mlir:[[#@LINE+7]]:{{[0-9]+}}: remark: strategy <m = {{.*}}>
// CHECK: tile {{.*}} verdict
// CHECK: chosen;
// CPU: {{^}}error: expected --target=sm_90a, sm_100a, sm_103a or sm_100f for --explain, but got 'cpu'
!a = !grouped_scaled_gemm.scaled<16x256, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x256, nvfp4>
func.func @f(%a: !a, %b: !b, %c: tensor<16x512xbf16>) -> tensor<16x512xbf16> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x512xbf16>) -> tensor<16x512xbf16>
  return %d : tensor<16x512xbf16>
}
