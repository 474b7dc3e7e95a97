// Weights of experts that are operands of their own become one.
// RUN: nvfp4-opt %s --gsg-stack-weights --split-input-file | FileCheck %s

!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x64, nvfp4>

// CHECK: ![[ALL:.*]] = !grouped_scaled_gemm.scaled<2x128x64, nvfp4>
// CHECK-LABEL: func.func @dense(
// CHECK: %[[VALUES:.*]] = memref.alloc() : memref<2x128x32xi8>
// CHECK: %[[FIRST:.*]] = memref.collapse_shape %arg2 {{.*}} : memref<128x32xi8> into memref<4096xi8>
// CHECK: %[[PLACE:.*]] = memref.subview %{{.*}}[0] [4096] [1] : memref<8192xi8>
// CHECK: memref.copy %[[FIRST]], %[[PLACE]]
// CHECK: memref.subview %{{.*}}[4096] [4096] [1] : memref<8192xi8>
// CHECK: %[[SCALES:.*]] = memref.alloc() : memref<2x128x4xf8E4M3FN>
// CHECK: memref.subview %{{.*}}[512] [512] [1] : memref<1024xf8E4M3FN>
// CHECK: rhs(%[[VALUES]] scaled_by %[[SCALES]] : memref<2x128x32xi8>, memref<2x128x4xf8E4M3FN> as ![[ALL]])
// CHECK: memref.dealloc
func.func @dense(%a: memref<?x32xi8>, %sa: memref<?x4xf8E4M3FN>, %b: memref<128x32xi8>, %sb: memref<128x4xf8E4M3FN>,
                 %c: memref<128x32xi8>, %sc: memref<128x4xf8E4M3FN>, %ends: memref<2xi32>, %out: memref<?x128xf32>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<2xi32>)
      lhs(%a scaled_by %sa : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %sb : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b,
          %c scaled_by %sc : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b)
      outs(%out : memref<?x128xf32>)
  return
}

// -----

// Extents that are not known, and a part with gaps.
!a = !grouped_scaled_gemm.scaled<?x?, mxfp4>
!b = !grouped_scaled_gemm.scaled<?x?, mxfp4>
!row = memref<?x?xi8, strided<[64, 1], offset: ?>>

// CHECK: = !grouped_scaled_gemm.scaled<2x?x?, mxfp4>
// CHECK-LABEL: func.func @dynamic(
// CHECK: %[[N:.*]] = memref.dim %arg2, %c0
// CHECK: %[[K:.*]] = memref.dim %arg2, %c1
// CHECK: memref.alloc(%[[N]], %[[K]]) : memref<2x?x?xi8>
// CHECK: memref.subview %{{.*}}[0] [%{{.*}}] [1] : memref<?xi8>
// CHECK: memref.subview %{{.*}}[1, 0, 0] [1, %{{.*}}, %{{.*}}] [1, 1, 1] : memref<2x?x?xi8>
// CHECK: memref<2x?x?xi8>, memref<2x?x?xf8E8M0FNU> as !
func.func @dynamic(%a: memref<?x?xi8>, %sa: memref<?x?xf8E8M0FNU>, %b: memref<?x?xi8>, %sb: memref<?x?xf8E8M0FNU>,
                   %c: !row, %sc: memref<?x?xf8E8M0FNU>, %ends: memref<2xi32>, %out: memref<?x?xf32>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<2xi32>)
      lhs(%a scaled_by %sa : memref<?x?xi8>, memref<?x?xf8E8M0FNU> as !a)
      rhs(%b scaled_by %sb : memref<?x?xi8>, memref<?x?xf8E8M0FNU> as !b,
          %c scaled_by %sc : !row, memref<?x?xf8E8M0FNU> as !b)
      outs(%out : memref<?x?xf32>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<?x128, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x128, nvfp4, wgmma>

// CHECK: = !grouped_scaled_gemm.scaled<2x64x128, nvfp4, wgmma>
// CHECK-LABEL: func.func @coded(
// CHECK: memref.alloc() : memref<2x1x2x2304xi8>
// CHECK: memref.alloc() : memref<2xf32>
// CHECK: memref.subview %{{.*}}[1] [1] [1] : memref<2xf32>
// CHECK: memref<2x1x2x2304xi8>, memref<2xf32> as !
func.func @coded(%a: memref<?x64xi8>, %sa: memref<?x8xf8E4M3FN>, %b: memref<1x2x2304xi8>, %fb: memref<1xf32>,
                 %c: memref<1x2x2304xi8>, %fc: memref<1xf32>, %ends: memref<2xi32>, %out: memref<?x64xf32>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<2xi32>)
      lhs(%a scaled_by %sa : memref<?x64xi8>, memref<?x8xf8E4M3FN> as !a)
      rhs(%b scaled_by %fb : memref<1x2x2304xi8>, memref<1xf32> as !b,
          %c scaled_by %fc : memref<1x2x2304xi8>, memref<1xf32> as !b)
      outs(%out : memref<?x64xf32>)
  return
}
