// A C program that links only the runtime calls an artefact, for every
// instruction set that the machine has.
// REQUIRES: x86
// UNSUPPORTED: asan
// RUN: rm -rf %t && mkdir %t
// RUN: %cc -std=c99 -Wall -Werror -I %nvfp4_src/include %S/Inputs/call.c -o %t/call -L %nvfp4_lib -lnvfp4_runtime -Wl,-rpath,%nvfp4_lib
// RUN: ldd %t/call | FileCheck %s --check-prefix=LIBRARIES
// RUN: nvfp4-compile %s -o %t/dot.so --isa=generic,avx2,avx512vnni
// RUN: ldd %t/dot.so | FileCheck %s --check-prefix=LIBRARIES
// RUN: %t/call %t/dot.so | FileCheck %s
// RUN: env NVFP4_CPU_ISA=avx2 NVFP4_NUM_THREADS=2 %t/call %t/dot.so | FileCheck %s
// RUN: env NVFP4_CPU_ISA=generic NVFP4_NUM_THREADS=1 %t/call %t/dot.so | FileCheck %s
// CHECK: [1, 1] 64
// LIBRARIES-NOT: MLIR
// LIBRARIES-NOT: LLVM
// RUN: not env NVFP4_NUM_THREADS=many %t/call %t/dot.so 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: call: expected a number of threads from 1 to 4096 in NVFP4_NUM_THREADS, but got 'many'
!row = !grouped_scaled_gemm.scaled<1x64, nvfp4>
func.func @dot(%a: !row, %b: !row) -> tensor<1x1xf32> {
  %c = tensor.empty() : tensor<1x1xf32>
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !row) rhs(%b : !row)
      outs(%c : tensor<1x1xf32>) -> tensor<1x1xf32>
  return %d : tensor<1x1xf32>
}
