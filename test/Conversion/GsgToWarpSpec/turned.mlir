// Weights on M: few rows lie on columns of the accumulator, and are turned for the epilogue.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<384x512, nvfp4, blocked>
func.func @few(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>,
               %b: memref<384x256xi8>, %bs: memref<3x8x32x4x4xf8E4M3FN>, %out: memref<?x384xbf16>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<384x256xi8>, memref<3x8x32x4x4xf8E4M3FN> as !b)
      outs(%out : memref<?x384xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 8, k = 256, swap_ab = true>}
  return
}

// Boxes of 8 rows, of 128 rows of weights, and of an atom of scales more than a stage has.
// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK-SAME: (%[[A:.*]]: !warpspec.tensor_map<8x128xi8, swizzle = 128>, %[[B:.*]]: !warpspec.tensor_map<128x128xi8, swizzle = 128>, %[[SA:.*]]: !warpspec.tensor_map<5x1x256xi16>, %[[SB:.*]]: !warpspec.tensor_map<4x1x256xi16>, %[[M:.*]]: i32, %[[OUT:.*]]: memref<?xbf16, 1>)
// CHECK: warpspec.tmem_alloc : memref<2x128x8xf32, #warpspec.tmem>
// CHECK: warpspec.smem_alloc : memref<10x128x128xi8, #warpspec.smem<128>>
// CHECK: warpspec.smem_alloc : memref<10x8x128xi8, #warpspec.smem<128>>
// CHECK: warpspec.smem_alloc : memref<1x8x132xf32, #warpspec.smem>
// CHECK: warpspec.pipeline{{.*}} threads to threads
// CHECK: role @load
// CHECK: warpspec.tma_load %[[A]][{{.*}}] to %[[S:.*]]#1
// CHECK: warpspec.tma_load %[[B]][{{.*}}] to %[[S]]#0
// CHECK: warpspec.tma_load %[[SA]][{{.*}}] to %[[S]]#3
// CHECK: warpspec.tma_load %[[SB]][{{.*}}] to %[[S]]#2
// The tile's scales begin at a lane and a column of the atom.
// CHECK: role @mma
// CHECK: warpspec.copy_scales %{{.*}}#2 to %{{[^ ]*}} :
// CHECK: warpspec.copy_scales %{{.*}}#3 to %{{[^ ]*}} row(%{{.*}}) : memref<5x512xi8
// CHECK: warpspec.tmem_slice {{.*}} to memref<128x13xi32, #warpspec.tmem>
// CHECK: warpspec.mma_scaled
// The accumulator is free before its rows are turned.
// CHECK: role @epilogue
// CHECK: warpspec.tmem_load %{{.*}} : memref<128x8xf32, #warpspec.tmem>
// CHECK: warpspec.release
// CHECK-COUNT-8: warpspec.smem_store %{{.*}} : vector<1xf32>
// CHECK: warpspec.smem_load %{{.*}}, vector<32xf32>
// CHECK: vector.store %{{.*}}, %[[OUT]]
