// Pairs in runs of 32 and longer. Exact activations are most of the code of a kernel, so 16 pairs are finished at a
// time; the fast one takes 32. Stages are as many as fit beside the boxes.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s
// RUN: nvfp4-opt %s --gsg-to-sm100-kernels | FileCheck %s --check-prefix=ONCE

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4, blocked>
!b = !grouped_scaled_gemm.scaled<1024x512, nvfp4, blocked>

// CHECK-LABEL: gpu.module
// CHECK: warpspec.kernel
// CHECK: smem_alloc : memref<2x128x16xbf16
// CHECK: role @epilogue
// CHECK: scf.for {{.*}} step %c16_i32
// CHECK-NOT: vector<32xf32>
// Both parts of an accumulator that has columns in common with another go through one copy of that code.
// ONCE-LABEL: llvm.func @nvfp4_gemm_0(
// ONCE-COUNT-2: nvvm.tcgen05.ld
// ONCE-NOT: nvvm.tcgen05.ld
// ONCE-LABEL: llvm.func @nvfp4_gemm_1(
func.func @exact(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>, %b: memref<1024x256xi8>,
                 %bs: memref<8x8x32x4x4xf8E4M3FN>, %out: memref<?x512xbf16>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<1024x256xi8>, memref<8x8x32x4x4xf8E4M3FN> as !b)
      activation = <swiglu, gate = <64, gate_first>> outs(%out : memref<?x512xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 256>}
  return
}

// CHECK: warpspec.kernel
// CHECK: smem_alloc : memref<2x128x32xbf16
// CHECK: role @epilogue
// CHECK: scf.for {{.*}} step %c32_i32
func.func @fast(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>, %b: memref<1024x256xi8>,
                %bs: memref<8x8x32x4x4xf8E4M3FN>, %out: memref<?x512xbf16>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<1024x256xi8>, memref<8x8x32x4x4xf8E4M3FN> as !b)
      activation = <swiglu, gate = <64, gate_first>> outs(%out : memref<?x512xbf16>)
      {math = #grouped_scaled_gemm<math fast>, strategy = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 256>}
  return
}

// Of turned rows each warp has 16 pairs, the fast ones as well: two warps would have nothing to do otherwise. Where its
// quarter begins at column c, it begins at pair c / 2 of the tile.
// CHECK: warpspec.kernel
// CHECK: role @epilogue
// CHECK: %[[QUARTER:.*]] = arith.subi
// CHECK: %[[PAIR:.*]] = arith.divui %[[QUARTER]], %c2_i32
// CHECK: %[[SPAN:.*]] = arith.divui %[[PAIR]], %c64_i32
// CHECK: arith.muli %[[SPAN]], %c128_i32
// CHECK-COUNT-2: smem_load {{.*}} : memref<32x132xf32, {{.*}}>, vector<16xf32>
func.func @turned(%a: memref<?x256xi8>, %as: memref<?x8x32x4x4xf8E4M3FN>, %b: memref<1024x256xi8>,
                  %bs: memref<8x8x32x4x4xf8E4M3FN>, %out: memref<?x512xbf16>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<?x256xi8>, memref<?x8x32x4x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<1024x256xi8>, memref<8x8x32x4x4xf8E4M3FN> as !b)
      activation = <swiglu, gate = <64, gate_first>> outs(%out : memref<?x512xbf16>)
      {math = #grouped_scaled_gemm<math fast>, strategy = #grouped_scaled_gemm.strategy<m = 128, n = 32, k = 256, swap_ab = true>}
  return
}
