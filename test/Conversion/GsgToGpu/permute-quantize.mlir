// A thread reads its block where the token of its row lies, in bf16 or
// quantised already, and rows without a token are those of zeros. Memory of the
// rows between is gone.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu -split-input-file | FileCheck %s

!x = memref<?x64xbf16, #gpu.address_space<global>>
!t = memref<?xi32, #gpu.address_space<global>>
!q = memref<?x32xi8, #gpu.address_space<global>>
!s = memref<?x4xf8E4M3FN, #gpu.address_space<global>>
!scaled = !grouped_scaled_gemm.scaled<?x64, nvfp4>

// CHECK-LABEL: func.func @rows(
// CHECK-NOT: gpu.alloc
// CHECK: gpu.launch {{.*}}function(@nvfp4_permute_quantize)
// CHECK: %[[ENTRY:.*]] = llvm.load {{.*}} -> i32
// CHECK: %[[TOKEN:.*]] = arith.extsi %[[ENTRY]]
// CHECK: %[[IS:.*]] = arith.cmpi ult, %[[TOKEN]]
// CHECK: scf.if %[[IS]] -> (vector<16xf32>) {
// CHECK: llvm.load {{.*}} -> vector<16xi16>
// CHECK: llvm.store {{.*}} : vector<8xi8>
// CHECK: llvm.store {{.*}} : i8
// CHECK-NOT: gpu.dealloc
// CHECK: return %arg2 : index
func.func @rows(%x: !x, %t: !t, %n: index, %q: !q, %s: !s) -> index {
  %p = gpu.alloc (%n) : !x
  %c0 = arith.constant 0 : index
  %rows = memref.dim %p, %c0 : !x
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
    grouped_scaled_gemm.quantize <trtllm>(%p : !x) outs(%q scaled_by %s : !q, !s as !scaled)
  }
  gpu.dealloc %p : !x
  return %rows : index
}

// CHECK-LABEL: func.func @quantized_rows(
// CHECK: gpu.launch {{.*}}function(@nvfp4_permute_quantized)
// CHECK: scf.if {{.*}} -> (vector<16xi8>, i8) {
// CHECK: llvm.load {{.*}} -> vector<8xi8>
// CHECK: llvm.load {{.*}} -> i8
// CHECK: } else {
// CHECK: llvm.store {{.*}} : vector<8xi8>
func.func @quantized_rows(%x: !x, %t: !t, %p: !x, %a: !q, %b: !s, %q: !q, %s: !s) {
  grouped_scaled_gemm.one_launch quantized(%a scaled_by %b : !q, !s as !scaled) {
    grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
    grouped_scaled_gemm.quantize <trtllm>(%p : !x) outs(%q scaled_by %s : !q, !s as !scaled)
  }
  return
}
