// Products with decoded weights, and uses of their fragments, that are refused.
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

func.func @pitch(%acc: vector<8xf32>, %c: i32, %dst: memref<4x16x68xbf16, #warpspec.smem>) {
  // expected-error @below {{expected a target [warpgroups, a multiple of 8, a multiple of 4 from 64 on] of f32, or twice these of bf16 or f16, but got 'memref<4x16x68xbf16, #warpspec.smem>'}}
  warpspec.stage_fragment %acc[%c] to %dst : vector<8xf32> to memref<4x16x68xbf16, #warpspec.smem>
  return
}

// -----

func.func @pieces(%acc: vector<6xf32>, %n: i32, %sums: memref<?xf32, 1>) {
  // expected-error @below {{expected a multiple of 4 values a thread, but got 'vector<6xf32>'}}
  warpspec.store_fragment %acc width(%n) to %sums[%n] : vector<6xf32> to memref<?xf32, 1>
  return
}

// -----

!w = memref<4x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
func.func @agents(%in: !warpspec.pipeline<2 x (!w, !t), threads to threads>, %n: i32) {
  // expected-error @below {{expected a pipeline from tma to threads, but got '!warpspec.pipeline<2 x (memref<4x4608xi8, #warpspec.smem>, memref<2x16x64xbf16, #warpspec.smem<128>>), threads to threads>'}}
  %acc, %s, %p = warpspec.mma_decoded %in from %n to %n width(%n) step 8 : !warpspec.pipeline<2 x (!w, !t), threads to threads> -> vector<8xf32>
  return
}

// -----

!w = memref<4x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
func.func @one_buffer(%in: !warpspec.pipeline<2 x (!w), tma to threads>, %n: i32) {
  // expected-error @below {{expected slots of weights and of tokens, but got '!warpspec.pipeline<2 x (memref<4x4608xi8, #warpspec.smem>), tma to threads>'}}
  %acc, %s, %p = warpspec.mma_decoded %in from %n to %n width(%n) step 8 : !warpspec.pipeline<2 x (!w), tma to threads> -> vector<8xf32>
  return
}

// -----

!w = memref<4x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
func.func @tokens(%in: !warpspec.pipeline<2 x (!w, memref<2x12x64xbf16, #warpspec.smem<128>>), tma to threads>, %n: i32) {
  // expected-error @below {{expected tokens [k blocks, a multiple of 8 up to 256, 64] of bf16 or f16 with a swizzle of 128 bytes, but got 'memref<2x12x64xbf16, #warpspec.smem<128>>'}}
  %acc, %s, %p = warpspec.mma_decoded %in from %n to %n width(%n) step 8 : !warpspec.pipeline<2 x (!w, memref<2x12x64xbf16, #warpspec.smem<128>>), tma to threads> -> vector<8xf32>
  return
}

// -----

!w = memref<4x4608xi8, #warpspec.smem>
!t = memref<2x16x64xbf16, #warpspec.smem<128>>
func.func @step(%in: !warpspec.pipeline<2 x (!w, !t), tma to threads>, %n: i32) {
  // expected-error @below {{expected a step that is a multiple of 8, but got 12}}
  %acc, %s, %p = warpspec.mma_decoded %in from %n to %n width(%n) step 12 : !warpspec.pipeline<2 x (!w, !t), tma to threads> -> vector<8xf32>
  return
}

// -----

// Two warpgroups, and places for four.
warpspec.kernel @entries(%c: i32) {
  %b = warpspec.smem_alloc : memref<4x32x68xf32, #warpspec.smem>
  %acc = arith.constant dense<0.0> : vector<16xf32>
  warpspec.roles
  role @math warps(8) {
    // expected-error @below {{expected a role of 16 warps, 4 for each entry of the target, but @math has 8}}
    warpspec.stage_fragment %acc[%c] to %b : vector<16xf32> to memref<4x32x68xf32, #warpspec.smem>
  }
}
