// Results are added to what the destination holds, and leave in a box.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(warpspec.kernel(warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles),convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

!stage = !warpspec.pipeline<1 x (memref<32x16xf32, #warpspec.smem>), threads to tma>
gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK-LABEL: llvm.func @add
  // CHECK: vector.load
  // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
  warpspec.kernel @add(%map: !warpspec.tensor_map<32x16xf32>, %d: memref<?x16xf32, 1>) {
    %s = warpspec.smem_alloc : memref<1x32x16xf32, #warpspec.smem>
    %out = warpspec.pipeline(%s) threads to tma : memref<1x32x16xf32, #warpspec.smem>
    %c0 = arith.constant 0 : i32
    %i0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : vector<16xf32>
    warpspec.roles
    role @store warps(1) {
      %row = warpspec.thread_index : i32
      %i = arith.index_cast %row : i32 to index
      %v = vector.load %d[%i, %i0] : memref<?x16xf32, 1>, vector<16xf32>
      %sum = arith.addf %v, %one : vector<16xf32>
      %fill, %b = warpspec.acquire %out : !stage
      warpspec.smem_store %sum, %b[%row, %c0] : vector<16xf32>, memref<32x16xf32, #warpspec.smem>
      warpspec.commit %fill
      %full, %r = warpspec.wait %out : !stage
      warpspec.tma_store %r to %map[%c0, %c0] of %d : memref<32x16xf32, #warpspec.smem> to !warpspec.tensor_map<32x16xf32> of memref<?x16xf32, 1>
      warpspec.release %full
    }
  }
}
