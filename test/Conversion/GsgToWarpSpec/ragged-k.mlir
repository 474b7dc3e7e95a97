// Groups along K: where one begins and how long its loop is comes from the offsets.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --gsg-assign-scale-layout | FileCheck %s --check-prefix=LAYOUT
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<256x?, nvfp4, blocked, starts = compact>
!b = !grouped_scaled_gemm.scaled<384x?, nvfp4, starts = compact>

// Scales in a row, those of groups behind each other: with room for a block more a group.
// LAYOUT-LABEL: func.func @gradient
// LAYOUT: %[[GROUPS:.*]] = memref.dim %{{.*}} : memref<4xi32>
// LAYOUT: %[[SIZE:.*]] = arith.addi %{{.*}}, %[[GROUPS]] : index
// LAYOUT: memref.alloc(%[[SIZE]]) : memref<256x?xf8E4M3FN>
// LAYOUT: grouped_scaled_gemm.relayout_scales
// LAYOUT-NOT: grouped_scaled_gemm.relayout_scales
// LAYOUT: grouped_scaled_gemm.matmul

// CHECK-LABEL: func.func @gradient
func.func @gradient(%ends: memref<4xi32>, %a: memref<256x?xi8>, %as: memref<?x?x32x4x4xf8E4M3FN>,
                    %b: memref<384x?xi8>, %bs: memref<384x?xf8E4M3FN>, %beta: f32,
                    %out: memref<4x256x384xf32>) {
  // CHECK-COUNT-2: warpspec.stage_values(%{{.*}}) format "nvfp4" columns(%{{.*}}) groups(%{{.*}}) k_ends stage(256)
  // CHECK-COUNT-2: warpspec.stage_scales(%{{.*}}) format "nvfp4" compact columns(%{{.*}}) groups(%{{.*}}) k_ends stage(256)
  // CHECK: warpspec.launch
  grouped_scaled_gemm.matmul <ragged_k, ends> groups(%ends : memref<4xi32>)
      lhs(%a scaled_by %as : memref<256x?xi8>, memref<?x?x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<384x?xi8>, memref<384x?xf8E4M3FN> as !b)
      beta(%beta : f32) outs(%out : memref<4x256x384xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256>}
  return
}

// CHECK: warpspec.kernel @nvfp4_gemm_0
// CHECK-SAME: %[[ENDS:[^:]*]]: memref<?xi32, 1>
// CHECK: role @load
// CHECK: warpspec.for_each_tile
// floor(begin / 256) + g
// CHECK: memref.load %[[ENDS]]
// CHECK: %[[FIRST:.*]] = arith.divui %{{.*}}, %c256
// CHECK: %[[STEP:.*]] = arith.addi %[[FIRST]], %[[G:.*]] : i32
// ceil(size / 256), at least one: a group without elements has zeros.
// CHECK: %[[COUNT:.*]] = arith.divui %{{.*}}, %c256
// CHECK: %[[STEPS:.*]] = arith.maxsi %[[COUNT]], %c1
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %[[STEPS]]
// CHECK: arith.addi %[[STEP]], %[[K]]
// CHECK-COUNT-4: warpspec.tma_load
// CHECK: role @mma
// CHECK: memref.load %[[ENDS]]
// CHECK: warpspec.mma_scaled
