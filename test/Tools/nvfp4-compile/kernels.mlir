// Kernels of a product as PTX for each GPU, and inside a shared object.
// RUN: nvfp4-compile %s --target=sm_100a --emit=ptx | FileCheck %s --check-prefixes=PTX,A
// RUN: nvfp4-compile %s --target=sm_103a --emit=ptx | FileCheck %s --check-prefixes=PTX,B
// RUN: nvfp4-compile %s --target=sm_100f --emit=ptx | FileCheck %s --check-prefixes=PTX,F
// RUN: nvfp4-compile %s --target=sm_100a -o %t.so && llvm-nm -D %t.so | FileCheck %s --check-prefix=SO

// PTX: .version 8.8
// A: .target sm_100a
// B: .target sm_103a
// F: .target sm_100f
// PTX: .entry nvfp4_gemm_0(
// PTX: .reqntid 192
// PTX-DAG: cp.async.bulk.tensor.2d
// PTX-DAG: tcgen05.cp.cta_group::{{[12]}}.32x128b.warpx4
// PTX-DAG: tcgen05.mma.cta_group::{{[12]}}.kind::mxf4nvf4.block_scale.block16
// PTX-DAG: tcgen05.ld.sync.aligned.32x32b.x{{[0-9]+}}.b32
// SO-DAG: U nvfp4_kernel_start
// SO-DAG: T nvfp4_entry_f

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x256x512, nvfp4>
func.func @f(%a: !a, %b: !b, %ends: tensor<4xi32>, %c: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>)
      lhs(%a : !a) rhs(%b : !b) outs(%c : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %d : tensor<?x256xbf16>
}
