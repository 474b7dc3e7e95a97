// Forms of one_launch in text, and back.
//
// RUN: nvfp4-opt %s | nvfp4-opt | FileCheck %s

// CHECK-LABEL: func.func @route_sort_permute
// CHECK: grouped_scaled_gemm.one_launch attributes {most_tokens = 64 : i64} {
// CHECK-NEXT: grouped_scaled_gemm.route
// CHECK-NEXT: grouped_scaled_gemm.sort_tokens
// CHECK-NEXT: grouped_scaled_gemm.permute
// CHECK-NEXT: }
func.func @route_sort_permute(%l: memref<?x32xf32>, %w: memref<?x4xf32>, %e: memref<?x4xi32>, %n: memref<32xi32>,
                              %t: memref<?xi32>, %r: memref<?x4xi32>, %x: memref<?x64xbf16>, %p: memref<?x64xbf16>) {
  grouped_scaled_gemm.one_launch attributes {most_tokens = 64 : i64} {
    grouped_scaled_gemm.route topk_softmax (%l : memref<?x32xf32>) outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
    grouped_scaled_gemm.sort_tokens(%e : memref<?x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<?xi32>, memref<?x4xi32>)
    grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%t : memref<?xi32>) outs(%p : memref<?x64xbf16>)
  }
  return
}

// CHECK-LABEL: func.func @permute_quantize
// CHECK: grouped_scaled_gemm.one_launch {
// CHECK-NEXT: grouped_scaled_gemm.permute
// CHECK-NEXT: grouped_scaled_gemm.quantize
func.func @permute_quantize(%x: memref<?x64xbf16>, %t: memref<?xi32>, %p: memref<?x64xbf16>, %q: memref<?x32xi8>,
                            %s: memref<?x4xf8E4M3FN>) {
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%t : memref<?xi32>) outs(%p : memref<?x64xbf16>)
    grouped_scaled_gemm.quantize <trtllm>(%p : memref<?x64xbf16>)
        outs(%q scaled_by %s : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<?x64, nvfp4>)
  }
  return
}

// CHECK-LABEL: func.func @both_directions
// CHECK: grouped_scaled_gemm.one_launch {
// CHECK-NEXT: grouped_scaled_gemm.quantize
// CHECK-NEXT: grouped_scaled_gemm.quantize {{.*}} {transposed}
func.func @both_directions(%x: memref<?x64xbf16>, %q: memref<?x32xi8>, %s: memref<?x4xf8E4M3FN>, %r: memref<64x?xi8>,
                           %t: memref<64x?xf8E4M3FN>) {
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te>(%x : memref<?x64xbf16>)
        outs(%q scaled_by %s : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<?x64, nvfp4>)
    grouped_scaled_gemm.quantize <te>(%x : memref<?x64xbf16>)
        outs(%r scaled_by %t : memref<64x?xi8>, memref<64x?xf8E4M3FN> as !grouped_scaled_gemm.scaled<64x?, nvfp4>) {transposed}
  }
  return
}
