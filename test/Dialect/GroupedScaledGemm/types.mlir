// RUN: nvfp4-opt %s --verify-roundtrip | FileCheck %s
// RUN: nvfp4-opt %s --mlir-print-op-generic --verify-roundtrip -o /dev/null

// Every format, layout, group start and axis reads back as it was printed;
// defaults are not printed.

// CHECK-DAG: !grouped_scaled_gemm.scaled<?x7168, nvfp4>
// CHECK-DAG: !grouped_scaled_gemm.scaled<16x32, mxfp4>
// CHECK-DAG: !grouped_scaled_gemm.scaled<16x48, nvfp4_e8m0>
// CHECK-DAG: !grouped_scaled_gemm.scaled<2x16x32, mxfp8_e4m3>
// CHECK-DAG: !grouped_scaled_gemm.scaled<64, mxfp8_e5m2>
// CHECK-DAG: !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked>
// CHECK-DAG: !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked_8x4>
// CHECK-DAG: !grouped_scaled_gemm.scaled<?x64x96, nvfp4, wgmma>
// CHECK-DAG: !grouped_scaled_gemm.scaled<64x96, mxfp8_e5m2, wgmma_f16>
// CHECK-DAG: !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked, starts = compact>
// CHECK-DAG: !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked, starts = upper_bound>
// CHECK-DAG: !grouped_scaled_gemm.scaled<64x?, nvfp4, starts = compact>
// CHECK-DAG: !grouped_scaled_gemm.scaled<64x32, mxfp8_e4m3, axis = 0>
// CHECK-DAG: !grouped_scaled_gemm.scaled<0x17, nvfp4>
// CHECK-DAG: !grouped_scaled_gemm.scaled<9223372036854775807x9223372036854775807, nvfp4, blocked>
func.func private @types(
    !grouped_scaled_gemm.scaled<?x7168, nvfp4, linear, starts = whole, axis = 1>,
    !grouped_scaled_gemm.scaled<16x32, mxfp4>,
    !grouped_scaled_gemm.scaled<16x48, nvfp4_e8m0>,
    !grouped_scaled_gemm.scaled<2x16x32, mxfp8_e4m3>,
    !grouped_scaled_gemm.scaled<64, mxfp8_e5m2>,
    !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked>,
    !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked_8x4>,
    !grouped_scaled_gemm.scaled<?x64x96, nvfp4, wgmma>,
    !grouped_scaled_gemm.scaled<64x96, mxfp8_e5m2, wgmma_f16>,
    !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked, starts = compact>,
    !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked, starts = upper_bound>,
    !grouped_scaled_gemm.scaled<64x?, nvfp4, starts = compact>,
    !grouped_scaled_gemm.scaled<64x32, mxfp8_e4m3, axis = 0>,
    !grouped_scaled_gemm.scaled<0x17, nvfp4>,
    !grouped_scaled_gemm.scaled<9223372036854775807x9223372036854775807, nvfp4, blocked>)

// Storage: an odd K takes half a byte more; tiles are padded.

// CHECK-LABEL: func @storage(
func.func @storage(%a: !grouped_scaled_gemm.scaled<129x17, nvfp4, blocked>,
                   %b: !grouped_scaled_gemm.scaled<3x9x65, mxfp8_e4m3, blocked_8x4>,
                   %c: !grouped_scaled_gemm.scaled<?x40, mxfp4, blocked, starts = compact>,
                   %d: !grouped_scaled_gemm.scaled<40x6, mxfp4, axis = 0>) {
  // CHECK: -> tensor<129x9xi8>, tensor<2x1x32x4x4xf8E4M3FN>
  %av, %as = grouped_scaled_gemm.split_scaled %a
      : !grouped_scaled_gemm.scaled<129x17, nvfp4, blocked>
      -> tensor<129x9xi8>, tensor<2x1x32x4x4xf8E4M3FN>
  // CHECK: -> tensor<3x9x65xf8E4M3FN>, tensor<3x2x1x8x4xf8E8M0FNU>
  %bv, %bs = grouped_scaled_gemm.split_scaled %b
      : !grouped_scaled_gemm.scaled<3x9x65, mxfp8_e4m3, blocked_8x4>
      -> tensor<3x9x65xf8E4M3FN>, tensor<3x2x1x8x4xf8E8M0FNU>
  // CHECK: -> tensor<?x20xi8>, tensor<?x?x32x4x4xf8E8M0FNU>
  %cv, %cs = grouped_scaled_gemm.split_scaled %c
      : !grouped_scaled_gemm.scaled<?x40, mxfp4, blocked, starts = compact>
      -> tensor<?x20xi8>, tensor<?x?x32x4x4xf8E8M0FNU>
  // CHECK: -> tensor<40x3xi8>, tensor<2x6xf8E8M0FNU>
  %dv, %ds = grouped_scaled_gemm.split_scaled %d
      : !grouped_scaled_gemm.scaled<40x6, mxfp4, axis = 0>
      -> tensor<40x3xi8>, tensor<2x6xf8E8M0FNU>
  return
}
