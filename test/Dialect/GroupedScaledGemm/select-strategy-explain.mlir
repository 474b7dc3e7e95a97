// RUN: nvfp4-opt %s --gsg-select-strategy="explain" -o /dev/null 2>&1 | FileCheck %s

// The candidates with their predicted times, and why each lost or is illegal.

// CHECK:      remark: strategy <m = 128, n = 8, k = 256, stages = 10,{{.*}}swap_ab = true>
// CHECK-NEXT: floor {{[0-9.]+}} us (memory {{[0-9.]+}}, products {{[0-9.]+}}) on sm_100a; predictions, not measurements
// CHECK-NEXT: tile {{.*}}total us{{.*}}busy us{{.*}}dram us{{.*}}waves{{.*}}verdict
// CHECK-NEXT: 128x8x256 swap {{.*}} chosen; bound by
// CHECK-DAG:  128x128x256 {{.*}} +{{[0-9.]+}} us: bound by the fill of shared memory
// CHECK-DAG:  256x64x256 {{.*}} illegal: expected n = 128, 192 or 256 for ctas = 2 with weights on n, but got 64
// CHECK-DAG:  128x8x256 swap cluster 2x1 {{.*}} +{{[0-9.]+}} us: L2 shares these loads faster without a cluster
// CHECK-DAG:  128x8x256 swap cluster 1x2 {{.*}} +{{[0-9.]+}} us: clusters are filled up with tiles of nobody
// CHECK-DAG:  128x8x256 swap dynamic_counter {{.*}} +0.6 us: every slot waits for the number of its first tile
// CHECK-DAG:  128x8x256 swap launch_control {{.*}} illegal: expected scheduler static_persistent or dynamic_counter for groups whose extents are on the device, but got launch_control
// CHECK-DAG:  256x64x256 swap split 2 {{.*}} illegal: expected split_k = 1 unless determinism = relaxed, but got 2
!act = !grouped_scaled_gemm.scaled<?x7168, nvfp4>
!weights = !grouped_scaled_gemm.scaled<8x4096x7168, nvfp4>
func.func @chosen(%ends: tensor<8xi32>, %a: !act, %b: !weights, %c: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !act) rhs(%b : !weights) outs(%c : tensor<?x4096xbf16>) {expected_rows = 8 : i64} -> tensor<?x4096xbf16>
  return %d : tensor<?x4096xbf16>
}

// CHECK:      remark: keeps its strategy <m = 128, n = 128, k = 256, stages = 5,{{.*}}>, predicted {{[0-9.]+}} us; without it:
func.func @kept(%ends: tensor<8xi32>, %a: !act, %b: !weights, %c: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<8xi32>)
      lhs(%a : !act) rhs(%b : !weights) outs(%c : tensor<?x4096xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256>} -> tensor<?x4096xbf16>
  return %d : tensor<?x4096xbf16>
}
