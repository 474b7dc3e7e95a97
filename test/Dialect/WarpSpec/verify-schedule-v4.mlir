// V4: no role waits for ever.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule))'

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
