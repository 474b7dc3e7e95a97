// A product fills a frame and calls its driver: fill the table, prepare rows,
// compute tiles, in parallel loops over tasks.
// RUN: nvfp4-opt %s --convert-gsg-to-cpu=isa=generic | FileCheck %s
// RUN: nvfp4-opt %s --convert-gsg-to-cpu=isa=generic,avx512vnni,avx2 | FileCheck %s --check-prefix=DISPATCH

!a = !grouped_scaled_gemm.scaled<?x128, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x96x128, nvfp4>

// CHECK-NOT: grouped_scaled_gemm.matmul
// CHECK-LABEL: func.func @ragged(
// CHECK: %[[MEMORY:.*]] = memref.alloc
// CHECK: call @nvfp4_matmul_0_generic(%{{.*}}) : (!llvm.ptr) -> ()
// CHECK: memref.dealloc %[[MEMORY]]

// CHECK: llvm.func internal @nvfp4_matmul_0_generic_fill_table(
// CHECK: llvm.func internal @nvfp4_matmul_0_generic_epilogue(
// CHECK: llvm.func internal @nvfp4_matmul_0_generic_store(
// CHECK: llvm.func internal @nvfp4_matmul_0_generic_tile(
// CHECK-LABEL: func.func private @nvfp4_matmul_0_generic(
// CHECK: llvm.call @nvfp4_matmul_0_generic_fill_table(
// CHECK: scf.parallel
// CHECK: llvm.call @nvfp4_matmul_0_generic_prepare(
// CHECK: scf.parallel
// CHECK: llvm.call @nvfp4_matmul_0_generic_tile(

// With several instruction sets the best one that the CPU has runs.
// DISPATCH-LABEL: func.func @ragged(
// DISPATCH: %[[LEVEL:.*]] = llvm.call @nvfp4_cpu_isa() : () -> i32
// DISPATCH: arith.cmpi sge, %[[LEVEL]], %c2
// DISPATCH: func.call @nvfp4_matmul_0_avx512vnni(
// DISPATCH: arith.cmpi sge, %[[LEVEL]], %c1
// DISPATCH: func.call @nvfp4_matmul_0_avx2(
// DISPATCH: func.call @nvfp4_matmul_0_generic(
func.func @ragged(%ends: memref<4xi32>, %a: memref<?x64xi8>, %as: memref<?x8xf8E4M3FN>,
                  %b: memref<4x96x64xi8>, %bs: memref<4x96x8xf8E4M3FN>, %c: memref<?x96xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : memref<4xi32>)
      lhs(%a scaled_by %as : memref<?x64xi8>, memref<?x8xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<4x96x64xi8>, memref<4x96x8xf8E4M3FN> as !b)
      outs(%c : memref<?x96xbf16>)
  return
}
