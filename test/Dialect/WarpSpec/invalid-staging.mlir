// Staging operations whose operands have gaps, or no such format or groups.
// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

func.func @gaps(%a: memref<8x9xi8, strided<[16, 1]>>, %rows: memref<8x16xi8>) {
  // expected-error @below {{expected operands without gaps, but got 'memref<8x9xi8, strided<[16, 1]>>'}}
  warpspec.stage_odd_values(%a) outs(%rows) : memref<8x9xi8, strided<[16, 1]>> to memref<8x16xi8>
  return
}

// -----

func.func @target(%a: memref<8x9xi8>, %rows: memref<8x16xi16>) {
  // expected-error @below {{expected rows of elements of 8 bits that follow each other, but got 'memref<8x16xi16>'}}
  warpspec.stage_odd_values(%a) outs(%rows) : memref<8x9xi8> to memref<8x16xi16>
  return
}

// -----

func.func @tiles(%s: memref<1x2x8x4xf8E4M3FN>, %columns: index, %rows: memref<1x1024xi8>) {
  // expected-error @below {{expected scales in tiles of 32x4x4, but got 'memref<1x2x8x4xf8E4M3FN>'}}
  warpspec.stage_padded_scales(%s) columns(%columns) outs(%rows) : memref<1x2x8x4xf8E4M3FN> to memref<1x1024xi8>
  return
}

// -----

func.func @format(%a: memref<8x64xi8>, %s: memref<8x8xf8E4M3FN>, %k: index, %rows: memref<8x128xbf16>) {
  // expected-error @below {{expected a block format such as nvfp4 or mxfp4, but got "fp4"}}
  warpspec.stage_rows(%a, %s) format "fp4" columns(%k) stage(128) outs(%rows)
      : memref<8x64xi8>, memref<8x8xf8E4M3FN> to memref<8x128xbf16>
  return
}

// -----

func.func @no_format(%a: memref<8x64xi8>, %s: memref<8x8xf8E4M3FN>, %k: index, %rows: memref<8x128xbf16>) {
  // expected-error @below {{expected a format with scales, and none without}}
  warpspec.stage_rows(%a, %s) columns(%k) stage(128) outs(%rows)
      : memref<8x64xi8>, memref<8x8xf8E4M3FN> to memref<8x128xbf16>
  return
}

// -----

func.func @values(%a: memref<8x100xi8>, %ends: memref<2xi32>, %k: index, %rows: memref<8x384xi8>) {
  // expected-error @below {{expected groups along K, k_ends or k_starts, but got row_ends}}
  warpspec.stage_values(%a) format "nvfp4" columns(%k) groups(%ends : memref<2xi32>) row_ends stage(256) outs(%rows)
      : memref<8x100xi8> to memref<8x384xi8>
  return
}

// -----

func.func @scales(%s: memref<8x13xf8E4M3FN>, %ends: memref<2xi32>, %k: index, %tiles: memref<1x6144xi8>) {
  // expected-error @below {{expected groups along K, k_ends or k_starts, but got counts}}
  warpspec.stage_scales(%s) format "nvfp4" columns(%k) groups(%ends : memref<2xi32>) counts stage(256) outs(%tiles)
      : memref<8x13xf8E4M3FN> to memref<1x6144xi8>
  return
}

// -----

func.func @weights(%w: memref<64x64xi8>, %s: memref<64x8xf8E4M3FN>, %k: index, %blocks: memref<1x2304xi16>,
                   %factors: memref<1xf32>) {
  // expected-error @below {{expected rows of elements of 8 bits that follow each other, but got 'memref<1x2304xi16>'}}
  warpspec.stage_weights(%w, %s) format "nvfp4" columns(%k) stage(128) outs(%blocks, %factors)
      : memref<64x64xi8>, memref<64x8xf8E4M3FN> to memref<1x2304xi16>, memref<1xf32>
  return
}
