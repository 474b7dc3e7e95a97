// Warps are dispatched, counts derived, and what one thread issues is elected.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(warpspec-plan-memory,warpspec-materialize-stages,warpspec-insert-fences,warpspec-lower-roles,canonicalize,cse))' | FileCheck %s

!in = !warpspec.pipeline<4 x (memref<64x64xi16, #warpspec.smem>), tma to threads>
!out = !warpspec.pipeline<2 x (memref<64x64xi16, #warpspec.smem>), threads to tma>

// Two roles of two and three warps drain: five arrivals empty a slot.
// CHECK-LABEL: warpspec.kernel @counts
// CHECK-DAG: init_barriers at([[AT:[0-9]+]]) depth(4) count(1)
// CHECK-DAG: init_barriers at({{[0-9]+}}) depth(4) count(5)
// CHECK: nvvm.barrier
// CHECK: threads(192)
warpspec.kernel @counts(%map: !warpspec.tensor_map<64x64xi16>) {
  %b = warpspec.smem_alloc : memref<4x64x64xi16, #warpspec.smem>
  %in = warpspec.pipeline(%b) tma to threads : memref<4x64x64xi16, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @load warps(1) {
    %fill, %s = warpspec.acquire %in : !in
    warpspec.tma_load %map[%c0, %c0] to %s fills(%fill) : !warpspec.tensor_map<64x64xi16> to memref<64x64xi16, #warpspec.smem>
    warpspec.commit %fill
  }
  role @two warps(2) {
    %drain, %s = warpspec.wait %in : !in
    warpspec.release %drain
  }
  role @three warps(3) {
    %drain, %s = warpspec.wait %in : !in
    warpspec.release %drain
  }
}

// A loop without collective operations is elected whole; the tile loop is not.
// CHECK-LABEL: warpspec.kernel @elected
// CHECK: %[[ELECTED:.*]] = nvvm.elect.sync
// CHECK: scf.for
// CHECK: scf.if %[[ELECTED]]
// CHECK-NEXT: scf.for
// CHECK-NEXT: warpspec.acquire
// CHECK: warpspec.tma_load
// CHECK: warpspec.commit
warpspec.kernel @elected(%map: !warpspec.tensor_map<64x64xi16>, %tiles: i32, %n: i32) {
  %b = warpspec.smem_alloc : memref<4x64x64xi16, #warpspec.smem>
  %in = warpspec.pipeline(%b) tma to threads : memref<4x64x64xi16, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @load warps(1) {
    warpspec.for_each_tile m_fastest of %c1 extents(%g) {
      warpspec.yield %tiles, %c1 : i32, i32
    } do(%g, %i, %j) {
      scf.for %k = %c0 to %n step %c1 : i32 {
        %fill, %s = warpspec.acquire %in : !in
        warpspec.tma_load %map[%i, %k] to %s fills(%fill) : !warpspec.tensor_map<64x64xi16> to memref<64x64xi16, #warpspec.smem>
        warpspec.commit %fill
      }
    }
  }
}

// Staging: all threads write, the first warp's elected thread waits and stores.
// CHECK-LABEL: warpspec.kernel @staging
// CHECK: %[[E:.*]] = nvvm.elect.sync
// CHECK: %[[ISSUER:.*]] = arith.andi %{{.*}}, %[[E]]
// CHECK: warpspec.acquire %{{.*}}[%{{.*}}, %{{.*}}] issuer(%[[ISSUER]])
// CHECK-NEXT: nvvm.barrier id = %c1_i32 number_of_threads = %c128_i32
// CHECK: warpspec.fence <proxy_async>
// CHECK-NEXT: nvvm.barrier id = %c1_i32 number_of_threads = %c128_i32
// CHECK-NEXT: warpspec.commit
// CHECK-NEXT: scf.if %[[ISSUER]]
// CHECK-NEXT: warpspec.wait
// CHECK-NEXT: warpspec.tma_store
// CHECK-NEXT: warpspec.release
// CHECK-NEXT: warpspec.drain_all
warpspec.kernel @staging(%map: !warpspec.tensor_map<64x64xi16>) {
  %b = warpspec.smem_alloc : memref<2x64x64xi16, #warpspec.smem>
  %out = warpspec.pipeline(%b) threads to tma : memref<2x64x64xi16, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %v = arith.constant dense<0> : vector<8xi16>
  warpspec.roles
  role @work warps(4) {
    %row = warpspec.thread_index : i32
    %fill, %s = warpspec.acquire %out : !out
    warpspec.smem_store %v, %s[%row, %c0] : vector<8xi16>, memref<64x64xi16, #warpspec.smem>
    warpspec.commit %fill
    %drain, %t = warpspec.wait %out : !out
    warpspec.tma_store %t to %map[%c0, %c0] : memref<64x64xi16, #warpspec.smem> to !warpspec.tensor_map<64x64xi16>
    warpspec.release %drain
  }
}

// Registers move between warpgroups when the even share is too small; warps that
// no role has fill the last warpgroup up.
// CHECK-LABEL: warpspec.kernel @registers
// CHECK-DAG: nvvm.setmaxregister increase 232
// CHECK-DAG: nvvm.setmaxregister decrease 40
// CHECK: threads(384)
warpspec.kernel @registers() {
  warpspec.roles
  role @load warps(1) registers(40) {
  }
  role @work warps(8) registers(232) {
  }
}

// Groups are searched 32 at a time by all lanes.
// CHECK-LABEL: warpspec.kernel @groups
// CHECK: scf.while
// CHECK: scf.while
// CHECK: nvvm.read.ptx.sreg.laneid
// CHECK-COUNT-5: nvvm.shfl.sync up
// CHECK: nvvm.vote.sync ballot
warpspec.kernel @groups(%ends: memref<?xi32, 1>, %groups: i32) {
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @work warps(1) {
    warpspec.for_each_tile m_fastest of %groups extents(%g) {
      %i = arith.index_cast %g : i32 to index
      %n = memref.load %ends[%i] : memref<?xi32, 1>
      warpspec.yield %n, %c1 : i32, i32
    } do(%g, %i, %j) {
      %k = arith.index_cast %i : i32 to index
      memref.store %g, %ends[%k] : memref<?xi32, 1>
    }
  }
}

// Only roles whose warps meet have a named barrier: the second has the first one.
// CHECK-LABEL: warpspec.kernel @barriers
// CHECK: nvvm.barrier id = %c1_i32 number_of_threads = %c64_i32
warpspec.kernel @barriers() {
  %b = warpspec.smem_alloc : memref<2x64x64xi16, #warpspec.smem>
  %out = warpspec.pipeline(%b) threads to tma : memref<2x64x64xi16, #warpspec.smem>
  warpspec.roles
  role @idle warps(2) {
  }
  role @work warps(2) {
    %fill, %s = warpspec.acquire %out : !out
    warpspec.commit %fill
    %drain, %t = warpspec.wait %out : !out
    warpspec.release %drain
  }
}
