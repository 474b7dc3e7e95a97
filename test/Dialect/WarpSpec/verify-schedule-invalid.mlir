// Schedules that hang or race, by the property that they break.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule))'

// V1: never closed.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v1_open() {
  %p = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{V1: expected the fill to be closed exactly once on every path, but got 0 times}}
    %fill = warpspec.acquire %p : !p
  }
  role @drain warps(1) {
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V1: closed twice.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v1_twice() {
  %p = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %fill = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
  role @drain warps(1) {
    // expected-error @below {{V1: expected the drain to be closed exactly once on every path, but got 2 times}}
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
    warpspec.release %drain
  }
}

// -----

// V1: closed on one path only.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v1_branch(%c: i1) {
  %p = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %fill = warpspec.acquire %p : !p
    // expected-error @below {{V1: expected the fill to be closed equally often in both branches, but got 1 and 0 times}}
    scf.if %c {
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V1: closed in a loop that it was not passed to.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v1_loop(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    %fill = warpspec.acquire %p : !p
    // expected-error @below {{V1: expected the fill to be closed exactly once, but it is closed in a loop that it was not passed to}}
    scf.for %i = %c0 to %n step %c1 : i32 {
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V1: a loop that mixes two pipelines.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v1_mixed(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %q = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @drain warps(1) {
    %first = warpspec.wait %p : !p
    // expected-error @below {{V1: expected every drain that is passed on here to be of one pipeline}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (!warpspec.drain) : i32 {
      %now = warpspec.wait %q : !p
      warpspec.release %before
      scf.yield %now : !warpspec.drain
    }
    warpspec.release %last
  }
}

// -----

// V2: read after the slot was handed back.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v2_late() {
  %b = warpspec.smem_alloc : memref<2x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @fill warps(1) {
    %fill, %s = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
  role @drain warps(1) {
    %drain, %s = warpspec.wait %p : !p
    // expected-note @below {{closed here}}
    warpspec.release %drain
    // expected-error @below {{V2: expected access while the slot is open, but it has been closed}}
    %v = warpspec.smem_load %s[%c0] : memref<64xi8, #warpspec.smem>, vector<16xi8>
  }
}

// -----

// V2: the wrong agent fills.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v2_agent(%m: !warpspec.tensor_map<64xi8>) {
  %b = warpspec.smem_alloc : memref<2x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @fill warps(1) {
    // expected-note @below {{opened here}}
    %fill, %s = warpspec.acquire %p : !p
    // expected-error @below {{V2: expected access by the agent that opened the slot, threads, but got tma}}
    warpspec.tma_load %m[%c0] to %s fills(%fill) : !warpspec.tensor_map<64xi8> to memref<64xi8, #warpspec.smem>
    warpspec.commit %fill
  }
  role @drain warps(1) {
    %drain, %s = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V2: around the pipeline.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v2_around() {
  %b = warpspec.smem_alloc : memref<2x64xi8, #warpspec.smem>
  // expected-note @below {{the pipeline}}
  %p = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{V2: expected access through acquire or wait of the pipeline that covers the buffer}}
    %v = warpspec.smem_load %b[%c0, %c0] : memref<2x64xi8, #warpspec.smem>, vector<16xi8>
    %fill, %s = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
  role @drain warps(1) {
    %drain, %s = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V2: a buffer of two roles without a pipeline.
warpspec.kernel @v2_shared() {
  %b = warpspec.smem_alloc : memref<64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @one warps(1) {
    %v = warpspec.smem_load %b[%c0] : memref<64xi8, #warpspec.smem>, vector<16xi8>
  }
  role @two warps(1) {
    // expected-error @below {{V2: expected a buffer without a pipeline to be used by one agent of one role, but it is used by threads in @one and threads in @two}}
    %v = warpspec.smem_load %b[%c0] : memref<64xi8, #warpspec.smem>, vector<16xi8>
  }
}

// -----

// V2: bytes counted on the fill of another slot.
!p = !warpspec.pipeline<2 x (memref<128xi8, #warpspec.smem>), tma to threads>
warpspec.kernel @v2_fill(%m: !warpspec.tensor_map<128xi8>) {
  %b = warpspec.smem_alloc : memref<2x128xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) tma to threads : memref<2x128xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @fill warps(1) {
    %one, %s = warpspec.acquire %p : !p
    %two, %t = warpspec.acquire %p : !p
    // expected-error @below {{V2: expected a buffer of the slot whose fill counts the bytes}}
    warpspec.tma_load %m[%c0] to %t fills(%one) : !warpspec.tensor_map<128xi8> to memref<128xi8, #warpspec.smem>
    warpspec.commit %one
    warpspec.commit %two
  }
  role @drain warps(1) {
    %drain, %s = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V2: a wait that is skipped without a try.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v2_ready() {
  %p = warpspec.pipeline() depth 2 threads to threads
  %true = arith.constant true
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{V2: expected ready to be a result of warpspec.try_acquire of the same pipeline, or false}}
    %fill = warpspec.acquire %p ready(%true) : !p
    warpspec.commit %fill
  }
  role @drain warps(1) {
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V2: a try of another pipeline, in one branch.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v2_other(%c: i1) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %q = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %fill = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
  role @drain warps(1) {
    %now = scf.if %c -> i1 {
      %own = warpspec.try_wait %p : !p
      scf.yield %own : i1
    } else {
      %other = warpspec.try_wait %q : !p
      scf.yield %other : i1
    }
    // expected-error @below {{V2: expected ready to be a result of warpspec.try_wait of the same pipeline, or false}}
    %drain = warpspec.wait %p ready(%now) : !p
    warpspec.release %drain
  }
}

// -----

// V3: nobody drains.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v3_nobody() {
  // expected-error @below {{V3: expected a role that drains the pipeline}}
  %p = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %fill = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
}

// -----

// V3: the last fill is never drained.
!p = !warpspec.pipeline<4 x (), threads to threads>
warpspec.kernel @v3_balance() {
  // expected-error @below {{V3: expected as many waits as commits, but got 1 and 2}}
  %p = warpspec.pipeline() depth 4 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %fill = warpspec.acquire %p : !p
    warpspec.commit %fill
    %more = warpspec.acquire %p : !p
    warpspec.commit %more
  }
  role @drain warps(1) {
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V3: staging by one role, stored by another.
!p = !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), threads to tma>
warpspec.kernel @v3_roles() {
  %b = warpspec.smem_alloc : memref<1x64xi8, #warpspec.smem>
  // expected-error @below {{V3: expected one role that both fills and drains, for threads to tma}}
  %p = warpspec.pipeline(%b) threads to tma : memref<1x64xi8, #warpspec.smem>
  warpspec.roles
  role @fill warps(1) {
    %fill, %s = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
  role @drain warps(1) {
    %drain, %s = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V3: a second staging slot is filled before the first is stored.
!p = !warpspec.pipeline<2 x (memref<128xi8, #warpspec.smem>), threads to tma>
warpspec.kernel @v3_staging() {
  %b = warpspec.smem_alloc : memref<2x128xi8, #warpspec.smem>
  // expected-note @below {{the pipeline}}
  %p = warpspec.pipeline(%b) threads to tma : memref<2x128xi8, #warpspec.smem>
  warpspec.roles
  role @work warps(4) {
    %fill, %s = warpspec.acquire %p : !p
    warpspec.commit %fill
    // expected-error @below {{V3: expected no open slot of the pipeline at an acquire for threads to tma, but got 1; release each slot before the next is acquired}}
    %next, %t = warpspec.acquire %p : !p
    warpspec.commit %next
    %drain, %u = warpspec.wait %p : !p
    warpspec.release %drain
    %last, %v = warpspec.wait %p : !p
    warpspec.release %last
  }
}

// -----

// V3: in a pair, one role loads for its block and multiplies for both.
!p = !warpspec.pipeline<2 x (memref<128x128xi8, #warpspec.smem<128>>), tma to tensor_core>
warpspec.kernel @v3_pair() {
  %b = warpspec.smem_alloc : memref<2x128x128xi8, #warpspec.smem<128>>
  %p = warpspec.pipeline(%b) tma to tensor_core : memref<2x128x128xi8, #warpspec.smem<128>>
  warpspec.roles
  role @all warps(1) {
    // expected-error @below {{V3: expected only operations of tensor_core in role @all, which runs in the even block of a pair, but got one of tma}}
    %fill, %s = warpspec.acquire %p : !p
    warpspec.commit %fill
    %drain, %t = warpspec.wait %p : !p
    warpspec.release %drain
  }
} cluster(2) pair

// -----

// V4: two roles each wait for the other first.
!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v4_cycle() {
  %p = warpspec.pipeline() depth 1 threads to threads
  %q = warpspec.pipeline() depth 1 threads to threads
  warpspec.roles
  role @one warps(1) {
    // expected-error @below {{V4: expected to be reached and passed, but role @one waits for ever}}
    %drain = warpspec.wait %q : !p
    %fill = warpspec.acquire %p : !p
    warpspec.commit %fill
    warpspec.release %drain
  }
  role @two warps(1) {
    // expected-note @below {{role @two waits here}}
    %drain = warpspec.wait %p : !p
    %fill = warpspec.acquire %q : !p
    warpspec.commit %fill
    warpspec.release %drain
  }
}

// -----

// V4: the ring is one slot too short for a late release.
!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v4_short(%n: i32) {
  %p = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
    // expected-error @below {{V4: expected to be reached and passed, but role @fill waits for ever with loops run 1 times}}
    %last = warpspec.acquire %p : !p
    warpspec.commit %last
  }
  role @drain warps(1) {
    %first = warpspec.wait %p : !p
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (!warpspec.drain) : i32 {
      // expected-note @below {{role @drain waits here}}
      %now = warpspec.wait %p : !p
      warpspec.release %before
      scf.yield %now : !warpspec.drain
    }
    warpspec.release %last
  }
}

// -----

// V4: nothing is filled when the loop does not run, but something is awaited:
// the empty product.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v4_empty(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    // expected-error @below {{V4: expected to be reached and passed, but role @drain waits for ever with loops run 0 times}}
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// -----

// V3: loops whose bounds are not the same expression.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v3_bounds(%n: i32, %m: i32) {
  // expected-error @below {{V3: expected as many waits as commits, but got 0 and 1 with loops run 1, 0 times}}
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    scf.for %i = %c0 to %m step %c1 : i32 {
      %drain = warpspec.wait %p : !p
      warpspec.release %drain
    }
  }
}

// -----

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

// V2: an access to joined buffers is one to both, and one of them is closed.
!own = !warpspec.pipeline<2 x (memref<128x32xf32, #warpspec.tmem>), threads to tensor_core>
!shared = !warpspec.pipeline<1 x (memref<128x32xf32, #warpspec.tmem>), threads to tensor_core>
warpspec.kernel @v2_joined() {
  %a = warpspec.tmem_alloc at(0) stride(64) : memref<2x128x32xf32, #warpspec.tmem>
  %b = warpspec.tmem_alloc at(32) : memref<1x128x32xf32, #warpspec.tmem>
  %own = warpspec.pipeline(%a) threads to tensor_core : memref<2x128x32xf32, #warpspec.tmem>
  %shared = warpspec.pipeline(%b) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  %v = arith.constant dense<0.0> : vector<64xf32>
  warpspec.roles
  role @fill warps(4) {
    %f, %s = warpspec.acquire %own : !own
    %g, %t = warpspec.acquire %shared : !shared
    %j = warpspec.tmem_join %s, %t : memref<128x32xf32, #warpspec.tmem>, memref<128x32xf32, #warpspec.tmem> to memref<128x64xf32, #warpspec.tmem>
    // expected-note @below {{closed here}}
    warpspec.commit %g
    // expected-error @below {{V2: expected access while the slot is open, but it has been closed}}
    warpspec.tmem_store %v, %j : vector<64xf32>, memref<128x64xf32, #warpspec.tmem>
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

// V4: the warp that finds tiles in the odd block waits for a role that does not run there.
!ring = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>
!p = !warpspec.pipeline<2 x (memref<128x32xf32, #warpspec.tmem>), tensor_core to threads>
warpspec.kernel @v4_pair_ring(%n: i32) {
  %r = warpspec.smem_alloc : memref<2x4xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%r) threads to threads : memref<2x4xi32, #warpspec.smem>
  %b = warpspec.tmem_alloc : memref<2x128x32xf32, #warpspec.tmem>
  %p = warpspec.pipeline(%b) tensor_core to threads : memref<2x128x32xf32, #warpspec.tmem>
  warpspec.roles
  role @mma warps(1) {
    // expected-error @below {{V4: expected no ring in role @mma, which does not run in the odd block of a pair, where the ring would wait for it; leave out 'through'}}
    warpspec.for_each_tile m_fastest of %n through %ring : !ring extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
      %f, %x = warpspec.acquire %p : !p
      warpspec.commit %f
    }
  }
  role @store warps(4) {
    warpspec.for_each_tile m_fastest of %n through %ring : !ring extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
      %f, %x = warpspec.wait %p : !p
      warpspec.release %f
    }
  }
} cluster(2) pair

// -----

// V2: one try, two waits.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v2_stale() {
  %p = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %f = warpspec.acquire %p : !p
    warpspec.commit %f
    %g = warpspec.acquire %p : !p
    warpspec.commit %g
  }
  role @drain warps(1) {
    %now = warpspec.try_wait %p : !p
    // expected-note @below {{opened here}}
    %f = warpspec.wait %p ready(%now) : !p
    warpspec.release %f
    // expected-error @below {{V2: expected ready of a try for this slot, but one of the pipeline has been opened since; use warpspec.try_wait again}}
    %g = warpspec.wait %p ready(%now) : !p
    warpspec.release %g
  }
}

// -----

// V2: one try before a loop; its second acquire is of another slot.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v2_stale_loop(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    %now = warpspec.try_acquire %p : !p
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error @below {{V2: expected ready of a try for this slot, but one of the pipeline has been opened since; use warpspec.try_acquire again}}
      // expected-note @below {{opened here}}
      %f = warpspec.acquire %p ready(%now) : !p
      warpspec.commit %f
    }
  }
  role @drain warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f = warpspec.wait %p : !p
      warpspec.release %f
    }
  }
}

// -----

// V2: carried on, and a slot opened before the end of the iteration.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @v2_stale_carried(%n: i32, %c: i1) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %false = arith.constant false
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f = warpspec.acquire %p : !p
      warpspec.commit %f
      scf.if %c {
        %g = warpspec.acquire %p : !p
        warpspec.commit %g
      }
    }
  }
  role @drain warps(1) {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%now = %false) -> (i1) : i32 {
      // expected-error @below {{V2: expected ready of a try for this slot, but one of the pipeline has been opened since; use warpspec.try_wait again}}
      %f = warpspec.wait %p ready(%now) : !p
      warpspec.release %f
      %next = warpspec.try_wait %p : !p
      scf.if %c {
        // expected-note @below {{opened here}}
        %g = warpspec.wait %p : !p
        warpspec.release %g
      }
      scf.yield %next : i1
    }
  }
}

// -----

// V2: which slot it is depends on how often the loop has run.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v2_carried(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    %f0, %x0 = warpspec.acquire %p : !p
    warpspec.commit %f0
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f, %x = warpspec.acquire %p : !p
      warpspec.commit %f
    }
  }
  role @drain warps(1) {
    %d0, %y0 = warpspec.wait %p : !p
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %y0) -> (memref<64xi8, #warpspec.smem>) : i32 {
      // expected-error @below {{V2: expected a buffer of an acquire or wait in sight, or of an allocation, but got one that a block is given}}
      %v = warpspec.smem_load %y[%c0] : memref<64xi8, #warpspec.smem>, vector<16xi8>
      %d, %z = warpspec.wait %p : !p
      warpspec.release %d
      scf.yield %z : memref<64xi8, #warpspec.smem>
    }
    warpspec.release %d0
  }
}

// -----

// V2: the slot of an iteration before, whose drain the loop carries.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v2_carried_token(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    %f0, %x0 = warpspec.acquire %p : !p
    warpspec.commit %f0
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f, %x = warpspec.acquire %p : !p
      warpspec.commit %f
    }
  }
  role @drain warps(1) {
    %d0, %y0 = warpspec.wait %p : !p
    // expected-note @below {{given to this loop}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %d0) -> (!warpspec.drain) : i32 {
      warpspec.release %before
      // expected-error @below {{V2: expected access while the slot is open, but its token is one that a loop around carries on and may close}}
      %v = warpspec.smem_load %y0[%c0] : memref<64xi8, #warpspec.smem>, vector<16xi8>
      %d, %z = warpspec.wait %p : !p
      scf.yield %d : !warpspec.drain
    }
    warpspec.release %last
  }
}

// -----

// V2: one of two slots.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v2_selected(%c: i1) {
  %b = warpspec.smem_alloc : memref<2x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : i32
  %v = arith.constant dense<0> : vector<16xi8>
  warpspec.roles
  role @fill warps(1) {
    %f, %x = warpspec.acquire %p : !p
    %g, %y = warpspec.acquire %p : !p
    %s = scf.if %c -> memref<64xi8, #warpspec.smem> {
      scf.yield %x : memref<64xi8, #warpspec.smem>
    } else {
      scf.yield %y : memref<64xi8, #warpspec.smem>
    }
    // expected-error @below {{V2: expected a buffer of an acquire or wait in sight, or of an allocation, but got one that comes from scf.if}}
    warpspec.smem_store %v, %s[%c0] : vector<16xi8>, memref<64xi8, #warpspec.smem>
    warpspec.commit %f
    warpspec.commit %g
  }
  role @drain warps(1) {
    %f, %x = warpspec.wait %p : !p
    warpspec.release %f
    %g, %y = warpspec.wait %p : !p
    warpspec.release %g
  }
}

// -----

// V2: an access that no agent has.
!p = !warpspec.pipeline<2 x (memref<64xi8, #warpspec.smem>), threads to threads>
warpspec.kernel @v2_foreign(%o: memref<?xi8, 1>) {
  %b = warpspec.smem_alloc : memref<2x64xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) threads to threads : memref<2x64xi8, #warpspec.smem>
  %c0 = arith.constant 0 : index
  warpspec.roles
  role @fill warps(1) {
    %f, %x = warpspec.acquire %p : !p
    warpspec.commit %f
    // expected-error @below {{V2: expected access by an operation of warpspec, such as warpspec.smem_load, to a buffer of 'memref<64xi8, #warpspec.smem>'}}
    %v = memref.load %x[%c0] : memref<64xi8, #warpspec.smem>
    memref.store %v, %o[%c0] : memref<?xi8, 1>
  }
  role @drain warps(1) {
    %f, %x = warpspec.wait %p : !p
    warpspec.release %f
  }
}

// -----

// V4: the last slots come back only after what the producer does next.
!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v4_drain_all() {
  %p = warpspec.pipeline() depth 1 threads to threads
  %q = warpspec.pipeline() depth 1 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %f = warpspec.acquire %p : !p
    warpspec.commit %f
    // expected-error @below {{V4: expected to be reached and passed, but role @fill waits for ever}}
    warpspec.drain_all %p : !p
    %g = warpspec.acquire %q : !p
    warpspec.commit %g
  }
  role @drain warps(1) {
    // expected-note @below {{role @drain waits here}}
    %g = warpspec.wait %q : !p
    %f = warpspec.wait %p : !p
    warpspec.release %f
    warpspec.release %g
  }
}

// -----

// V3: drain_all with an open fill.
!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v3_drain_all() {
  // expected-note @below {{the pipeline}}
  %p = warpspec.pipeline() depth 1 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %f = warpspec.acquire %p : !p
    // expected-error @below {{V3: expected no open slot of the pipeline at drain_all, but got 1; commit each slot before}}
    warpspec.drain_all %p : !p
    warpspec.commit %f
  }
  role @drain warps(1) {
    %f = warpspec.wait %p : !p
    warpspec.release %f
  }
}

// -----

// V3: drain_all before what is staged has been stored.
!p = !warpspec.pipeline<1 x (memref<128xi8, #warpspec.smem>), threads to tma>
warpspec.kernel @v3_drain_all_staging() {
  %b = warpspec.smem_alloc : memref<1x128xi8, #warpspec.smem>
  // expected-note @below {{the pipeline}}
  %p = warpspec.pipeline(%b) threads to tma : memref<1x128xi8, #warpspec.smem>
  warpspec.roles
  role @work warps(1) {
    %f, %x = warpspec.acquire %p : !p
    warpspec.commit %f
    %g, %y = warpspec.wait %p : !p
    // expected-error @below {{V3: expected no open slot of the pipeline at drain_all, but got 1; release each slot before}}
    warpspec.drain_all %p : !p
    warpspec.release %g
  }
}

// -----

// V4: the ring holds what the consumer is late for up to 16 rounds, not more.
!p = !warpspec.pipeline<16 x (), threads to threads>
!q = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v4_deep(%n: i32) {
  %p = warpspec.pipeline() depth 16 threads to threads
  %q = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error @below {{V4: expected to be reached and passed, but role @fill waits for ever with loops run 33 times}}
      %f = warpspec.acquire %p : !p
      warpspec.commit %f
    }
    %g = warpspec.acquire %q : !q
    warpspec.commit %g
  }
  role @drain warps(1) {
    // expected-note @below {{role @drain waits here}}
    %g = warpspec.wait %q : !q
    warpspec.release %g
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f = warpspec.wait %p : !p
      warpspec.release %f
    }
  }
}

// -----

// V4: a loop of more rounds than are run, that does not get past its first.
!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v4_long() {
  %p = warpspec.pipeline() depth 1 threads to threads
  %q = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %n = arith.constant 1000000 : i32
  warpspec.roles
  role @one warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error @below {{V4: expected to be reached and passed, but role @one waits for ever}}
      %drain = warpspec.wait %q : !p
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
      warpspec.release %drain
    }
  }
  role @two warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-note @below {{role @two waits here}}
      %drain = warpspec.wait %p : !p
      %fill = warpspec.acquire %q : !p
      warpspec.commit %fill
      warpspec.release %drain
    }
  }
}

// -----

// V4: what is too long to be run in full is said to be.
!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v4_unchecked() {
  %p = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %n = arith.constant 1000000 : i32
  // expected-warning @below {{V4: expected at most 65536 hand-overs of a role, but got more: only so many are checked}}
  warpspec.roles
  role @one warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
  }
  role @two warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %drain = warpspec.wait %p : !p
      warpspec.release %drain
    }
  }
}

// -----

// V4: the same for bounds that do not depend on each other, 4 trip counts each.
!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @v4_unchecked_choices(%a: i32, %b: i32, %c: i32, %d: i32, %e: i32) {
  %p = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-warning @below {{V4: expected at most 256 combinations of trip counts and conditions, but got more: only so many are checked}}
  warpspec.roles
  role @one warps(1) {
    scf.for %i = %c0 to %a step %c1 : i32 {
      scf.for %j = %c0 to %b step %c1 : i32 {
        scf.for %k = %c0 to %c step %c1 : i32 {
          scf.for %l = %c0 to %d step %c1 : i32 {
            scf.for %m = %c0 to %e step %c1 : i32 {
              %fill = warpspec.acquire %p : !p
              warpspec.commit %fill
            }
          }
        }
      }
    }
  }
  role @two warps(1) {
    scf.for %i = %c0 to %a step %c1 : i32 {
      scf.for %j = %c0 to %b step %c1 : i32 {
        scf.for %k = %c0 to %c step %c1 : i32 {
          scf.for %l = %c0 to %d step %c1 : i32 {
            scf.for %m = %c0 to %e step %c1 : i32 {
              %drain = warpspec.wait %p : !p
              warpspec.release %drain
            }
          }
        }
      }
    }
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
