// Checks call the runtime, so the pipeline has them only where it is asked for.

// RUN: nvfp4-opt %s --gsg-to-cpu | FileCheck %s --check-prefix=PLAIN --implicit-check-not=nvfp4_check
// RUN: nvfp4-opt %s --gsg-to-cpu=runtime-checks=true | FileCheck %s --check-prefix=CHECKED

// PLAIN: llvm.func @permute(
// CHECKED: llvm.func @permute(
// CHECKED: llvm.call @nvfp4_check_equal(
// CHECKED: llvm.call @nvfp4_check_indices(
// CHECKED: llvm.cond_br
func.func @permute(%x: tensor<8x64xbf16>, %t: tensor<?xi32>,
                   %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %p = grouped_scaled_gemm.permute(%x : tensor<8x64xbf16>) by(%t : tensor<?xi32>)
      outs(%y : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %p : tensor<?x64xbf16>
}
