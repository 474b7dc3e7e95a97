// The bytes of a ragged product do not depend on the instruction set, on
// whether it was compiled ahead of time, or on the number of threads; on a
// lattice they are the interpreter's.
// REQUIRES: x86, python-numpy
// DEFINE: %{inputs} = --inputs %t/ends.npy,%t/gemm.safetensors:a,%t/gemm.safetensors:a_scale,%t/gemm.safetensors:b,%t/gemm.safetensors:b_scale,%t/c16.npy
// RUN: %python %S/Inputs/make-inputs.py %t
// RUN: nvfp4-run %s %{inputs} --isa=generic --outputs %t/generic.npy --check=reference --exact --time=1 | FileCheck %s
// RUN: nvfp4-run %s %{inputs} --threads=1 --outputs %t/native.npy
// RUN: nvfp4-compile %s -o %t/gemm.so
// RUN: nvfp4-run %t/gemm.so %{inputs} --threads=2 --outputs %t/so.npy --reference=%s --check=reference --exact
// RUN: cmp %t/generic.npy %t/native.npy && cmp %t/generic.npy %t/so.npy

// CHECK: result 0: [16, 16] f32
// CHECK: time: {{.*}} GFLOP/s
// CHECK: check of result 0: ok: {{.*}} 0 not equal
!a = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x16x64, nvfp4>
func.func @gemm(%ends: tensor<2xi32>, %a: !a, %bv: tensor<32x32xi8>,
                %bs: tensor<32x4xf8E4M3FN>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %v = tensor.expand_shape %bv [[0, 1], [2]] output_shape [2, 16, 32]
      : tensor<32x32xi8> into tensor<2x16x32xi8>
  %s = tensor.expand_shape %bs [[0, 1], [2]] output_shape [2, 16, 4]
      : tensor<32x4xf8E4M3FN> into tensor<2x16x4xf8E4M3FN>
  %b = grouped_scaled_gemm.make_scaled %v, %s
      : tensor<2x16x32xi8>, tensor<2x16x4xf8E4M3FN> -> !b
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>)
      lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %d : tensor<?x16xf32>
}
