// Multiplications that the tensor core does not have.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

func.func @f(%s: memref<500xi8, #warpspec.smem>, %t: memref<128x4xi32, #warpspec.tmem>) {
  // expected-error @below {{expected an unswizzled source of atoms of 512 bytes, but got 'memref<500xi8, #warpspec.smem>'}}
  warpspec.copy_scales %s to %t : memref<500xi8, #warpspec.smem> to memref<128x4xi32, #warpspec.tmem>
  return
}

// -----

func.func @f(%s: memref<4x512xi8, #warpspec.smem>, %t: memref<128x8xi32, #warpspec.tmem>) {
  // expected-error @below {{expected a target of at least 16 columns, 4 for each atom, but got 'memref<128x8xi32, #warpspec.tmem>'}}
  warpspec.copy_scales %s to %t : memref<4x512xi8, #warpspec.smem> to memref<128x8xi32, #warpspec.tmem>
  return
}

// -----

!t = memref<128x128xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected values of A in f8E4M3FN, f8E5M2 or f4E2M1FN, but got 'i8'}}
  warpspec.mma_scaled <mxf8f6f4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x128xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

!t = memref<128x128xi8, #warpspec.smem>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected a swizzled tile as A, but got 'memref<128x128xi8, #warpspec.smem>'}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x128xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

!t = memref<64x128xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x64xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected 128 rows of A in each block, but got 64}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x64xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

!a = memref<128x128xi8, #warpspec.smem<128>>
!b = memref<100x128xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x100xf32, #warpspec.tmem>, %a: !a, %b: !b, %s: !s) {
  // expected-error @below {{expected N as a multiple of 8 in [8, 256], but got 100}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %b scaled_by %s : memref<128x100xf32, #warpspec.tmem>, !a, !s, !b, !s
  return
}

// -----

!a = memref<128x128xi8, #warpspec.smem<128>>
!b = memref<128x64xi8, #warpspec.smem<64>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !a, %b: !b, %s: !s) {
  // expected-error @below {{expected rows of B of 128 bytes as those of A, but got 64}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %b scaled_by %s : memref<128x128xf32, #warpspec.tmem>, !a, !s, !b, !s
  return
}

// -----

!t = memref<128x128xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x64xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected an accumulator of 128x128xf32, but got 'memref<128x64xf32, #warpspec.tmem>'}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x64xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

!t = memref<128x128xi8, #warpspec.smem<128>>
!s = memref<128x8xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected scales of A in at least 16 columns, but got 'memref<128x8xi32, #warpspec.tmem>'}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x128xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

!t = memref<128x128xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected ue8m0 with mxf4nvf4 only; the other kinds have no other scales}}
  warpspec.mma_scaled <mxf4> %acc += %a scaled_by %s, %a scaled_by %s ue8m0 : memref<128x128xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

func.func @no_atom_behind(%s: memref<1x512xi8, #warpspec.smem>, %t: memref<128x4xi32, #warpspec.tmem>, %r: i32) {
  // expected-error@+1 {{expected an atom more than are copied, as rows behind the last are read, but got 'memref<1x512xi8, #warpspec.smem>'}}
  warpspec.copy_scales %s to %t row(%r) : memref<1x512xi8, #warpspec.smem> to memref<128x4xi32, #warpspec.tmem>
  return
}

// -----

func.func @row(%s: memref<2x512xi8, #warpspec.smem>, %t: memref<128x4xi32, #warpspec.tmem>) {
  %r = arith.constant 12 : i32
  // expected-error@+1 {{expected row 0, 8, 16 or 24, but got 12}}
  warpspec.copy_scales %s to %t row(%r) : memref<2x512xi8, #warpspec.smem> to memref<128x4xi32, #warpspec.tmem>
  return
}

// -----

!t = memref<2x2x128x128xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @f(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected A as [rows, k] or [k blocks, rows, k], but got 'memref<2x2x128x128xi8, #warpspec.smem<128>>'}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x128xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

!t = memref<0x128x128xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @no_block(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected rows of A of the 128 bytes of the swizzle, at least one K block, but got 'memref<0x128x128xi8, #warpspec.smem<128>>'}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x128xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

!t = memref<128x64xi8, #warpspec.smem<128>>
!s = memref<128x16xi32, #warpspec.tmem>
func.func @narrow(%acc: memref<128x128xf32, #warpspec.tmem>, %a: !t, %s: !s) {
  // expected-error @below {{expected rows of A of the 128 bytes of the swizzle, at least one K block, but got 'memref<128x64xi8, #warpspec.smem<128>>'}}
  warpspec.mma_scaled <mxf4nvf4> %acc += %a scaled_by %s, %a scaled_by %s : memref<128x128xf32, #warpspec.tmem>, !t, !s, !t, !s
  return
}

// -----

func.func @lanes(%s: memref<1x512xi8, #warpspec.smem>, %t: memref<64x999xf16, #warpspec.tmem>) {
  // expected-error @below {{expected a static shape of 128 lanes by columns, with elements of 32 bits, but got 'memref<64x999xf16, #warpspec.tmem>'}}
  warpspec.copy_scales %s to %t : memref<1x512xi8, #warpspec.smem> to memref<64x999xf16, #warpspec.tmem>
  return
}

// -----

func.func @mma_element(%acc: memref<128x16xf32, #warpspec.tmem>, %a: memref<128x64xi32, #warpspec.tmem>, %b: memref<2x16x64xf32, #warpspec.smem<128>>) {
  // expected-error @below {{expected B as [rows, k] or [k blocks, rows, k] of bf16 or f16, with rows of the bytes of its swizzle, but got 'memref<2x16x64xf32, #warpspec.smem<128>>'}}
  warpspec.mma %acc += %a, %b : memref<128x16xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>, memref<2x16x64xf32, #warpspec.smem<128>>
  return
}

// -----

func.func @mma_swizzle(%acc: memref<128x16xf32, #warpspec.tmem>, %a: memref<128x64xi32, #warpspec.tmem>, %b: memref<2x16x64xbf16, #warpspec.smem<64>>) {
  // expected-error @below {{expected B as [rows, k] or [k blocks, rows, k] of bf16 or f16, with rows of the bytes of its swizzle, but got 'memref<2x16x64xbf16, #warpspec.smem<64>>'}}
  warpspec.mma %acc += %a, %b : memref<128x16xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>, memref<2x16x64xbf16, #warpspec.smem<64>>
  return
}

// -----

func.func @mma_n(%acc: memref<128x8xf32, #warpspec.tmem>, %a: memref<128x64xi32, #warpspec.tmem>, %b: memref<2x8x64xbf16, #warpspec.smem<128>>) {
  // expected-error @below {{expected N as a multiple of 16 in [16, 256], but got 8}}
  warpspec.mma %acc += %a, %b : memref<128x8xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>, memref<2x8x64xbf16, #warpspec.smem<128>>
  return
}

// -----

func.func @mma_words(%acc: memref<128x16xf32, #warpspec.tmem>, %a: memref<128x32xi32, #warpspec.tmem>, %b: memref<2x16x64xbf16, #warpspec.smem<128>>) {
  // expected-error @below {{expected A of 128x64xi32, two values in each, but got 'memref<128x32xi32, #warpspec.tmem>'}}
  warpspec.mma %acc += %a, %b : memref<128x16xf32, #warpspec.tmem>, memref<128x32xi32, #warpspec.tmem>, memref<2x16x64xbf16, #warpspec.smem<128>>
  return
}

// -----

func.func @mma_acc(%acc: memref<128x32xf32, #warpspec.tmem>, %a: memref<128x64xi32, #warpspec.tmem>, %b: memref<2x16x64xbf16, #warpspec.smem<128>>) {
  // expected-error @below {{expected an accumulator of 128x16xf32, but got 'memref<128x32xf32, #warpspec.tmem>'}}
  warpspec.mma %acc += %a, %b : memref<128x32xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>, memref<2x16x64xbf16, #warpspec.smem<128>>
  return
}

// -----

warpspec.kernel @mma_pair() {
  %b = warpspec.smem_alloc : memref<2x16x64xbf16, #warpspec.smem<128>>
  %acc = warpspec.tmem_alloc : memref<128x16xf32, #warpspec.tmem>
  %a = warpspec.tmem_alloc : memref<128x64xi32, #warpspec.tmem>
  // expected-error @below {{expected a kernel without pair}}
  warpspec.mma %acc += %a, %b : memref<128x16xf32, #warpspec.tmem>, memref<128x64xi32, #warpspec.tmem>, memref<2x16x64xbf16, #warpspec.smem<128>>
} cluster(2) pair

// -----

func.func @decode_f16(%c: vector<16xi8>, %s: vector<1xi8>) {
  // expected-error @below {{expected bf16, or f16 with e2m1_ue4m3, but got 'f16' with e2m1_ue8m0}}
  %w = warpspec.decode_codes %c scaled_by %s of e2m1_ue8m0 to f16 : vector<16xi8>, vector<1xi8> -> vector<16xi32>
  return
}

// -----

func.func @decode_f32(%c: vector<8xi8>, %s: vector<1xi8>) {
  // expected-error @below {{expected bf16, or f16 with e2m1_ue4m3, but got 'f32' with e2m1_ue4m3}}
  %w = warpspec.decode_codes %c scaled_by %s of e2m1_ue4m3 to f32 : vector<8xi8>, vector<1xi8> -> vector<8xi32>
  return
}

// -----

func.func @decode_bytes(%c: vector<6xi8>, %s: vector<1xi8>) {
  // expected-error @below {{expected a multiple of 4 bytes of codes, but got 6}}
  %w = warpspec.decode_codes %c scaled_by %s of e2m1_ue4m3 to bf16 : vector<6xi8>, vector<1xi8> -> vector<6xi32>
  return
}

// -----

func.func @decode_words(%c: vector<32xi8>, %s: vector<1xi8>) {
  // expected-error @below {{expected 16 words of two values, but got 32}}
  %w = warpspec.decode_codes %c scaled_by %s of e4m3_ue8m0 to bf16 : vector<32xi8>, vector<1xi8> -> vector<32xi32>
  return
}

// -----

func.func @decode_scales(%c: vector<32xi8>, %s: vector<1xi8>) {
  // expected-error @below {{expected a scale for each 16 or 32 of 64 values, but got 1}}
  %w = warpspec.decode_codes %c scaled_by %s of e2m1_ue8m0 to bf16 : vector<32xi8>, vector<1xi8> -> vector<32xi32>
  return
}
