// How the sum of a block reaches the accumulators.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=avx512vnni | FileCheck %s

// The integer sum of a block of NVFP4 starts at the bits of 1.5 * 2^23 and is an
// f32 without a conversion: two FMA multiply it by the scales, and the first
// takes the offset away. Few rows carry the dwords of the next step.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512vnni_e2m1_e2m1_ue4m3_16_fused_rows_1(
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xi32>, vector<16xi32>, vector<16xi32>, vector<16xi32>)
// CHECK-NOT: arith.sitofp
// CHECK: %[[OFFSET:.+]] = arith.constant dense<0xCB400000> : vector<16xf32>
// CHECK: %[[OFFSETB:.+]] = arith.mulf %[[SCALEB:.+]], %[[OFFSET]]
// CHECK-COUNT-4: "llvm.x86.avx512.vpdpbusd.512"
// CHECK: %[[SUM:.+]] = vector.bitcast {{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: %[[SCALED:.+]] = math.fma %[[SUM]], %[[SCALEB]], %[[OFFSETB]]
// CHECK: math.fma %[[SCALED]],
// CHECK-NOT: arith.sitofp
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512vnni_e2m1_e2m1_ue4m3_16_fused_rows_2(

// Rows are prepared with those bits.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512vnni_e2m1_e2m1_ue4m3_16_prepare_rows(
// CHECK: arith.constant 1262485504 : i32

// E8M0 scales may leave f32 when multiplied by the offset: a conversion.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512vnni_e2m1_e2m1_e8m0_32_fused_rows_1(
// CHECK-COUNT-8: "llvm.x86.avx512.vpdpbusd.512"
// CHECK: arith.sitofp

!nv = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!nvw = !grouped_scaled_gemm.scaled<64x64, nvfp4>
!mx = !grouped_scaled_gemm.scaled<?x64, mxfp4>
!mxw = !grouped_scaled_gemm.scaled<64x64, mxfp4>

func.func @nvfp4(%a: memref<?x32xi8>, %as: memref<?x4xf8E4M3FN>, %b: memref<64x32xi8>, %bs: memref<64x4xf8E4M3FN>,
                 %d: memref<?x64xf32>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a scaled_by %as : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !nv)
      rhs(%b scaled_by %bs : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !nvw) outs(%d : memref<?x64xf32>)
  return
}

func.func @mxfp4(%a: memref<?x32xi8>, %as: memref<?x2xf8E8M0FNU>, %b: memref<64x32xi8>, %bs: memref<64x2xf8E8M0FNU>,
                 %d: memref<?x64xf32>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a scaled_by %as : memref<?x32xi8>, memref<?x2xf8E8M0FNU> as !mx)
      rhs(%b scaled_by %bs : memref<64x32xi8>, memref<64x2xf8E8M0FNU> as !mxw) outs(%d : memref<?x64xf32>)
  return
}
