// Tensor maps and asynchronous copies that are refused.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

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

func.func @f(%m: !warpspec.tensor_map<64xi8>, %b: memref<64xindex, #warpspec.smem>, %f: !warpspec.fill, %i: i32) {
  // expected-error @below {{expected elements that are integers or floats, but got 'index'}}
  warpspec.tma_load %m[%i] to %b fills(%f) : !warpspec.tensor_map<64xi8> to memref<64xindex, #warpspec.smem>
  return
}

// -----

func.func @f(%m: !warpspec.tensor_map<16x128xi8>, %b: memref<16x128xi8, #warpspec.smem>, %i: i32) {
  // expected-error @below {{expected global memory behind of, but got 'memref<16x128xi8, #warpspec.smem>'}}
  warpspec.tma_store %b to %m[%i, %i] of %b : memref<16x128xi8, #warpspec.smem> to !warpspec.tensor_map<16x128xi8> of memref<16x128xi8, #warpspec.smem>
  return
}

// -----

func.func @entry(%src: memref<?xi8, 1>, %at: i64, %fill: !warpspec.fill, %dst: memref<2x4608xi8, #warpspec.smem>) {
  // expected-error @below {{expected an entry below 2, but got 2}}
  warpspec.bulk_load %src[%at] to 2 of %dst fills(%fill) : memref<?xi8, 1> to memref<2x4608xi8, #warpspec.smem>
  return
}

// -----

!m = !warpspec.tensor_map<2x16x64xbf16, swizzle = 128>
func.func @maps(%m: !m, %dst: memref<2x16x64xbf16, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  // expected-error @below {{expected map 0 with boxes of 2x8x64 like the target}}
  warpspec.tma_load_rows %n of %m[%n, %n, %n] to %dst fills(%fill) : !m to memref<2x16x64xbf16, #warpspec.smem<128>>
  return
}

// -----

// expected-error @below {{expected 1 to 5 dimensions, but got 6}}
func.func private @f(!warpspec.tensor_map<1x1x1x1x1x16xi8>)

// -----

// expected-error @below {{expected elements of 8, 16, 32 or 64 bits or f4E2M1FN, but got 'i4'}}
func.func private @f(!warpspec.tensor_map<4x64xi4>)

// -----

func.func @f(%m: !warpspec.tensor_map<16x64xi8, swizzle = 128>, %b: memref<16x64xi8, #warpspec.smem<128>>, %f: !warpspec.fill, %i: i32) {
  // expected-error @below {{expected rows of 128 bytes in the box, the span of the swizzle, but got 64}}
  warpspec.tma_load %m[%i, %i] to %b fills(%f) : !warpspec.tensor_map<16x64xi8, swizzle = 128> to memref<16x64xi8, #warpspec.smem<128>>
  return
}

// -----

!m = !warpspec.tensor_map<2x8x64xbf16, swizzle = 128>
func.func @rank(%m: !m, %dst: memref<16x64xbf16, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  // expected-error @below {{expected a target of rank 3, but got 'memref<16x64xbf16, #warpspec.smem<128>>'}}
  warpspec.tma_load_rows %n of %m[%n, %n, %n] to %dst fills(%fill) : !m to memref<16x64xbf16, #warpspec.smem<128>>
  return
}

// -----

func.func @no_map(%dst: memref<2x16x64xbf16, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  // expected-error @below {{expected at least one map, but got none}}
  "warpspec.tma_load_rows"(%n, %n, %n, %n, %dst, %fill) : (i32, i32, i32, i32, memref<2x16x64xbf16, #warpspec.smem<128>>, !warpspec.fill) -> ()
  return
}

// -----

!m8 = !warpspec.tensor_map<2x8x64xbf16, swizzle = 128>
!m16 = !warpspec.tensor_map<2x16x64xbf16, swizzle = 128>
func.func @maps(%m8: !m8, %m16: !m16, %dst: memref<2x8x64xbf16, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  // expected-error @below {{expected at most 1 maps, but got 2}}
  warpspec.tma_load_rows %n of %m8, %m16[%n, %n, %n] to %dst fills(%fill) : !m8, !m16 to memref<2x8x64xbf16, #warpspec.smem<128>>
  return
}

// -----

func.func @bytes(%src: memref<?xi8, 1>, %at: i64, %fill: !warpspec.fill, %dst: memref<2x40xi8, #warpspec.smem>) {
  // expected-error @below {{expected a target [entries, bytes] of a multiple of 16 bytes each, but got 'memref<2x40xi8, #warpspec.smem>'}}
  warpspec.bulk_load %src[%at] to 0 of %dst fills(%fill) : memref<?xi8, 1> to memref<2x40xi8, #warpspec.smem>
  return
}

// -----

func.func @source(%src: memref<?xi8>, %at: i64, %fill: !warpspec.fill, %dst: memref<2x64xi8, #warpspec.smem>) {
  // expected-error @below {{expected a source memref<?xi8, 1>, but got 'memref<?xi8>'}}
  warpspec.bulk_load %src[%at] to 0 of %dst fills(%fill) : memref<?xi8> to memref<2x64xi8, #warpspec.smem>
  return
}

// -----

func.func @elements(%src: memref<?xi8, 1>, %at: i64, %fill: !warpspec.fill, %dst: memref<2x64xi16, #warpspec.smem>) {
  // expected-error @below {{expected a target of i8, but got 'memref<2x64xi16, #warpspec.smem>'}}
  warpspec.bulk_load %src[%at] to 0 of %dst fills(%fill) : memref<?xi8, 1> to memref<2x64xi16, #warpspec.smem>
  return
}

// -----

// No entry to divide the bytes by.

func.func @no_entries(%src: memref<?xi8, 1>, %at: i64, %fill: !warpspec.fill, %dst: memref<0x64xi8, #warpspec.smem>) {
  // expected-error @below {{expected a target [entries, bytes] of a multiple of 16 bytes each, but got 'memref<0x64xi8, #warpspec.smem>'}}
  warpspec.bulk_load %src[%at] to 0 of %dst fills(%fill) : memref<?xi8, 1> to memref<0x64xi8, #warpspec.smem>
  return
}

// -----

// expected-error @below {{expected a known innermost box dimension}}
func.func private @innermost(!warpspec.tensor_map<8x?xi8>)

// -----

!m = !warpspec.tensor_map<?x128xi8, swizzle = 128>
func.func @open(%m: !m, %dst: memref<128x128xi8, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  // expected-error @below {{expected a box of known extents, but got '!warpspec.tensor_map<?x128xi8, swizzle = 128>'}}
  warpspec.tma_load %m[%n, %n] to %dst fills(%fill) : !m to memref<128x128xi8, #warpspec.smem<128>>
  return
}

// -----

!m = !warpspec.tensor_map<2x?x64xbf16, swizzle = 128>
func.func @maps(%m: !m, %dst: memref<2x16x64xbf16, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  warpspec.tma_load_rows %n of %m[%n, %n, %n] to %dst fills(%fill) : !m to memref<2x16x64xbf16, #warpspec.smem<128>>
  // expected-error @below {{expected one map of boxes with an open number of rows, but got 2}}
  warpspec.tma_load_rows %n of %m, %m[%n, %n, %n] to %dst fills(%fill) : !m, !m to memref<2x16x64xbf16, #warpspec.smem<128>>
  return
}

// -----

!m = !warpspec.tensor_map<?x8x64xbf16, swizzle = 128>
func.func @blocks(%m: !m, %dst: memref<2x16x64xbf16, #warpspec.smem<128>>, %fill: !warpspec.fill, %n: i32) {
  // expected-error @below {{expected map 0 with boxes of 2x?x64 like the target}}
  warpspec.tma_load_rows %n of %m[%n, %n, %n] to %dst fills(%fill) : !m to memref<2x16x64xbf16, #warpspec.smem<128>>
  return
}
