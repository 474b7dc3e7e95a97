// Products of many rows on AMX have kernels and rows prepared in another way.
// Groups of few rows, and processes that get no tiles, have those of AVX-512.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=amx > %t
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=CALL < %t
// The best instruction set of a machine is not one that has to be asked for.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu | FileCheck %s --check-prefix=AUTO
// AUTO-NOT: amx

// The process asks, and has two kernels for groups of 32 rows and more.
// CALL-LABEL: func.func @mxfp4
// CALL: %[[LEVEL:.*]] = llvm.call @nvfp4_cpu_isa() : () -> i32
// CALL-NEXT: %[[AMX:.*]] = arith.constant 4 : i32
// CALL-NEXT: arith.cmpi sge, %[[LEVEL]], %[[AMX]]
// CALL: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_e2m1_e2m1_e8m0_32_prepare_rows
// CALL: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_e2m1_e2m1_e8m0_32_gemm_tile
// CALL: llvm.mlir.addressof @nvfp4_cpu_amx_e2m1_e2m1_e8m0_32_prepare_rows
// CALL: llvm.mlir.addressof @nvfp4_cpu_amx_e2m1_e2m1_e8m0_32_gemm_tile
// CALL: arith.constant 32 : i64
// CALL: llvm.mlir.addressof @nvfp4_matmul_0_amx_untiled
// CALL: } else {
// CALL-NOT: amx
// CALL: arith.constant 9223372036854775807 : i64
// CALL-NOT: amx
// CALL: call @nvfp4_matmul_0(

// Tiles are two of rows by two of columns, a block at a time.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_amx_e2m1_e2m1_e8m0_32_tiles_2(
// CHECK-SAME: "+amx-bf16"
// CHECK-COUNT-4: "llvm.x86.tileloadd64"
// CHECK: scf.for
// CHECK-COUNT-4: "llvm.x86.tdpbf16ps"
// CHECK: }
// CHECK-COUNT-4: "llvm.x86.tilestored64"

// Shapes of tiles are there during a call.
// CHECK-LABEL: llvm.func internal @nvfp4_cpu_amx_e2m1_e2m1_e8m0_32_gemm_tile(
// CHECK-COUNT-1: "llvm.x86.ldtilecfg"
// CHECK-COUNT-1: "llvm.x86.tilerelease"
// CHECK-NOT: "llvm.x86.ldtilecfg"

// Vectors are those of AVX-512: what has no kernel in it is shared.
// CHECK-NOT: @nvfp4_matmul_0_amx_
// CHECK: llvm.func internal @nvfp4_matmul_0_avx512vnni_epilogue(

// What tiles leave to others.
// CHECK-LABEL: llvm.func internal @nvfp4_matmul_0_amx_untiled(
// CHECK: vector.reduction <maxui>
// CHECK: scf.if
// CHECK: llvm.call @nvfp4_memory_of_thread
// CHECK: scf.if
// CHECK: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_e2m1_e2m1_e8m0_32_prepare_rows
// CHECK: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_e2m1_e2m1_e8m0_32_gemm_tile
// CHECK: llvm.call @free

// Tasks take what was chosen.
// CHECK-LABEL: llvm.func internal @nvfp4_matmul_0_prepare(
// CHECK-NOT: amx
// CHECK-LABEL: llvm.func internal @nvfp4_matmul_0_tile(
// CHECK-NOT: amx
// CHECK: llvm.return
func.func @mxfp4(%a: memref<512x32xi8>, %as: memref<512x2xf8E8M0FNU>,
                 %b: memref<64x32xi8>, %bs: memref<64x2xf8E8M0FNU>,
                 %c: memref<512x64xf32>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<512x32xi8>, memref<512x2xf8E8M0FNU> as !grouped_scaled_gemm.scaled<512x64, mxfp4>)
      rhs(%b scaled_by %bs : memref<64x32xi8>, memref<64x2xf8E8M0FNU> as !grouped_scaled_gemm.scaled<64x64, mxfp4>)
      outs(%c : memref<512x64xf32>)
  return
}
