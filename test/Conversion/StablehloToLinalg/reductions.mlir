// RUN: nvfp4-opt %s --allow-unregistered-dialect --convert-stablehlo-to-linalg | FileCheck %s

// One sum in f32, rounded after it.

// CHECK-DAG:   #[[X:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG:   #[[W:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG:   #[[Y:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @dot_general(
// CHECK:         linalg.generic {indexing_maps = [#[[X]], #[[W]], #[[Y]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK:           arith.mulf %{{.*}} : f32
// CHECK:           arith.addf %{{.*}} : f32
// CHECK:         } -> tensor<2x4x8xf32>
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
func.func @dot_general(%x: tensor<2x4x16xbf16>, %w: tensor<2x8x16xbf16>) -> tensor<2x4x8xbf16> {
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0],
      rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>}>
      : (tensor<2x4x16xbf16>, tensor<2x8x16xbf16>) -> tensor<2x4x8xbf16>
  return %0 : tensor<2x4x8xbf16>
}

// Starts of groups are the ends of those before.

// CHECK-LABEL: func.func @ragged_dot(
// CHECK:         %[[ENDS:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<3xi32>)
// CHECK:         tensor.extract_slice %[[ENDS]][0] [2] [1]
// CHECK:         %[[STARTS:.*]] = tensor.insert_slice %{{.*}}[1] [2] [1]
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %{{.*}}, %[[STARTS]], %[[ENDS]] :
// CHECK:           arith.cmpi sle
// CHECK:           arith.cmpi slt
// CHECK:           arith.select
// CHECK:           arith.addf
func.func @ragged_dot(%x: tensor<8x16xbf16>, %w: tensor<3x16x4xbf16>, %sizes: tensor<3xi32>) -> tensor<8x4xf32> {
  %0 = "chlo.ragged_dot"(%x, %w, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
      : (tensor<8x16xbf16>, tensor<3x16x4xbf16>, tensor<3xi32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A reduction of one element is no loop.

// CHECK-LABEL: func.func @of_one(
// CHECK-NOT:     "reduction"
// CHECK:         return
func.func @of_one(%x: tensor<8x1xi1>) -> tensor<8xi1> {
  %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %1 = "stablehlo.and"(%a, %b) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }) : (tensor<8x1xi1>, tensor<i1>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}
