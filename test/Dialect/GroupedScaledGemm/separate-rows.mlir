// Rows that are only quantised have memory of their own; others keep theirs.
//
// RUN: nvfp4-opt %s --gsg-separate-rows | FileCheck %s

!x = tensor<?x64xbf16>
!q = !grouped_scaled_gemm.scaled<?x64, nvfp4>

// CHECK-LABEL: func.func @quantized(
// CHECK: %[[OWN:.*]] = bufferization.alloc_tensor(%arg2) : tensor<?x64xbf16>
// CHECK: permute{{.*}} outs(%[[OWN]] :
func.func @quantized(%x: !x, %t: tensor<?xi32>, %n: index) -> !q {
  %e = tensor.empty(%n) : !x
  %p = grouped_scaled_gemm.permute(%x : !x) by(%t : tensor<?xi32>) outs(%e : !x) -> !x
  %q = grouped_scaled_gemm.quantize <trtllm>(%p : !x) -> !q
  return %q : !q
}

// CHECK-LABEL: func.func @read_again(
// CHECK-NOT: alloc_tensor
// CHECK: return
func.func @read_again(%x: !x, %t: tensor<?xi32>, %n: index) -> (!q, !x) {
  %e = tensor.empty(%n) : !x
  %p = grouped_scaled_gemm.permute(%x : !x) by(%t : tensor<?xi32>) outs(%e : !x) -> !x
  %q = grouped_scaled_gemm.quantize <trtllm>(%p : !x) -> !q
  return %q, %p : !q, !x
}
