// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// dest_c3: outputs that share memory with another operand through views.

// dest_c3: part of the output is an input.
func.func @subview(%c: memref<16x32xf32>) {
  %half = memref.subview %c[0, 16] [16, 16] [1, 1] : memref<16x32xf32> to memref<16x16xf32, strided<[32, 1], offset: 16>>
  // expected-error @below {{expected outputs that overlap no other operand, but operands #0 and #1 are views of the same memory}}
  grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>(%c : memref<16x32xf32>)
      outs(%half : memref<16x16xf32, strided<[32, 1], offset: 16>>)
  return
}

// -----

// dest_c3: an addend that is part of the destination.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @addend(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
    %buffer: memref<?x32xf32>, %row: index, %x: f32) {
  %c = memref.subview %buffer[%row, 0] [16, 32] [1, 1] : memref<?x32xf32> to memref<16x32xf32, strided<[32, 1], offset: ?>>
  %same = memref.cast %c : memref<16x32xf32, strided<[32, 1], offset: ?>> to memref<16x32xf32, strided<[?, 1], offset: ?>>
  // expected-error @below {{expected outputs that overlap no other operand, but operands #5 and #6 are views of the same memory}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      beta(%x : f32) addend(%same : memref<16x32xf32, strided<[?, 1], offset: ?>>)
      outs(%c : memref<16x32xf32, strided<[32, 1], offset: ?>>)
  return
}

// -----

// dest_c3: two parts of one buffer that meet.
func.func @parts(%buffer: memref<64x32xf32>) {
  %x = memref.subview %buffer[0, 0] [16, 32] [1, 1] : memref<64x32xf32> to memref<16x32xf32, strided<[32, 1]>>
  %y = memref.subview %buffer[15, 0] [16, 32] [1, 1] : memref<64x32xf32> to memref<16x32xf32, strided<[32, 1], offset: 480>>
  // expected-error @below {{expected outputs that overlap no other operand, but operands #0 and #1 are views of the same memory}}
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<16x32xf32, strided<[32, 1]>>, memref<16x32xf32, strided<[32, 1], offset: 480>>
  return
}

// -----

// Parts that do not meet, empty parts, parts of unknown place, and slices of
// tensors, which are values, are legal.
func.func @legal(%buffer: memref<64x32xf32>, %row: index, %t: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %x = memref.subview %buffer[0, 0] [16, 32] [1, 1] : memref<64x32xf32> to memref<16x32xf32, strided<[32, 1]>>
  %y = memref.subview %buffer[16, 0] [16, 32] [1, 1] : memref<64x32xf32> to memref<16x32xf32, strided<[32, 1], offset: 512>>
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<16x32xf32, strided<[32, 1]>>, memref<16x32xf32, strided<[32, 1], offset: 512>>
  %left = memref.subview %buffer[0, 0] [64, 16] [1, 1] : memref<64x32xf32> to memref<64x16xf32, strided<[32, 1]>>
  %right = memref.subview %buffer[0, 16] [64, 16] [1, 1] : memref<64x32xf32> to memref<64x16xf32, strided<[32, 1], offset: 16>>
  grouped_scaled_gemm.hadamard %left outs(%right) : memref<64x16xf32, strided<[32, 1]>>, memref<64x16xf32, strided<[32, 1], offset: 16>>
  %z = memref.subview %buffer[%row, 0] [16, 32] [1, 1] : memref<64x32xf32> to memref<16x32xf32, strided<[32, 1], offset: ?>>
  grouped_scaled_gemm.hadamard %x outs(%z) : memref<16x32xf32, strided<[32, 1]>>, memref<16x32xf32, strided<[32, 1], offset: ?>>
  %none = memref.subview %buffer[3, 0] [0, 32] [1, 1] : memref<64x32xf32> to memref<0x32xf32, strided<[32, 1], offset: 96>>
  %also = memref.subview %buffer[3, 0] [0, 32] [1, 1] : memref<64x32xf32> to memref<0x32xf32, strided<[32, 1], offset: 96>>
  grouped_scaled_gemm.hadamard %none outs(%also) : memref<0x32xf32, strided<[32, 1], offset: 96>>, memref<0x32xf32, strided<[32, 1], offset: 96>>
  %slice = tensor.extract_slice %t[0, 0] [16, 32] [1, 1] : tensor<64x32xf32> to tensor<16x32xf32>
  %r = grouped_scaled_gemm.hadamard %slice outs(%slice) : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
