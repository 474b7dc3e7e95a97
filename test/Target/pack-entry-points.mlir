// RUN: nvfp4-opt %s --nvfp4-pack-entry-points --split-input-file --verify-diagnostics | FileCheck %s

// Each tensor of f4E2M1FN is one of bytes, whose halves are unpacked once.
// CHECK: #[[BYTE:.*]] = affine_map<(d0) -> (d0 floordiv 2)>
// CHECK: #[[VALUE:.*]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @one_axis
// CHECK-SAME: (%[[X:.*]]: tensor<3xi8> {test.name = "x"}, %{{.*}}: i32) -> tensor<6xf4E2M1FN>
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<6xf4E2M1FN>
// CHECK: %[[VALUES:.*]] = linalg.generic {indexing_maps = [#[[BYTE]], #[[VALUE]]], iterator_types = ["parallel"]} ins(%[[X]] : tensor<3xi8>) outs(%[[EMPTY]] :
// CHECK: %[[INDEX:.*]] = linalg.index 0
// CHECK: arith.remui %[[INDEX]], %c2
// CHECK: arith.shrui
// CHECK: arith.bitcast %{{.*}} : i4 to f4E2M1FN
// CHECK: return %[[VALUES]]
func.func @one_axis(%x: tensor<6xf4E2M1FN> {test.name = "x"}, %i: i32) -> tensor<6xf4E2M1FN> {
  return %x : tensor<6xf4E2M1FN>
}

// -----

// CHECK: #[[TWICE:.*]] = affine_map<()[s0] -> (s0 * 2)>
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[X:.*]]: tensor<4x?x?xi8>
// CHECK: %[[LAST:.*]] = tensor.dim %[[X]], %c2
// CHECK: %[[SIZE:.*]] = affine.apply #[[TWICE]]()[%[[LAST]]]
// CHECK: tensor.empty(%{{.*}}, %[[SIZE]]) : tensor<4x?x?xf4E2M1FN>
// CHECK: %[[VALUES:.*]] = linalg.generic
// CHECK: tensor.dim %[[VALUES]]
func.func @dynamic(%x: tensor<4x?x?xf4E2M1FN>) -> index {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<4x?x?xf4E2M1FN>
  return %d : index
}

// -----

// Uses may be in other blocks, and in regions.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[VALUES:.*]] = linalg.generic
// CHECK: scf.execute_region
// CHECK-NEXT: tensor.dim %[[VALUES]]
// CHECK: ^bb1:
// CHECK-NEXT: return %[[VALUES]]
func.func @blocks(%c: i1, %x: tensor<?xf4E2M1FN>) -> tensor<?xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %size = scf.execute_region -> index {
    %d = tensor.dim %x, %c0 : tensor<?xf4E2M1FN>
    scf.yield %d : index
  }
  %y = tensor.empty(%size) : tensor<?xf4E2M1FN>
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<?xf4E2M1FN>
^b:
  return %y : tensor<?xf4E2M1FN>
}

// -----

// Other types, declarations and private functions stay.
// CHECK-LABEL: func.func @others
// CHECK-SAME: tensor<4xf32>, %{{.*}}: memref<4xf4E2M1FN>, %{{.*}}: f4E2M1FN, %{{.*}}: tensor<f4E2M1FN>
// CHECK-NEXT: return
func.func @others(%x: tensor<4xf32>, %m: memref<4xf4E2M1FN>, %s: f4E2M1FN, %t: tensor<f4E2M1FN>) {
  return
}
// CHECK: func.func private @declared(tensor<4xf4E2M1FN>)
func.func private @declared(tensor<4xf4E2M1FN>)
// CHECK: func.func private @inner(%{{.*}}: tensor<4xf4E2M1FN>)
func.func private @inner(%x: tensor<4xf4E2M1FN>) {
  return
}

// -----

// expected-error @+1 {{expected argument 1 to have an even last extent, two values of which are a byte, but got 5 in 'tensor<4x5xf4E2M1FN>'}}
func.func @odd(%i: tensor<4xf4E2M1FN>, %x: tensor<4x5xf4E2M1FN>) {
  return
}

// -----

// expected-error @+1 {{expected no use in the module of a function whose argument 0, a 'tensor<4xf4E2M1FN>', becomes bytes; make it private and call it from a public one}}
func.func @called(%x: tensor<4xf4E2M1FN>) {
  return
}
func.func private @caller(%x: tensor<4xf4E2M1FN>) {
  // expected-note @+1 {{used here}}
  call @called(%x) : (tensor<4xf4E2M1FN>) -> ()
  return
}
