// Tiles that blocks share along K on sm_90a, where more of them than SMs are expected, or sums may be in any order.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout{target=sm_90a},gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec{target=sm_90a},gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<8x384x512, nvfp4>
!odd_a = !grouped_scaled_gemm.scaled<?x384, nvfp4>
!odd_b = !grouped_scaled_gemm.scaled<8x384x384, nvfp4>

// CHECK-LABEL: func.func @rounds
func.func @rounds(%a: memref<?x256xi8>, %as: memref<?x32xf8E4M3FN>, %ends: memref<8xi32>,
                  %b: memref<8x384x256xi8>, %bs: memref<8x384x32xf8E4M3FN>, %out: memref<?x384xbf16>) {
  // Sums and flags of each block.
  // CHECK-COUNT-2: gpu.memset %[[SCRATCH:.*]], %{{.*}} : memref<?x{{[0-9]+}}xi8, #gpu.address_space<global>>
  // CHECK: warpspec.launch @{{.*}} writes %[[SCRATCH]]
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>)
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x32xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<8x384x256xi8>, memref<8x384x32xf8E4M3FN> as !b)
      outs(%out : memref<?x384xbf16>) {expected_rows = 100000}
  return
}

func.func @parts(%a: memref<?x256xi8>, %as: memref<?x32xf8E4M3FN>, %ends: memref<8xi32>,
                 %b: memref<8x384x256xi8>, %bs: memref<8x384x32xf8E4M3FN>, %out: memref<?x384xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>)
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x32xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<8x384x256xi8>, memref<8x384x32xf8E4M3FN> as !b)
      outs(%out : memref<?x384xbf16>) {determinism = #grouped_scaled_gemm<determinism relaxed>}
  return
}

func.func @odd(%a: memref<?x192xi8>, %as: memref<?x24xf8E4M3FN>, %ends: memref<8xi32>,
               %b: memref<8x384x192xi8>, %bs: memref<8x384x24xf8E4M3FN>, %out: memref<?x384xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>)
      lhs(%a scaled_by %as : memref<?x192xi8>, memref<?x24xf8E4M3FN> as !odd_a)
      rhs(%b scaled_by %bs : memref<8x384x192xi8>, memref<8x384x24xf8E4M3FN> as !odd_b)
      outs(%out : memref<?x384xbf16>) {expected_rows = 100000}
  return
}

// K is 4 stages: two pairs of them.
// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: role @math warps(8) registers(232)
// CHECK: warpspec.for_each_tile m_fastest of %{{.*}} through %{{.*}} cut(%{{.*}})
// CHECK: do(%{{.*}}, %{{.*}}, %{{.*}}, %[[FROM:.*]], %[[TO:.*]]) {
// CHECK: %[[FIRST:.*]] = arith.muli %[[FROM]], %c2_i32
// CHECK: %[[LAST:.*]] = arith.muli %[[TO]], %c2_i32
// CHECK: warpspec.await
// CHECK: memref.store %{{.*}} : memref<?xi32, 1>
// CHECK: %[[ACC:.*]], %{{.*}}, %{{.*}} = warpspec.mma_decoded %{{.*}} from %[[FIRST]] to %[[LAST]] width(%{{.*}}) step 16 after %{{.*}}[%{{.*}}] if %{{.*}} :
// CHECK: warpspec.stage_fragment
// CHECK: warpspec.store_fragment %[[ACC]] width(%{{.*}}) to
// CHECK: warpspec.publish
// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_1
// CHECK: warpspec.for_each_tile m_fastest of %{{.*}} through %{{.*}} cut(%{{.*}}) parts
// CHECK: warpspec.mma_decoded
// CHECK: warpspec.await
// CHECK: warpspec.add_fragments
// CHECK: warpspec.store_fragment
// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_2
// CHECK-NOT: cut
// CHECK-NOT: store_fragment
// CHECK: role @load
