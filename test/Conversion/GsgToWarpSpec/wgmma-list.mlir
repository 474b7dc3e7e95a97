// Problems with their own M, N and K on Hopper: one kernel, which reads them from a table. The host knows the rows of their
// tiles, so that each has one map of tokens.
// RUN: nvfp4-opt %s --gsg-split-list --gsg-assign-scale-layout=target=sm_90a --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_90a | FileCheck %s
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout{target=sm_90a},gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec{target=sm_90a},gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null

!a0 = !grouped_scaled_gemm.scaled<?x512, mxfp4>
!b0 = !grouped_scaled_gemm.scaled<384x512, mxfp4>
!a1 = !grouped_scaled_gemm.scaled<100x64, mxfp4>
!b1 = !grouped_scaled_gemm.scaled<32x64, mxfp4>

// CHECK-LABEL: func.func @list
func.func @list(%a0: memref<?x256xi8>, %as0: memref<?x16xf8E8M0FNU>,
                %b0: memref<384x256xi8>, %bs0: memref<384x16xf8E8M0FNU>,
                %a1: memref<100x32xi8>, %as1: memref<100x2xf8E8M0FNU>,
                %b1: memref<32x32xi8>, %bs1: memref<32x2xf8E8M0FNU>,
                %alpha: memref<2xf32>, %c0: memref<?x384xf32>, %c1: memref<100x32xf32>) {
  // CHECK-COUNT-2: warpspec.stage_rows
  // Two tiles of 56 rows have the 100; rows of the other are not known.
  // CHECK: %[[ROWS:c56.+]] = arith.constant 56 : index
  // CHECK: encode_tensor_map %{{.*}} box(%[[ROWS]]) : {{.*}} to <2x?x64xbf16, swizzle = 128>
  // CHECK: %[[T:.*]] = gpu.alloc () : memref<4x128xi8, #gpu.address_space<global>>
  // CHECK: warpspec.write_table %[[T]] rows(2)
  // CHECK: warpspec.launch @nvfp4_kernels::@nvfp4_gemm_0 tiles(%{{.*}})(%[[T]], %[[T]], writes
  // CHECK-NOT: warpspec.launch
  // CHECK-NOT: grouped_scaled_gemm
  grouped_scaled_gemm.matmul_list
      lhs(%a0 scaled_by %as0 : memref<?x256xi8>, memref<?x16xf8E8M0FNU> as !a0,
          %a1 scaled_by %as1 : memref<100x32xi8>, memref<100x2xf8E8M0FNU> as !a1)
      rhs(%b0 scaled_by %bs0 : memref<384x256xi8>, memref<384x16xf8E8M0FNU> as !b0,
          %b1 scaled_by %bs1 : memref<32x32xi8>, memref<32x2xf8E8M0FNU> as !b1)
      alpha(%alpha : memref<2xf32>) outs(%c0, %c1 : memref<?x384xf32>, memref<100x32xf32>)
      {strategy = #grouped_scaled_gemm.strategy<m = 96, n = 256, k = 128>}
  return
}

// CHECK: warpspec.kernel @nvfp4_gemm_0(%[[TABLE:.*]]: memref<?x128xi8, 1>, %[[WORDS:.*]]: memref<?xi32, 1>, %[[C:.*]]: memref<?xf32, 1>, %[[ALPHA:.*]]: memref<?xf32, 1>, %[[W:.*]]: memref<?xi8, 1>, %[[F:.*]]: memref<?xf32, 1>)
// CHECK-NOT: warpspec.kernel
// CHECK: role @math
// Its factor and its result, by the distances from those of the first problem.
// CHECK: memref.extract_aligned_pointer_as_index %[[C]]
// CHECK: memref.extract_aligned_pointer_as_index %[[F]]
// CHECK: memref.load %[[F]]
// CHECK: role @load
// CHECK: warpspec.for_each_tile
// CHECK: memref.extract_aligned_pointer_as_index %[[W]]
// CHECK: %[[BOX:.*]] = warpspec.tensor_map %[[TABLE]]{{.*}} to <2x?x64xbf16, swizzle = 128>
// CHECK: warpspec.bulk_load %[[W]]
// CHECK: warpspec.tma_load_rows %{{.*}} of %[[BOX]]
