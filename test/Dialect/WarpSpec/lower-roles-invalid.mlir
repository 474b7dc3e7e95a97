// What cannot be dispatched.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-lower-roles))'

// expected-error @below {{expected shared_bytes and tmem_columns to be planned; run warpspec-plan-memory first}}
warpspec.kernel @unplanned() {
  warpspec.roles
  role @a warps(1) {
  }
}

// -----

// One thread knows whether the slot is empty; all would store it.
!p = !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), tma to threads>
warpspec.kernel @shared_value(%out: memref<?xi8, 1>) {
  %b = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) tma to threads barriers(64) : memref<1x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0 : index
  warpspec.roles
  role @load warps(1) {
    // expected-error @below {{expected no use of its result by all threads of the role: one thread issues it}}
    %now = warpspec.try_acquire %p[%c0, %c0] : !p
    %byte = arith.extui %now : i1 to i8
    // expected-note @below {{used here}}
    memref.store %byte, %out[%zero] : memref<?xi8, 1>
  }
} shared_bytes(80) tmem_columns(0)

// -----

// The same, carried out of a loop that all threads run.
!p = !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), tma to threads>
warpspec.kernel @carried_value(%out: memref<?xi8, 1>, %n: i32) {
  %b = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) tma to threads barriers(64) : memref<1x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %false = arith.constant false
  %zero = arith.constant 0 : index
  %none = arith.constant 0 : i8
  warpspec.roles
  role @load warps(1) {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %false) -> (i1) : i32 {
      // expected-error @below {{expected no use of its result by all threads of the role: one thread issues it}}
      %now = warpspec.try_acquire %p[%c0, %c0] : !p
      memref.store %none, %out[%zero] : memref<?xi8, 1>
      scf.yield %now : i1
    }
    %byte = arith.extui %last : i1 to i8
    // expected-note @below {{used here}}
    memref.store %byte, %out[%zero] : memref<?xi8, 1>
  }
} shared_bytes(80) tmem_columns(0)

// -----

// A condition that one thread knows, on what all do.
!p = !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), tma to threads>
warpspec.kernel @shared_condition(%out: memref<?xi8, 1>) {
  %b = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) tma to threads barriers(64) : memref<1x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0 : index
  %none = arith.constant 0 : i8
  warpspec.roles
  role @load warps(1) {
    // expected-error @below {{expected no use of its result by all threads of the role: one thread issues it}}
    %now = warpspec.try_acquire %p[%c0, %c0] : !p
    // expected-note @below {{used here}}
    scf.if %now {
      memref.store %none, %out[%zero] : memref<?xi8, 1>
    }
  }
} shared_bytes(80) tmem_columns(0)

// -----

// expected-error @below {{expected shared_bytes and tmem_columns to be planned; run warpspec-plan-memory first}}
warpspec.kernel @no_columns() {
  warpspec.roles
  role @a warps(1) {
  }
} shared_bytes(8)

// -----

warpspec.kernel @no_offset() {
  // expected-error @below {{expected the offset to be planned; run warpspec-plan-memory first}}
  %b = warpspec.smem_alloc : memref<1x128xi8, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
  }
} shared_bytes(128) tmem_columns(0)

// -----

// V6 speaks of the same layout that is dispatched.
warpspec.kernel @registers() {
  // expected-error @below {{V6: expected at most 64512 registers}}
  warpspec.roles
  role @a warps(4) registers(232) {
  }
  role @b warps(8) {
  }
} shared_bytes(0) tmem_columns(0)

// -----

// 15 named barriers, besides that of the block.
warpspec.kernel @barriers() {
  // expected-error @below {{V6: expected at most 15 roles of several warps that meet at a barrier, but got 16}}
  warpspec.roles
  role @r0 warps(2) {
    warpspec.role_barrier
  }
  role @r1 warps(2) {
    warpspec.role_barrier
  }
  role @r2 warps(2) {
    warpspec.role_barrier
  }
  role @r3 warps(2) {
    warpspec.role_barrier
  }
  role @r4 warps(2) {
    warpspec.role_barrier
  }
  role @r5 warps(2) {
    warpspec.role_barrier
  }
  role @r6 warps(2) {
    warpspec.role_barrier
  }
  role @r7 warps(2) {
    warpspec.role_barrier
  }
  role @r8 warps(2) {
    warpspec.role_barrier
  }
  role @r9 warps(2) {
    warpspec.role_barrier
  }
  role @r10 warps(2) {
    warpspec.role_barrier
  }
  role @r11 warps(2) {
    warpspec.role_barrier
  }
  role @r12 warps(2) {
    warpspec.role_barrier
  }
  role @r13 warps(2) {
    warpspec.role_barrier
  }
  role @r14 warps(2) {
    warpspec.role_barrier
  }
  role @r15 warps(2) {
    warpspec.role_barrier
  }
} shared_bytes(0) tmem_columns(0)

// -----

// A token that the tiles of a pair pass on.
!p = !warpspec.pipeline<3 x (memref<128xi8, #warpspec.smem>), tma to threads>
warpspec.kernel @passed_on(%groups: i32, %n: i32) {
  %b = warpspec.smem_alloc at(0) : memref<3x128xi8, #warpspec.smem>
  %in = warpspec.pipeline(%b) tma to threads barriers(384) : memref<3x128xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @work warps(4) {
    %first, %s = warpspec.wait %in[%c0, %c0] : !p
    // expected-error @below {{expected no fill or drain among iter_args: close each within the tile that opens it}}
    %last = warpspec.for_each_tile m_fastest of %groups iter_args(%before = %first) -> (!warpspec.drain) extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
      %now, %t = warpspec.wait %in[%c0, %c0] : !p
      warpspec.release %before
      warpspec.yield %now : !warpspec.drain
    }
    warpspec.release %last
  }
} cluster(2) pair shared_bytes(432) tmem_columns(0)

// -----

!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @no_stages() {
  %p = warpspec.pipeline() depth 2 threads to threads barriers(0)
  warpspec.roles
  role @a warps(1) {
    // expected-error @below {{expected a stage and a phase; run warpspec-materialize-stages first}}
    %f = warpspec.acquire %p : !p
    warpspec.commit %f
  }
} shared_bytes(32) tmem_columns(0)

// -----

// Fragments are those of the threads from 0 on.
warpspec.kernel @second_role(%c: i32) {
  %b = warpspec.smem_alloc at(0) : memref<1x32x68xf32, #warpspec.smem>
  %acc = arith.constant dense<0.0> : vector<16xf32>
  warpspec.roles
  role @first warps(4) {
  }
  role @math warps(4) {
    // expected-error @below {{expected to be in the first role of whole warpgroups, whose threads it numbers from 0}}
    warpspec.stage_fragment %acc[%c] to %b : vector<16xf32> to memref<1x32x68xf32, #warpspec.smem>
  }
} shared_bytes(8704) tmem_columns(0)
