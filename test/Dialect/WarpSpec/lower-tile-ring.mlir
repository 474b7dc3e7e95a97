// A ring: one warp more finds the tiles, and each role takes them from the slots.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(warpspec-lower-roles))' | FileCheck %s

// Its slots are full when the warp has filled them, and empty when all six warps have read them.
// CHECK-LABEL: warpspec.kernel @ring
// CHECK: warpspec.init_barriers at(32) depth(2) count(1)
// CHECK: warpspec.init_barriers at(48) depth(2) count(6)

// A role copies a slot and releases it before it works; 0 in the fourth word ends the loop.
// CHECK: scf.while (%[[STAGE:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) : (i32, i32) -> (i32, i32, i32, i32, i32)
// CHECK: %[[DRAIN:.*]], %[[SLOT:.*]] = warpspec.wait %[[RING:.*]][%[[STAGE]], %[[PHASE]]]
// CHECK: %[[WORDS:.*]] = warpspec.smem_load %[[SLOT]]
// CHECK: %[[GROUP:.*]] = vector.extract %[[WORDS]][0]
// CHECK: %[[M:.*]] = vector.extract %[[WORDS]][1]
// CHECK: %[[N:.*]] = vector.extract %[[WORDS]][2]
// CHECK: %[[MORE:.*]] = vector.extract %[[WORDS]][3]
// CHECK: %[[IS:.*]] = arith.cmpi ne, %[[MORE]]
// CHECK: warpspec.release %[[DRAIN]]
// CHECK: scf.condition(%[[IS]]) %[[GROUP]], %[[M]], %[[N]]
// CHECK: memref.store

// The other role.
// CHECK: warpspec.wait %[[RING]]

// The warp behind those of the roles hands over a tile after the other, and then that there is none.
// CHECK: nvvm.vote.sync ballot
// CHECK: %[[FILL:.*]], %[[NEXT:.*]] = warpspec.acquire %[[RING]]
// CHECK: scf.if %{{.*}} {
// CHECK: %[[TILE:.*]] = vector.from_elements %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK: warpspec.smem_store %[[TILE]], %[[NEXT]]
// CHECK: warpspec.commit %[[FILL]]
// CHECK: %[[FILL:.*]], %[[NEXT:.*]] = warpspec.acquire %[[RING]]
// CHECK: %[[NONE:.*]] = vector.from_elements %[[ZERO:.*]], %[[ZERO]], %[[ZERO]], %[[ZERO]] : vector<4xi32>
// CHECK: warpspec.smem_store %[[NONE]], %[[NEXT]]
// CHECK: warpspec.commit %[[FILL]]
// CHECK: threads(224)
!ring = !warpspec.pipeline<2 x (memref<4xi32, #warpspec.smem>), threads to threads>
warpspec.kernel @ring(%groups: i32, %tiles: i32, %out: memref<?xi32, 1>) {
  %b = warpspec.smem_alloc at(0) : memref<2x4xi32, #warpspec.smem>
  %ring = warpspec.pipeline(%b) threads to threads barriers(32) : memref<2x4xi32, #warpspec.smem>
  warpspec.roles
  role @one warps(4) {
    warpspec.for_each_tile m_fastest of %groups through %ring : !ring
    extents(%g) {
      warpspec.yield %tiles, %tiles : i32, i32
    } do(%group, %m, %n) {
      %zero = arith.constant 0 : index
      memref.store %m, %out[%zero] : memref<?xi32, 1>
    }
  }
  role @two warps(2) {
    warpspec.for_each_tile m_fastest of %groups through %ring : !ring
    extents(%g) {
      warpspec.yield %tiles, %tiles : i32, i32
    } do(%group, %m, %n) {
    }
  }
} shared_bytes(64) tmem_columns(0)
