// A product fills a frame, with the kernels of an instruction set, and calls its
// driver: fill the table, prepare rows, compute tiles, in parallel loops.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=generic | FileCheck %s
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu=isa=generic,avx512vnni,avx2 | FileCheck %s --check-prefix=DISPATCH

!a = !grouped_scaled_gemm.scaled<?x128, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x96x128, nvfp4>

// CHECK-NOT: grouped_scaled_gemm.matmul
// CHECK-LABEL: func.func @ragged(
// CHECK: %[[MEMORY:.*]] = memref.alloc
// CHECK: llvm.mlir.addressof @nvfp4_cpu_generic_e2m1_e2m1_ue4m3_16_prepare_rows
// CHECK: llvm.mlir.addressof @nvfp4_cpu_generic_e2m1_e2m1_ue4m3_16_gemm_tile
// CHECK: llvm.mlir.addressof @nvfp4_matmul_0_generic_epilogue
// CHECK: llvm.mlir.addressof @nvfp4_matmul_0_generic_store
// CHECK: call @nvfp4_matmul_0(%{{.*}}) : (!llvm.ptr) -> ()
// CHECK: memref.dealloc %[[MEMORY]]

// CHECK: llvm.func internal @nvfp4_matmul_0_generic_epilogue(
// CHECK: llvm.func internal @nvfp4_matmul_0_generic_store(
// CHECK: llvm.func internal @nvfp4_matmul_0_prepare(
// CHECK: llvm.func internal @nvfp4_matmul_0_tile(
// CHECK-NOT: @nvfp4_{{.*}}generic
// CHECK: llvm.func internal @nvfp4_matmul_0_fill_table(
// CHECK-LABEL: func.func private @nvfp4_matmul_0(
// CHECK: llvm.call @nvfp4_matmul_0_fill_table(
// CHECK: scf.parallel
// CHECK: llvm.call @nvfp4_matmul_0_prepare(
// CHECK: scf.parallel
// CHECK: llvm.call @nvfp4_matmul_0_tile(

// With several instruction sets the kernels are those of the best one that the
// CPU has; what does not compute is there once.
// DISPATCH-LABEL: func.func @ragged(
// DISPATCH: %[[LEVEL:.*]] = llvm.call @nvfp4_cpu_isa() : () -> i32
// DISPATCH: arith.cmpi sge, %[[LEVEL]], %c2
// DISPATCH: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_e2m1_e2m1_ue4m3_16_prepare_rows
// DISPATCH: llvm.mlir.addressof @nvfp4_cpu_avx512vnni_e2m1_e2m1_ue4m3_16_gemm_tile
// DISPATCH: llvm.mlir.addressof @nvfp4_matmul_0_avx512vnni_epilogue
// DISPATCH: arith.cmpi sge, %[[LEVEL]], %c1
// DISPATCH: llvm.mlir.addressof @nvfp4_cpu_avx2_e2m1_e2m1_ue4m3_16_gemm_tile
// DISPATCH: llvm.mlir.addressof @nvfp4_matmul_0_avx2_epilogue
// DISPATCH: llvm.mlir.addressof @nvfp4_cpu_generic_e2m1_e2m1_ue4m3_16_gemm_tile
// DISPATCH: llvm.mlir.addressof @nvfp4_matmul_0_generic_epilogue
// DISPATCH: call @nvfp4_matmul_0(
// DISPATCH-COUNT-1: {{^ *}}llvm.func internal @nvfp4_matmul_0_tile(
// DISPATCH-NOT: {{^ *}}llvm.func internal {{.*}}_tile(
// DISPATCH: llvm.func internal @nvfp4_matmul_0_fill_table(
// DISPATCH-NOT: llvm.func internal @nvfp4_matmul_0_
func.func @ragged(%ends: memref<4xi32>, %a: memref<?x64xi8>, %as: memref<?x8xf8E4M3FN>,
                  %b: memref<4x96x64xi8>, %bs: memref<4x96x8xf8E4M3FN>, %c: memref<?x96xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<4xi32>)
      lhs(%a scaled_by %as : memref<?x64xi8>, memref<?x8xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<4x96x64xi8>, memref<4x96x8xf8E4M3FN> as !b)
      outs(%c : memref<?x96xbf16>)
  return
}
