// Two accumulators of 256 columns have 64 in common: a buffer and a pipeline of its own.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --gsg-to-sm100-kernels | FileCheck %s --check-prefix=NVVM
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-verify-schedule)))' -o /dev/null
// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(gsg-assign-scale-layout,gsg-insert-transfers,gsg-expand-epilogue,convert-gsg-to-warpspec,gpu.module(warpspec.kernel(warpspec-plan-memory,warpspec-verify-schedule)))' -o /dev/null

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<512x512, nvfp4, blocked>

func.func @wide(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>,
                %b: memref<512x256xi8>, %bs: memref<4x8x32x4x4xf8E4M3FN>,
                %out: memref<?x512xbf16>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<512x256xi8>, memref<4x8x32x4x4xf8E4M3FN> as !b)
      outs(%out : memref<?x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 256>}
  return
}

// CHECK: %[[OWN:.*]] = warpspec.tmem_alloc at(0) stride(256) : memref<2x128x192xf32, #warpspec.tmem>
// CHECK: %[[P:.*]] = warpspec.pipeline(%[[OWN]]) tensor_core to threads
// CHECK: %[[SHARED:.*]] = warpspec.tmem_alloc at(192) : memref<1x128x64xf32, #warpspec.tmem>
// CHECK: %[[Q:.*]] = warpspec.pipeline(%[[SHARED]]) tensor_core to threads
// CHECK: role @mma
// CHECK: %[[F:.*]], %[[S:.*]] = warpspec.acquire %[[P]]
// CHECK: %[[G:.*]], %[[T:.*]] = warpspec.acquire %[[Q]]
// CHECK: %[[ACC:.*]] = warpspec.tmem_join %[[S]], %[[T]]
// CHECK: warpspec.mma_scaled <mxf4nvf4> %[[ACC]] +=
// CHECK: warpspec.commit %[[F]]
// CHECK: warpspec.commit %[[G]]
// CHECK: role @epilogue
// CHECK: for_each_tile {{.*}} iter_args(%[[TURN:.*]] = %
// CHECK: %[[D:.*]], %{{.*}} = warpspec.wait %[[P]]
// What is shared comes first, and is handed back before the rest is read.
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[TURN]], %
// CHECK: %[[E:.*]], %[[SLOT:.*]] = warpspec.wait %[[Q]]
// CHECK: arith.select %[[FIRST]], %c192{{.*}}, %c0
// CHECK: warpspec.tmem_slice %[[SLOT]]
// CHECK: warpspec.release %[[E]]
// CHECK: arith.select %[[FIRST]], %c0{{.*}}, %c64
// CHECK: warpspec.tmem_load
// CHECK: warpspec.release %[[D]]
// CHECK: arith.xori %[[TURN]], %

// The first column of a product: of the slot, or of what it shares.
// NVVM: llvm.intr.umin
// NVVM: nvvm.tcgen05.mma.block_scale
