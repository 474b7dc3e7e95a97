// RUN: nvfp4-opt %s --gsg-outline-repeated="least=2" | FileCheck %s
// RUN: nvfp4-opt %s --gsg-outline-repeated | FileCheck %s --check-prefix=FOUR

// Two of the three have the same types and attributes, whatever their operands.
!t = !grouped_scaled_gemm.scaled<8x32, nvfp4>
!u = !grouped_scaled_gemm.scaled<16x32, nvfp4>

// CHECK-LABEL: func.func @equal(
// CHECK-NEXT: call @dequantize(%arg0, %arg1, %arg3)
// CHECK-NEXT: call @dequantize(%arg0, %arg2, %arg4)
// CHECK-NEXT: grouped_scaled_gemm.dequantize(%arg5 scaled_by %arg6 :
// CHECK-NEXT: return
// FOUR-LABEL: func.func @equal(
// FOUR-NOT: call
func.func @equal(%a: memref<8x16xi8>, %s: memref<8x2xf8E4M3FN>, %t: memref<8x2xf8E4M3FN>,
                 %x: memref<8x32xf32>, %y: memref<8x32xf32>,
                 %b: memref<16x16xi8>, %r: memref<16x2xf8E4M3FN>, %z: memref<16x32xf32>) {
  grouped_scaled_gemm.dequantize(%a scaled_by %s : memref<8x16xi8>, memref<8x2xf8E4M3FN> as !t)
      outs(%x : memref<8x32xf32>)
  grouped_scaled_gemm.dequantize(%a scaled_by %t : memref<8x16xi8>, memref<8x2xf8E4M3FN> as !t)
      outs(%y : memref<8x32xf32>)
  grouped_scaled_gemm.dequantize(%b scaled_by %r : memref<16x16xi8>, memref<16x2xf8E4M3FN> as !u)
      outs(%z : memref<16x32xf32>)
  return
}

// A name that is taken, and attributes that differ.
// CHECK: func.func private @hadamard(
func.func private @hadamard(memref<f32>)

// CHECK-LABEL: func.func @attributes(
// CHECK: call @hadamard_0(%arg0, %arg1)
// CHECK: grouped_scaled_gemm.hadamard
// CHECK: call @hadamard_0(%arg1, %arg0)
func.func @attributes(%x: memref<4x32xf32>, %y: memref<4x32xf32>) {
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<4x32xf32>, memref<4x32xf32>
  grouped_scaled_gemm.hadamard %x outs(%y) {normalized} : memref<4x32xf32>, memref<4x32xf32>
  grouped_scaled_gemm.hadamard %y outs(%x) : memref<4x32xf32>, memref<4x32xf32>
  return
}

// CHECK: func.func private @dequantize(%arg0: memref<8x16xi8>, %arg1: memref<8x2xf8E4M3FN>, %arg2: memref<8x32xf32>)
// CHECK-SAME: passthrough = ["noinline"]
// CHECK-NEXT: grouped_scaled_gemm.dequantize(%arg0 scaled_by %arg1 :
// CHECK-NEXT: return
