// K in parts: each tile thrice, on blocks of their own; sums of the first two lie in global memory.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec --canonicalize --cse | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<64x4096, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<256x4096, nvfp4, blocked>
// 2 tiles of 2 parts: rows of zeros, for 128 threads with 128 sums each, and a flag of each thread.
// CHECK-LABEL: func.func @few
// CHECK: gpu.memset %{{.*}} : memref<4x65536xi8, #gpu.address_space<global>>
// CHECK: gpu.memset %{{.*}} : memref<4x512xi8, #gpu.address_space<global>>
func.func @few(%a: memref<64x2048xi8>, %as: memref<1x64x32x4x4xf8E4M3FN>,
               %b: memref<256x2048xi8>, %bs: memref<2x64x32x4x4xf8E4M3FN>, %out: memref<64x256xbf16>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<64x2048xi8>, memref<1x64x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<256x2048xi8>, memref<2x64x32x4x4xf8E4M3FN> as !b)
      outs(%out : memref<64x256xbf16>)
      {determinism = #grouped_scaled_gemm<determinism relaxed>,
       strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, split_k = 3>}
  return
}

// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_0
// CHECK-SAME: %[[PARTS:[a-z0-9]+]]: memref<?xf32, 1>, %[[DONE:[a-z0-9]+]]: memref<?xi32, 1>)
// 16 stages: 6, 6 and 4.
// CHECK: role @load
// CHECK: warpspec.for_each_tile m_fastest
// CHECK: warpspec.yield %c3_i32, %c2_i32
// CHECK: do(%{{.*}}, %[[M:.*]], %{{.*}}) {
// CHECK: %[[PART:.*]] = arith.remui %[[M]], %c3_i32
// CHECK: arith.divui %[[M]], %c3_i32
// CHECK: %[[FIRST:.*]] = arith.muli %[[PART]], %c6_i32
// CHECK: %[[LEFT:.*]] = arith.subi %c16_i32, %[[FIRST]]
// CHECK: %[[SOME:.*]] = arith.maxsi %[[LEFT]], %c1_i32
// CHECK: %[[STEPS:.*]] = arith.minsi %[[SOME]], %c6_i32
// CHECK: scf.for %[[I:.*]] = %c0_i32 to %[[STEPS]]
// CHECK: arith.addi %[[FIRST]], %[[I]]
// The last part waits for both others, and adds the first, the second and its own.
// CHECK: role @epilogue
// CHECK: %[[WORKER:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: for_each_tile {{.*}} iter_args(%[[NUMBER:.*]] = %[[WORKER]])
// CHECK: arith.divui %[[NUMBER]], %c3_i32
// CHECK: arith.cmpi eq, %{{.*}}, %c2_i32
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: warpspec.await %[[DONE]]
// CHECK: warpspec.tmem_load
// CHECK: %[[P0:.*]] = vector.load %[[PARTS]]
// CHECK-COUNT-7: vector.load %[[PARTS]]
// CHECK: %[[P1:.*]] = vector.load %[[PARTS]]
// CHECK: %[[SUM:.*]] = arith.addf %[[P0]], %[[P1]]
// CHECK: %[[OWN:.*]] = vector.extract_strided_slice
// CHECK: arith.addf %[[SUM]], %[[OWN]]
// CHECK: } else {
// CHECK: vector.store %{{.*}}, %[[PARTS]]
// CHECK: warpspec.release
// CHECK: warpspec.publish %[[DONE]]

// Of offsets that go back the groups may have more tiles than 1 + 5 rows of two, which there is memory for.
!r = !grouped_scaled_gemm.scaled<64x4096, nvfp4, blocked, starts = upper_bound>
!w = !grouped_scaled_gemm.scaled<5x256x4096, nvfp4, blocked>
// CHECK-LABEL: warpspec.kernel @nvfp4_gemm_1
// CHECK: role @epilogue
// CHECK: for_each_tile {{.*}} iter_args(%[[NUMBER:.*]] = %
// CHECK: %[[KEPT:.*]] = arith.cmpi slt, %[[NUMBER]], %c36_i32
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %{{.*}}, %c2_i32
// CHECK: %[[ADDS:.*]] = arith.andi %[[LAST]], %[[KEPT]]
// CHECK: scf.if %[[ADDS]]
// CHECK: } else {
// CHECK: scf.if %[[KEPT]]
// CHECK: vector.store
// CHECK: warpspec.release
// CHECK: scf.if %[[KEPT]]
// CHECK: warpspec.publish
func.func @ragged(%ends: memref<5xi32>, %a: memref<64x2048xi8>, %as: memref<5x64x32x4x4xf8E4M3FN>,
                  %b: memref<5x256x2048xi8>, %bs: memref<5x2x64x32x4x4xf8E4M3FN>, %out: memref<64x256xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<5xi32>)
      lhs(%a scaled_by %as : memref<64x2048xi8>, memref<5x64x32x4x4xf8E4M3FN> as !r)
      rhs(%b scaled_by %bs : memref<5x256x2048xi8>, memref<5x2x64x32x4x4xf8E4M3FN> as !w)
      outs(%out : memref<64x256xbf16>)
      {determinism = #grouped_scaled_gemm<determinism relaxed>,
       strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256, split_k = 3>}
  return
}
