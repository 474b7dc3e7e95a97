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

// dest_c3: outputs of tensors have buffers of their own. Two memrefs of the
// caller may be one.

// CHECKED: llvm.func @buffers(
// CHECKED: llvm.call @nvfp4_check_disjoint(
// CHECKED: llvm.cond_br
func.func @buffers(%x: memref<8x64xf32>, %y: memref<8x64xf32>) {
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<8x64xf32>, memref<8x64xf32>
  return
}

// CHECKED-LABEL: llvm.func @tensors(
// CHECKED-NOT: nvfp4_check_disjoint
// CHECKED: llvm.return
func.func @tensors(%x: tensor<8x64xf32>, %y: tensor<8x64xf32> {bufferization.writable = false}) -> tensor<8x64xf32> {
  %h = grouped_scaled_gemm.hadamard %x outs(%y) : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<8x64xf32>
  return %h : tensor<8x64xf32>
}
