// Schedules that are accepted.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule))'
// RUN: warpspec-opt %S/gemm.mlir --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule,warpspec-plan-memory,warpspec-verify-schedule,warpspec-materialize-stages,warpspec-verify-schedule,warpspec-insert-fences,warpspec-verify-schedule))'

!p = !warpspec.pipeline<2 x (), threads to threads>

// A drain is released one iteration late, as Hopper's kernels do.
warpspec.kernel @late_release(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
    %last = warpspec.acquire %p : !p
    warpspec.commit %last
  }
  role @drain warps(1) {
    %first = warpspec.wait %p : !p
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (!warpspec.drain) : i32 {
      %now = warpspec.wait %p : !p
      warpspec.release %before
      scf.yield %now : !warpspec.drain
    }
    warpspec.release %last
  }
}

// Closed in both branches.
warpspec.kernel @branches(%c: i1) {
  %p = warpspec.pipeline() depth 2 threads to threads
  warpspec.roles
  role @fill warps(1) {
    %fill = warpspec.acquire %p : !p
    scf.if %c {
      warpspec.commit %fill
    } else {
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    %drain = warpspec.wait %p : !p
    warpspec.release %drain
  }
}

// Two roles fill one slot; the consumer waits for both.
warpspec.kernel @two_fillers(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @tiles warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
  }
  role @scales warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %fill = warpspec.acquire %p : !p
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %drain = warpspec.wait %p : !p
      warpspec.release %drain
    }
  }
}

// A branch on an expression that both roles know alike.
warpspec.kernel @same_condition(%n: i32) {
  %p = warpspec.pipeline() depth 1 threads to threads
  %c0 = arith.constant 0 : i32
  warpspec.roles
  role @fill warps(1) {
    %some = arith.cmpi sgt, %n, %c0 : i32
    scf.if %some {
      %fill = warpspec.acquire %p : !warpspec.pipeline<1 x (), threads to threads>
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    %some = arith.cmpi sgt, %n, %c0 : i32
    scf.if %some {
      %drain = warpspec.wait %p : !warpspec.pipeline<1 x (), threads to threads>
      warpspec.release %drain
    }
  }
}

// A wait that a try of the slot before may let be skipped, carried by a loop.
!ring = !warpspec.pipeline<2 x (), threads to threads>
// CHECK-LABEL: warpspec.kernel @tried
warpspec.kernel @tried(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %false = arith.constant false
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %now = warpspec.try_acquire %p : !ring
      %fill = warpspec.acquire %p ready(%now) : !ring
      warpspec.commit %fill
    }
  }
  role @drain warps(1) {
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%now = %false) -> (i1) : i32 {
      %drain = warpspec.wait %p ready(%now) : !ring
      warpspec.release %drain
      %next = warpspec.try_wait %p : !ring
      scf.yield %next : i1
    }
  }
}

// Answers of either branch, and one that another pipeline's slots leave alone.
warpspec.kernel @tried_in_branches(%n: i32, %c: i1) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %q = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %false = arith.constant false
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f = warpspec.acquire %p : !ring
      warpspec.commit %f
      %g = warpspec.acquire %q : !ring
      warpspec.commit %g
    }
  }
  role @drain warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %now = scf.if %c -> i1 {
        %own = warpspec.try_wait %p : !ring
        scf.yield %own : i1
      } else {
        scf.yield %false : i1
      }
      %then = warpspec.try_wait %q : !ring
      %f = warpspec.wait %p ready(%now) : !ring
      warpspec.release %f
      %g = warpspec.wait %q ready(%then) : !ring
      warpspec.release %g
    }
  }
}

// Columns of one allocation that do not overlap.
!columns = !warpspec.pipeline<1 x (memref<128x32xf32, #warpspec.tmem>), threads to tensor_core>
warpspec.kernel @slices() {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %t = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  %a = warpspec.tmem_slice %t[%c0] : memref<128x64xf32, #warpspec.tmem> to memref<1x128x32xf32, #warpspec.tmem>
  %b = warpspec.tmem_slice %t[%c32] : memref<128x64xf32, #warpspec.tmem> to memref<1x128x32xf32, #warpspec.tmem>
  %p = warpspec.pipeline(%a) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  %q = warpspec.pipeline(%b) threads to tensor_core : memref<1x128x32xf32, #warpspec.tmem>
  warpspec.roles
  role @fill warps(4) {
    %f, %s = warpspec.acquire %p : !columns
    warpspec.commit %f
    %g, %u = warpspec.acquire %q : !columns
    warpspec.commit %g
  }
  role @drain warps(1) {
    %f, %s = warpspec.wait %p : !columns
    %g, %u = warpspec.wait %q : !columns
    warpspec.release %f
    warpspec.release %g
  }
}

// The last thing that a producer does.
warpspec.kernel @drained(%n: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  warpspec.roles
  role @fill warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f = warpspec.acquire %p : !ring
      warpspec.commit %f
    }
    warpspec.drain_all %p : !ring
  }
  role @drain warps(1) {
    scf.for %i = %c0 to %n step %c1 : i32 {
      %f = warpspec.wait %p : !ring
      warpspec.release %f
    }
  }
}
