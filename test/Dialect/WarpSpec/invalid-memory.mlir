// Loads and stores by threads that are refused.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: memref<128x48xf32, #warpspec.tmem>) {
  // expected-error @below {{expected 128 lanes by a power of two of columns, at most 128, but got 'memref<128x48xf32, #warpspec.tmem>'}}
  %v = warpspec.tmem_load %a : memref<128x48xf32, #warpspec.tmem>
  return
}

// -----

func.func @f(%a: memref<128x32xi32, #warpspec.tmem>, %v: vector<16xi32>) {
  // expected-error @below {{expected 'vector<32xi32>', but got 'vector<16xi32>'}}
  warpspec.tmem_store %v, %a : vector<16xi32>, memref<128x32xi32, #warpspec.tmem>
  return
}

// -----

func.func @f(%b: memref<64x64xbf16, #warpspec.smem<128>>, %i: i32) {
  // expected-error @below {{expected 2 indices, but got 1}}
  %v = warpspec.smem_load %b[%i] : memref<64x64xbf16, #warpspec.smem<128>>, vector<8xbf16>
  return
}

// -----

func.func @f(%b: memref<64x64xbf16, #warpspec.smem<128>>, %i: i32, %v: vector<8xf16>) {
  // expected-error @below {{expected elements of 'bf16', but got 'f16'}}
  warpspec.smem_store %v, %b[%i, %i] : vector<8xf16>, memref<64x64xbf16, #warpspec.smem<128>>
  return
}

// -----

func.func @f(%b: memref<64x64xbf16, #warpspec.smem<128>>, %i: i32, %v: vector<12xbf16>) {
  // expected-error @below {{expected 1, 2, 4, 8 or a multiple of 16 bytes, but got 192 bits}}
  warpspec.smem_store %v, %b[%i, %i] : vector<12xbf16>, memref<64x64xbf16, #warpspec.smem<128>>
  return
}

// -----

func.func @f(%b: memref<i8, #warpspec.smem>) {
  // expected-error @below {{expected a buffer of static shape and identity layout, but got 'memref<i8, #warpspec.smem>'}}
  %v = warpspec.smem_load %b[] : memref<i8, #warpspec.smem>, vector<1xi8>
  return
}

// -----

func.func @f(%flags: memref<4x4xi32, 1>, %i: index) {
  // expected-error @below {{operand #0 must be 1D memref of 32-bit signless integer values}}
  warpspec.publish %flags[%i] : memref<4x4xi32, 1>
  return
}

// -----

func.func @f(%flags: memref<4xi32>, %i: index) {
  // expected-error @below {{expected flags memref<?xi32, 1>, but got 'memref<4xi32>'}}
  warpspec.await %flags[%i] : memref<4xi32>
  return
}

// -----

// Padded FP4 takes a byte in memory and four bits in a vector.
func.func @f(%b: memref<128x128xf4E2M1FN, #warpspec.smem<128>>, %r: i32) {
  // expected-error @below {{expected elements of whole bytes, as each takes in shared memory, but got 'f4E2M1FN'}}
  %v = warpspec.smem_load %b[%r, %r] : memref<128x128xf4E2M1FN, #warpspec.smem<128>>, vector<32xf4E2M1FN>
  return
}

// -----

func.func @f(%b: memref<128x128xf4E2M1FN, #warpspec.smem<128>>, %r: i32, %v: vector<32xf4E2M1FN>) {
  // expected-error @below {{expected elements of whole bytes, as each takes in shared memory, but got 'f4E2M1FN'}}
  warpspec.smem_store %v, %b[%r, %r] : vector<32xf4E2M1FN>, memref<128x128xf4E2M1FN, #warpspec.smem<128>>
  return
}

// -----

func.func @f(%b: memref<4x64xindex, #warpspec.smem>, %i: i32) {
  // expected-error @below {{expected a fixed number of integers or floats, but got 'vector<2xindex>'}}
  %v = warpspec.smem_load %b[%i, %i] : memref<4x64xindex, #warpspec.smem>, vector<2xindex>
  return
}

// -----

func.func @f(%b: memref<16x4xf32, #warpspec.smem>, %i: i32) {
  // expected-error @below {{expected at most a row of 4 elements, but got 8}}
  %v = warpspec.smem_load %b[%i, %i] : memref<16x4xf32, #warpspec.smem>, vector<8xf32>
  return
}

// -----

func.func @f(%a: memref<128x32xf32>) {
  // expected-error @below {{expected a buffer in tensor memory, but got 'memref<128x32xf32>'}}
  %v = warpspec.tmem_load %a : memref<128x32xf32>
  return
}

// -----

func.func @f(%a: memref<128x?xf32, #warpspec.tmem>) {
  // expected-error @below {{expected a static shape of 128 lanes by columns, with elements of 32 bits, but got 'memref<128x?xf32, #warpspec.tmem>'}}
  %v = warpspec.tmem_load %a : memref<128x?xf32, #warpspec.tmem>
  return
}

// -----

func.func @f(%a: memref<128x0xf32, #warpspec.tmem>) {
  // expected-error @below {{expected a static shape of 128 lanes by columns, with elements of 32 bits, but got 'memref<128x0xf32, #warpspec.tmem>'}}
  %v = warpspec.tmem_load %a : memref<128x0xf32, #warpspec.tmem>
  return
}

// -----

// More elements than 64 bits count.

func.func @f(%a: memref<4611686018427387904x128x4611686018427387904xf32, #warpspec.tmem>) {
  // expected-error @below {{expected at most 512 columns of tensor memory, but got 'memref<4611686018427387904x128x4611686018427387904xf32, #warpspec.tmem>'}}
  %v = warpspec.tmem_load %a : memref<4611686018427387904x128x4611686018427387904xf32, #warpspec.tmem>
  return
}
