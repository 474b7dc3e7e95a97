// RUN: nvfp4-opt %s --cse --canonicalize --split-input-file | FileCheck %s

// Products of tensors are values: equal ones are computed once, unused ones
// not at all.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @tensors(
// CHECK:         %[[D:.*]] = grouped_scaled_gemm.matmul
// CHECK-NOT:     grouped_scaled_gemm
// CHECK:         return %[[D]], %[[D]]
func.func @tensors(%a: !a, %b: !b, %c: tensor<16x32xf32>, %z: tensor<16x16xf32>,
                   %x: tensor<16x32xf32>)
    -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  %e = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  %unused = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
      activation = <silu> outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  %dead = grouped_scaled_gemm.quantize <te>(%x : tensor<16x32xf32>)
      -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return %d, %e : tensor<16x32xf32>, tensor<16x32xf32>
}

// -----

// Seeds differ, so do the values.

// CHECK-LABEL: func @seeds(
// CHECK-COUNT-2: grouped_scaled_gemm.quantize
func.func @seeds(%x: tensor<16x32xf32>, %s: i64, %t: i64)
    -> (!grouped_scaled_gemm.scaled<16x32, nvfp4>, !grouped_scaled_gemm.scaled<16x32, nvfp4>) {
  %q = grouped_scaled_gemm.quantize <te, rounding = stochastic>(%x : tensor<16x32xf32>)
      seed(%s) -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  %r = grouped_scaled_gemm.quantize <te, rounding = stochastic>(%x : tensor<16x32xf32>)
      seed(%t) -> !grouped_scaled_gemm.scaled<16x32, nvfp4>
  return %q, %r : !grouped_scaled_gemm.scaled<16x32, nvfp4>, !grouped_scaled_gemm.scaled<16x32, nvfp4>
}

// -----

// Writes to memory stay, each of them.

// CHECK-LABEL: func @memrefs(
// CHECK-COUNT-2: grouped_scaled_gemm.hadamard
// CHECK:         grouped_scaled_gemm.permute
// CHECK:         grouped_scaled_gemm.matmul
func.func @memrefs(%x: memref<16x32xf32>, %y: memref<16x32xf32>, %t: memref<16xi32>,
                   %a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>,
                   %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>) {
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<16x32xf32>, memref<16x32xf32>
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<16x32xf32>, memref<16x32xf32>
  grouped_scaled_gemm.permute(%x : memref<16x32xf32>) by(%t : memref<16xi32>)
      outs(%y : memref<16x32xf32>)
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN>
          as !grouped_scaled_gemm.scaled<16x64, nvfp4>)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN>
          as !grouped_scaled_gemm.scaled<32x64, nvfp4>)
      outs(%y : memref<16x32xf32>)
  return
}

// -----

// Constants of an epilogue stay in it, whatever its surroundings compute.

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// CHECK-LABEL: func @isolated(
// CHECK:         arith.constant 2.000000e+00
// CHECK:         grouped_scaled_gemm.matmul
// CHECK:           arith.constant 2.000000e+00
func.func @isolated(%a: !a, %b: !b, %c: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %two = arith.constant 2.0 : f32
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) alpha(%two : f32)
      activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        %two = arith.constant 2.0 : f32
        %y = arith.mulf %z, %two : f32
        grouped_scaled_gemm.yield %y : f32
      }
      outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %d : tensor<16x32xf32>
}
