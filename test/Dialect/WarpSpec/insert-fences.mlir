// Each fence stands where its edge is, and nowhere else.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(warpspec-insert-fences))' | FileCheck %s

!acc = !warpspec.pipeline<2 x (memref<128x64xf32, #warpspec.tmem>), tensor_core to threads>
!stage = !warpspec.pipeline<2 x (memref<128x32xf32, #warpspec.smem<128>>), threads to tma>

// CHECK-LABEL: warpspec.kernel @epilogue
warpspec.kernel @epilogue(%map: !warpspec.tensor_map<128x32xf32, swizzle = 128>) {
  %t = warpspec.tmem_alloc : memref<2x128x64xf32, #warpspec.tmem>
  %s = warpspec.smem_alloc : memref<2x128x32xf32, #warpspec.smem<128>>
  %acc = warpspec.pipeline(%t) tensor_core to threads : memref<2x128x64xf32, #warpspec.tmem>
  %out = warpspec.pipeline(%s) threads to tma : memref<2x128x32xf32, #warpspec.smem<128>>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @mma warps(1) {
    // CHECK: warpspec.acquire
    // CHECK-NEXT: fence <tcgen05_after>
    // CHECK-NEXT: commit
    %fill, %d = warpspec.acquire %acc : !acc
    warpspec.commit %fill
  }
  role @store warps(4) {
    %row = warpspec.thread_index : i32
    // CHECK: warpspec.wait
    // CHECK-NEXT: fence <tcgen05_after>
    %drain, %d = warpspec.wait %acc : !acc
    %part = warpspec.tmem_slice %d[%c0] : memref<128x64xf32, #warpspec.tmem> to memref<128x32xf32, #warpspec.tmem>
    // CHECK: %[[V:.*]] = warpspec.tmem_load
    %v = warpspec.tmem_load %part : memref<128x32xf32, #warpspec.tmem>
    // Acquiring is a loop: nothing may touch the registers before they have arrived.
    // CHECK-NEXT: %[[W:.*]] = warpspec.tmem_wait %[[V]]
    // CHECK-NEXT: warpspec.acquire
    // CHECK-NEXT: role_barrier
    %fill, %b = warpspec.acquire %out : !stage
    // CHECK-NEXT: smem_store %[[W]]
    warpspec.smem_store %v, %b[%row, %c0] : vector<32xf32>, memref<128x32xf32, #warpspec.smem<128>>
    // CHECK-NEXT: fence <tcgen05_before>
    // CHECK-NEXT: release
    warpspec.release %drain
    // CHECK-NEXT: fence <proxy_async>
    // CHECK-NEXT: role_barrier
    // CHECK-NEXT: commit
    warpspec.commit %fill
    // CHECK-NEXT: warpspec.wait
    %full, %r = warpspec.wait %out : !stage
    // CHECK-NEXT: tma_store
    warpspec.tma_store %r to %map[%row, %c0] : memref<128x32xf32, #warpspec.smem<128>> to !warpspec.tensor_map<128x32xf32, swizzle = 128>
    // CHECK-NEXT: release
    warpspec.release %full
    // CHECK-NEXT: drain_all
  }
}

// Loads that no value is used of are waited for before the slot goes back.
// CHECK-LABEL: warpspec.kernel @unused
warpspec.kernel @unused() {
  %t = warpspec.tmem_alloc : memref<2x128x64xf32, #warpspec.tmem>
  %acc = warpspec.pipeline(%t) tensor_core to threads : memref<2x128x64xf32, #warpspec.tmem>
  warpspec.roles
  role @store warps(4) {
    %drain, %d = warpspec.wait %acc : !acc
    // CHECK: tmem_load
    // CHECK-NEXT: tmem_wait
    // CHECK-NEXT: fence <tcgen05_before>
    // CHECK-NEXT: release
    %v = warpspec.tmem_load %d : memref<128x64xf32, #warpspec.tmem>
    warpspec.release %drain
  }
}

// TMA to the tensor core needs none.
// CHECK-LABEL: warpspec.kernel @operands
// CHECK-NOT: fence
warpspec.kernel @operands() {
  %s = warpspec.smem_alloc : memref<2x128x128xi8, #warpspec.smem<128>>
  %in = warpspec.pipeline(%s) tma to tensor_core : memref<2x128x128xi8, #warpspec.smem<128>>
  warpspec.roles
  role @mma warps(1) {
    %drain, %a = warpspec.wait %in : !warpspec.pipeline<2 x (memref<128x128xi8, #warpspec.smem<128>>), tma to tensor_core>
    warpspec.release %drain
  }
}

// Threads read what TMA wrote, and write what TMA will store: one fence serves both
// hand-overs, as nothing is accessed in between.
// CHECK-LABEL: warpspec.kernel @both
// CHECK: smem_store
// CHECK-NEXT: fence <proxy_async>
// CHECK-NEXT: release
// CHECK-NEXT: role_barrier
// CHECK-NEXT: commit
warpspec.kernel @both() {
  %x = warpspec.smem_alloc : memref<2x128xi8, #warpspec.smem>
  %y = warpspec.smem_alloc : memref<2x128xi8, #warpspec.smem>
  %in = warpspec.pipeline(%x) tma to threads : memref<2x128xi8, #warpspec.smem>
  %out = warpspec.pipeline(%y) threads to tma : memref<2x128xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @work warps(4) {
    %fill, %t = warpspec.acquire %out : !warpspec.pipeline<2 x (memref<128xi8, #warpspec.smem>), threads to tma>
    %drain, %s = warpspec.wait %in : !warpspec.pipeline<2 x (memref<128xi8, #warpspec.smem>), tma to threads>
    %v = warpspec.smem_load %s[%c0] : memref<128xi8, #warpspec.smem>, vector<16xi8>
    warpspec.smem_store %v, %t[%c0] : vector<16xi8>, memref<128xi8, #warpspec.smem>
    warpspec.release %drain
    warpspec.commit %fill
    %full, %u = warpspec.wait %out : !warpspec.pipeline<2 x (memref<128xi8, #warpspec.smem>), threads to tma>
    warpspec.release %full
  }
}

// Threads that hand tensor memory to threads of another role are ordered by fences too.
// CHECK-LABEL: warpspec.kernel @threads_to_threads
// CHECK: warpspec.acquire
// CHECK-NEXT: fence <tcgen05_after>
// CHECK-NEXT: tmem_store
// CHECK-NEXT: fence <tmem_stores>
// CHECK-NEXT: fence <tcgen05_before>
// CHECK-NEXT: commit
// CHECK: warpspec.wait
// CHECK-NEXT: fence <tcgen05_after>
// CHECK-NEXT: tmem_load
// CHECK-NEXT: tmem_wait
// CHECK-NEXT: fence <tcgen05_before>
// CHECK-NEXT: release
warpspec.kernel @threads_to_threads() {
  %t = warpspec.tmem_alloc : memref<1x128x32xf32, #warpspec.tmem>
  %p = warpspec.pipeline(%t) threads to threads : memref<1x128x32xf32, #warpspec.tmem>
  %v = arith.constant dense<0.0> : vector<32xf32>
  warpspec.roles
  role @write warps(4) {
    %fill, %s = warpspec.acquire %p : !warpspec.pipeline<1 x (memref<128x32xf32, #warpspec.tmem>), threads to threads>
    warpspec.tmem_store %v, %s : vector<32xf32>, memref<128x32xf32, #warpspec.tmem>
    warpspec.commit %fill
  }
  role @read warps(4) {
    %drain, %s = warpspec.wait %p : !warpspec.pipeline<1 x (memref<128x32xf32, #warpspec.tmem>), threads to threads>
    %w = warpspec.tmem_load %s : memref<128x32xf32, #warpspec.tmem>
    warpspec.release %drain
  }
}

// A slot that goes back within a branch: the loads before it have arrived by then.
// CHECK-LABEL: warpspec.kernel @nested
// CHECK: tmem_load
// CHECK-NEXT: tmem_wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: fence <tcgen05_before>
// CHECK-NEXT: release
warpspec.kernel @nested(%c: i1) {
  %t = warpspec.tmem_alloc : memref<2x128x64xf32, #warpspec.tmem>
  %acc = warpspec.pipeline(%t) tensor_core to threads : memref<2x128x64xf32, #warpspec.tmem>
  warpspec.roles
  role @store warps(4) {
    %drain, %d = warpspec.wait %acc : !acc
    %v = warpspec.tmem_load %d : memref<128x64xf32, #warpspec.tmem>
    scf.if %c {
      warpspec.release %drain
    } else {
      warpspec.release %drain
    }
  }
}

// Threads read, by a view, what the box overwrites: the copy comes after their reads.
// CHECK-LABEL: warpspec.kernel @added_to
// CHECK: vector.load
// CHECK: smem_store
// CHECK-NEXT: fence <proxy_async>
// CHECK-NEXT: fence <proxy_async_global>
// CHECK-NEXT: role_barrier
// CHECK-NEXT: commit
warpspec.kernel @added_to(%map: !warpspec.tensor_map<128x32xf32, swizzle = 128>, %d: memref<?xf32, 1>) {
  %s = warpspec.smem_alloc : memref<2x128x32xf32, #warpspec.smem<128>>
  %out = warpspec.pipeline(%s) threads to tma : memref<2x128x32xf32, #warpspec.smem<128>>
  %c0 = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  %n = arith.constant 4096 : index
  warpspec.roles
  role @store warps(4) {
    %row = warpspec.thread_index : i32
    %here = memref.reinterpret_cast %d to offset: [%i0], sizes: [%n], strides: [1] : memref<?xf32, 1> to memref<?xf32, strided<[1], offset: ?>, 1>
    %v = vector.load %here[%i0] : memref<?xf32, strided<[1], offset: ?>, 1>, vector<32xf32>
    %fill, %b = warpspec.acquire %out : !stage
    warpspec.smem_store %v, %b[%row, %c0] : vector<32xf32>, memref<128x32xf32, #warpspec.smem<128>>
    warpspec.commit %fill
    %full, %r = warpspec.wait %out : !stage
    warpspec.tma_store %r to %map[%row, %c0] of %d : memref<128x32xf32, #warpspec.smem<128>> to !warpspec.tensor_map<128x32xf32, swizzle = 128> of memref<?xf32, 1>
    warpspec.release %full
  }
}

// What they read is other memory, and of the destination they only write.
// CHECK-LABEL: warpspec.kernel @added_elsewhere
// CHECK-NOT: proxy_async_global
warpspec.kernel @added_elsewhere(%map: !warpspec.tensor_map<128x32xf32, swizzle = 128>, %c: memref<?xf32, 1>, %d: memref<?xf32, 1>) {
  %s = warpspec.smem_alloc : memref<2x128x32xf32, #warpspec.smem<128>>
  %out = warpspec.pipeline(%s) threads to tma : memref<2x128x32xf32, #warpspec.smem<128>>
  %c0 = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  warpspec.roles
  role @store warps(4) {
    %row = warpspec.thread_index : i32
    %v = vector.load %c[%i0] : memref<?xf32, 1>, vector<32xf32>
    vector.store %v, %d[%i0] : memref<?xf32, 1>, vector<32xf32>
    %fill, %b = warpspec.acquire %out : !stage
    warpspec.smem_store %v, %b[%row, %c0] : vector<32xf32>, memref<128x32xf32, #warpspec.smem<128>>
    warpspec.commit %fill
    %full, %r = warpspec.wait %out : !stage
    warpspec.tma_store %r to %map[%row, %c0] of %d : memref<128x32xf32, #warpspec.smem<128>> to !warpspec.tensor_map<128x32xf32, swizzle = 128> of memref<?xf32, 1>
    warpspec.release %full
  }
}
