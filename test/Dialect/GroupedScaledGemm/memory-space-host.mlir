// target_c2, for operations that the host executes whatever the target.
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_100a" --split-input-file --verify-diagnostics
// RUN: nvfp4-opt %s --convert-gsg-to-cpu="isa=generic" --split-input-file --verify-diagnostics

func.func @quantize(%x: memref<16x64xf32, 1>, %q: memref<16x32xi8>, %s: memref<16x4xf8E4M3FN>) {
  // expected-error @below {{expected memrefs in the host's memory, without a memory space, but got 'memref<16x64xf32, 1>'}}
  grouped_scaled_gemm.quantize <te>(%x : memref<16x64xf32, 1>)
      outs(%q scaled_by %s : memref<16x32xi8>, memref<16x4xf8E4M3FN>
           as !grouped_scaled_gemm.scaled<16x64, nvfp4>)
  return
}

// -----

func.func @permute(%x: memref<?x16xf32>, %tokens: memref<?xi32, 1>, %y: memref<?x16xf32>) {
  // expected-error @below {{but got 'memref<?xi32, 1>'}}
  grouped_scaled_gemm.permute(%x : memref<?x16xf32>) by(%tokens : memref<?xi32, 1>) outs(%y : memref<?x16xf32>)
  return
}
