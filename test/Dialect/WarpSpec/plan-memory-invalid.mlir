// What does not fit, also where its size exceeds 32 bits.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-plan-memory))'

// expected-error @below {{V6: expected at most 232448 bytes of shared memory, but got 4294967296}}
warpspec.kernel @wraps() {
  %b = warpspec.smem_alloc : memref<1x4294967296xi8, #warpspec.smem>
}

// -----

// expected-error @below {{V6: expected at most 232448 bytes of shared memory, but got 262144}}
warpspec.kernel @large() {
  %b = warpspec.smem_alloc : memref<1x262144xi8, #warpspec.smem>
}
