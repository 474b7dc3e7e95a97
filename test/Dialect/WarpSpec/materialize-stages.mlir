// Stage and phase pass through tile loops, loops and branches; a consumer starts
// at phase 0, a producer at 1.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(warpspec-materialize-stages,canonicalize))' | FileCheck %s

!p = !warpspec.pipeline<3 x (), threads to threads>

// CHECK-LABEL: warpspec.kernel @loop
warpspec.kernel @loop(%n: i32) {
  %p = warpspec.pipeline() depth 3 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    // CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %c0_i32, %[[P:.*]] = %c1_i32)
    scf.for %i = %c0 to %n step %c1 : i32 {
      // CHECK: warpspec.acquire %{{.*}}[%[[S]], %[[P]]]
      %fill = warpspec.acquire %p : !p
      // CHECK: %[[NEXT:.*]] = arith.addi %[[S]], %c1_i32
      // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c3_i32
      // CHECK: %[[FLIP:.*]] = arith.xori %[[P]], %c1_i32
      // CHECK: %[[S1:.*]] = arith.select %[[WRAPS]], %c0_i32, %[[NEXT]]
      // CHECK: %[[P1:.*]] = arith.select %[[WRAPS]], %[[FLIP]], %[[P]]
      // CHECK: scf.yield %[[S1]], %[[P1]]
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    // CHECK: warpspec.for_each_tile {{.*}} iter_args(%[[S:.*]] = %c0_i32, %[[P:.*]] = %c0_i32)
    warpspec.for_each_tile m_fastest of %c1 extents(%g) {
      warpspec.yield %n, %c1 : i32, i32
    } do(%g, %i, %j) {
      // CHECK: warpspec.wait %{{.*}}[%[[S]], %[[P]]]
      %drain = warpspec.wait %p : !p
      warpspec.release %drain
      // CHECK: warpspec.yield
    }
  }
}

// CHECK-LABEL: warpspec.kernel @branch
warpspec.kernel @branch(%c: i1) {
  %p = warpspec.pipeline() depth 3 threads to threads
  warpspec.roles
  role @fill warps(1) {
    // After one use or none, at stage 1 or 0 of the same phase.
    // CHECK: %[[S:.*]] = arith.extui %arg0
    // CHECK: scf.if %arg0
    scf.if %c {
      // CHECK: warpspec.acquire %{{.*}}[%c0_i32, %c1_i32]
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
    // CHECK: warpspec.acquire %{{.*}}[%[[S]], %c1_i32]
    %fill = warpspec.acquire %p : !p
    warpspec.commit %fill
    // CHECK: warpspec.drain_all %{{.*}}[
    warpspec.drain_all %p : !p
  }
}

// One slot has stage 0 always: only the phase is carried.
// CHECK-LABEL: warpspec.kernel @one
warpspec.kernel @one(%n: i32) {
  %p = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    // CHECK: scf.for {{.*}} iter_args(%[[P:.*]] = %c1_i32) -> (i32)
    scf.for %i = %c0 to %n step %c1 : i32 {
      // CHECK: warpspec.acquire %{{.*}}[%c0_i32, %[[P]]]
      %fill = warpspec.acquire %p : !warpspec.pipeline<1 x (), threads to threads>
      warpspec.commit %fill
    }
  }
}
