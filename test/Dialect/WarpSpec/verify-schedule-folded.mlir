// What folding and the merging of blocks make of legal IR, verifiers accept; warpspec-verify-schedule looks at it.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(canonicalize{region-simplify=aggressive})' | FileCheck %s
// RUN: not warpspec-opt %s --pass-pipeline='builtin.module(canonicalize,warpspec.kernel(warpspec-verify-schedule))' 2>&1 | FileCheck %s --check-prefix=SCHEDULE

// An index that is a constant only once it is folded.
// CHECK-LABEL: warpspec.kernel @index
// CHECK: %[[C:.*]] = arith.constant 16 : i32
// CHECK: warpspec.smem_store %{{.*}}, %{{.*}}[%[[C]], %{{.*}}]
// SCHEDULE: error: 'warpspec.smem_store' op V6: expected index 0 as a multiple of 1 in [0, 15], but got 16; the nearest is 15
warpspec.kernel @index(%i: i32) {
  %b = warpspec.smem_alloc : memref<16x32xf32, #warpspec.smem>
  warpspec.roles
  role @a warps(4) {
    %c8 = arith.constant 8 : i32
    %row = arith.addi %c8, %c8 : i32
    %v = arith.constant dense<0.0> : vector<4xf32>
    warpspec.smem_store %v, %b[%row, %i] : vector<4xf32>, memref<16x32xf32, #warpspec.smem>
  }
}

// Two equal blocks become one, which waits for one of two loads.
// CHECK-LABEL: func.func @wait
// CHECK: %[[LOADED:.*]] = arith.select
// CHECK: warpspec.tmem_wait %[[LOADED]]
!part = memref<128x32xf32, #warpspec.tmem>
func.func @wait(%a: !part, %b: !part, %c: i1, %out: memref<1xvector<32xf32>>) {
  %i = arith.constant 0 : index
  %v = warpspec.tmem_load %a : !part
  %w = warpspec.tmem_load %b : !part
  cf.cond_br %c, ^one, ^two
^one:
  %x = warpspec.tmem_wait %v : vector<32xf32>
  memref.store %x, %out[%i] : memref<1xvector<32xf32>>
  return
^two:
  %y = warpspec.tmem_wait %w : vector<32xf32>
  memref.store %y, %out[%i] : memref<1xvector<32xf32>>
  return
}
