// Decoding of codes in the order of storage: what is looked up, and what is converted.
// RUN: warpspec-opt %s --pass-pipeline='builtin.module(gpu.module(convert-warpspec-to-nvvm,canonicalize,cse))' | FileCheck %s

gpu.module @m [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // Sixteen codes: upper bytes of magnitudes 0x3f3f3f00 and 0x40404040, lower ones
  // 0xc0800000 and 0xc0804000, four codes at a time with five permutations.
  // CHECK-LABEL: llvm.func @nvfp4
  // CHECK-DAG: arith.constant 1061109504 : i32
  // CHECK-DAG: arith.constant 1077952576 : i32
  // CHECK-DAG: arith.constant -1065353216 : i32
  // CHECK-DAG: arith.constant -1065336832 : i32
  // CHECK-COUNT-20: nvvm.prmt
  // CHECK: cvt.rn.f16x2.e4m3x2
  // CHECK: cvt.rn.bf16x2.f32
  // CHECK-COUNT-1: nvvm.prmt
  // CHECK-COUNT-8: mul.rn.bf16x2
  // CHECK-NOT: mul.rn
  warpspec.kernel @nvfp4(%in: memref<?xi8, 1>, %out: memref<?xi32, 1>) {
    %zero = arith.constant 0 : index
    %eight = arith.constant 8 : index
    %codes = vector.load %in[%zero] : memref<?xi8, 1>, vector<8xi8>
    %scale = vector.load %in[%eight] : memref<?xi8, 1>, vector<1xi8>
    %words = warpspec.decode_codes %codes scaled_by %scale of e2m1_ue4m3 to bf16
        : vector<8xi8>, vector<1xi8> -> vector<8xi32>
    vector.store %words, %out[%zero] : memref<?xi32, 1>, vector<8xi32>
  } shared_bytes(0) tmem_columns(0) threads(32)
}
