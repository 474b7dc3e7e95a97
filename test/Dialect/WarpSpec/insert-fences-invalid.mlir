// What no fence can be derived for.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(warpspec.kernel(warpspec-insert-fences))' -split-input-file -verify-diagnostics

!stage = !warpspec.pipeline<2 x (memref<128x32xf32, #warpspec.smem<128>>), threads to tma>

warpspec.kernel @read_by_another(%map: !warpspec.tensor_map<128x32xf32, swizzle = 128>, %d: memref<?xf32, 1>) {
  %s = warpspec.smem_alloc : memref<2x128x32xf32, #warpspec.smem<128>>
  %out = warpspec.pipeline(%s) threads to tma : memref<2x128x32xf32, #warpspec.smem<128>>
  %c0 = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  warpspec.roles
  role @read warps(1) {
    // expected-note @below {{read here}}
    %v = vector.load %d[%i0] : memref<?xf32, 1>, vector<32xf32>
  }
  role @store warps(4) {
    %fill, %b = warpspec.acquire %out : !stage
    warpspec.commit %fill
    %full, %r = warpspec.wait %out : !stage
    // expected-error @below {{expected no other role to read the memory that it writes}}
    warpspec.tma_store %r to %map[%c0, %c0] of %d : memref<128x32xf32, #warpspec.smem<128>> to !warpspec.tensor_map<128x32xf32, swizzle = 128> of memref<?xf32, 1>
    warpspec.release %full
  }
}

// -----

warpspec.kernel @fence() {
  warpspec.roles
  role @work warps(4) {
    // expected-error @below {{expected no fence before warpspec-insert-fences}}
    warpspec.fence <proxy_async_global>
  }
}
