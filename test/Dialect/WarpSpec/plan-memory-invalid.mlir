// What does not fit.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(warpspec.kernel(warpspec-plan-memory))'

// expected-error @below {{V6: expected at most 232448 bytes of shared memory, but got 262144}}
warpspec.kernel @large() {
  %a = warpspec.smem_alloc : memref<1x131072xi8, #warpspec.smem>
  %b = warpspec.smem_alloc : memref<1x131072xi8, #warpspec.smem>
}

// -----

// expected-error @below {{V6: expected at most 232448 bytes of shared memory, but got 232576}}
warpspec.kernel @barriers() {
  %a = warpspec.smem_alloc : memref<1x128xi8, #warpspec.smem>
  %p = warpspec.pipeline() depth 14528 threads to threads
}
