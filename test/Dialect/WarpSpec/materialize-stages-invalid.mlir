// Stages that are there already.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-materialize-stages))'

!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @acquire() {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{expected no stage yet}}
    %f = warpspec.acquire %p[%c0, %c0] : !p
    warpspec.commit %f
  }
}

// -----

!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @drain_all() {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{expected no stage yet}}
    warpspec.drain_all %p[%c0, %c0] : !p
  }
}

// -----

// Stages are not carried through loops of two regions.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @while(%c: i1) {
  %p = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{expected slots to be used in loops with one body and in scf.if only}}
    scf.while : () -> () {
      scf.condition(%c)
    } do {
      %f = warpspec.acquire %p : !p
      warpspec.commit %f
      scf.yield
    }
  }
}

// -----

!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @parallel() {
  %p = warpspec.pipeline() depth 2 threads to threads
  %n = arith.constant 1 : index
  warpspec.roles
  role @fill warps(1) {
    // expected-error @below {{expected a loop that can carry more values}}
    scf.parallel (%i) = (%n) to (%n) step (%n) {
      %f = warpspec.acquire %p : !p
      warpspec.commit %f
    }
  }
}
