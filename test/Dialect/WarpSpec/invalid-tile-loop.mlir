// Loops over tiles that are refused.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

!ring = !warpspec.pipeline<2 x (memref<2xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @ring(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x2xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x2xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    // expected-error @below {{expected a ring from threads to threads with slots of 4 x i32 in shared memory}}
    warpspec.for_each_tile m_fastest of %n through %ring : !ring
    extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
    }
  }
}

// -----

!ring = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @narrow(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x4xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x4xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    // expected-error @below {{expected a ring from threads to threads with slots of 8 x i32 in shared memory}}
    warpspec.for_each_tile m_fastest of %n through %ring : !ring cut(%n)
    extents(%g) {
      warpspec.yield %n, %n, %n : i32, i32, i32
    } do(%g, %i, %j, %from, %to) {
    }
  }
}

// -----

warpspec.kernel @no_ring(%n: i32) {
  warpspec.roles
  role @a warps(1) {
    // expected-error @below {{expected a ring, through which tiles are cut}}
    warpspec.for_each_tile m_fastest of %n cut(%n)
    extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j, %from, %to) {
    }
  }
}

// -----

warpspec.kernel @no_cut(%n: i32) {
  warpspec.roles
  role @a warps(1) {
    // expected-error @below {{expected cut with parts}}
    warpspec.for_each_tile m_fastest of %n parts
    extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j) {
    }
  }
}

// -----

!ring = !warpspec.pipeline<2 x (memref<8xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @arguments(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x8xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x8xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    // expected-error @below {{expected i32 arguments group, m, n, from and to of the body}}
    warpspec.for_each_tile m_fastest of %n through %ring : !ring cut(%n)
    extents(%g) {
      warpspec.yield %n, %n, %n : i32, i32, i32
    } do(%g, %i, %j) {
    }
  }
}

// -----

func.func @f(%g: i32) {
  warpspec.for_each_tile m_fastest of %g extents(%i) {
    // expected-error @below {{expected the numbers of tiles (m, n), two values of i32, but got ('i32')}}
    warpspec.yield %i : i32
  } do(%a, %b, %c) {
  }
  return
}

// -----

func.func @f(%g: i32, %x: f32) {
  %r = warpspec.for_each_tile m_fastest of %g iter_args(%v = %x) -> (f32) extents(%i) {
    warpspec.yield %i, %i : i32, i32
  } do(%a, %b, %c) {
    // expected-error @below {{expected values of the types of iter_args, ('f32'), but got ('i32')}}
    warpspec.yield %a : i32
  }
  return
}

// -----

func.func @f(%g: i32, %b: memref<16xi32, #warpspec.smem>) {
  warpspec.for_each_tile m_fastest of %g extents(%i) {
    // expected-error @below {{expected no operation of an agent in extents}}
    %v = warpspec.smem_load %b[%i] : memref<16xi32, #warpspec.smem>, vector<1xi32>
    warpspec.yield %i, %i : i32, i32
  } do(%a, %c, %d) {
  }
  return
}

// -----

func.func @f(%g: i32) {
  warpspec.for_each_tile m_fastest of %g extents(%i) {
    // expected-error @below {{expected the numbers of tiles (m, n), two values of i32, but got ('i32', 'i32', 'i32')}}
    warpspec.yield %i, %i, %i : i32, i32, i32
  } do(%a, %b, %c) {
  }
  return
}

// -----

func.func @f(%g: i32, %x: f32) {
  // expected-error @below {{expected as many types as iter_args}}
  %r = warpspec.for_each_tile m_fastest of %g iter_args(%v = %x) -> (f32, f32) extents(%i) {
    warpspec.yield %i, %i : i32, i32
  } do(%a, %b, %c) {
  }
  return
}

// -----

func.func @f(%g: i32) {
  // expected-error @below {{expected one argument of extents, the group}}
  warpspec.for_each_tile m_fastest of %g extents(%i, %j) {
    warpspec.yield %i, %i : i32, i32
  } do(%a, %b, %c) {
  }
  return
}

// -----

func.func @f(%g: i32) {
  warpspec.for_each_tile m_fastest of %g extents(%i) {
    warpspec.yield %i, %i : i32, i32
    // expected-error @below {{expected three arguments, group, m, n, and with cut from, to, with parts another}}
  } do(%a, %b) {
  }
  return
}

// -----

func.func @f(%g: i32) {
  // expected-error @below {{expected one i32 argument of extents, the group}}
  "warpspec.for_each_tile"(%g) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, order = #warpspec<order m_fastest>}> ({
  ^bb0(%i: index):
    "warpspec.yield"(%g, %g) : (i32, i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32, %c: i32):
    "warpspec.yield"() : () -> ()
  }) : (i32) -> ()
  return
}

// -----

func.func @f(%g: i32) {
  // expected-error @below {{expected regions that end with warpspec.yield}}
  "warpspec.for_each_tile"(%g) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, order = #warpspec<order m_fastest>}> ({
  ^bb0(%i: i32):
    "warpspec.yield"(%i, %i) : (i32, i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32, %c: i32):
    %d = "arith.addi"(%a, %b) : (i32, i32) -> i32
  }) : (i32) -> ()
  return
}

// -----

func.func @f(%g: i32, %x: f32) {
  // expected-error @below {{expected arguments and results of the types of iter_args}}
  %r = "warpspec.for_each_tile"(%g, %x) <{operandSegmentSizes = array<i32: 1, 0, 0, 1>, order = #warpspec<order m_fastest>}> ({
  ^bb0(%i: i32):
    "warpspec.yield"(%i, %i) : (i32, i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32, %c: i32, %v: f32):
    "warpspec.yield"(%v) : (f32) -> ()
  }) : (i32, f32) -> f64
  return
}

// -----

// A store may happen any number of times.
func.func @f(%g: i32, %out: memref<?xi32, 1>) {
  %zero = arith.constant 0 : index
  warpspec.for_each_tile m_fastest of %g extents(%i) {
    // expected-error @below {{expected no effect in extents but reads of memory, as any thread may run them any number of times}}
    memref.store %i, %out[%zero] : memref<?xi32, 1>
    warpspec.yield %i, %i : i32, i32
  } do(%a, %b, %c) {
  }
  return
}

// -----

func.func @f(%g: i32, %flags: memref<?xi32, 1>) {
  %zero = arith.constant 0 : index
  warpspec.for_each_tile m_fastest of %g extents(%i) {
    // expected-error @below {{expected no effect in extents but reads of memory, as any thread may run them any number of times}}
    warpspec.publish %flags[%zero] : memref<?xi32, 1>
    warpspec.yield %i, %i : i32, i32
  } do(%a, %b, %c) {
  }
  return
}

// -----

!ring = !warpspec.pipeline<2 x (memref<8xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @no_cost(%n: i32) {
  %b = warpspec.smem_alloc : memref<2x8xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads : memref<2x8xi32, #warpspec.smem>
  warpspec.roles
  role @a warps(1) {
    warpspec.for_each_tile m_fastest of %n through %ring : !ring cut(%n)
    extents(%g) {
      // expected-error @below {{expected the numbers of tiles (m, n) and the cost of a tile, three values of i32, but got ('i32', 'i32')}}
      warpspec.yield %n, %n : i32, i32
    } do(%g, %i, %j, %from, %to) {
    }
  }
}
