// Weights that relayout_weights has laid out are copied as they are.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout{target=sm_90a},convert-gsg-to-warpspec{target=sm_90a},gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<64x512, mxfp4>
!b = !grouped_scaled_gemm.scaled<4x384x512, mxfp8_e4m3, wgmma>

// CHECK-LABEL: func.func @stack
func.func @stack(%a: memref<64x256xi8>, %as: memref<64x16xf8E8M0FNU>, %ends: memref<4xi32>,
                 %b: memref<4x6x8x4352xi8>, %bs: memref<4xf32>, %out: memref<64x384xbf16>) {
  // CHECK-NOT: relayout
  // CHECK: %[[WEIGHTS:.*]] = llvm.call @nvfp4_task_coded_weights(%{{[^,]*}}, %c3_i32{{[_0-9]*}}, %{{[^,]*}}, %c1_i64{{[_0-9]*}}, %c4_i64{{[_0-9]*}}, %c384_i64{{[_0-9]*}}, %c512_i64
  // CHECK-NOT: nvfp4_task_coded_part
  // CHECK: llvm.call @nvfp4_task_precoded_part(%{{.*}}, %[[WEIGHTS]]
  // CHECK-NOT: nvfp4_task_coded_part
  // CHECK: llvm.call @nvfp4_task_pointer(%{{.*}}, %[[WEIGHTS]])
  // CHECK: llvm.call @nvfp4_task_coded_factors(%{{.*}}, %[[WEIGHTS]])
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<4xi32>)
      lhs(%a scaled_by %as : memref<64x256xi8>, memref<64x16xf8E8M0FNU> as !a)
      rhs(%b scaled_by %bs : memref<4x6x8x4352xi8>, memref<4xf32> as !b)
      outs(%out : memref<64x384xbf16>)
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: warpspec.mma_decoded %{{.*}} of e4m3_ue8m0
