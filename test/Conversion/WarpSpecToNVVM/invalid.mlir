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
  // expected-error @below {{expected threads and shared_bytes, which warpspec-lower-roles and warpspec-plan-memory make, the former of `roles`}}
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

// An operation of the host.
gpu.module @m {
  warpspec.kernel @k() {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected an operation that kernels have after warpspec-lower-roles}}
    %r = warpspec.result 0(%c0) : memref<?x64xf32, #gpu.address_space<global>>
  } shared_bytes(0) tmem_columns(0) threads(128)
}

// -----

// A buffer that control flow without structure passes on.
gpu.module @m {
  warpspec.kernel @k(%c: i1) {
    %b = warpspec.smem_alloc at(0) : memref<128xi8, #warpspec.smem>
    scf.execute_region {
      // expected-error @below {{failed to legalize operation 'cf.cond_br'}}
      cf.cond_br %c, ^next(%b : memref<128xi8, #warpspec.smem>), ^next(%b : memref<128xi8, #warpspec.smem>)
    ^next(%same: memref<128xi8, #warpspec.smem>):
      scf.yield
    }
  } shared_bytes(128) tmem_columns(0) threads(128)
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

// -----

// Maps of rows that are not parameters one after the other.
!m8 = !warpspec.tensor_map<1x8x64xbf16, swizzle = 128>
!m16 = !warpspec.tensor_map<1x16x64xbf16, swizzle = 128>
!p = !warpspec.pipeline<1 x (memref<1x16x64xbf16, #warpspec.smem<128>>), tma to threads>
gpu.module @m {
  warpspec.kernel @k(%m8: !m8, %n: i32, %m16: !m16) {
    %b = warpspec.smem_alloc at(0) : memref<1x1x16x64xbf16, #warpspec.smem<128>>
    %p = warpspec.pipeline(%b) tma to threads barriers(2048) : memref<1x1x16x64xbf16, #warpspec.smem<128>>
    %c0 = arith.constant 0 : i32
    %fill, %s = warpspec.acquire %p[%c0, %c0] : !p
    // expected-error @below {{expected maps that are parameters of the kernel, one after the other}}
    warpspec.tma_load_rows %n of %m8, %m16[%c0, %c0, %c0] to %s fills(%fill) : !m8, !m16 to memref<1x16x64xbf16, #warpspec.smem<128>>
    warpspec.commit %fill
  } shared_bytes(4096) tmem_columns(0) threads(32)
}

// -----

// One of two fills: whose barrier counts the bytes is not known.
!p = !warpspec.pipeline<2 x (memref<128xi8, #warpspec.smem>), tma to threads>
gpu.module @m {
  warpspec.kernel @k(%m: !warpspec.tensor_map<128xi8>, %c: i1) {
    %b = warpspec.smem_alloc at(0) : memref<2x128xi8, #warpspec.smem>
    %p = warpspec.pipeline(%b) tma to threads barriers(1024) : memref<2x128xi8, #warpspec.smem>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %fill, %s = warpspec.acquire %p[%c0, %c0] : !p
    %next, %t = warpspec.acquire %p[%c1, %c0] : !p
    %one = arith.select %c, %fill, %next : !warpspec.fill
    // expected-error @below {{expected a fill that an acquire made}}
    warpspec.tma_load %m[%c0] to %s fills(%one) : !warpspec.tensor_map<128xi8> to memref<128xi8, #warpspec.smem>
    warpspec.commit %fill
    warpspec.commit %next
  } shared_bytes(2048) tmem_columns(0) threads(32)
}

// -----

// Fragments that are no products.
gpu.module @m {
  warpspec.kernel @k(%c: i32) {
    %b = warpspec.smem_alloc at(0) : memref<1x32x68xf32, #warpspec.smem>
    %acc = arith.constant dense<0.0> : vector<16xf32>
    // expected-error @below {{expected a result of mma_decoded, or one times broadcast numbers}}
    warpspec.stage_fragment %acc[%c] to %b : vector<16xf32> to memref<1x32x68xf32, #warpspec.smem>
  } shared_bytes(8704) tmem_columns(0) threads(128)
}

// -----

gpu.module @m {
  warpspec.kernel @k(%n: i32, %sums: memref<?xf32, 1>) {
    %acc = arith.constant dense<0.0> : vector<16xf32>
    // expected-error @below {{expected a result of mma_decoded}}
    warpspec.store_fragment %acc width(%n) to %sums[%n] : vector<16xf32> to memref<?xf32, 1>
  } shared_bytes(0) tmem_columns(0) threads(128)
}

// -----

gpu.module @m {
  warpspec.kernel @k(%n: i32, %sums: memref<?xf32, 1>) {
    %acc = arith.constant dense<0.0> : vector<16xf32>
    // expected-error @below {{expected a result of mma_decoded}}
    %all = warpspec.add_fragments %acc width(%n) to %n of %sums[%n] : vector<16xf32>, memref<?xf32, 1>
  } shared_bytes(0) tmem_columns(0) threads(128)
}
