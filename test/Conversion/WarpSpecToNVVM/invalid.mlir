// What the conversion refuses.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-warpspec-to-nvvm))'

gpu.module @m {
  // expected-error @below {{expected no roles; run warpspec-lower-roles}}
  warpspec.kernel @k() {
    warpspec.roles
    role @a warps(1) {
    }
  } shared_bytes(0) threads(32)
}

// -----

gpu.module @m {
  // expected-error @below {{expected threads and shared_bytes of the passes before}}
  warpspec.kernel @k() {
  }
}

// -----

// Bytes that depend on control flow cannot be expected.
!p = !warpspec.pipeline<1 x (memref<64xi8, #warpspec.smem>), tma to threads>
gpu.module @m {
  warpspec.kernel @k(%m: !warpspec.tensor_map<64xi8>, %c: i1) {
    %b = warpspec.smem_alloc at(0) : memref<1x64xi8, #warpspec.smem>
    %p = warpspec.pipeline(%b) tma to threads barriers(1024) : memref<1x64xi8, #warpspec.smem>
    %c0 = arith.constant 0 : i32
    %fill, %s = warpspec.acquire %p[%c0, %c0] : !p
    scf.if %c {
      // expected-error @below {{expected to be in the block of its acquire, which expects a constant number of bytes}}
      warpspec.tma_load %m[%c0] to %s fills(%fill) : !warpspec.tensor_map<64xi8> to memref<64xi8, #warpspec.smem>
    }
    warpspec.commit %fill
  } shared_bytes(2048) tmem_columns(0) threads(32)
}

// -----

// A loop over tiles that no role has.
gpu.module @m {
  warpspec.kernel @k(%n: i32) {
    // expected-error @below {{expected an operation that kernels have after warpspec-lower-roles}}
    warpspec.for_each_tile m_fastest of %n extents(%g) {
      warpspec.yield %n, %n : i32, i32
    } do(%group, %i, %j) {
    }
  } shared_bytes(0) tmem_columns(0) threads(128)
}

// -----

// Bulk groups of nobody.
!p = !warpspec.pipeline<1 x (memref<128xi8, #warpspec.smem>), threads to tma>
gpu.module @m {
  warpspec.kernel @k() {
    %b = warpspec.smem_alloc at(0) : memref<1x128xi8, #warpspec.smem>
    %p = warpspec.pipeline(%b) threads to tma : memref<1x128xi8, #warpspec.smem>
    %c0 = arith.constant 0 : i32
    // expected-error @below {{expected an issuer, the thread whose bulk groups are waited for; run warpspec-lower-roles}}
    %fill, %s = warpspec.acquire %p[%c0, %c0] : !p
    warpspec.commit %fill
  } shared_bytes(128) tmem_columns(0) threads(32)
}
