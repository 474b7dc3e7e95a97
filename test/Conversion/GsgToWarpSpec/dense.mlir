// A dense product: one kernel of three roles, and its launch.
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,func.func(cse))' | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<384x512, nvfp4, blocked>

// CHECK-LABEL: func.func @dense
func.func @dense(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>,
                 %b: memref<384x256xi8>, %bs: memref<3x8x32x4x4xf8E4M3FN>,
                 %alpha: f32, %out: memref<?x384xbf16>) {
  // CHECK: %[[C:.*]] = gpu.alloc (%{{.*}}) : memref<?x384xbf16, #gpu.address_space<global>>
  // Rows of 256 bytes, in boxes of 128 rows by 128 bytes.
  // CHECK: %[[A:.*]] = warpspec.encode_tensor_map %{{.*}} sizes [%{{.*}}, 256] strides [256] : {{.*}} to <128x128xi8, swizzle = 128>
  // CHECK: %[[B:.*]] = warpspec.encode_tensor_map %{{.*}} sizes [384, 256] strides [256] : {{.*}} to <128x128xi8, swizzle = 128>
  // Rows of 8 atoms of 512 bytes, of which a stage has 4.
  // CHECK: %[[AS:.*]] = warpspec.encode_tensor_map %{{.*}} sizes [8, %{{.*}}, 256] strides [512, 4096] : {{.*}} to <4x1x256xi16>
  // CHECK: %[[BS:.*]] = warpspec.encode_tensor_map %{{.*}} sizes [8, 3, 256] strides [512, 4096] : {{.*}} to <4x1x256xi16>
  // The box of results: 128 rows of 32 columns, which are 64 bytes.
  // CHECK: %[[BOX:.*]] = warpspec.encode_tensor_map %[[C]] sizes [%{{.*}}, 768] strides [768] : {{.*}} to <128x64xi8, swizzle = 64>
  // Of the extents only the number of rows is not constant.
  // CHECK: warpspec.launch @nvfp4_kernels::@nvfp4_gemm_0 tiles(%{{.*}})(%[[A]], %[[B]], %[[AS]], %[[BS]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, writes %[[C]], %[[BOX]] :
  // CHECK-NOT: grouped_scaled_gemm
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<384x256xi8>, memref<3x8x32x4x4xf8E4M3FN> as !b)
      alpha(%alpha : f32) outs(%out : memref<?x384xbf16>)
  return
}

// CHECK-LABEL: gpu.module @nvfp4_kernels
// CHECK: warpspec.kernel @nvfp4_gemm_0(%[[A:.*]]: !warpspec.tensor_map<128x128xi8, swizzle = 128>, %[[B:.*]]: !warpspec.tensor_map<128x128xi8, swizzle = 128>, %[[SA:.*]]: !warpspec.tensor_map<4x1x256xi16>, %[[SB:.*]]: !warpspec.tensor_map<4x1x256xi16>, %[[M:.*]]: i32, %[[ALPHA:.*]]: f32, %[[OUT:.*]]: memref<?xbf16, 1>, %[[BOX:.*]]: !warpspec.tensor_map<128x64xi8, swizzle = 64>)
// Five stages fit beside two boxes of results.
// CHECK: warpspec.tmem_alloc : memref<2x128x128xf32, #warpspec.tmem>
// CHECK: warpspec.pipeline{{.*}} tensor_core to threads
// CHECK: warpspec.smem_alloc : memref<5x128x128xi8, #warpspec.smem<128>>
// CHECK: warpspec.tmem_alloc : memref<2x128x16xi32, #warpspec.tmem>
// CHECK: warpspec.pipeline{{.*}} tma to tensor_core
// CHECK: warpspec.pipeline{{.*}} tensor_core to tensor_core
// CHECK: warpspec.smem_alloc : memref<2x128x32xbf16, #warpspec.smem<64>>
// CHECK: warpspec.pipeline{{.*}} threads to tma
// CHECK: role @load warps(1)
// CHECK: warpspec.for_each_tile m_fastest
// CHECK-COUNT-4: warpspec.tma_load
// CHECK: role @mma warps(1)
// CHECK-COUNT-2: warpspec.copy_scales
// CHECK: warpspec.mma_scaled <mxf4nvf4>
// CHECK: role @epilogue warps(4)
// CHECK: warpspec.tmem_load %{{.*}} : memref<128x32xf32, #warpspec.tmem>
// CHECK: arith.mulf
// Where all 128 rows are the group's, they leave in one box; else each by itself.
// CHECK: arith.truncf %{{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: warpspec.smem_store
// CHECK: warpspec.tma_store %{{.*}} to %[[BOX]][%{{.*}}] of %[[OUT]]
// CHECK: arith.truncf %{{.*}} : vector<32xf32> to vector<32xbf16>
// N is a multiple of 32: no chunk is cut.
// CHECK-NOT: vector.maskedstore
// CHECK: vector.store %{{.*}}, %[[OUT]][%{{.*}}] {alignment = 16 : i64}
