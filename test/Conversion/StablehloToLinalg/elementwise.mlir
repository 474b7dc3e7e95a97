// RUN: nvfp4-opt %s --allow-unregistered-dialect --convert-stablehlo-to-linalg --canonicalize | FileCheck %s

// Numbers that all elements have are in the body, and types below f32 are computed in f32.

// CHECK-LABEL: func.func @half(
// CHECK-DAG:     %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}} : tensor<4xbf16>)
// CHECK:         ^bb0(%[[IN:.*]]: bf16, %{{.*}}: bf16):
// CHECK:           %[[WIDE:.*]] = arith.extf %[[IN]] : bf16 to f32
// CHECK:           %[[Y:.*]] = arith.mulf %[[WIDE]], %[[TWO]] : f32
// CHECK:           arith.truncf %[[Y]] : f32 to bf16
func.func @half(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %c = "stablehlo.constant"() <{value = dense<2.0> : tensor<bf16>}> : () -> tensor<bf16>
  %b = "stablehlo.broadcast_in_dim"(%c) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<4xbf16>
  %0 = "stablehlo.multiply"(%x, %b) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// The sign of an integer is in its type alone; a shift by a known number needs no guard.

// CHECK-LABEL: func.func @nibbles(
// CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : i8
// CHECK:           arith.shrui %{{.*}}, %[[FOUR]] : i8
// CHECK-NEXT:      linalg.yield
// CHECK:           arith.uitofp %{{.*}} : i8 to f32
// CHECK:           arith.cmpi ult
func.func @nibbles(%x: tensor<4xui8>) -> (tensor<4xf32>, tensor<4xi1>) {
  %c = "stablehlo.constant"() <{value = dense<4> : tensor<4xui8>}> : () -> tensor<4xui8>
  %0 = "stablehlo.shift_right_logical"(%x, %c) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = "stablehlo.convert"(%0) : (tensor<4xui8>) -> tensor<4xf32>
  %2 = "stablehlo.compare"(%0, %c) <{comparison_direction = #stablehlo<comparison_direction LT>}>
      : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  return %1, %2 : tensor<4xf32>, tensor<4xi1>
}

// Operands are converted in their order. Division by zero has a result, and that by any
// other known number needs no guard.

// CHECK-LABEL: func.func @order(
// CHECK:         ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: i1):
// CHECK-NEXT:      %[[AE:.*]] = arith.extf %[[A]]
// CHECK-NEXT:      %[[BE:.*]] = arith.extf %[[B]]
// CHECK-NEXT:      arith.cmpf olt, %[[AE]], %[[BE]]
func.func @order(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xi1> {
  %0 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction LT>}>
      : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @divide(
// CHECK:         ^bb0(%[[A:.*]]: i32, %[[B:.*]]: i32, %{{.*}}: i32):
// CHECK:           %[[ZERO:.*]] = arith.cmpi eq, %[[B]], %c0_i32
// CHECK:           %[[BY:.*]] = arith.select %{{.*}}, %c1_i32, %[[B]]
// CHECK-NEXT:      %[[Q:.*]] = arith.divsi %[[A]], %[[BY]]
// CHECK-NEXT:      arith.select %[[ZERO]], %c-1_i32, %[[Q]]
// CHECK:         ^bb0(%[[C:.*]]: i32, %{{.*}}: i32):
// CHECK-NEXT:      arith.remsi %[[C]], %c2_i32
func.func @divide(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = "stablehlo.divide"(%x, %y) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %c = "stablehlo.constant"() <{value = dense<2> : tensor<4xi32>}> : () -> tensor<4xi32>
  %1 = "stablehlo.remainder"(%x, %c) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}
