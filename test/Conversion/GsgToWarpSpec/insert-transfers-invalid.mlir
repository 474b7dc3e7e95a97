// With memory = device nothing is copied: what has no GPU code is named.
// RUN: nvfp4-opt %s --gsg-insert-transfers="memory=device" -split-input-file -verify-diagnostics
// RUN: not nvfp4-opt %s --gsg-insert-transfers="memory=both" -split-input-file -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: expected memory host or device, but got 'both'

#global = #gpu.address_space<global>
func.func @weights(%v: memref<16x32xi8, #global>, %s: memref<16x4xf8E4M3FN, #global>, %p: memref<1x2x2304xi8, #global>, %q: memref<1xf32, #global>) {
  // expected-error @below {{'grouped_scaled_gemm.relayout_weights' op expected packing, from linear to wgmma, for its kernel; compile with memory = host to run it on the host}}
  grouped_scaled_gemm.relayout_weights(%p scaled_by %q : memref<1x2x2304xi8, #global>, memref<1xf32, #global> as !grouped_scaled_gemm.scaled<16x64, nvfp4, wgmma>)
      outs(%v scaled_by %s : memref<16x32xi8, #global>, memref<16x4xf8E4M3FN, #global> as !grouped_scaled_gemm.scaled<16x64, nvfp4>)
  return
}

// -----

#global = #gpu.address_space<global>
func.func @experts(%x: memref<16x2048xf32, #global>, %w: memref<16x2xf32, #global>, %e: memref<16x2xi32, #global>) {
  // expected-error @below {{expected the number of experts to be known and at most 1024 for its kernel, but got 2048; compile with memory = host}}
  grouped_scaled_gemm.route topk_softmax(%x : memref<16x2048xf32, #global>)
      outs(%w, %e : memref<16x2xf32, #global>, memref<16x2xi32, #global>)
  return
}

// -----

#global = #gpu.address_space<global>
func.func @slots(%x: memref<16x64xf32, #global>, %w: memref<16x?xf32, #global>, %e: memref<16x?xi32, #global>) {
  // expected-error @below {{expected the number of slots to be known and at most 32 for its kernel, but got ?; compile with memory = host}}
  grouped_scaled_gemm.route topk_softmax(%x : memref<16x64xf32, #global>)
      outs(%w, %e : memref<16x?xf32, #global>, memref<16x?xi32, #global>)
  return
}

// -----

#global = #gpu.address_space<global>
func.func @sorted(%x: memref<16x2xi32, #global>, %a: memref<?xi32, #global>, %b: memref<32xi32, #global>, %c: memref<16x2xi32, #global>) {
  // expected-error @below {{expected the number of experts to be known and at most 8192 for its kernel, but got ?; compile with memory = host}}
  grouped_scaled_gemm.sort_tokens(%x : memref<16x2xi32, #global>)
      outs(%a, %b, %c : memref<?xi32, #global>, memref<32xi32, #global>, memref<16x2xi32, #global>)
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
