// Weights of 8 bits with scales that are powers of two, and groups along K.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout{target=sm_90a},gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec{target=sm_90a},gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<64x512, mxfp4>
!b = !grouped_scaled_gemm.scaled<384x512, mxfp8_e4m3>

// CHECK-LABEL: func.func @bytes
func.func @bytes(%a: memref<64x256xi8>, %as: memref<64x16xf8E8M0FNU>,
                 %b: memref<384x512xf8E4M3FN>, %bs: memref<384x16xf8E8M0FNU>,
                 %out: memref<64x384xbf16>) {
  // CHECK: warpspec.stage_rows(%{{.*}}) format "mxfp4" columns(%{{.*}}) stage(128) outs(%{{.*}}) : {{.*}} to memref<64x512xbf16
  // CHECK: warpspec.stage_weights(%{{.*}}) format "mxfp8_e4m3" columns(%{{.*}}) stage(128) outs(%[[WEIGHTS:.*]], %[[FACTORS:.*]]) :
  // CHECK: warpspec.launch @{{.*}} %[[WEIGHTS]], %[[FACTORS]],
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<64x256xi8>, memref<64x16xf8E8M0FNU> as !a)
      rhs(%b scaled_by %bs : memref<384x512xf8E4M3FN>, memref<384x16xf8E8M0FNU> as !b)
      outs(%out : memref<64x384xbf16>)
  return
}

!ka = !grouped_scaled_gemm.scaled<64x?, nvfp4, starts = compact>
!kb = !grouped_scaled_gemm.scaled<384x?, nvfp4, starts = compact>

// CHECK-LABEL: func.func @along_k
func.func @along_k(%a: memref<64x?xi8>, %as: memref<64x?xf8E4M3FN>, %ends: memref<8xi32>,
                   %b: memref<384x?xi8>, %bs: memref<384x?xf8E4M3FN>,
                   %out: memref<8x64x384xf32>) {
  // CHECK: warpspec.stage_rows(%{{.*}}) format "nvfp4" compact columns(%{{.*}}) groups(%{{.*}}) k_ends stage(128)
  // CHECK: warpspec.stage_weights(%{{.*}}) format "nvfp4" compact columns(%{{.*}}) groups(%{{.*}}) k_ends stage(128)
  grouped_scaled_gemm.matmul <ragged_k> groups(%ends : memref<8xi32>)
      lhs(%a scaled_by %as : memref<64x?xi8>, memref<64x?xf8E4M3FN> as !ka)
      rhs(%b scaled_by %bs : memref<384x?xi8>, memref<384x?xf8E4M3FN> as !kb)
      outs(%out : memref<8x64x384xf32>)
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK: warpspec.smem_alloc : memref<3x4x8704xi8, #warpspec.smem>
// CHECK: warpspec.mma_decoded %{{.*}} step 8 of e4m3_ue8m0
// The factor that each matrix of weights was divided by.
// CHECK: %[[FACTOR:.*]] = memref.load %{{.*}} : memref<?xf32, 1>
// CHECK: vector.broadcast %[[FACTOR]]

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_1
// Each group begins at a stage of its own.
// CHECK: %[[STAGE:.*]] = arith.divui %{{.*}}, %c128_i32
// CHECK: %[[STEPS:.*]] = arith.divui %{{.*}}, %c128_i32
// CHECK: warpspec.mma_decoded %{{.*}} from %{{.*}} to %{{.*}} width
