// RUN: nvfp4-compile --explain --target=sm_90a %s 2>&1 | FileCheck %s

// Tiles of sm_90a are ranked by a model of their own, the chosen one first, under the floor of an H200: each with its
// times, and with what took more time or why there is no kernel of it.

// CHECK: explain-wgmma.mlir:[[#@LINE+19]]:{{[0-9]+}}: remark: strategy <m = [[M:[0-9]+]], n = [[N:[0-9]+]], k = [[K:[0-9]+]]
// CHECK-NEXT: floor {{[0-9.]+}} us (memory {{[0-9.]+}}, products {{[0-9.]+}}) on sm_90a; predictions, not measurements
// CHECK-NEXT: tile {{.*}}total us{{.*}}waves{{.*}}verdict
// CHECK-NEXT: [[M]]x[[N]]x[[K]] {{.*}} chosen; {{[0-9.]+}} us are launch, first tile and tail
// CHECK-DAG: 192x128x128 {{.*}} as fast, with a larger tile
// CHECK-DAG: 96x256x128 {{.*}} +{{[0-9.]+}} us: busy for {{[0-9.]+}} instead of {{[0-9.]+}} us
// CHECK-DAG: [[M]]x[[N]]x[[K]] cluster 2x1 {{.*}} illegal: expected cluster_m = 1, for which there are kernels, but got 2
// CHECK-DAG: [[M]]x[[N]]x[[K]] launch_control {{.*}} illegal: expected scheduler static_persistent
// CHECK: remark: keeps its strategy <m = 64, n = 256, k = 128>, predicted {{[0-9.]+}} us; without it:
// CHECK: explain-wgmma.mlir:[[#@LINE+19]]:{{[0-9]+}}: remark: strategy <
// CHECK: chosen; bound by the tensor core
// CHECK-DAG: 64x256x128 {{.*}} bound by the decoding of weights
// CHECK-DAG: 32x256x256 {{.*}} illegal: expected k = 128, or 256 if K is known to be a positive multiple of it, but got 256 with a K that is not known
// CHECK-DAG: 248x128x128 {{.*}} illegal: expected results of at most 16 bits beside 3 stages of m = 248, but got 32
!a = !grouped_scaled_gemm.scaled<16x256, nvfp4>
!b = !grouped_scaled_gemm.scaled<512x256, nvfp4>
!any_a = !grouped_scaled_gemm.scaled<?x?, nvfp4>
!any_b = !grouped_scaled_gemm.scaled<4096x?, nvfp4>
func.func @f(%a: !a, %b: !b, %c: tensor<16x512xbf16>) -> (tensor<16x512xbf16>, tensor<16x512xbf16>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x512xbf16>) -> tensor<16x512xbf16>
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 64, n = 256, k = 128>}
      -> tensor<16x512xbf16>
  return %d, %e : tensor<16x512xbf16>, tensor<16x512xbf16>
}
func.func @any(%a: !any_a, %b: !any_b, %c: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !any_a) rhs(%b : !any_b)
      outs(%c : tensor<?x4096xf32>) {expected_rows = 512 : i64} -> tensor<?x4096xf32>
  return %d : tensor<?x4096xf32>
}
// CHECK: remark: keeps its strategy <m = 248, n = 128, k = 128>, illegal: expected results of at most 16 bits beside 3 stages of m = 248, but got 32; without it:
func.func @given(%a: !any_a, %b: !any_b, %c: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !any_a) rhs(%b : !any_b)
      outs(%c : tensor<?x4096xf32>) {strategy = #grouped_scaled_gemm.strategy<m = 248, n = 128, k = 128>}
      -> tensor<?x4096xf32>
  return %d : tensor<?x4096xf32>
}
