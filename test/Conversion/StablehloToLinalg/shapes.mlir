// RUN: nvfp4-opt %s --allow-unregistered-dialect --convert-stablehlo-to-linalg | FileCheck %s

// Integers have no sign afterwards; numbers that all elements have are filled in.

// CHECK-LABEL: func.func @signs(
// CHECK-SAME:    %[[X:.*]]: tensor<2x3xi8>) -> (tensor<3x2xi8>, tensor<4xi32>)
// CHECK-DAG:     %[[T:.*]] = linalg.transpose ins(%[[X]] : tensor<2x3xi8>) {{.*}} permutation = [1, 0]
// CHECK-DAG:     %[[F:.*]] = linalg.fill ins(%{{.*}} : i32) outs(%{{.*}} : tensor<4xi32>)
// CHECK:         return %{{.*}}, %[[F]] : tensor<3x2xi8>, tensor<4xi32>
func.func @signs(%x: tensor<2x3xui8>) -> (tensor<3x2xui8>, tensor<4xui32>) {
  %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xui8>) -> tensor<3x2xui8>
  %c = "stablehlo.constant"() <{value = dense<7> : tensor<ui32>}> : () -> tensor<ui32>
  %1 = "stablehlo.broadcast_in_dim"(%c) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<9xui32>
  %2 = "stablehlo.slice"(%1) <{start_indices = array<i64: 2>, limit_indices = array<i64: 6>, strides = array<i64: 1>}>
      : (tensor<9xui32>) -> tensor<4xui32>
  return %0, %2 : tensor<3x2xui8>, tensor<4xui32>
}

// Bytes of two codes are what raise-to-grouped-scaled-gemm looks through.

// CHECK-LABEL: func.func @codes(
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}} : tensor<4x8xi8>)
// CHECK:         ^bb0(%[[BYTE:.*]]: i8, %{{.*}}: f4E2M1FN):
// CHECK:           linalg.index 2
// CHECK:           arith.shrui %[[BYTE]]
// CHECK:           arith.trunci %{{.*}} : i8 to i4
// CHECK:           arith.bitcast %{{.*}} : i4 to f4E2M1FN
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<4x8x2xf4E2M1FN> into tensor<4x16xf4E2M1FN>
func.func @codes(%x: tensor<4x8xui8>) -> tensor<4x16xf4E2M1FN> {
  %0 = "stablehlo.bitcast_convert"(%x) : (tensor<4x8xui8>) -> tensor<4x8x2xf4E2M1FN>
  %1 = "stablehlo.reshape"(%0) : (tensor<4x8x2xf4E2M1FN>) -> tensor<4x16xf4E2M1FN>
  return %1 : tensor<4x16xf4E2M1FN>
}

// A composite is a call of its decomposition, and functions change with their callers.

// CHECK-LABEL: func.func @composite(
// CHECK:         call @inner(%{{.*}}) : (tensor<4xi8>) -> tensor<4xi8>
// CHECK:       func.func private @inner(%{{.*}}: tensor<4xi8>) -> tensor<4xi8>
func.func @composite(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @inner, name = "some.name", version = 1 : i32}>
      : (tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
func.func private @inner(%x: tensor<4xui8>) -> tensor<4xui8> {
  return %x : tensor<4xui8>
}

// No elements are the same in any shape.

// CHECK-LABEL: func.func @no_elements(
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<4x0xf32>
// CHECK-NEXT:    return %[[E]]
func.func @no_elements(%x: tensor<0x4xf32>) -> tensor<4x0xf32> {
  %0 = "stablehlo.reshape"(%x) : (tensor<0x4xf32>) -> tensor<4x0xf32>
  return %0 : tensor<4x0xf32>
}
