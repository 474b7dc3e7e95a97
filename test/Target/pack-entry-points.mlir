// RUN: nvfp4-opt %s --nvfp4-pack-entry-points --split-input-file --verify-diagnostics | FileCheck %s

// Each tensor of f4E2M1FN is one of bytes, whose halves are unpacked once.
// CHECK: #[[BYTE:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK: #[[HALF:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @one_axis
// CHECK-SAME: (%[[X:.*]]: tensor<3xi8> {test.name = "x"}, %{{.*}}: i32) -> tensor<6xf4E2M1FN>
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<3x2xf4E2M1FN>
// CHECK: %[[HALVES:.*]] = linalg.generic {indexing_maps = [#[[BYTE]], #[[HALF]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]] : tensor<3xi8>) outs(%[[EMPTY]] :
// CHECK: linalg.index 1
// CHECK: arith.shrui
// CHECK: arith.bitcast %{{.*}} : i4 to f4E2M1FN
// CHECK: %[[VALUES:.*]] = tensor.collapse_shape %[[HALVES]] {{\[}}[0, 1]] : tensor<3x2xf4E2M1FN> into tensor<6xf4E2M1FN>
// CHECK: return %[[VALUES]]
func.func @one_axis(%x: tensor<6xf4E2M1FN> {test.name = "x"}, %i: i32) -> tensor<6xf4E2M1FN> {
  return %x : tensor<6xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[X:.*]]: tensor<4x?x?xi8>
// CHECK: tensor.empty(%{{.*}}, %{{.*}}) : tensor<4x?x?x2xf4E2M1FN>
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1], [2, 3]] : tensor<4x?x?x2xf4E2M1FN> into tensor<4x?x?xf4E2M1FN>
// CHECK: tensor.dim %collapsed
func.func @dynamic(%x: tensor<4x?x?xf4E2M1FN>) -> index {
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c1 : tensor<4x?x?xf4E2M1FN>
  return %d : index
}

// -----

// Other types, declarations and private functions stay.
// CHECK-LABEL: func.func @others
// CHECK-SAME: tensor<4xf32>, %{{.*}}: memref<4xf4E2M1FN>, %{{.*}}: f4E2M1FN
// CHECK-NEXT: return
func.func @others(%x: tensor<4xf32>, %m: memref<4xf4E2M1FN>, %s: f4E2M1FN) {
  return
}
// CHECK: func.func private @declared(tensor<4xf4E2M1FN>)
func.func private @declared(tensor<4xf4E2M1FN>)
// CHECK: func.func private @inner(%{{.*}}: tensor<4xf4E2M1FN>)
func.func private @inner(%x: tensor<4xf4E2M1FN>) {
  return
}

// -----

// expected-error @+1 {{expected an even last extent of argument 1, two values of which are a byte, but got 'tensor<4x5xf4E2M1FN>'}}
func.func @odd(%i: index, %x: tensor<4x5xf4E2M1FN>) {
  return
}

// -----

// expected-error @+1 {{expected an entry point to pack argument 0 of, which no function of the module calls}}
func.func @called(%x: tensor<4xf4E2M1FN>) {
  return
}
func.func private @caller(%x: tensor<4xf4E2M1FN>) {
  call @called(%x) : (tensor<4xf4E2M1FN>) -> ()
  return
}
