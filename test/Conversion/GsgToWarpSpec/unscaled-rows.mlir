// Rows without scales: a role of eight warps decodes weights into tensor memory, which
// is operand A; rows are operand B.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!w = !grouped_scaled_gemm.scaled<5760x2880, mxfp4, blocked>
func.func @f(%a: memref<?x2880xbf16>, %b: memref<5760x1440xi8>, %bs: memref<45x23x32x4x4xf8E8M0FNU>,
             %c: memref<?x5760xf32>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a : memref<?x2880xbf16>)
      rhs(%b scaled_by %bs : memref<5760x1440xi8>, memref<45x23x32x4x4xf8E8M0FNU> as !w)
      outs(%c : memref<?x5760xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 64, k = 128, swap_ab = true>}
  return
}

// Boxes of two K blocks of 64 rows, of 64 bytes of codes, and of a tile of scales.
// CHECK: warpspec.kernel @nvfp4_gemm_0(%[[A:.*]]: !warpspec.tensor_map<2x64x64xbf16, swizzle = 128>, %[[B:.*]]: !warpspec.tensor_map<128x64xi8, swizzle = 64>, %[[SB:.*]]: !warpspec.tensor_map<1x1x256xi16>,
// CHECK: warpspec.tmem_alloc : memref<2x128x64xf32, #warpspec.tmem>
// CHECK: %[[CODES:.*]] = warpspec.smem_alloc : memref<8x128x64xi8, #warpspec.smem<64>>
// CHECK: %[[ROWS:.*]] = warpspec.smem_alloc : memref<8x2x64x64xbf16, #warpspec.smem<128>>
// CHECK: %[[SCALES:.*]] = warpspec.smem_alloc : memref<8x1x512xi8, #warpspec.smem>
// CHECK: %[[WORDS:.*]] = warpspec.tmem_alloc : memref<2x128x64xi32, #warpspec.tmem>
// CHECK: warpspec.pipeline(%[[CODES]], %[[SCALES]]) tma to threads
// CHECK: warpspec.pipeline(%[[ROWS]]) tma to tensor_core
// CHECK: warpspec.pipeline(%[[WORDS]]) threads to tensor_core
// CHECK: role @load warps(1)
// CHECK: warpspec.tma_load %[[B]]
// CHECK: warpspec.tma_load %[[SB]]
// CHECK: warpspec.tma_load %[[A]]
// CHECK: role @mma warps(1)
// CHECK: warpspec.mma %{{.*}} : memref<128x64xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>, memref<2x64x64xbf16, #warpspec.smem<128>>
// CHECK: role @decode warps(8)
// CHECK: %[[LOADED:.*]] = warpspec.smem_load %{{.*}} : memref<128x64xi8, #warpspec.smem<64>>, vector<32xi8>
// CHECK: %[[FACTORS:.*]] = warpspec.smem_load %{{.*}} : memref<1x512xi8, #warpspec.smem>, vector<2xi8>
// CHECK: warpspec.release
// CHECK: %[[DECODED:.*]] = warpspec.decode_codes %[[LOADED]] scaled_by %[[FACTORS]] of e2m1_ue8m0 to bf16
// CHECK: warpspec.tmem_store %[[DECODED]], %{{.*}} : vector<32xi32>, memref<128x32xi32, #warpspec.tmem>
// Four times what was multiplied.
// CHECK: role @epilogue warps(4)
// CHECK: warpspec.tmem_load
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<32xf32>
