// Buffers and copies that are refused.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected a swizzle of 0, 32, 64 or 128 bytes, but got 96}}
func.func private @f(memref<4xi8, #warpspec.smem<96>>)

// -----

// expected-error @below {{expected box dimensions in [1, 256], but got 512}}
func.func private @f(!warpspec.tensor_map<512x16xi8>)

// -----

// expected-error @below {{expected rows of a multiple of 16 bytes, but got 8}}
func.func private @f(!warpspec.tensor_map<4x8xi8>)

// -----

// expected-error @below {{expected rows of at most 64 bytes, the span of the swizzle, but got 128}}
func.func private @f(!warpspec.tensor_map<4x128xi8, swizzle = 64>)

// -----

// expected-error @below {{expected a row of 128 padded FP4 values with a swizzle of 0 or 128, but got 64 and 64}}
func.func private @f(!warpspec.tensor_map<4x64xf4E2M1FN, swizzle = 64>)

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected rows of 128 bytes, the span of the swizzle, but got 64}}
  %a = warpspec.smem_alloc : memref<4x64xi8, #warpspec.smem<128>>
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected an offset that is a multiple of 1024, but got 512; the next is 1024}}
  %a = warpspec.smem_alloc at(512) : memref<4x128xi8, #warpspec.smem<128>>
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected a static shape of 128 lanes by columns, with elements of 32 bits, but got 'memref<64x32xf32, #warpspec.tmem>'}}
  %a = warpspec.tmem_alloc : memref<64x32xf32, #warpspec.tmem>
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected at most 512 columns of tensor memory, but got 514}}
  %a = warpspec.tmem_alloc at(2) : memref<4x128x128xf32, #warpspec.tmem>
}

// -----

func.func @f(%a: memref<128x64xf32, #warpspec.tmem>) {
  %c48 = arith.constant 48 : i32
  // expected-error @below {{expected columns within the 64 of the source, but got [48, 80)}}
  %s = warpspec.tmem_slice %a[%c48] : memref<128x64xf32, #warpspec.tmem> to memref<128x32xf32, #warpspec.tmem>
  return
}

// -----

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

func.func @f(%t: memref<?x64xi8, 1>, %i: i32) {
  // expected-error @below {{expected a table memref<?x128xi8, 1>, but got 'memref<?x64xi8, 1>'}}
  %m = warpspec.tensor_map %t[%i] : memref<?x64xi8, 1> to !warpspec.tensor_map<16x16xi8>
  return
}

// -----

func.func @f(%m: !warpspec.tensor_map<16x64xi8>, %b: memref<16x64xi8, #warpspec.smem>, %f: !warpspec.fill, %i: i32) {
  // expected-error @below {{expected 2 coordinates, but got 1}}
  warpspec.tma_load %m[%i] to %b fills(%f) : !warpspec.tensor_map<16x64xi8> to memref<16x64xi8, #warpspec.smem>
  return
}

// -----

func.func @f(%m: !warpspec.tensor_map<16x64xi8>, %b: memref<8x64xi8, #warpspec.smem>, %f: !warpspec.fill, %i: i32) {
  // expected-error @below {{expected a buffer of the 1024 bytes of the box, but got 'memref<8x64xi8, #warpspec.smem>'}}
  warpspec.tma_load %m[%i, %i] to %b fills(%f) : !warpspec.tensor_map<16x64xi8> to memref<8x64xi8, #warpspec.smem>
  return
}

// -----

func.func @f(%m: !warpspec.tensor_map<16x128xi8, swizzle = 128>, %b: memref<16x128xi8, #warpspec.smem>, %i: i32) {
  // expected-error @below {{expected the swizzle of the map, 128, but got 0}}
  warpspec.tma_store %b to %m[%i, %i] : memref<16x128xi8, #warpspec.smem> to !warpspec.tensor_map<16x128xi8, swizzle = 128>
  return
}

// -----

func.func @f(%m: !warpspec.tensor_map<16x128xf4E2M1FN>, %b: memref<16x128xf4E2M1FN, #warpspec.smem>, %i: i32) {
  // expected-error @below {{expected elements that can be stored, but got padded FP4, which can only be loaded}}
  warpspec.tma_store %b to %m[%i, %i] : memref<16x128xf4E2M1FN, #warpspec.smem> to !warpspec.tensor_map<16x128xf4E2M1FN>
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected a power of two in [32, 512] as columns, but got 48}}
  warpspec.reserve_tmem columns(48) to(0)
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected an offset that is a multiple of 8, and a depth and a count of at least 1}}
  warpspec.init_barriers at(4) depth(1) count(1)
  return
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected elements of whole bytes, or padded FP4, but got 'index'}}
  %a = warpspec.smem_alloc : memref<4x64xindex, #warpspec.smem>
}

// -----

func.func @f(%b: memref<i8, #warpspec.smem>) {
  // expected-error @below {{expected a buffer of static shape and identity layout, but got 'memref<i8, #warpspec.smem>'}}
  %v = warpspec.smem_load %b[] : memref<i8, #warpspec.smem>, vector<1xi8>
  return
}

// -----

func.func @f(%m: !warpspec.tensor_map<64xi8>, %b: memref<64xindex, #warpspec.smem>, %f: !warpspec.fill, %i: i32) {
  // expected-error @below {{expected elements that are integers or floats, but got 'index'}}
  warpspec.tma_load %m[%i] to %b fills(%f) : !warpspec.tensor_map<64xi8> to memref<64xindex, #warpspec.smem>
  return
}

// -----

warpspec.kernel @short_stride() {
  // expected-error @below {{expected a stride of at least the 64 columns of a slot, but got 32}}
  %a = warpspec.tmem_alloc stride(32) : memref<2x128x64xf32, #warpspec.tmem>
}

// -----

warpspec.kernel @stride_of_one() {
  // expected-error @below {{expected a stride with slots only, [slots, 128, columns], but got 'memref<128x64xf32, #warpspec.tmem>'}}
  %a = warpspec.tmem_alloc stride(64) : memref<128x64xf32, #warpspec.tmem>
}

// -----

warpspec.kernel @stride_beyond() {
  // expected-error @below {{expected at most 512 columns of tensor memory, but got 576}}
  %a = warpspec.tmem_alloc stride(448) : memref<2x128x128xf32, #warpspec.tmem>
}

// -----

func.func @f(%a: memref<128x64xf32, #warpspec.tmem>, %b: memref<128x32xf32, #warpspec.tmem>) {
  // expected-error @below {{expected a result of 96 columns, but got 128}}
  %c = warpspec.tmem_join %a, %b : memref<128x64xf32, #warpspec.tmem>, memref<128x32xf32, #warpspec.tmem> to memref<128x128xf32, #warpspec.tmem>
  return
}

// -----

func.func @f(%a: memref<128x64xf32, #warpspec.tmem>, %b: memref<128x64xi32, #warpspec.tmem>) {
  // expected-error @below {{expected single slots of one element type, but got 'memref<128x64xi32, #warpspec.tmem>' beside 'memref<128x128xf32, #warpspec.tmem>'}}
  %c = warpspec.tmem_join %a, %b : memref<128x64xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem> to memref<128x128xf32, #warpspec.tmem>
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

func.func @f(%m: !warpspec.tensor_map<16x128xi8>, %b: memref<16x128xi8, #warpspec.smem>, %i: i32) {
  // expected-error @below {{expected global memory behind of, but got 'memref<16x128xi8, #warpspec.smem>'}}
  warpspec.tma_store %b to %m[%i, %i] of %b : memref<16x128xi8, #warpspec.smem> to !warpspec.tensor_map<16x128xi8> of memref<16x128xi8, #warpspec.smem>
  return
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected at most 232448 bytes, the shared memory of a block, but got 'memref<1x232449xi8, #warpspec.smem>'}}
  %b = warpspec.smem_alloc : memref<1x232449xi8, #warpspec.smem>
}

// -----

// More bytes than 64 bits count.
warpspec.kernel @k() {
  // expected-error @below {{expected at most 232448 bytes, the shared memory of a block, but got 'memref<8589934592x2147483648xi8, #warpspec.smem>'}}
  %b = warpspec.smem_alloc : memref<8589934592x2147483648xi8, #warpspec.smem>
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected at most 512 columns of tensor memory, but got 'memref<144115188075855872x128x64xf32, #warpspec.tmem>'}}
  %b = warpspec.tmem_alloc : memref<144115188075855872x128x64xf32, #warpspec.tmem>
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
