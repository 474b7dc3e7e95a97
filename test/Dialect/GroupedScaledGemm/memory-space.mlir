// target_c2: code for every target takes pointers of the host, so operands in another memory are refused.
// RUN: nvfp4-opt %s --gsg-verify-target --split-input-file --verify-diagnostics
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_90a" --split-input-file --verify-diagnostics
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_100a" --split-input-file --verify-diagnostics
// What becomes a memref in between is seen by the conversions.
// RUN: nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-cpu="isa=generic" --split-input-file --verify-diagnostics
// RUN: not nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-warpspec="target=sm_90a" --split-input-file -o /dev/null 2>&1 | FileCheck %s
// RUN: not nvfp4-opt %s --gsg-expand-epilogue --convert-gsg-to-warpspec="target=sm_100a" --split-input-file -o /dev/null 2>&1 | FileCheck %s

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @values(%a: memref<16x32xi8, 1>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>,
                  %bs: memref<32x4xf8E4M3FN>, %c: memref<16x32xf32>) {
  // CHECK: error: 'grouped_scaled_gemm.matmul' op expected memory of the device, but got 'memref<{{.*}}'; run gsg-insert-transfers first
  // expected-error @below {{expected memrefs in the host's memory, without a memory space, but got 'memref<16x32xi8, 1>'; copy it to memory of the host first}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8, 1>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%c : memref<16x32xf32>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @scales(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>,
                  %bs: memref<32x4xf8E4M3FN, #gpu.address_space<global>>, %c: memref<16x32xf32>) {
  // CHECK: error: {{.*}}expected memory of the device, but got 'memref<
  // expected-error @below {{but got 'memref<32x4xf8E4M3FN, #gpu.address_space<global>>'}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN, #gpu.address_space<global>> as !b)
      outs(%c : memref<16x32xf32>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @result(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>,
                  %bs: memref<32x4xf8E4M3FN>, %c: memref<16x32xf32, 1>) {
  // CHECK: error: {{.*}}expected memory of the device, but got 'memref<
  // expected-error @below {{but got 'memref<16x32xf32, 1>'}}
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%c : memref<16x32xf32, 1>)
  return
}

// -----

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @list(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8, 3>,
                %bs: memref<32x4xf8E4M3FN>, %c: memref<16x32xf32>) {
  // CHECK: error: 'grouped_scaled_gemm.matmul_list' op expected memory of the device, but got 'memref<{{.*}}'; run gsg-insert-transfers first
  // expected-error @below {{but got 'memref<32x32xi8, 3>'}}
  grouped_scaled_gemm.matmul_list
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8, 3>, memref<32x4xf8E4M3FN> as !b)
      outs(%c : memref<16x32xf32>)
  return
}

// -----

// The first space is the host's, and a type that names it is one without.
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
func.func @host(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<32x32xi8>,
                %bs: memref<32x4xf8E4M3FN>, %c: memref<16x32xf32, 0>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b)
      outs(%c : memref<16x32xf32>)
  return
}
