// An artefact has code for every CPU unless told otherwise, and chooses where it
// runs. Each choice gives the same bytes: the kernels, for experts with rows for
// half a tile, one, two and many, and the quantiser, which is compiled once for
// each CPU.
// REQUIRES: x86, python-numpy
// UNSUPPORTED: asan
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/make-layer.py %t
// DEFINE: %{inputs} = --inputs %t/x.npy,%t/ends.npy,%t/w1.npy,%t/s1.npy,%t/w2.npy,%t/s2.npy,%t/init.npy
// RUN: nvfp4-compile %s -o %t/layer.so
// RUN: env NVFP4_CPU_ISA=generic nvfp4-run %t/layer.so %{inputs} --outputs %t/generic.npy --reference=%s --check=reference | FileCheck %s
// RUN: env NVFP4_CPU_ISA=avx2 nvfp4-run %t/layer.so %{inputs} --outputs %t/avx2.npy
// RUN: env NVFP4_CPU_ISA=avx512vnni nvfp4-run %t/layer.so %{inputs} --outputs %t/avx512vnni.npy
// RUN: nvfp4-run %t/layer.so %{inputs} --outputs %t/best.npy
// RUN: cmp %t/generic.npy %t/avx2.npy
// RUN: cmp %t/generic.npy %t/avx512vnni.npy
// RUN: cmp %t/generic.npy %t/best.npy
// CHECK: check of result 0: ok: 5040 compared

// The code that is emitted with the module gives these bytes too, and so does an
// object for one instruction set.
// RUN: nvfp4-run %s %{inputs} --outputs %t/jit.npy
// RUN: cmp %t/generic.npy %t/jit.npy
// RUN: nvfp4-compile %s --isa=generic -o %t/one.so
// RUN: nvfp4-run %t/one.so %{inputs} --outputs %t/one.npy
// RUN: cmp %t/generic.npy %t/one.npy

// The text of the IR is complete, machine code takes kernels from the library.
// RUN: nvfp4-compile %s --isa=avx2 --emit=llvm | FileCheck %s --check-prefix=LLVM
// LLVM-NOT: module asm
// LLVM: define internal {{.*}}@nvfp4_cpu_avx2_e2m1_e2m1_ue4m3_16_gemm_tile
// RUN: nvfp4-compile %s --isa=avx2 --emit=asm | FileCheck %s --check-prefix=ASM
// ASM-NOT: .globl nvfp4_cpu_
// ASM: {{^}}nvfp4_cpu_avx2_e2m1_e2m1_ue4m3_16_gemm_tile:
// ASM-NOT: .globl nvfp4_cpu_
// RUN: nvfp4-compile %s --isa=all --emit=asm | FileCheck %s --check-prefix=ALL
// ALL-DAG: {{^}}nvfp4_cpu_generic_e2m1_e2m1_ue4m3_16_gemm_tile:
// ALL-DAG: {{^}}nvfp4_cpu_avx2_e2m1_e2m1_ue4m3_16_gemm_tile:
// ALL-DAG: {{^}}nvfp4_cpu_avx512vnni_e2m1_e2m1_ue4m3_16_gemm_tile:

!x = !grouped_scaled_gemm.scaled<70x176, nvfp4>
!w1 = !grouped_scaled_gemm.scaled<4x160x176, nvfp4>
!h = !grouped_scaled_gemm.scaled<70x80, nvfp4>
!w2 = !grouped_scaled_gemm.scaled<4x72x80, nvfp4>
func.func @layer(%x: tensor<70x176xf32>, %ends: tensor<4xi32>, %w1: !w1, %w2: !w2,
                 %init: tensor<70x72xf32>) -> tensor<70x72xf32> {
  %c = arith.constant 1.0 : f32
  %q = grouped_scaled_gemm.quantize <te>(%x : tensor<70x176xf32>) global_scale(%c : f32) -> !x
  %h = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>)
      lhs(%q : !x) rhs(%w1 : !w1)
      activation = <swiglu, gate = <halves, gate_first>>
      quantizer = <te> global_scale(%c : f32) -> !h
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>)
      lhs(%h : !h) rhs(%w2 : !w2) outs(%init : tensor<70x72xf32>) -> tensor<70x72xf32>
  return %y : tensor<70x72xf32>
}
