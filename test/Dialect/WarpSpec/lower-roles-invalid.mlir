// What cannot be dispatched.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-lower-roles))'

// expected-error @below {{expected a planned kernel; run warpspec-plan-memory}}
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
