// With --assemble an artefact holds a fat binary: the PTX, which the simulator runs, and machine code for the GPU.
// RUN: not nvfp4-compile %s --assemble -o %t.so 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not nvfp4-compile %s --target=sm_90a --assemble --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTX
// RUN: env CUDA_HOME=%t.none PATH=%t.none %nvfp4_obj/bin/nvfp4-compile %s --target=sm_90a --assemble -o %t.so > %t.err 2>&1 || true
// RUN: FileCheck %s --check-prefix=NONE < %t.err

// CPU: error: expected a GPU as --target for --assemble, but got cpu
// PTX: error: expected --assemble for code of the host that starts kernels, such as --emit=so, but got --emit=ptx
// NONE: error: could not find ptxas in $CUDA_HOME/bin or PATH; PTX needs none

!a = !grouped_scaled_gemm.scaled<16x128, nvfp4>
!b = !grouped_scaled_gemm.scaled<64x128, nvfp4>
func.func @f(%a: !a, %b: !b, %c: tensor<16x64xbf16>) -> tensor<16x64xbf16> {
  %0 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<16x64xbf16>) -> tensor<16x64xbf16>
  return %0 : tensor<16x64xbf16>
}
