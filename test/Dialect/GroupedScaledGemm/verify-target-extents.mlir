// RUN: nvfp4-opt %s --gsg-verify-target="target=cpu" -o /dev/null
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_90a" --verify-diagnostics
// RUN: nvfp4-opt %s --gsg-verify-target="target=sm_100a" --verify-diagnostics

// target_c9: kernels count in 32 bits.
!a = !grouped_scaled_gemm.scaled<16x32, nvfp4>
!rows = !grouped_scaled_gemm.scaled<4294967296x32, nvfp4>
!stack = !grouped_scaled_gemm.scaled<2x1073741824x32, nvfp4>
!deep = !grouped_scaled_gemm.scaled<16x2147483648, nvfp4>
!most = !grouped_scaled_gemm.scaled<2147483647x32, nvfp4>

func.func @rows(%a: !rows, %b: !a, %c: tensor<4294967296x16xf32>) -> tensor<4294967296x16xf32> {
  // expected-error @below {{expected extents and numbers of rows below 2147483648 on a GPU, but got 4294967296 in '!grouped_scaled_gemm.scaled<4294967296x32, nvfp4>'}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !rows) rhs(%b : !a)
      outs(%c : tensor<4294967296x16xf32>) -> tensor<4294967296x16xf32>
  return %d : tensor<4294967296x16xf32>
}

func.func @stack(%a: !a, %b: !stack, %ends: tensor<2xi32>, %c: tensor<16x1073741824xf32>) -> tensor<16x1073741824xf32> {
  // expected-error @below {{but got 2147483648 in}}
  %d = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>) lhs(%a : !a) rhs(%b : !stack)
      outs(%c : tensor<16x1073741824xf32>) -> tensor<16x1073741824xf32>
  return %d : tensor<16x1073741824xf32>
}

func.func @deep(%a: !deep, %b: !deep, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-error @below {{but got 2147483648 in}}
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !deep) rhs(%b : !deep)
      outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  return %d : tensor<16x16xf32>
}

func.func @most(%a: !most, %b: !a, %c: tensor<2147483647x16xf32>) -> tensor<2147483647x16xf32> {
  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !most) rhs(%b : !a)
      outs(%c : tensor<2147483647x16xf32>) -> tensor<2147483647x16xf32>
  return %d : tensor<2147483647x16xf32>
}
