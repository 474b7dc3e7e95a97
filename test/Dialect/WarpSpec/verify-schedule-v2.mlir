// V2: a buffer is used while its slot is open, by the agent that opened it.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-verify-schedule))'

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

// V2: the tensor core writes what it drains.
!p = !warpspec.pipeline<1 x (memref<128x4xi32, #warpspec.tmem>), threads to tensor_core>
warpspec.kernel @v2_written(%v: i32) {
  %s = warpspec.smem_alloc : memref<1x512xi8, #warpspec.smem>
  %t = warpspec.tmem_alloc : memref<1x128x4xi32, #warpspec.tmem>
  %p = warpspec.pipeline(%t) threads to tensor_core : memref<1x128x4xi32, #warpspec.tmem>
  warpspec.roles
  role @fill warps(4) {
    %fill, %b = warpspec.acquire %p : !p
    warpspec.commit %fill
  }
  role @mma warps(1) {
    // expected-note @below {{opened here}}
    %drain, %b = warpspec.wait %p : !p
    // expected-error @below {{V2: expected a slot to be written by its producer; it is being drained}}
    warpspec.copy_scales %s to %b : memref<1x512xi8, #warpspec.smem> to memref<128x4xi32, #warpspec.tmem>
    warpspec.release %drain
  }
}

// -----

// V2: a wait for what is not loaded.
warpspec.kernel @v2_wait_for_constant() {
  warpspec.roles
  role @a warps(4) {
    %v = arith.constant dense<0.0> : vector<32xf32>
    // expected-error @below {{V2: expected results of tmem_load, but got arith.constant}}
    %w = warpspec.tmem_wait %v : vector<32xf32>
  }
}

// -----

// V2: the same of what a loop passes on.
warpspec.kernel @v2_wait_for_argument(%n: i32) {
  warpspec.roles
  role @a warps(4) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %v = arith.constant dense<0.0> : vector<32xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %v) -> (vector<32xf32>) : i32 {
      // expected-error @below {{V2: expected results of tmem_load, but got a block argument}}
      %w = warpspec.tmem_wait %x : vector<32xf32>
      scf.yield %w : vector<32xf32>
    }
  }
}
