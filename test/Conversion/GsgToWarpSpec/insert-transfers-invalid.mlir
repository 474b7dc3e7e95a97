// With memory = device nothing is copied: what has no GPU code is named.
// RUN: nvfp4-opt %s --gsg-insert-transfers="memory=device" -split-input-file -verify-diagnostics
// RUN: not nvfp4-opt %s --gsg-insert-transfers="memory=both" -split-input-file -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: expected memory host or device, but got 'both'

#global = #gpu.address_space<global>
func.func @route(%x: memref<16x8xf32, #global>, %w: memref<16x2xf32, #global>, %e: memref<16x2xi32, #global>) {
  // expected-error @below {{'grouped_scaled_gemm.route' op expected an operation with GPU code; compile with memory = host to run it on the host}}
  grouped_scaled_gemm.route topk_softmax(%x : memref<16x8xf32, #global>)
      outs(%w, %e : memref<16x2xf32, #global>, memref<16x2xi32, #global>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<128x128, mxfp8_e4m3, blocked>
func.func @host(%a: memref<128x128xf8E4M3FN>, %s: memref<1x1x32x4x4xf8E8M0FNU>, %c: memref<128x128xbf16>) {
  // expected-error @below {{expected memory of the device, but got 'memref<128x128xf8E4M3FN>'}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      rhs(%a scaled_by %s : memref<128x128xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU> as !a)
      outs(%c : memref<128x128xbf16>)
  return
}
