// target_c3: a target that is none is refused by each pass that has one, and not taken for sm_100a.
// RUN: not nvfp4-opt %s --gsg-assign-scale-layout=target=sm90a -o /dev/null 2>&1 | FileCheck %s
// RUN: not nvfp4-opt %s --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm90a -o /dev/null 2>&1 | FileCheck %s
// RUN: not nvfp4-opt %s --gsg-select-strategy=target=sm90a -o /dev/null 2>&1 | FileCheck %s
// RUN: not nvfp4-opt %s --nvfp4-embed-kernels=target=sm90a -o /dev/null 2>&1 | FileCheck %s
// RUN: not nvfp4-opt %s --gsg-to-sm100-kernels=target=sm90a -o /dev/null 2>&1 | FileCheck %s
// The family of sm_100a is.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout=target=sm_100f --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec=target=sm_103a | FileCheck %s --check-prefix=FAMILY

// CHECK: error: expected target sm_90a, sm_100a, sm_103a or sm_100f, but got 'sm90a'

// FAMILY: warpspec.mma_scaled
!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
func.func @f(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<16x32xi8>, %bs: memref<16x4xf8E4M3FN>, %c: memref<16x16xf32>) {
  grouped_scaled_gemm.matmul <dense> lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a) outs(%c : memref<16x16xf32>)
  return
}
