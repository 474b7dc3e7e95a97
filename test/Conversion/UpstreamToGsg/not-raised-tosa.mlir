// TOSA's block-scaled products that have no counterpart stay, and the pass says why.

// RUN: nvfp4-opt %s -verify-diagnostics --raise-to-grouped-scaled-gemm=explain | FileCheck %s

// CHECK-NOT: grouped_scaled_gemm.matmul

func.func @codes(%x: tensor<1x16x64xf6E2M3FN>, %xs: tensor<1x16x2xf8E8M0FNU>, %w: tensor<1x48x64xf6E2M3FN>,
                 %ws: tensor<1x48x2xf8E8M0FNU>) -> tensor<1x16x48xf32> {
  // expected-remark @below {{not raised: expected codes of f4E2M1FN, f8E4M3FN or f8E5M2, but got f6E2M3FN}}
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<1x16x64xf6E2M3FN>, tensor<1x16x2xf8E8M0FNU>, tensor<1x48x64xf6E2M3FN>, tensor<1x48x2xf8E8M0FNU>) -> tensor<1x16x48xf32>
  return %y : tensor<1x16x48xf32>
}

func.func @integers(%x: tensor<1x16x64x!tosa.mxint8>, %xs: tensor<1x16x2xf8E8M0FNU>, %w: tensor<1x48x64x!tosa.mxint8>,
                    %ws: tensor<1x48x2xf8E8M0FNU>) -> tensor<1x16x48xf32> {
  // expected-remark @below {{but got !tosa.mxint8}}
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<1x16x64x!tosa.mxint8>, tensor<1x16x2xf8E8M0FNU>, tensor<1x48x64x!tosa.mxint8>, tensor<1x48x2xf8E8M0FNU>) -> tensor<1x16x48xf32>
  return %y : tensor<1x16x48xf32>
}

func.func @depth(%x: tensor<1x16x?xf8E5M2>, %xs: tensor<1x16x?xf8E8M0FNU>, %w: tensor<1x48x?xf8E5M2>,
                 %ws: tensor<1x48x?xf8E8M0FNU>) -> tensor<1x16x48xf32> {
  // expected-remark @below {{not raised: expected a known K, but got tensor<1x16x?xf8E5M2>}}
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<1x16x?xf8E5M2>, tensor<1x16x?xf8E8M0FNU>, tensor<1x48x?xf8E5M2>, tensor<1x48x?xf8E8M0FNU>) -> tensor<1x16x48xf32>
  return %y : tensor<1x16x48xf32>
}

func.func @matrices(%x: tensor<?x16x64xf8E5M2>, %xs: tensor<?x16x2xf8E8M0FNU>, %w: tensor<?x48x64xf8E5M2>,
                    %ws: tensor<?x48x2xf8E8M0FNU>) -> tensor<?x16x48xf32> {
  // expected-remark @below {{not raised: expected a known number of matrices of the second operand, but got tensor<?x48x64xf8E5M2>}}
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<?x16x64xf8E5M2>, tensor<?x16x2xf8E8M0FNU>, tensor<?x48x64xf8E5M2>, tensor<?x48x2xf8E8M0FNU>) -> tensor<?x16x48xf32>
  return %y : tensor<?x16x48xf32>
}

func.func @rank(%x: tensor<*xf8E5M2>, %xs: tensor<?x16x2xf8E8M0FNU>, %w: tensor<2x48x64xf8E5M2>,
                %ws: tensor<2x48x2xf8E8M0FNU>) -> tensor<?x16x48xf32> {
  // expected-remark @below {{not raised: expected tensors of known rank, but got tensor<*xf8E5M2>}}
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<*xf8E5M2>, tensor<?x16x2xf8E8M0FNU>, tensor<2x48x64xf8E5M2>, tensor<2x48x2xf8E8M0FNU>) -> tensor<?x16x48xf32>
  return %y : tensor<?x16x48xf32>
}

func.func @extents(%x: tensor<4611686018427387904x4x64xf8E5M2>, %xs: tensor<4611686018427387904x4x2xf8E8M0FNU>, %w: tensor<1x48x64xf8E5M2>,
                   %ws: tensor<1x48x2xf8E8M0FNU>) -> tensor<4611686018427387904x4x48xf32> {
  // expected-remark @below {{not raised: expected tensors of fewer than 2^63 elements, but got tensor<4611686018427387904x4x64xf8E5M2>}}
  %y = tosa.matmul_t_block_scaled %x, %xs, %w, %ws {block_size = BLOCK_SIZE_32}
      : (tensor<4611686018427387904x4x64xf8E5M2>, tensor<4611686018427387904x4x2xf8E8M0FNU>, tensor<1x48x64xf8E5M2>, tensor<1x48x2xf8E8M0FNU>) -> tensor<4611686018427387904x4x48xf32>
  return %y : tensor<4611686018427387904x4x48xf32>
}
