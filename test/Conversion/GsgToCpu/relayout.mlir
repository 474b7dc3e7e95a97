// RUN: nvfp4-opt %s --convert-gsg-to-cpu --split-input-file | FileCheck %s

// All of the result is padding first; then scales move by words.

!l = !grouped_scaled_gemm.scaled<256x64, mxfp4>
!b = !grouped_scaled_gemm.scaled<256x64, mxfp4, blocked>

// CHECK-LABEL: func @scales(
// CHECK:         %[[ONE:.*]] = arith.constant 127 : i8
// CHECK:         "llvm.intr.memset"(%{{.*}}, %[[ONE]]
// CHECK:         scf.parallel
// CHECK:           llvm.load {{.*}} -> i32
// CHECK:           llvm.store {{.*}} : i32
func.func @scales(%q: memref<256x32xi8>, %a: memref<256x2xf8E8M0FNU>,
                  %b: memref<2x1x32x4x4xf8E8M0FNU>) {
  grouped_scaled_gemm.relayout_scales(%q scaled_by %a
      : memref<256x32xi8>, memref<256x2xf8E8M0FNU> as !l)
      outs(%b : memref<2x1x32x4x4xf8E8M0FNU> as !b)
  return
}

// -----

// A row of a weight moves as a whole, its scales along with it.

!w = !grouped_scaled_gemm.scaled<64x64, nvfp4>

// CHECK-LABEL: func @gate(
// CHECK:         scf.parallel
// CHECK:           "llvm.intr.memcpy"
// CHECK:           llvm.store {{.*}} : i32
func.func @gate(%a: memref<64x32xi8>, %as: memref<64x4xf8E4M3FN>,
                %b: memref<64x32xi8>, %bs: memref<64x4xf8E4M3FN>) {
  grouped_scaled_gemm.relayout_gate(%a scaled_by %as
      : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !w)
      from <halves, gate_first> to <16, gate_first>
      outs(%b scaled_by %bs : memref<64x32xi8>, memref<64x4xf8E4M3FN> as !w)
  return
}
