// A ragged product for sm_90a: rows as bf16, weights coded, two roles.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout{target=sm_90a},gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec{target=sm_90a},gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<8x384x512, nvfp4>

// CHECK-LABEL: func.func @ragged
func.func @ragged(%a: memref<?x256xi8>, %as: memref<?x32xf8E4M3FN>, %ends: memref<8xi32>,
                  %b: memref<8x384x256xi8>, %bs: memref<8x384x32xf8E4M3FN>,
                  %out: memref<?x384xbf16>) {
  // CHECK: warpspec.stage_rows(%{{.*}}) format "nvfp4" columns(%{{.*}}) groups(%{{.*}}) row_ends stage(128) outs(%[[TOKENS:.*]]) : {{.*}} to memref<?x512xbf16
  // Boxes of 8, 16, ... 96 rows.
  // CHECK-COUNT-12: warpspec.encode_tensor_map %[[TOKENS]] sizes [8, %{{.*}}, 64] strides [128, 1024]
  // CHECK-NOT: encode_tensor_map
  // CHECK: warpspec.stage_weights(%{{.*}}) format "nvfp4" columns(%{{.*}}) stage(128) outs(%[[WEIGHTS:.*]], %{{.*}}) :
  // CHECK: warpspec.launch @{{.*}} %[[WEIGHTS]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, writes
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>)
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x32xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<8x384x256xi8>, memref<8x384x32xf8E4M3FN> as !b)
      outs(%out : memref<?x384xbf16>)
  return
}

// CHECK-LABEL: gpu.module @nvfp4_kernels
// CHECK: %[[W:.*]] = warpspec.smem_alloc : memref<4x4x4608xi8, #warpspec.smem>
// CHECK: %[[T:.*]] = warpspec.smem_alloc : memref<4x2x96x64xbf16, #warpspec.smem<128>>
// CHECK: %[[STAGING:.*]] = warpspec.smem_alloc : memref<4x32x72xbf16, #warpspec.smem>
// CHECK: %[[IN:.*]] = warpspec.pipeline(%[[W]], %[[T]]) tma to threads
// CHECK: %[[RING:.*]] = warpspec.pipeline(%{{.*}}) threads to threads
// CHECK: role @math warps(16) registers(112)
// CHECK: warpspec.for_each_tile m_fastest of %{{.*}} through %[[RING]]
// CHECK: warpspec.yield %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32
// CHECK: %[[ACC:.*]], %{{.*}}, %{{.*}} = warpspec.mma_decoded %[[IN]] from %{{.*}} to %{{.*}} width(%{{.*}}) step 8
// Codes and scales are decoded as multiples of 2^-7.
// CHECK: %[[SCALED:.*]] = arith.mulf %[[ACC]], %{{.*}} : vector<48xf32>
// CHECK: warpspec.stage_fragment %[[SCALED]][
// CHECK: role @load warps(1) registers(32)
// CHECK: warpspec.for_each_tile m_fastest of %{{.*}} through %[[RING]]
// CHECK: warpspec.acquire %[[IN]]
// CHECK-COUNT-4: warpspec.bulk_load
// CHECK: warpspec.tma_load_rows
// CHECK: warpspec.commit
