// RUN: nvfp4-opt %s --convert-gsg-to-cpu | FileCheck %s

// Codes and scales are decoded by integer arithmetic; a power of two times the
// global scale is formed in f64, so only the last step rounds.

!s = !grouped_scaled_gemm.scaled<64x128, mxfp8_e4m3>

// CHECK-LABEL: func @dequantize(
// CHECK-NOT:     grouped_scaled_gemm
// CHECK:         scf.parallel
// CHECK:           llvm.load {{.*}} -> vector<32xi8>
// CHECK:           arith.mulf {{.*}} : vector<32xf64>
// CHECK:           arith.truncf {{.*}} : vector<32xf64> to vector<32xf32>
func.func @dequantize(%q: memref<64x128xf8E4M3FN>, %s: memref<64x4xf8E8M0FNU>,
                      %g: f32, %y: memref<64x128xf32>) {
  grouped_scaled_gemm.dequantize(%q scaled_by %s
      : memref<64x128xf8E4M3FN>, memref<64x4xf8E8M0FNU> as !s)
      global_scale(%g : f32) outs(%y : memref<64x128xf32>)
  return
}
