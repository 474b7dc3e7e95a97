// V6: warps, registers and memory are there.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule))'

// V6: too many warps.
warpspec.kernel @v6_warps() {
  // expected-error @below {{V6: expected at most 32 warps, but got 33}}
  warpspec.roles
  role @a warps(32) {
  }
  role @b warps(1) {
  }
}

// -----

// V6: too many registers.
warpspec.kernel @v6_registers() {
  // expected-error @below {{V6: expected at most 64512 registers, 3 warpgroups of 128 threads with 168 each at launch, but got 68608}}
  warpspec.roles
  role @a warps(8) registers(232) {
  }
  role @b warps(4) registers(72) {
  }
}

// -----

// V6: a role that asks for none keeps its share.
warpspec.kernel @v6_silent() {
  // expected-error @below {{V6: expected at most 64512 registers, 3 warpgroups of 128 threads with 168 each at launch, but got 72704}}
  warpspec.roles
  role @a warps(4) registers(232) {
  }
  role @b warps(8) {
  }
}

// -----

// V6: more than a thread addresses, which is 248 in units of 8.
warpspec.kernel @v6_most() {
  // expected-error @below {{V6: expected at most 63488 registers, 2 warpgroups of 128 threads with 248 each at launch, but got 64512}}
  warpspec.roles
  role @a warps(4) registers(256) {
  }
  role @b warps(4) {
  }
}

// -----

// V6: lanes out of reach.
warpspec.kernel @v6_lanes() {
  %t = warpspec.tmem_alloc : memref<128x32xi32, #warpspec.tmem>
  warpspec.roles
  role @a warps(2) {
    // expected-error @below {{V6: expected a role of a multiple of 4 warps, which reach all lanes of tensor memory, but role @a has 2}}
    %v = warpspec.tmem_load %t : memref<128x32xi32, #warpspec.tmem>
  }
}

// -----

// V6: too much shared memory.
// expected-error @below {{V6: expected at most 232448 bytes of shared memory, but got 262144}}
warpspec.kernel @v6_shared() {
  %a = warpspec.smem_alloc : memref<8x128x128xi8, #warpspec.smem<128>>
  %b = warpspec.smem_alloc : memref<8x128x128xi8, #warpspec.smem<128>>
}

// -----

// V6: too many columns.
// expected-error @below {{V6: expected at most 512 columns of tensor memory, but got 544}}
warpspec.kernel @v6_columns() {
  %a = warpspec.tmem_alloc : memref<2x128x256xf32, #warpspec.tmem>
  %b = warpspec.tmem_alloc : memref<128x32xi32, #warpspec.tmem>
}

// -----

// V6: beyond what the kernel is launched with.
warpspec.kernel @v6_beyond() {
  // expected-error @below {{V6: expected a buffer within shared_bytes(64), but got an end at 101376}}
  %b = warpspec.smem_alloc at(100352) : memref<1024xi8, #warpspec.smem>
} shared_bytes(64) tmem_columns(0)

// -----

// V6: beyond what is reserved.
warpspec.kernel @v6_beyond_columns() {
  // expected-error @below {{V6: expected a buffer within tmem_columns(0), but got an end at 64}}
  %b = warpspec.tmem_alloc at(0) : memref<128x64xf32, #warpspec.tmem>
} shared_bytes(64) tmem_columns(0)

// -----

// V6: barriers too.
warpspec.kernel @v6_beyond_barriers() {
  // expected-error @below {{V6: expected barriers within shared_bytes(16), but got an end at 32}}
  %p = warpspec.pipeline() depth 2 threads to threads barriers(0)
} shared_bytes(16) tmem_columns(0)

// -----

// V6: outside of the buffer.
warpspec.kernel @v6_index(%i: i32) {
  %b = warpspec.smem_alloc : memref<16x32xf32, #warpspec.smem>
  warpspec.roles
  role @a warps(4) {
    %c16 = arith.constant 16 : i32
    // expected-error @below {{V6: expected index 0 as a multiple of 1 in [0, 15], but got 16; the nearest is 15}}
    %v = warpspec.smem_load %b[%c16, %i] : memref<16x32xf32, #warpspec.smem>, vector<4xf32>
  }
}

// -----

// V6: over the end of a row.
warpspec.kernel @v6_row(%i: i32) {
  %b = warpspec.smem_alloc : memref<16x32xf32, #warpspec.smem>
  warpspec.roles
  role @a warps(4) {
    %c28 = arith.constant 28 : i32
    %v = arith.constant dense<0.0> : vector<8xf32>
    // expected-error @below {{V6: expected index 1 as a multiple of 4 in [0, 24], but got 28; the nearest is 24}}
    warpspec.smem_store %v, %b[%i, %c28] : vector<8xf32>, memref<16x32xf32, #warpspec.smem>
  }
}

// -----

// V6: not where 8 bytes may begin.
warpspec.kernel @v6_step(%i: i32) {
  %b = warpspec.smem_alloc : memref<16x32xf32, #warpspec.smem>
  warpspec.roles
  role @a warps(4) {
    %c3 = arith.constant 3 : i32
    // expected-error @below {{V6: expected index 1 as a multiple of 2 in [0, 30], but got 3; the nearest is 2}}
    %v = warpspec.smem_load %b[%i, %c3] : memref<16x32xf32, #warpspec.smem>, vector<2xf32>
  }
}
