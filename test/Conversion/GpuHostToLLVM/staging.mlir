// Staging operations on memory of the host become calls that fill rows.
// RUN: nvfp4-opt %s --convert-gpu-host-to-llvm | FileCheck %s

// CHECK-LABEL: func.func @rows(
func.func @rows(%a: memref<2x8x64xi8>, %s: memref<2x8x8xf8E4M3FN>, %ends: memref<2xi64>, %k: index, %rows: memref<16x128xbf16>) {
  // The form of the groups, their bits and number, the alignment and the stage;
  // a row of the target has 256 bytes.
  // CHECK: llvm.call @nvfp4_stage_rows({{.*}}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i32, i64, i64, i64, i32, !llvm.ptr, i32, i64, i64, i64, !llvm.ptr, i64) -> i32
  warpspec.stage_rows(%a, %s) format "nvfp4" columns(%k) groups(%ends : memref<2xi64>) k_ends align(16) stage(128) outs(%rows)
      : memref<2x8x64xi8>, memref<2x8x8xf8E4M3FN> to memref<16x128xbf16>
  return
}

// CHECK-LABEL: func.func @plain_rows(
func.func @plain_rows(%a: memref<8x60xbf16>, %k: index, %rows: memref<8x128xbf16>) {
  // No format and no scales.
  // CHECK: %[[FORMAT:.*]] = llvm.mlir.constant(-1 : i32)
  // CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
  // CHECK: llvm.call @nvfp4_stage_rows(%{{[^,]*}}, %[[FORMAT]], %{{[^,]*}}, %[[NULL]]
  warpspec.stage_rows(%a) columns(%k) stage(128) outs(%rows) : memref<8x60xbf16> to memref<8x128xbf16>
  return
}

// CHECK-LABEL: func.func @along_k(
func.func @along_k(%a: memref<8x100xi8>, %s: memref<8x13xf8E4M3FN>, %ends: memref<2xi32>, %k: index,
                   %values: memref<8x384xi8>, %scales: memref<1x6144xi8>) {
  // CHECK: llvm.call @nvfp4_stage_values
  warpspec.stage_values(%a) format "nvfp4" columns(%k) groups(%ends : memref<2xi32>) k_ends stage(256) outs(%values)
      : memref<8x100xi8> to memref<8x384xi8>
  // CHECK: llvm.call @nvfp4_stage_scales
  warpspec.stage_scales(%s) format "nvfp4" columns(%k) groups(%ends : memref<2xi32>) k_ends stage(256) outs(%scales)
      : memref<8x13xf8E4M3FN> to memref<1x6144xi8>
  return
}

// CHECK-LABEL: func.func @weights(
func.func @weights(%w: memref<64x64xi8>, %s: memref<64x8xf8E4M3FN>, %k: index, %blocks: memref<1x4608xi8>, %factors: memref<1xf32>) {
  // CHECK: llvm.call @nvfp4_stage_weights
  warpspec.stage_weights(%w, %s) format "nvfp4" to_f16 columns(%k) stage(128) outs(%blocks, %factors)
      : memref<64x64xi8>, memref<64x8xf8E4M3FN> to memref<1x4608xi8>, memref<1xf32>
  return
}

// CHECK-LABEL: func.func @padding(
func.func @padding(%s: memref<1x2x32x4x4xf8E4M3FN>, %columns: index, %rows: memref<1x1024xi8>, %a: memref<8x9xi8>, %odd: memref<8x16xi8>) {
  // CHECK: llvm.call @nvfp4_stage_padded_scales
  warpspec.stage_padded_scales(%s) columns(%columns) outs(%rows) : memref<1x2x32x4x4xf8E4M3FN> to memref<1x1024xi8>
  // CHECK: llvm.call @nvfp4_stage_odd_values
  warpspec.stage_odd_values(%a) outs(%odd) : memref<8x9xi8> to memref<8x16xi8>
  return
}
