// Copies between rows with gaps and zeros of any type are calls of the runtime;
// the others are upstream's.
// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm | FileCheck %s

!rows = memref<?x24xi8, strided<[32, 1], offset: ?>, #gpu.address_space<global>>

// CHECK-LABEL: func.func @rows(
func.func @rows(%to: !rows, %from: memref<?x24xi8>) {
  %t0 = gpu.wait async
  // CHECK: llvm.call @nvfp4_kernel_copy_rows
  // CHECK-NOT: mgpuMemcpy
  %t1 = gpu.memcpy async [%t0] %to, %from : !rows, memref<?x24xi8>
  gpu.wait [%t1]
  return
}

// CHECK-LABEL: func.func @whole(
func.func @whole(%to: memref<?x24xi8, #gpu.address_space<global>>, %from: memref<?x24xi8>) {
  %t0 = gpu.wait async
  // CHECK: llvm.call @mgpuMemcpy
  %t1 = gpu.memcpy async [%t0] %to, %from : memref<?x24xi8, #gpu.address_space<global>>, memref<?x24xi8>
  gpu.wait [%t1]
  return
}

// CHECK-LABEL: func.func @zeros(
func.func @zeros(%a: memref<?x24xi8, #gpu.address_space<global>>, %b: memref<8xf8E4M3FN, #gpu.address_space<global>>, %c: memref<8xf32, #gpu.address_space<global>>, %d: memref<8xf8E8M0FNU, #gpu.address_space<global>>) {
  %zero = arith.constant 0 : i8
  // The least number, 2^-127: its bits are zero.
  %e8 = arith.constant 0x00 : f8E8M0FNU
  %f8 = arith.constant 0.0 : f8E4M3FN
  %one = arith.constant 1.0 : f32
  %t0 = gpu.wait async
  // CHECK-COUNT-3: llvm.call @nvfp4_kernel_clear
  %t1 = gpu.memset async [%t0] %a, %zero : memref<?x24xi8, #gpu.address_space<global>>, i8
  %t2 = gpu.memset async [%t1] %b, %f8 : memref<8xf8E4M3FN, #gpu.address_space<global>>, f8E4M3FN
  %t3 = gpu.memset async [%t2] %d, %e8 : memref<8xf8E8M0FNU, #gpu.address_space<global>>, f8E8M0FNU
  // CHECK: llvm.call @mgpuMemset32
  %t4 = gpu.memset async [%t3] %c, %one : memref<8xf32, #gpu.address_space<global>>, f32
  gpu.wait [%t4]
  return
}
