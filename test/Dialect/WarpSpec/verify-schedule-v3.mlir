// V3: what is filled is drained, as often, by the roles that the pair of agents wants.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule))'

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

// V3: tiles of a ring in a branch.
!ring = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @v3_ring_branch(%n: i32, %c: i1) {
  %b = warpspec.smem_alloc : memref<2x4xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x4xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    scf.if %c {
      // expected-error @below {{V3: expected a loop with a ring in no other loop or branch, but got one in scf.if}}
      warpspec.for_each_tile m_fastest of %n through %ring : !ring
      extents(%g) {
        warpspec.yield %n, %n : i32, i32
      } do(%g, %i, %j) {
      }
    }
  }
}

// -----

// V3: the ring has each tile once.
!ring = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @v3_ring_twice(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x4xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x4xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    warpspec.for_each_tile m_fastest of %n through %ring : !ring
    extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
    }
    // expected-error @below {{V3: expected one loop with a ring in role @a, but got another: the ring has each tile once}}
    warpspec.for_each_tile m_fastest of %n through %ring : !ring
    extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
    }
  }
}

// -----

// V3: tiles of other costs come in another order.
!ring = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @v3_ring_costs(%n: i32, %x: i32, %y: i32) {
  %b = warpspec.smem_alloc : memref<2x4xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x4xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    // expected-note @below {{other loop}}
    warpspec.for_each_tile m_fastest of %n through %ring : !ring
    extents(%g) {
      warpspec.yield %n, %n, %x : i32, i32, i32
    } do(%g, %i, %j) {
    }
  }
  role @b warps(1) {
    // expected-error @below {{V3: expected the same ring, groups, extents, costs and cuts in all loops with a ring}}
    warpspec.for_each_tile m_fastest of %n through %ring : !ring
    extents(%g) {
      warpspec.yield %n, %n, %y : i32, i32, i32
    } do(%g, %i, %j) {
    }
  }
}

// -----

// V3: one warp fills a ring, and all loops drain it.
!ring = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @v3_ring_by_hand(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x4xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x4xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    warpspec.for_each_tile m_fastest of %n through %ring : !ring
    extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
    }
  }
  role @b warps(1) {
    // expected-error @below {{V3: expected a ring of tiles to be used by for_each_tile only}}
    %drain, %s = warpspec.wait %ring : !ring
    warpspec.release %drain
  }
}
