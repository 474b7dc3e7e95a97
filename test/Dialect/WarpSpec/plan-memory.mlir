// Places are chosen without overlap, largest alignment first; given ones are kept.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(warpspec-plan-memory))' | FileCheck %s

// CHECK-LABEL: warpspec.kernel @chosen
warpspec.kernel @chosen() {
  // CHECK: smem_alloc at(3072) : memref<4x512xi8
  %s = warpspec.smem_alloc : memref<4x512xi8, #warpspec.smem>
  // CHECK: smem_alloc at(1024) : memref<2x8x128xi8
  %a = warpspec.smem_alloc : memref<2x8x128xi8, #warpspec.smem<128>>
  // CHECK: smem_alloc at(0) : memref<1x8x128xi8
  %g = warpspec.smem_alloc at(0) : memref<1x8x128xi8, #warpspec.smem<128>>
  // CHECK: tmem_alloc at(0)
  %t = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  // CHECK: tmem_alloc at(64)
  %u = warpspec.tmem_alloc : memref<128x16xi32, #warpspec.tmem>
  // CHECK: pipeline(%{{.*}}) tma to threads barriers(5120)
  %p = warpspec.pipeline(%a) tma to threads : memref<2x8x128xi8, #warpspec.smem<128>>
  // Bulk groups need no barrier.
  // CHECK: pipeline(%{{.*}}) threads to tma :
  %q = warpspec.pipeline(%s) threads to tma : memref<4x512xi8, #warpspec.smem>
// 80 columns are allocated as 128; the last word holds their address.
// CHECK: shared_bytes(5160) tmem_columns(128)
}

// CHECK-LABEL: warpspec.kernel @nothing() {
// CHECK-NEXT: } shared_bytes(0) tmem_columns(0)
warpspec.kernel @nothing() {
}

// Barriers whose place was given are not placed over.
// CHECK-LABEL: warpspec.kernel @given_barriers
// CHECK: smem_alloc at(128)
// CHECK: barriers(0)
// CHECK: shared_bytes(384)
warpspec.kernel @given_barriers() {
  %b = warpspec.smem_alloc : memref<2x128xi8, #warpspec.smem>
  %p = warpspec.pipeline(%b) tma to threads barriers(0) : memref<2x128xi8, #warpspec.smem>
}

// Slots with others between them: nothing is placed there by itself.
// CHECK-LABEL: warpspec.kernel @between
// CHECK: tmem_alloc at(0) stride(96) : memref<2x128x64xf32
// CHECK: tmem_alloc at(64) : memref<1x128x32xf32
// CHECK: tmem_alloc at(160) : memref<128x16xi32
// CHECK: tmem_columns(256)
warpspec.kernel @between() {
  %own = warpspec.tmem_alloc at(0) stride(96) : memref<2x128x64xf32, #warpspec.tmem>
  %shared = warpspec.tmem_alloc at(64) : memref<1x128x32xf32, #warpspec.tmem>
  %s = warpspec.tmem_alloc : memref<128x16xi32, #warpspec.tmem>
}
