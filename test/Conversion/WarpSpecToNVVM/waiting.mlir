// Ways to wait: a try that lets the wait be skipped, draining a ring, tables of maps.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(warpspec.kernel(warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles),convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

!p = !warpspec.pipeline<2 x (), threads to threads>
gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @tries
  warpspec.kernel @tries() {
    %p = warpspec.pipeline() depth 2 threads to threads
    warpspec.roles
    role @fill warps(1) {
      // CHECK: %[[READY:.*]] = nvvm.mbarrier.try_wait %[[B:.*]], %c1_i32
      // CHECK: scf.if %[[READY]] {
      // CHECK-NEXT: } else {
      // CHECK-NEXT: scf.while
      // CHECK-NEXT: nvvm.mbarrier.try_wait %[[B]], %c1_i32
      %now = warpspec.try_acquire %p : !p
      %fill = warpspec.acquire %p ready(%now) : !p
      // CHECK: nvvm.mbarrier.arrive
      warpspec.commit %fill
      // Both slots: stage 1 of the first phase, stage 0 of the second.
      // CHECK: nvvm.mbarrier.try_wait %{{.*}}, %c1_i32
      // CHECK: nvvm.mbarrier.try_wait %{{.*}}, %c0_i32
      // CHECK-NOT: try_wait
      warpspec.drain_all %p : !p
    }
  }

  // CHECK-LABEL: llvm.func @table
  // CHECK: llvm.addrspacecast %{{.*}} : !llvm.ptr<1> to !llvm.ptr
  // CHECK: nvvm.fence.proxy.acquire
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global
  // CHECK-SAME: isCTAOnly = true
  warpspec.kernel @table(%maps: memref<?x128xi8, 1>, %group: i32) {
    %b = warpspec.smem_alloc : memref<1x64xi8, #warpspec.smem>
    %p = warpspec.pipeline(%b) tma to threads : memref<1x64xi8, #warpspec.smem>
    %c0 = arith.constant 0 : i32
    warpspec.roles
    role @load warps(1) {
      %map = warpspec.tensor_map %maps[%group] : memref<?x128xi8, 1> to !warpspec.tensor_map<64xi8>
      %fill, %s = warpspec.acquire %p : !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), tma to threads>
      warpspec.tma_load %map[%c0] to %s fills(%fill) : !warpspec.tensor_map<64xi8> to memref<64xi8, #warpspec.smem>
      warpspec.commit %fill
    }
  }
}
