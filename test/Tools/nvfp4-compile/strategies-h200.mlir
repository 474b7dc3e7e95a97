// Tiles that were fastest on an H200 are used where shapes are those of the
// benchmark; the file is what the script makes of the results.
// REQUIRES: python-numpy
// RUN: %python %nvfp4_src/benchmarks/h200/strategies | diff - %nvfp4_src/benchmarks/results/h200.strategies
// RUN: nvfp4-compile %s --target=sm_90a --strategies=%nvfp4_src/benchmarks/results/h200.strategies --explain 2>&1 | FileCheck %s
// CHECK: strategies-h200.mlir:[[#@LINE+7]]:{{[0-9]+}}: remark: keeps its strategy
// CHECK: strategies-h200.mlir:[[#@LINE+9]]:{{[0-9]+}}: remark: strategy <
!a = !grouped_scaled_gemm.scaled<?x7168, nvfp4>
!b = !grouped_scaled_gemm.scaled<256x4096x7168, nvfp4>
!c = !grouped_scaled_gemm.scaled<256x4096x6144, nvfp4>
!x = !grouped_scaled_gemm.scaled<?x6144, nvfp4>
func.func @f(%a: !a, %x: !x, %b: !b, %c: !c, %ends: tensor<256xi32>, %o: tensor<?x4096xbf16>) -> (tensor<?x4096xbf16>, tensor<?x4096xbf16>) {
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<256xi32>) lhs(%a : !a) rhs(%b : !b)
      outs(%o : tensor<?x4096xbf16>) {expected_rows = 512 : i64} -> tensor<?x4096xbf16>
  // Of another K.
  %z = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<256xi32>) lhs(%x : !x) rhs(%c : !c)
      outs(%o : tensor<?x4096xbf16>) {expected_rows = 512 : i64} -> tensor<?x4096xbf16>
  return %y, %z : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
