// RUN: nvfp4-opt %s --allow-unregistered-dialect --convert-stablehlo-to-linalg | FileCheck %s

// Slices stay inside the tensor, as in W[ids].

// CHECK-LABEL: func.func @gather(
// CHECK-SAME:    %[[W:.*]]: tensor<4x16x8xf32>, %[[IDS:.*]]: tensor<2x1xi32>
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[IDS]] : tensor<2x1xi32>) outs(%{{.*}} : tensor<2x16x8xf32>)
// CHECK:           %[[LOW:.*]] = arith.maxsi
// CHECK:           %[[ID:.*]] = arith.minsi %[[LOW]]
// CHECK:           %[[N:.*]] = linalg.index 1
// CHECK:           %[[K:.*]] = linalg.index 2
// CHECK:           tensor.extract %[[W]][%[[ID]], %[[N]], %[[K]]]
func.func @gather(%w: tensor<4x16x8xf32>, %ids: tensor<2x1xi32>) -> tensor<2x16x8xf32> {
  %0 = "stablehlo.gather"(%w, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16, 8>}>
      : (tensor<4x16x8xf32>, tensor<2x1xi32>) -> tensor<2x16x8xf32>
  return %0 : tensor<2x16x8xf32>
}

// CHECK-LABEL: func.func @scatter(
// CHECK-SAME:    %[[X:.*]]: tensor<4xi32>, %[[IDS:.*]]: tensor<8x1xi32>, %[[U:.*]]: tensor<8xi32>
// CHECK:         scf.for %[[I:.*]] = %{{.*}} iter_args(%[[R:.*]] = %[[X]])
// CHECK:           tensor.extract %[[IDS]][%[[I]], %{{.*}}]
// CHECK:           arith.cmpi ult
// CHECK:           scf.if
// CHECK:             arith.addi
// CHECK:             tensor.insert %{{.*}} into %[[R]]
func.func @scatter(%x: tensor<4xi32>, %ids: tensor<8x1xi32>, %u: tensor<8xi32>) -> tensor<4xi32> {
  %0 = "stablehlo.scatter"(%x, %ids, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%1) : (tensor<i32>) -> ()
  }) : (tensor<4xi32>, tensor<8x1xi32>, tensor<8xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// Each element counts those before it, and each place finds its element.

// CHECK-LABEL: func.func @top_k(
// CHECK-SAME:    %[[X:.*]]: tensor<8x4xf32>
// CHECK:         %[[RANKS:.*]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[X]], %[[X]] : tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK:         %[[ORDER:.*]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[RANKS]] : tensor<8x4xi32>) outs(%{{.*}} : tensor<8x2xi32>)
// CHECK:         %[[BEST:.*]] = linalg.generic {{.*}} ins(%[[ORDER]] : tensor<8x2xi32>)
// CHECK:           tensor.extract %[[X]]
// CHECK:         return %[[BEST]], %[[ORDER]]
func.func @top_k(%x: tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>) {
  %0:2 = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>)
  return %0#0, %0#1 : tensor<8x2xf32>, tensor<8x2xi32>
}
