// Static shapes that overflow 64 bits, or that no machine can hold, are refused
// before sizes are computed from them.
// RUN: nvfp4-opt %s --gsg-verify-extents -split-input-file -verify-diagnostics -o /dev/null

!a = !grouped_scaled_gemm.scaled<4611686018427387904x4611686018427387904, nvfp4>
// expected-error @below {{expected a type of at most 2^46 bytes, but got '!grouped_scaled_gemm.scaled<4611686018427387904x4611686018427387904, nvfp4>'}}
func.func @scaled(%a: !a) {
  return
}

// -----

func.func @petabytes() {
  // expected-error @below {{expected a type of at most 2^46 bytes, but got 'tensor<1125899906842624x1024xf32>'}}
  %e = tensor.empty() : tensor<1125899906842624x1024xf32>
  return
}

// -----

// Strides overflow although there is no element.
// expected-error @below {{expected a type of at most 2^46 bytes, but got 'memref<0x4611686018427387904x16xi8>'}}
func.func @empty(%m: memref<0x4611686018427387904x16xi8>) {
  return
}

// -----

// 2^46 bytes along the static extents are let through.
func.func @largest(%m: memref<?x70368744177664xi8>) {
  return
}
