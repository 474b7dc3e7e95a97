// A dense product: one kernel of three roles, and its launch.
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,convert-gsg-to-warpspec,func.func(cse))' | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<384x512, nvfp4, blocked>

// What is known when the kernel is compiled.
// CHECK-DAG: llvm.mlir.global external constant @nvfp4_kernels_image() {{.*}}: !llvm.array<0 x i8>
// CHECK-DAG: llvm.mlir.global external constant @nvfp4_gemm_0_threads() {{.*}}: i32
// CHECK-DAG: llvm.mlir.global external constant @nvfp4_gemm_0_shared_bytes() {{.*}}: i32

// CHECK-LABEL: func.func @dense
func.func @dense(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>,
                 %b: memref<384x256xi8>, %bs: memref<3x8x32x4x4xf8E4M3FN>,
                 %alpha: f32, %out: memref<?x384xbf16>) {
  // CHECK: %[[TASK:.*]] = llvm.call @nvfp4_task_begin
  // Rows of 256 bytes, in boxes of 128 rows by 128 bytes of type 0, bytes.
  // CHECK: %[[C256_I64:.*]] = arith.constant 256 : i64
  // CHECK: %[[C16_I64:.*]] = arith.constant 16 : i64
  // CHECK: %[[C1_I32:.*]] = arith.constant 1 : i32
  // CHECK: %[[A:.*]] = llvm.call @nvfp4_task_buffer(%[[TASK]], %{{.*}}, %{{.*}}, %[[C256_I64]], %[[C16_I64]], %[[C1_I32]])
  // CHECK: %[[C0_I32:.*]] = arith.constant 0 : i32
  // CHECK: %[[C128_I32:.*]] = arith.constant 128 : i32
  // CHECK: llvm.call @nvfp4_task_matrix_map(%[[TASK]], %[[A]], %[[C0_I32]], %[[C128_I32]], %[[C128_I32]])
  // CHECK: %[[C384_I64:.*]] = arith.constant 384 : i64
  // CHECK: %[[B:.*]] = llvm.call @nvfp4_task_buffer(%[[TASK]], %{{.*}}, %[[C384_I64]], %[[C256_I64]], %[[C16_I64]], %[[C1_I32]])
  // CHECK: llvm.call @nvfp4_task_matrix_map(%[[TASK]], %[[B]], %[[C0_I32]], %[[C128_I32]], %[[C128_I32]])
  // Rows of 8 atoms of 512 bytes, of which a stage has 4.
  // CHECK: %[[C4096_I64:.*]] = arith.constant 4096 : i64
  // CHECK: %[[C512_I64:.*]] = arith.constant 512 : i64
  // CHECK: %[[AS:.*]] = llvm.call @nvfp4_task_buffer(%[[TASK]], %{{.*}}, %{{.*}}, %[[C4096_I64]], %[[C512_I64]], %[[C1_I32]])
  // CHECK: %[[C4_I32:.*]] = arith.constant 4 : i32
  // CHECK: llvm.call @nvfp4_task_scale_map(%[[TASK]], %[[AS]], %[[C4_I32]], %[[C1_I32]])
  // CHECK: %[[C3_I64:.*]] = arith.constant 3 : i64
  // CHECK: %[[BS:.*]] = llvm.call @nvfp4_task_buffer(%[[TASK]], %{{.*}}, %[[C3_I64]], %[[C4096_I64]], %[[C512_I64]], %[[C1_I32]])
  // CHECK: llvm.call @nvfp4_task_scale_map(%[[TASK]], %[[BS]], %[[C4_I32]], %[[C1_I32]])
  // Of the extents only the number of rows is not constant.
  // CHECK: llvm.call @nvfp4_task_extent(%[[TASK]]
  // CHECK-NOT: llvm.call @nvfp4_task_extent
  // CHECK: llvm.call @nvfp4_task_f32(%[[TASK]], %{{.*}})
  // CHECK: llvm.call @nvfp4_task_pointer(%[[TASK]], %[[OUT:.*]]) :
  // The box of results: 128 rows of 32 columns, which are 64 bytes.
  // CHECK: %[[C64_I32:.*]] = arith.constant 64 : i32
  // CHECK: llvm.call @nvfp4_task_matrix_map(%[[TASK]], %[[OUT]], %[[C0_I32]], %[[C128_I32]], %[[C64_I32]])
  // CHECK: llvm.call @nvfp4_task_run(%[[TASK]]
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
// CHECK: warpspec.smem_alloc : memref<5x128x128xi8, #warpspec.smem<128>>
// CHECK: warpspec.tmem_alloc : memref<2x128x128xf32, #warpspec.tmem>
// CHECK: warpspec.pipeline{{.*}} tensor_core to threads
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
