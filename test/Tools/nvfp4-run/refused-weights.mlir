// What relayout_weights refuses of data, compiled and interpreted.
// REQUIRES: x86
// RUN: not nvfp4-run %s --entry=sign 2>&1 | FileCheck %s --check-prefix=SIGN
// RUN: not nvfp4-run %s --entry=sign --device=reference 2>&1 | FileCheck %s --check-prefix=SIGN
// RUN: not nvfp4-run %s --entry=far 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not nvfp4-run %s --entry=far --device=reference 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not nvfp4-run %s --entry=infinite 2>&1 | FileCheck %s --check-prefix=INFINITE
// RUN: not nvfp4-run %s --entry=infinite --device=reference 2>&1 | FileCheck %s --check-prefix=INFINITE
// RUN: not nvfp4-run %s --entry=bytes 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not nvfp4-run %s --entry=bytes --device=reference 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not nvfp4-run %s --entry=factor 2>&1 | FileCheck %s --check-prefix=FACTOR
// RUN: not nvfp4-run %s --entry=factor --device=reference 2>&1 | FileCheck %s --check-prefix=FACTOR

!n = !grouped_scaled_gemm.scaled<1x32, nvfp4>
!nc = !grouped_scaled_gemm.scaled<1x32, nvfp4, wgmma>
!m = !grouped_scaled_gemm.scaled<1x64, mxfp8_e5m2>
!mc = !grouped_scaled_gemm.scaled<1x64, mxfp8_e5m2, wgmma_f16>

// relayout_weights_c4: a scale with a sign
// SIGN: relayout_weights{{:|' op}} expected scales of weights without a sign
func.func @sign() -> !nc {
  %v = arith.constant dense<17> : tensor<1x16xi8>
  %s = arith.constant dense<[[1.0, -1.0]]> : tensor<1x2xf8E4M3FN>
  %w = grouped_scaled_gemm.make_scaled %v, %s : tensor<1x16xi8>, tensor<1x2xf8E4M3FN> -> !n
  %c = grouped_scaled_gemm.relayout_weights(%w : !n) -> !nc
  return %c : !nc
}

// relayout_weights_c4: scales further apart than f16 has exponents
// FAR: relayout_weights{{:|' op}} expected scales of a matrix of weights within a factor of 2^8 of each other, but got 2^-9 and 2^0
func.func @far() -> !mc {
  %v = arith.constant dense<1.0> : tensor<1x64xf8E5M2>
  %s = arith.constant dense<[[1.0, 0.001953125]]> : tensor<1x2xf8E8M0FNU>
  %w = grouped_scaled_gemm.make_scaled %v, %s : tensor<1x64xf8E5M2>, tensor<1x2xf8E8M0FNU> -> !m
  %c = grouped_scaled_gemm.relayout_weights(%w : !m) -> !mc
  return %c : !mc
}

// relayout_weights_c4: an infinite element
// INFINITE: relayout_weights{{:|' op}} expected finite weights, but got infinity in row 0, column 0
func.func @infinite() -> !mc {
  %v = arith.constant dense<0x7C> : tensor<1x64xf8E5M2>
  %s = arith.constant dense<1.0> : tensor<1x2xf8E8M0FNU>
  %w = grouped_scaled_gemm.make_scaled %v, %s : tensor<1x64xf8E5M2>, tensor<1x2xf8E8M0FNU> -> !m
  %c = grouped_scaled_gemm.relayout_weights(%w : !m) -> !mc
  return %c : !mc
}

// relayout_weights_c5: bytes that nothing is laid out as
// BYTES: expected weights as relayout_weights lays them out, but got others in row 0, column 0
func.func @bytes() -> !n {
  %v = arith.constant dense<1> : tensor<1x2x2304xi8>
  %f = arith.constant dense<128.0> : tensor<1xf32>
  %c = grouped_scaled_gemm.make_scaled %v, %f : tensor<1x2x2304xi8>, tensor<1xf32> -> !nc
  %w = grouped_scaled_gemm.relayout_weights(%c : !nc) -> !n
  return %w : !n
}

// relayout_weights_c5: kernels know the factor of NVFP4
// FACTOR: relayout_weights{{:|' op}} expected 128 as the factor of
func.func @factor() -> !n {
  %v = arith.constant dense<0> : tensor<1x2x2304xi8>
  %f = arith.constant dense<64.0> : tensor<1xf32>
  %c = grouped_scaled_gemm.make_scaled %v, %f : tensor<1x2x2304xi8>, tensor<1xf32> -> !nc
  %w = grouped_scaled_gemm.relayout_weights(%c : !nc) -> !n
  return %w : !n
}
