// V1: what is opened is closed once on every path.
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
