// Rows of bf16 have dot products of pairs where they are fast, which is what level
// 3 says and AMX does not; the rest of its code is that of AVX-512 VNNI. Products
// of other rows have no such version.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=avx512bf16,avx512vnni | FileCheck %s
// Where pairs are slow there is another way on the same CPUs, asked for or not.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=generic,avx512bf16 | FileCheck %s --check-prefix=OTHER
// OTHER-LABEL: func.func @bf16(
// OTHER: llvm.mlir.addressof @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_gemm_tile
// OTHER: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_bf16_e2m1_ue4m3_16_gemm_tile
// OTHER: llvm.mlir.addressof @nvfp4_cpu_generic_bf16_e2m1_ue4m3_16_gemm_tile
// Asked for alone it is alone.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=avx512bf16 | FileCheck %s --check-prefix=ALONE
// ALONE-LABEL: func.func @bf16(
// ALONE-NOT: nvfp4_cpu_isa
// ALONE: llvm.mlir.addressof @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_gemm_tile
// ALONE-NOT: addressof @nvfp4_cpu_avx512vnni
// ALONE: call @nvfp4_matmul_0(

!b = !grouped_scaled_gemm.scaled<96x128, nvfp4>
!m = !grouped_scaled_gemm.scaled<96x128, mxfp4>

// CHECK-LABEL: func.func @bf16(
// CHECK: %[[LEVEL:.*]] = llvm.call @nvfp4_cpu_isa() : () -> i32
// CHECK: arith.cmpi eq, %[[LEVEL]], %c3
// CHECK: llvm.mlir.addressof @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_gemm_tile
// CHECK: llvm.mlir.addressof @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_scaled_gemm_tile
// CHECK: arith.constant 64 : i64
// CHECK: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_bf16_e2m1_ue4m3_16_gemm_tile
func.func @bf16(%a: memref<?x128xbf16>, %b: memref<96x64xi8>, %bs: memref<96x8xf8E4M3FN>, %c: memref<?x96xf32>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a : memref<?x128xbf16>)
      rhs(%b scaled_by %bs : memref<96x64xi8>, memref<96x8xf8E4M3FN> as !b) outs(%c : memref<?x96xf32>)
  return
}

// CHECK-LABEL: func.func @bf16_invariant(
// CHECK: llvm.mlir.addressof @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_gemm_tile
// CHECK-NOT: scaled_gemm_tile
// CHECK: return
func.func @bf16_invariant(%a: memref<?x128xbf16>, %b: memref<96x64xi8>, %bs: memref<96x8xf8E4M3FN>,
                          %c: memref<?x96xf32>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a : memref<?x128xbf16>)
      rhs(%b scaled_by %bs : memref<96x64xi8>, memref<96x8xf8E4M3FN> as !b) outs(%c : memref<?x96xf32>)
      {determinism = #grouped_scaled_gemm<determinism batch_invariant>}
  return
}

// CHECK-LABEL: func.func @f16(
// CHECK-NOT: nvfp4_cpu_isa
// CHECK: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_f16_e2m1_e8m0_32_gemm_tile
func.func @f16(%a: memref<?x128xf16>, %b: memref<96x64xi8>, %bs: memref<96x4xf8E8M0FNU>, %c: memref<?x96xf32>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a : memref<?x128xf16>)
      rhs(%b scaled_by %bs : memref<96x64xi8>, memref<96x4xf8E8M0FNU> as !m) outs(%c : memref<?x96xf32>)
  return
}

// A block is eight dot products and one fma with its scale, and a row that holds
// numbers too small for them has a function with an fma for every element.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_panel_rows_1(
// CHECK-SAME: +avx512bf16
// CHECK-COUNT-8: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK: math.fma
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_exact_rows(
// CHECK-NOT: dpbf16ps
// CHECK: llvm.return
// CHECK: llvm.func internal @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_fused_rows_1(
// CHECK: llvm.x86.avx512.pmultishift.qb.512
// CHECK: llvm.x86.avx512.permvar.hi.512
// CHECK: llvm.x86.avx512bf16.dpbf16ps.512
// CHECK: llvm.func internal @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_gemm_tile(

// Many rows have scales in their weights, and no fma.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_scaled_panel_rows_1(
// CHECK-NOT: math.fma
// CHECK: llvm.return
// CHECK: llvm.func internal @nvfp4_cpu_avx512bf16_bf16_e2m1_ue4m3_16_scaled_gemm_tile(

// AVX-512 VNNI multiplies few rows in f32, by weights that it decodes in registers.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_avx512vnni_bf16_e2m1_ue4m3_16_fused_rows_2(
// CHECK-NOT: dpbf16ps
// CHECK-COUNT-32: "llvm.x86.avx512.permvar.sf.512"
// CHECK: llvm.return
