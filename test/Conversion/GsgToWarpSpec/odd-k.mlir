// Half a byte behind an odd K is nobody's: that of rows is cleared before the launch, so that it is multiplied by zeros. Weights
// are read as they are.
// RUN: nvfp4-opt %s --gsg-stack-weights --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s

!a = !grouped_scaled_gemm.scaled<16x63, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x63, nvfp4>

// Rows are of 32 bytes, scales of one atom of 512.
// CHECK-LABEL: func.func @dense
// CHECK: warpspec.stage_odd_values(%{{.*}}) outs(%[[A:.*]]) : {{.*}} to memref<16x32xi8, #gpu.address_space<global>>
// CHECK: encode_tensor_map %[[A]] sizes [16, 32] strides [32]
// CHECK: encode_tensor_map %{{.*}} sizes [32, 32] strides [32]
// CHECK-COUNT-2: encode_tensor_map %{{.*}} sizes [1, 1, 256] strides [512, 512]
// CHECK-NOT: stage
func.func @dense(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
                 %out: memref<16x32xf32>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%out : memref<16x32xf32>)
  return
}

// One weight operand a group.
// CHECK-LABEL: func.func @parts
// The matrices of all groups are copied to one.
// CHECK: memref.copy {{.*}} to memref<1024xi8, strided<[1]>>
// CHECK: memref.copy {{.*}} to memref<1024xi8, strided<[1], offset: 1024>>
// CHECK: warpspec.stage_odd_values
// CHECK: encode_tensor_map %{{.*}} sizes [64, 32] strides [32]
// CHECK: encode_tensor_map %{{.*}} sizes [1, 2, 256] strides [512, 512]
func.func @parts(%ends: memref<2xi32>, %a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>,
                 %bs: memref<32x4xf8E4M3FN>, %out: memref<16x32xf32>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<2xi32>)
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b,
          %b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%out : memref<16x32xf32>)
  return
}

!x = !grouped_scaled_gemm.scaled<16x65, mxfp4>
!w = !grouped_scaled_gemm.scaled<32x65, mxfp8_e4m3>

// FP4 beside FP8: rows of whole 64 bytes, which TMA pads, and those of FP8 as they are, behind which it fills in zeros.
// CHECK-LABEL: func.func @mixed
// CHECK: gpu.memset %[[X:[a-z0-9_]+]], {{.*}} : memref<16x64xi8, #gpu.address_space<global>>
// CHECK: gpu.memcpy %{{.*}} : memref<16x33xi8, strided<[64, 1]>, #gpu.address_space<global>>, memref<16x33xi8, strided<[33, 1]>
// CHECK: encode_tensor_map %[[X]] sizes [16, 128] strides [64] : {{.*}} to <128x128xf4E2M1FN
// CHECK: encode_tensor_map %{{.*}} sizes [32, 65] strides [80]
func.func @mixed(%x: memref<16x33xi8>, %xs: memref<16x3xf8E8M0FNU>, %w: memref<32x65xf8E4M3FN>, %ws: memref<32x3xf8E8M0FNU>,
                 %out: memref<16x32xf32>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%x scaled_by %xs : memref<16x33xi8>, memref<16x3xf8E8M0FNU> as !x)
      rhs(%w scaled_by %ws : memref<32x65xf8E4M3FN>, memref<32x3xf8E8M0FNU> as !w)
      outs(%out : memref<16x32xf32>)
  return
}

!gx = !grouped_scaled_gemm.scaled<16x65, mxfp4, starts = compact>
!gw = !grouped_scaled_gemm.scaled<32x65, mxfp8_e4m3, starts = compact>

// Groups along K are moved value by value: what they share is K, and not the values that bytes have room for.
// CHECK-LABEL: func.func @groups
// CHECK: %[[K:.*]] = arith.constant 65 : index
// CHECK: warpspec.stage_values(%{{.*}}) format "mxfp4" columns(%[[K]]) {{.*}} outs(%{{.*}}) : memref<16x33xi8
// CHECK: %[[K2:.*]] = arith.constant 65 : index
// CHECK: warpspec.stage_values(%{{.*}}) format "mxfp8_e4m3" columns(%[[K2]]) {{.*}} outs(%{{.*}}) : memref<32x65xf8E4M3FN
func.func @groups(%ends: memref<2xi32>, %x: memref<16x33xi8>, %xs: memref<16x?xf8E8M0FNU>, %w: memref<32x65xf8E4M3FN>,
                  %ws: memref<32x?xf8E8M0FNU>, %out: memref<2x16x32xf32>) {
  grouped_scaled_gemm.matmul <ragged_k, ends> groups(%ends : memref<2xi32>)
      lhs(%x scaled_by %xs : memref<16x33xi8>, memref<16x?xf8E8M0FNU> as !gx)
      rhs(%w scaled_by %ws : memref<32x65xf8E4M3FN>, memref<32x?xf8E8M0FNU> as !gw)
      outs(%out : memref<2x16x32xf32>)
  return
}

!hx = !grouped_scaled_gemm.scaled<16x?, mxfp4, starts = compact>
!hw = !grouped_scaled_gemm.scaled<32x?, mxfp8_e4m3, starts = compact>

// Where the type of FP4 leaves K open, that of FP8 or its memory has it.
// CHECK-LABEL: func.func @other_side
// CHECK: %[[K:.*]] = arith.constant 65 : index
// CHECK: warpspec.stage_values(%{{.*}}) format "mxfp4" columns(%[[K]])
// CHECK: %[[L:.*]] = memref.dim %{{.*}}, %{{.*}} : memref<32x?xf8E4M3FN, #gpu.address_space<global>>
// CHECK: warpspec.stage_values(%{{.*}}) format "mxfp4" columns
func.func @other_side(%ends: memref<2xi32>, %x: memref<16x?xi8>, %xs: memref<16x?xf8E8M0FNU>, %w: memref<32x65xf8E4M3FN>,
                      %any: memref<32x?xf8E4M3FN>, %ws: memref<32x?xf8E8M0FNU>, %out: memref<2x16x32xf32>) {
  grouped_scaled_gemm.matmul <ragged_k, ends> groups(%ends : memref<2xi32>)
      lhs(%x scaled_by %xs : memref<16x?xi8>, memref<16x?xf8E8M0FNU> as !hx)
      rhs(%w scaled_by %ws : memref<32x65xf8E4M3FN>, memref<32x?xf8E8M0FNU> as !gw)
      outs(%out : memref<2x16x32xf32>)
  grouped_scaled_gemm.matmul <ragged_k, ends> groups(%ends : memref<2xi32>)
      lhs(%x scaled_by %xs : memref<16x?xi8>, memref<16x?xf8E8M0FNU> as !hx)
      rhs(%any scaled_by %ws : memref<32x?xf8E4M3FN>, memref<32x?xf8E8M0FNU> as !hw)
      outs(%out : memref<2x16x32xf32>)
  return
}
