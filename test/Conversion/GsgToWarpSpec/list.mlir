// Problems with their own M, N and K: one kernel, which reads them from a table.
// RUN: nvfp4-opt %s --gsg-split-list --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --gsg-split-list=all | FileCheck %s --check-prefix=SPLIT
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a0 = !grouped_scaled_gemm.scaled<?x512, nvfp4, blocked>
!b0 = !grouped_scaled_gemm.scaled<384x512, nvfp4, blocked>
!a1 = !grouped_scaled_gemm.scaled<16x64, nvfp4, blocked>
!b1 = !grouped_scaled_gemm.scaled<32x64, nvfp4, blocked>

// SPLIT-COUNT-2: grouped_scaled_gemm.matmul <dense>

// CHECK-LABEL: func.func @list
func.func @list(%a0: memref<?x256xi8>, %as0: memref<?x8x32x4x4xf8E4M3FN>,
                %b0: memref<384x256xi8>, %bs0: memref<3x8x32x4x4xf8E4M3FN>,
                %a1: memref<16x32xi8>, %as1: memref<1x1x32x4x4xf8E4M3FN>,
                %b1: memref<32x32xi8>, %bs1: memref<1x1x32x4x4xf8E4M3FN>,
                %alpha: memref<2xf32>, %c0: memref<?x384xf32>, %c1: memref<16x32xf32>) {
  // CHECK: %[[T:.*]] = gpu.alloc () : memref<12x128xi8, #gpu.address_space<global>>
  // CHECK: warpspec.write_table %[[T]] rows(2)
  // CHECK: warpspec.launch @nvfp4_kernels::@nvfp4_gemm_0 tiles(%{{.*}})(%[[T]], %[[T]], writes
  // CHECK-NOT: warpspec.launch
  // CHECK-NOT: grouped_scaled_gemm
  grouped_scaled_gemm.matmul_list
      lhs(%a0 scaled_by %as0 : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a0,
          %a1 scaled_by %as1 : memref<16x32xi8>, memref<1x1x32x4x4xf8E4M3FN> as !a1)
      rhs(%b0 scaled_by %bs0 : memref<384x256xi8>, memref<3x8x32x4x4xf8E4M3FN> as !b0,
          %b1 scaled_by %bs1 : memref<32x32xi8>, memref<1x1x32x4x4xf8E4M3FN> as !b1)
      alpha(%alpha : memref<2xf32>) outs(%c0, %c1 : memref<?x384xf32>, memref<16x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256>}
  return
}

// CHECK: warpspec.kernel @nvfp4_gemm_0(%[[TABLE:.*]]: memref<?x128xi8, 1>, %[[WORDS:.*]]: memref<?xi32, 1>, %[[C:.*]]: memref<?xf32, 1>, %[[ALPHA:.*]]: memref<?xf32, 1>)
// CHECK-NOT: warpspec.kernel
// CHECK: role @load
// CHECK: warpspec.for_each_tile
// CHECK-COUNT-4: warpspec.tensor_map %[[TABLE]]
// CHECK-COUNT-4: warpspec.tma_load
// CHECK: role @epilogue
// Its result, by the distance from that of the first problem.
// CHECK: memref.extract_aligned_pointer_as_index %[[C]]
// CHECK: memref.reinterpret_cast %[[C]]
// CHECK: %[[BOX:.*]] = warpspec.tensor_map %[[TABLE]]
// CHECK: warpspec.tma_store %{{.*}} %[[BOX]]
