// Rows of bf16 (W4A16) get the kernel, tile included, of NVFP4 rows, of which the host makes bf16 before it launches it.
// RUN: nvfp4-compile %s --target=sm_90a --emit=ptx -o %t.scaled.ptx
// RUN: sed 's/^!rows = .*/!rows = tensor<?x512xbf16>/' %s > %t.mlir
// RUN: nvfp4-compile %t.mlir --target=sm_90a --emit=ptx -o %t.plain.ptx
// RUN: diff %t.scaled.ptx %t.plain.ptx
!rows = !grouped_scaled_gemm.scaled<?x512, nvfp4>
!weights = !grouped_scaled_gemm.scaled<64x512x512, nvfp4>
func.func @f(%a: !rows, %b: !weights, %ends: tensor<64xi32>, %c: tensor<?x512xbf16>) -> tensor<?x512xbf16> {
  %d = grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : tensor<64xi32>) lhs(%a : !rows) rhs(%b : !weights)
      outs(%c : tensor<?x512xbf16>) {expected_rows = 512 : i64} -> tensor<?x512xbf16>
  return %d : tensor<?x512xbf16>
}
