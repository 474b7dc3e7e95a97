// Half a byte behind an odd K is nobody's: the launch clears that of rows on the way to the device (access 9 is read, 1, and
// odd, 8), so that it is multiplied by zeros. Weights are copied as they are.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --convert-gsg-to-warpspec | FileCheck %s

!a = !grouped_scaled_gemm.scaled<16x63, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x63, nvfp4>

// Rows are of 32 bytes, scales of one atom of 512.
// CHECK-LABEL: func.func @dense
// CHECK: llvm.call @nvfp4_task_buffer({{.*}}, %c16_i64{{[_0-9]*}}, %c32_i64{{[_0-9]*}}, %c16_i64{{[_0-9]*}}, %c9_i32{{[_0-9]*}})
// CHECK: llvm.call @nvfp4_task_buffer({{.*}}, %c32_i64{{[_0-9]*}}, %c32_i64{{[_0-9]*}}, %c16_i64{{[_0-9]*}}, %c1_i32{{[_0-9]*}})
// CHECK-COUNT-2: llvm.call @nvfp4_task_buffer({{.*}}, %c1_i64{{[_0-9]*}}, %c512_i64{{[_0-9]*}}, %c512_i64{{[_0-9]*}}, %c1_i32{{[_0-9]*}})
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
// CHECK: llvm.call @nvfp4_task_buffer({{.*}}, %c9_i32
// CHECK: llvm.call @nvfp4_task_parts({{.*}}, %c2_i64{{[_0-9]*}}, %c32_i64{{[_0-9]*}}, %c32_i64{{[_0-9]*}}, %c16_i64{{[_0-9]*}})
// CHECK: llvm.call @nvfp4_task_parts({{.*}}, %c512_i64{{[_0-9]*}})
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
// CHECK: llvm.call @nvfp4_task_buffer({{.*}}, %c33_i64{{[_0-9]*}}, %c64_i64{{[_0-9]*}}, %c1_i32{{[_0-9]*}})
// CHECK: llvm.call @nvfp4_task_matrix_map({{.*}}, %c14_i32
// CHECK: llvm.call @nvfp4_task_buffer({{.*}}, %c65_i64{{[_0-9]*}}, %c16_i64{{[_0-9]*}}, %c1_i32{{[_0-9]*}})
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
// CHECK: llvm.call @nvfp4_task_k_values({{.*}}, %c16_i64{{[_0-9]*}}, %c65_i64{{[_0-9]*}}, %c4_i32{{[_0-9]*}})
// CHECK: llvm.call @nvfp4_task_k_values({{.*}}, %c32_i64{{[_0-9]*}}, %c65_i64{{[_0-9]*}}, %c8_i32{{[_0-9]*}})
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
// CHECK: llvm.call @nvfp4_task_k_values({{.*}}, %c16_i64{{[_0-9]*}}, %c65_i64{{[_0-9]*}}, %c4_i32{{[_0-9]*}})
// CHECK: %[[K:.*]] = memref.dim %arg4, %c1
// CHECK: %[[L:.*]] = arith.index_cast %[[K]] : index to i64
// CHECK: llvm.call @nvfp4_task_k_values({{.*}}, %c16_i64{{[_0-9]*}}, %[[L]], %c4_i32{{[_0-9]*}})
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
