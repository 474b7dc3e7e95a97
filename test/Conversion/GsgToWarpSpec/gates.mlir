// Weights are moved into a gate layout that tiles hold, or whose runs hold a block of the result. An addend is not: the
// product says where its columns are.
// RUN: nvfp4-opt %s --gsg-assign-scale-layout | FileCheck %s
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-assign-scale-layout | FileCheck %s
// RUN: nvfp4-opt %s --gsg-assign-scale-layout --gsg-insert-transfers --gsg-expand-epilogue --convert-gsg-to-warpspec | FileCheck %s --check-prefix=KERNEL
// RUN: not nvfp4-opt %s --gsg-assign-scale-layout --gsg-expand-epilogue --convert-gsg-to-cpu=isa=generic 2>&1 | FileCheck %s --check-prefix=CPU

!a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x64, nvfp4>

// CHECK-LABEL: func.func @halves
// CHECK: grouped_scaled_gemm.relayout_gate
// CHECK: grouped_scaled_gemm.matmul
// CHECK-SAME: activation = <swiglu, gate = <32, gate_first>> outer_gate = <halves, gate_first>
// KERNEL: warpspec.kernel @nvfp4_gemm_0
// CPU: error: {{.*}}expected no outer_gate: addend and preact_outs in the gate layout of the weights; leave out gsg-assign-scale-layout
func.func @halves(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<128x32xi8>,
                  %bs: memref<128x4xf8E4M3FN>, %c: memref<16x128xf32>, %d: memref<16x64xf32>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b)
      addend(%c : memref<16x128xf32>) activation = <swiglu, gate = <halves, gate_first>>
      outs(%d : memref<16x64xf32>)
  return
}

!c = !grouped_scaled_gemm.scaled<16x64, mxfp4>
// CHECK-LABEL: func.func @blocks_of_32
// CHECK: grouped_scaled_gemm.relayout_gate
// CHECK: grouped_scaled_gemm.matmul
// CHECK-SAME: activation = <swiglu, gate = <32, up_first>> quantizer
// KERNEL: warpspec.kernel @nvfp4_gemm_1
func.func @blocks_of_32(%a: memref<16x32xi8>, %as: memref<16x4xf8E4M3FN>, %b: memref<128x32xi8>,
                        %bs: memref<128x4xf8E4M3FN>, %c: memref<16x32xi8>, %cs: memref<16x2xf8E8M0FNU>) {
  grouped_scaled_gemm.matmul <dense>
      lhs(%a scaled_by %as : memref<16x32xi8>, memref<16x4xf8E4M3FN> as !a)
      rhs(%b scaled_by %bs : memref<128x32xi8>, memref<128x4xf8E4M3FN> as !b)
      activation = <swiglu, gate = <1, up_first>> quantizer = <ue8m0_up>
      outs(%c scaled_by %cs : memref<16x32xi8>, memref<16x2xf8E8M0FNU> as !c)
  return
}
