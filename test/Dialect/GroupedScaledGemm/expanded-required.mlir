// Conversions lower expanded epilogues, and say so of products without one.
// RUN: nvfp4-opt %s --convert-gsg-to-cpu=isa=generic --split-input-file --verify-diagnostics
// RUN: not nvfp4-opt %s --gsg-insert-transfers --convert-gsg-to-warpspec=target=sm_90a --split-input-file -o /dev/null 2>&1 | FileCheck %s
// RUN: not nvfp4-opt %s --gsg-insert-transfers --convert-gsg-to-warpspec=target=sm_100a --split-input-file -o /dev/null 2>&1 | FileCheck %s
// CHECK: 'grouped_scaled_gemm.matmul' op expected an expanded epilogue; run gsg-expand-epilogue first
// CHECK: 'grouped_scaled_gemm.matmul_list' op expected an expanded epilogue; run gsg-expand-epilogue first
// CHECK: 'grouped_scaled_gemm.matmul' op expected a product without gradient_of; run gsg-decompose-gradient first

// A custom activation is no expanded epilogue.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @product(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
                   %c: memref<16x32xf32>) {
  // expected-error @below {{expected an expanded epilogue; run gsg-expand-epilogue first}}
  grouped_scaled_gemm.matmul <dense> lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b) activation = <custom>
      epilogue {
      ^bb0(%z: f32):
        grouped_scaled_gemm.yield %z : f32
      }
      outs(%c : memref<16x32xf32>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @list(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
                %c: memref<16x32xf32>, %d: memref<16x32xf32>) {
  // expected-error @below {{expected an expanded epilogue; run gsg-expand-epilogue first}}
  grouped_scaled_gemm.matmul_list
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a,
          %a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b,
          %b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%c, %d : memref<16x32xf32>, memref<16x32xf32>)
  return
}

// -----

// A gradient becomes an operation before.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @gradient(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>, %bs: memref<32x4xf8E4M3FN>,
                    %z: memref<16x32xf32>, %c: memref<16x32xf32>) {
  // expected-error @below {{expected a product without gradient_of; run gsg-decompose-gradient first}}
  grouped_scaled_gemm.matmul <dense> lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      gradient_of = <relu> preact(%z : memref<16x32xf32>) outs(%c : memref<16x32xf32>)
  return
}
