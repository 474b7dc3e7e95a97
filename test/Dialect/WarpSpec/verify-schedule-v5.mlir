// V5: what may be in use at a time lies apart.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule))'

// V5: two rings placed over each other.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v5_overlap() {
  %a = warpspec.smem_alloc at(0) : memref<2x64xi8, #warpspec.smem>
  %b = warpspec.smem_alloc at(0) : memref<2x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%a) threads to threads : memref<2x64xi8, #warpspec.smem>
  // expected-note @below {{the other pipeline}}
  %q = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{V5: expected memory that no open slot uses, but slot 0 of another pipeline shares that of slot 0 and may be open}}
    %fill, %s = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
  role @other warps(1) {
    %fill, %s = warpspec.acquire %q : !p
    warpspec.commit %fill
  }
  role @drain warps(1) {
    %drain, %s = warpspec.wait %p : !p
    warpspec.release %drain
    %more, %t = warpspec.wait %q : !p
    warpspec.release %more
  }
}

// -----

// V5: joined buffers that are not neighbours.
!own = !warpspec.pipeline<1 x (memref<128x32xf32, #warpspec.tmem>), threads to tensor_core>
warpspec.kernel @v5_joined() {
  %a = warpspec.tmem_alloc at(0) : memref<1x128x32xf32, #warpspec.tmem>
  %b = warpspec.tmem_alloc at(200) : memref<1x128x32xf32, #warpspec.tmem>
  %p = warpspec.pipeline(%a) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  %q = warpspec.pipeline(%b) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  %v = arith.constant dense<0.0> : vector<64xf32>
  warpspec.roles
  role @fill warps(4) {
    %f, %s = warpspec.acquire %p : !own
    %g, %t = warpspec.acquire %q : !own
    // expected-error @below {{V5: expected joined buffers side by side, but got columns [0, 32) and [200, 232)}}
    %j = warpspec.tmem_join %s, %t : memref<128x32xf32, #warpspec.tmem>, memref<128x32xf32, #warpspec.tmem> to memref<128x64xf32, #warpspec.tmem>
    warpspec.tmem_store %v, %j : vector<64xf32>, memref<128x64xf32, #warpspec.tmem>
    warpspec.commit %g
    warpspec.commit %f
  }
  role @drain warps(1) {
    %f, %s = warpspec.wait %p : !own
    %g, %t = warpspec.wait %q : !own
    warpspec.release %g
    warpspec.release %f
  }
}

// -----

// V5: neighbours of the first slot, and not of the second.
!own = !warpspec.pipeline<2 x (memref<128x32xf32, #warpspec.tmem>), threads to tensor_core>
!shared = !warpspec.pipeline<1 x (memref<128x32xf32, #warpspec.tmem>), threads to tensor_core>
warpspec.kernel @v5_joined_slots() {
  %a = warpspec.tmem_alloc at(0) stride(96) : memref<2x128x32xf32, #warpspec.tmem>
  %b = warpspec.tmem_alloc at(32) : memref<1x128x32xf32, #warpspec.tmem>
  %own = warpspec.pipeline(%a) threads to tensor_core : memref<2x128x32xf32, #warpspec.tmem>
  %shared = warpspec.pipeline(%b) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  %v = arith.constant dense<0.0> : vector<64xf32>
  warpspec.roles
  role @fill warps(4) {
    %f, %s = warpspec.acquire %own : !own
    %g, %t = warpspec.acquire %shared : !shared
    // expected-error @below {{V5: expected joined buffers side by side, but got columns [96, 128) and [32, 64)}}
    %j = warpspec.tmem_join %s, %t : memref<128x32xf32, #warpspec.tmem>, memref<128x32xf32, #warpspec.tmem> to memref<128x64xf32, #warpspec.tmem>
    warpspec.tmem_store %v, %j : vector<64xf32>, memref<128x64xf32, #warpspec.tmem>
    warpspec.commit %g
    warpspec.commit %f
  }
  role @drain warps(1) {
    %f, %s = warpspec.wait %own : !own
    %g, %t = warpspec.wait %shared : !shared
    warpspec.release %g
    warpspec.release %f
  }
}

// -----

// V5: columns of one allocation, by their offsets.
!p = !warpspec.pipeline<1 x (memref<128x32xf32, #warpspec.tmem>), threads to tensor_core>
warpspec.kernel @v5_slices() {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %t = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  %a = warpspec.tmem_slice %t[%c0] : memref<128x64xf32, #warpspec.tmem> to memref<1x128x32xf32, #warpspec.tmem>
  %b = warpspec.tmem_slice %t[%c16] : memref<128x64xf32, #warpspec.tmem> to memref<1x128x32xf32, #warpspec.tmem>
  // expected-note @below {{the other pipeline}}
  %p = warpspec.pipeline(%a) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  %q = warpspec.pipeline(%b) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  warpspec.roles
  role @fill warps(4) {
    %f, %s = warpspec.acquire %p : !p
    warpspec.commit %f
    // expected-error @below {{V5: expected memory that no open slot uses, but slot 0 of another pipeline shares that of slot 0 and may be open}}
    %g, %u = warpspec.acquire %q : !p
    warpspec.commit %g
  }
  role @drain warps(1) {
    %f, %s = warpspec.wait %p : !p
    %g, %u = warpspec.wait %q : !p
    warpspec.release %f
    warpspec.release %g
  }
}

// -----

// V5: a buffer of one role in the slots of a pipeline.
!p = !warpspec.pipeline<2 x (memref<128xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v5_private() {
  // expected-note @below {{the other}}
  %a = warpspec.smem_alloc at(0) : memref<2x128xi8, #warpspec.smem>
  // expected-error @below {{V5: expected only a buffer in bytes [128, 256), but got a buffer in [0, 256) as well}}
  %own = warpspec.smem_alloc at(128) : memref<128xi8, #warpspec.smem>
  %p = warpspec.pipeline(%a) threads to threads barriers(256) : memref<2x128xi8, #warpspec.smem>
  warpspec.roles
  role @fill warps(1) {
    %f, %x = warpspec.acquire %p : !p
    warpspec.commit %f
  }
  role @drain warps(1) {
    %f, %x = warpspec.wait %p : !p
    warpspec.release %f
  }
}

// -----

// V5: barriers in a buffer.
warpspec.kernel @v5_barriers() {
  // expected-note @below {{the other}}
  %a = warpspec.smem_alloc at(0) : memref<256xi8, #warpspec.smem>
  // expected-error @below {{V5: expected only barriers in bytes [248, 280), but got a buffer in [0, 256) as well}}
  %p = warpspec.pipeline() depth 2 threads to threads barriers(248)
}

// -----

// V5: barriers of two pipelines.
warpspec.kernel @v5_two_barriers() {
  // expected-note @below {{the other}}
  %p = warpspec.pipeline() depth 2 threads to threads barriers(0)
  // expected-error @below {{V5: expected only barriers in bytes [24, 56), but got barriers in [0, 32) as well}}
  %q = warpspec.pipeline() depth 2 threads to threads barriers(24)
}

// -----

// V5: the last word is that of tensor memory.
// expected-error @below {{V5: expected only the address of tensor memory in bytes [120, 128), but got a buffer in [0, 128) as well}}
warpspec.kernel @v5_word() {
  // expected-note @below {{the other}}
  %a = warpspec.smem_alloc at(0) : memref<128xi8, #warpspec.smem>
} shared_bytes(128) tmem_columns(32)

// -----

// V5: columns of a buffer of one role between the slots of another, and over the last.
warpspec.kernel @v5_columns() {
  // expected-note @below {{the other}}
  %a = warpspec.tmem_alloc at(0) stride(64) : memref<2x128x32xf32, #warpspec.tmem>
  %between = warpspec.tmem_alloc at(32) : memref<128x32xf32, #warpspec.tmem>
  // expected-error @below {{V5: expected only a buffer in columns [80, 112), but got a buffer in [64, 96) as well}}
  %over = warpspec.tmem_alloc at(80) : memref<128x32xf32, #warpspec.tmem>
}

// -----

// V5: what is too long to be searched is said to be.
!p = !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v5_long() {
  %a = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
  %b = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%a) threads to threads : memref<1x64xi8, #warpspec.smem>
  %q = warpspec.pipeline(%b) threads to threads : memref<1x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c600 = arith.constant 600 : index
  // expected-warning @below {{V5: expected at most 4096 hand-overs of a role, but got more: only so many are checked}}
  warpspec.roles
  role @both warps(1) {
    scf.for %i = %c0 to %c600 step %c1 {
      %f, %x = warpspec.acquire %p : !p
      warpspec.commit %f
      %d, %y = warpspec.wait %p : !p
      warpspec.release %d
      %g, %z = warpspec.acquire %q : !p
      warpspec.commit %g
      %e, %w = warpspec.wait %q : !p
      warpspec.release %e
    }
  }
}

// -----

// V5: the same of two roles that may be anywhere at a time.
!p = !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), threads to threads>
!o = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v5_states() {
  %a = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
  %b = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%a) threads to threads : memref<1x64xi8, #warpspec.smem>
  %q = warpspec.pipeline(%b) threads to threads : memref<1x64xi8, #warpspec.smem>
  %o = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c150 = arith.constant 150 : index
  // expected-warning @below {{V5: expected at most 200000 states of the roles, but got more: only so many are checked}}
  warpspec.roles
  role @both warps(1) {
    scf.for %i = %c0 to %c150 step %c1 {
      %f, %x = warpspec.acquire %p : !p
      warpspec.commit %f
      %d, %y = warpspec.wait %p : !p
      warpspec.release %d
      %g, %z = warpspec.acquire %q : !p
      warpspec.commit %g
      %e, %w = warpspec.wait %q : !p
      warpspec.release %e
    }
  }
  role @other warps(1) {
    scf.for %i = %c0 to %c150 step %c1 {
      %f = warpspec.acquire %o : !o
      warpspec.commit %f
      %d = warpspec.wait %o : !o
      warpspec.release %d
    }
  }
}
