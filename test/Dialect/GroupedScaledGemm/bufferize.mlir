// RUN: nvfp4-opt %s --gsg-decompose-scaled --split-input-file \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   | FileCheck %s

// The destination is written in place.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @in_place(
// CHECK-SAME:    %[[C:[^:]*]]: memref<16x32xf32>) -> memref<16x32xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:      outs(%[[C]] : memref<16x32xf32>)
// CHECK-NEXT:    return %[[C]]
func.func @in_place(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// A destination that is read later is copied first: rows outside every group
// keep the content of the destination, so it counts as read.

!x = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<2x32x64, nvfp4>

// CHECK-LABEL: func @copy(
// CHECK-SAME:    %[[C:[^:]*]]: memref<16x32xf32>) ->
// CHECK:         %[[NEW:.*]] = memref.alloc()
// CHECK:         memref.copy %[[C]], %[[NEW]]
// CHECK:         grouped_scaled_gemm.matmul {{.*}} outs(%[[NEW]] : memref<16x32xf32>)
func.func @copy(%x: !x, %w: !w, %ends: tensor<2xi32>, %c: tensor<16x32xf32>)
    -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
      groups(%ends : tensor<2xi32>) lhs(%x : !x) rhs(%w : !w)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d, %c : tensor<16x32xf32>, tensor<16x32xf32>
}

// -----

// The epilogue region moves along.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @region(
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:      epilogue {
// CHECK-NEXT:      ^bb0(%[[Z:.*]]: f32):
// CHECK-NEXT:        %[[Y:.*]] = arith.negf %[[Z]]
// CHECK-NEXT:        grouped_scaled_gemm.yield %[[Y]]
func.func @region(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        %y = arith.negf %z : f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}

// -----

// dest_c3: tensors are values. An addend that is a slice of the destination is
// read from a copy.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @addend_in_destination(
// CHECK:         %[[HALF:.*]] = memref.subview
// CHECK:         %[[NEW:.*]] = memref.alloc()
// CHECK:         memref.copy %[[HALF]], %[[NEW]]
// CHECK:         grouped_scaled_gemm.matmul <dense>
// CHECK-SAME:      addend(%[[HALF]] :
// CHECK-SAME:      outs(%[[NEW]] :
func.func @addend_in_destination(%a: !a, %b: !b, %x: f32, %c: tensor<32x32xf32>) -> tensor<16x32xf32> {
  %half = tensor.extract_slice %c[8, 0] [16, 32] [1, 1] : tensor<32x32xf32> to tensor<16x32xf32>
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      beta(%x : f32) addend(%half : tensor<16x32xf32>)
      outs(%half : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}
