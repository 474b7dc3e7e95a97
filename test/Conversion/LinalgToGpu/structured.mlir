// RUN: nvfp4-opt %s --convert-linalg-to-gpu --split-input-file | FileCheck %s

// A thread for each point, numbered with the last loop fastest.

!x = memref<?x2880xf32, #gpu.address_space<global>>

// CHECK-LABEL: func.func @add
// CHECK:         %[[ROWS:.*]] = memref.dim
// CHECK:         gpu.launch blocks
// CHECK-SAME:    = %c128,
// CHECK:           %[[COLUMN:.*]] = arith.remui %[[NUMBER:.*]], %c2880
// CHECK:           %[[ROW:.*]] = arith.divui %[[NUMBER]], %c2880
// CHECK:           memref.load %{{.*}}[%[[ROW]], %[[COLUMN]]]
// CHECK:           arith.addf
// CHECK:           memref.store {{.*}}[%[[ROW]], %[[COLUMN]]]
// CHECK:         gpu.terminator
// CHECK-NOT:     linalg
func.func @add(%x: !x, %y: !x) {
  linalg.add ins(%x, %y : !x, !x) outs(%y : !x)
  return
}

// -----

// A warp for each point of a reduction by one operation: its threads take the
// iterations in turn, and add up in five steps.

!x = memref<?x2880xbf16, #gpu.address_space<global>>
!w = memref<128x2880xf32, #gpu.address_space<global>>
!y = memref<?x128xf32, #gpu.address_space<global>>
#map = affine_map<(m, n, k) -> (m, k)>
#map1 = affine_map<(m, n, k) -> (n, k)>
#map2 = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @router
// CHECK:         gpu.launch
// CHECK:           %[[LANE:.*]] = arith.remui %{{.*}}, %c32
// CHECK:           scf.for {{.*}} = %[[LANE]] to {{.*}} iter_args
// CHECK:             arith.extf {{.*}} : bf16 to f32
// CHECK:           gpu.shuffle xor {{.*}}
// CHECK-COUNT-4:   gpu.shuffle xor
// CHECK:           scf.if
// CHECK:             memref.store
func.func @router(%x: !x, %w: !w, %y: !y) {
  linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%x, %w : !x, !w) outs(%y : !y)
  return
}

// -----

// Memory of the host is not touched, and what a launch takes from memory of the
// device is loaded there.

!s = memref<1xf32, #gpu.address_space<global>>
!x = memref<64xf32, #gpu.address_space<global>>

// CHECK-LABEL: func.func @scalar
// CHECK-SAME:    (%[[S:.*]]: memref<1xf32,
// CHECK:         gpu.launch
// CHECK:           %[[V:.*]] = memref.load %[[S]]
// CHECK:           %[[T:.*]] = arith.mulf %[[V]]
// CHECK:           memref.store %[[T]]
// CHECK:         linalg.fill
func.func @scalar(%s: !s, %x: !x, %h: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %v = memref.load %s[%c0] : !s
  %t = arith.mulf %v, %two : f32
  linalg.fill ins(%t : f32) outs(%x : !x)
  linalg.fill ins(%two : f32) outs(%h : memref<4xf32>)
  return
}
