// ptxas takes the kernels of every tile, and nothing is spilled.
// REQUIRES: ptxas
// RUN: nvfp4-compile %s --target=sm_100a --emit=cubin -o %t.cubin 2>&1 | FileCheck %s
// RUN: nvfp4-compile %s --target=sm_103a --emit=cubin -o %t.cubin 2>&1 | FileCheck %s
// RUN: llvm-readelf -h %t.cubin | FileCheck %s --check-prefix=ELF

// CHECK-COUNT-5: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// ELF: Machine: NVIDIA CUDA architecture

!a = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!b = !grouped_scaled_gemm.scaled<4x256x512, nvfp4>
!c = tensor<?x256xbf16>
func.func @f(%a: !a, %b: !b, %ends: tensor<4xi32>, %alpha: tensor<4x2xf32>, %c: !c, %h: tensor<?x128xbf16>)
    -> (!c, !c, !c, !c, tensor<?x128xbf16>) {
  %0 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b) outs(%c : !c)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 64, k = 256>} -> !c
  %1 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b) outs(%c : !c)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 128, k = 256>} -> !c
  %2 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b) outs(%c : !c)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 192, k = 256>} -> !c
  %3 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b) outs(%c : !c)
      {strategy = #grouped_scaled_gemm.strategy<m = 128, n = 256, k = 256>} -> !c
  %4 = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<4xi32>) lhs(%a : !a) rhs(%b : !b)
      alpha(%alpha : tensor<4x2xf32>) activation = <swiglu, gate = <32, gate_first>> outs(%h : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  return %0, %1, %2, %3, %4 : !c, !c, !c, !c, tensor<?x128xbf16>
}
