// A thread has a block of a row and one of a column, of one tile of a matrix.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu | FileCheck %s

!x = memref<?x64xbf16, #gpu.address_space<global>>
!q = memref<?x32xi8, #gpu.address_space<global>>
!s = memref<?x4xf8E4M3FN, #gpu.address_space<global>>
!r = memref<64x?xi8, #gpu.address_space<global>>
!t = memref<64x?xf8E4M3FN, #gpu.address_space<global>>

// CHECK-LABEL: func.func @both(
// CHECK: gpu.launch {{.*}}function(@nvfp4_quantize_both)
// CHECK: scf.if
// CHECK: llvm.load {{.*}} -> vector<16xi16>
// CHECK: llvm.store {{.*}} : vector<8xi8>
// CHECK-COUNT-16: llvm.load {{.*}} -> i16
// CHECK: llvm.store {{.*}} : vector<8xi8>
// CHECK-NOT: gpu.launch
func.func @both(%x: !x, %q: !q, %s: !s, %r: !r, %t: !t) {
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : !q, !s as !grouped_scaled_gemm.scaled<?x64, nvfp4>)
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%r scaled_by %t : !r, !t as !grouped_scaled_gemm.scaled<64x?, nvfp4>) {transposed}
  }
  return
}
