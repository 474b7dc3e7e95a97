// What products with decoded weights, their loads and rings of tiles refuse.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

!w = memref<4x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
warpspec.kernel @one_slot(%steps: i32) {
  %w = warpspec.smem_alloc : memref<1x4x4608xi8, #warpspec.smem>
  %t = warpspec.smem_alloc : memref<1x2x16x64xbf16, #warpspec.smem<128>>
  %in = warpspec.pipeline(%w, %t) tma to threads : memref<1x4x4608xi8, #warpspec.smem>, memref<1x2x16x64xbf16, #warpspec.smem<128>>
  warpspec.roles
  role @math warps(16) {
    %c0 = arith.constant 0 : i32
    // expected-error @below {{expected a pipeline of at least 2 slots, but got 1}}
    %acc, %s, %p = warpspec.mma_decoded %in from %c0 to %steps width(%steps) step 8 : !warpspec.pipeline<1 x (!w, !t), tma to threads> -> vector<8xf32>
  }
}

// -----

!w = memref<4x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
warpspec.kernel @warps(%steps: i32) {
  %w = warpspec.smem_alloc : memref<2x4x4608xi8, #warpspec.smem>
  %t = warpspec.smem_alloc : memref<2x2x16x64xbf16, #warpspec.smem<128>>
  %in = warpspec.pipeline(%w, %t) tma to threads : memref<2x4x4608xi8, #warpspec.smem>, memref<2x2x16x64xbf16, #warpspec.smem<128>>
  warpspec.roles
  role @math warps(8) {
    %c0 = arith.constant 0 : i32
    // expected-error @below {{expected a role of 16 warps, but @math has 8}}
    %acc, %s, %p = warpspec.mma_decoded %in from %c0 to %steps width(%steps) step 8 : !warpspec.pipeline<2 x (!w, !t), tma to threads> -> vector<8xf32>
  }
}

// -----

!w = memref<4x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
func.func @fragment(%in: !warpspec.pipeline<2 x (!w, !t), tma to threads>, %n: i32) {
  // expected-error @below {{expected 8 values a thread, but got 'vector<16xf32>'}}
  %acc, %s, %p = warpspec.mma_decoded %in from %n to %n width(%n) step 8 : !warpspec.pipeline<2 x (!w, !t), tma to threads> -> vector<16xf32>
  return
}

// -----

!w = memref<4x4000xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
func.func @weights(%in: !warpspec.pipeline<2 x (!w, !t), tma to threads>, %n: i32) {
  // expected-error @below {{expected weights [warpgroups, 4608] of i8, but got 'memref<4x4000xi8, #warpspec.smem>'}}
  %acc, %s, %p = warpspec.mma_decoded %in from %n to %n width(%n) step 8 : !warpspec.pipeline<2 x (!w, !t), tma to threads> -> vector<8xf32>
  return
}

// -----

func.func @entry(%src: memref<?xi8, 1>, %at: i64, %fill: !warpspec.fill, %dst: memref<2x4608xi8, #warpspec.smem>) {
  // expected-error @below {{expected an entry below 2, but got 2}}
  warpspec.bulk_load %src[%at] to 2 of %dst fills(%fill) : memref<?xi8, 1> to memref<2x4608xi8, #warpspec.smem>
  return
}

// -----

!m = !warpspec.tensor_map<2x16x64xbf16, swizzle = 128>
func.func @maps(%m: !m, %dst: memref<2x16x64xbf16, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  // expected-error @below {{expected map 0 with boxes of 2x8x64 like the target}}
  warpspec.tma_load_rows %n of %m[%n, %n, %n] to %dst fills(%fill) : !m to memref<2x16x64xbf16, #warpspec.smem<128>>
  return
}

// -----

func.func @pitch(%acc: vector<8xf32>, %c: i32, %dst: memref<4x16x68xbf16, #warpspec.smem>) {
  // expected-error @below {{expected a target [warpgroups, a multiple of 8, a multiple of 4 from 64 on] of f32, or twice these of bf16 or f16, but got 'memref<4x16x68xbf16, #warpspec.smem>'}}
  warpspec.stage_fragment %acc[%c] to %dst : vector<8xf32> to memref<4x16x68xbf16, #warpspec.smem>
  return
}

// -----

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

func.func @pieces(%acc: vector<6xf32>, %n: i32, %sums: memref<?xf32, 1>) {
  // expected-error @below {{expected a multiple of 4 values a thread, but got 'vector<6xf32>'}}
  warpspec.store_fragment %acc width(%n) to %sums[%n] : vector<6xf32> to memref<?xf32, 1>
  return
}
