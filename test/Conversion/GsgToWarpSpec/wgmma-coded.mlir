// Weights that relayout_weights has laid out are read as they are.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout{target=sm_90a},gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec{target=sm_90a},gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<64x512, mxfp4>
!b = !grouped_scaled_gemm.scaled<4x384x512, mxfp8_e4m3, wgmma>

// CHECK-LABEL: func.func @stack
func.func @stack(%a: memref<64x256xi8>, %as: memref<64x16xf8E8M0FNU>, %ends: memref<4xi32>,
                 %b: memref<4x6x8x4352xi8>, %bs: memref<4xf32>, %out: memref<64x384xbf16>) {
  // CHECK-NOT: relayout
  // CHECK: %[[WEIGHTS:.*]] = gpu.alloc () : memref<4x6x8x4352xi8, #gpu.address_space<global>>
  // CHECK: %[[FACTORS:.*]] = gpu.alloc () : memref<4xf32, #gpu.address_space<global>>
  // CHECK-NOT: stage_weights
  // CHECK: warpspec.launch @{{.*}} %[[WEIGHTS]], %[[FACTORS]],
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<4xi32>)
      lhs(%a scaled_by %as : memref<64x256xi8>, memref<64x16xf8E8M0FNU> as !a)
      rhs(%b scaled_by %bs : memref<4x6x8x4352xi8>, memref<4xf32> as !b)
      outs(%out : memref<64x384xbf16>)
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: warpspec.mma_decoded %{{.*}} of e4m3_ue8m0
