// Two blocks a tile: each loads half of the rows and of the columns, all scales of what lies on N, and
// stores its half of the lanes.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<384x512, nvfp4, blocked>
func.func @pair(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>,
                %b: memref<384x256xi8>, %bs: memref<3x8x32x4x4xf8E4M3FN>, %out: memref<?x384xbf16>) {
  // Twice as many blocks as tiles, in clusters of 2.
  // CHECK: warpspec.launch @nvfp4_kernels::@nvfp4_gemm_0
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<384x256xi8>, memref<3x8x32x4x4xf8E4M3FN> as !b)
      outs(%out : memref<?x384xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 256, n = 192, k = 256, ctas = 2>}
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK-SAME: (%{{.*}}: !warpspec.tensor_map<128x128xi8, swizzle = 128>, %{{.*}}: !warpspec.tensor_map<96x128xi8, swizzle = 128>, %{{.*}}: !warpspec.tensor_map<4x1x256xi16>, %{{.*}}: !warpspec.tensor_map<4x2x256xi16>
// CHECK: warpspec.tmem_alloc : memref<2x128x192xf32, #warpspec.tmem>
// CHECK: nvvm.read.ptx.sreg.cluster.ctarank
// CHECK: warpspec.mma_scaled <mxf4nvf4> {{.*}} : memref<128x192xf32, #warpspec.tmem>, memref<128x128xi8, #warpspec.smem<128>>, {{.*}}, memref<96x128xi8, #warpspec.smem<128>>
// CHECK: } cluster(2) pair
