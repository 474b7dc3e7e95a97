// Buffers and views that are refused.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected a swizzle of 0, 32, 64 or 128 bytes, but got 96}}
func.func private @f(memref<4xi8, #warpspec.smem<96>>)

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

warpspec.kernel @k() {
  // expected-error @below {{expected elements of whole bytes, or padded FP4, but got 'index'}}
  %a = warpspec.smem_alloc : memref<4x64xindex, #warpspec.smem>
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

warpspec.kernel @k() {
  // expected-error @below {{expected a static shape and the identity layout, but got 'memref<4x?xi8, #warpspec.smem>'}}
  %a = warpspec.smem_alloc : memref<4x?xi8, #warpspec.smem>
}

// -----

// What lies between the slots is not part of the buffer.
warpspec.kernel @k(%c: i32) {
  %a = warpspec.tmem_alloc stride(128) : memref<2x128x64xf32, #warpspec.tmem>
  // expected-error @below {{expected a source whose columns are side by side, but got slots with a stride of 128 columns}}
  %s = warpspec.tmem_slice %a[%c] : memref<2x128x64xf32, #warpspec.tmem> to memref<128x32xf32, #warpspec.tmem>
}
