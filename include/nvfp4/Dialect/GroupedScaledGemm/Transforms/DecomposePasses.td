//===- DecomposePasses.td - Passes that decompose operations *- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that replace one operation by several, on every target. Passes.td
// includes them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_DECOMPOSEPASSES_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_DECOMPOSEPASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeExchangePass : Pass<"gsg-decompose-exchange"> {
  let summary = "replace operations across ranks by those of one rank";
  let description = [{
    Replaces `expert_parallel` by `exchange_rows`, its body and `return_rows`,
    `exchange_rows` by `sort_tokens` and `permute`, and `return_rows` by
    `combine`: the program of one rank that has all tokens and experts, with
    the same results to the bit. `tokens`, `capacity` and `table` change none
    without `rank_grouped`, and code of one rank does not check them. With it
    there is a `combine` for each rank, over the slots that go there, and their
    sum; a `table` is a constant tensor then, which functions on device memory
    refuse.

    Accepts any IR on tensors. Afterwards none of the three operations remains.
    Keeps all else.

    Before:

    ```mlir
    func.func @f(%x: tensor<?x64xbf16>, %experts: tensor<?x2xi32>, %tokens: tensor<2xi32>)
        -> (tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>) {
      %rows, %ends, %row_of_slot = grouped_scaled_gemm.exchange_rows
          (%x : tensor<?x64xbf16>) to(%experts : tensor<?x2xi32>)
          tokens(%tokens : tensor<2xi32>)
          -> tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
      return %rows, %ends, %row_of_slot
          : tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
    }
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<?x64xbf16>, %experts: tensor<?x2xi32>, %tokens: tensor<2xi32>)
        -> (tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %t = tensor.dim %experts, %c0 : tensor<?x2xi32>
      %slots = arith.muli %t, %c2 : index
      %e = tensor.empty() : tensor<4xi32>
      %r = tensor.empty(%slots) : tensor<?xi32>
      %s = tensor.empty(%t) : tensor<?x2xi32>
      %sorted:3 = grouped_scaled_gemm.sort_tokens(%experts : tensor<?x2xi32>)
          outs(%e, %r, %s : tensor<4xi32>, tensor<?xi32>, tensor<?x2xi32>)
          -> tensor<4xi32>, tensor<?xi32>, tensor<?x2xi32>
      %p = tensor.empty(%slots) : tensor<?x64xbf16>
      %rows = grouped_scaled_gemm.permute(%x : tensor<?x64xbf16>)
          by(%sorted#1 : tensor<?xi32>) outs(%p : tensor<?x64xbf16>)
          -> tensor<?x64xbf16>
      return %rows, %sorted#0, %sorted#2
          : tensor<?x64xbf16>, tensor<4xi32>, tensor<?x2xi32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::nvfp4::gsg::GroupedScaledGemmDialect"];
}

def DecomposeGradientPass : Pass<"gsg-decompose-gradient"> {
  let summary = "make the gradient of an activation an operation";
  let options = [Option<"explain", "explain", "bool", /*default=*/"false",
                        "say in a remark which products are decomposed">];
  let description = [{
    Accepts any IR. Afterwards no `matmul` has `gradient_of`: it writes dy in f32,
    and a `glu_backward` follows, then a `quantize` for each result that is
    quantised. Rows outside every group are treated as the product does. On
    memrefs nothing frees the memory of dy: run the pass before the deallocation of
    buffers. No result changes.

    Before:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>)
        -> tensor<16x64xf32> {
      %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          gradient_of = <swiglu, gate = <halves, gate_first>>
          preact(%z : tensor<16x64xbf16>)
          outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
      return %d : tensor<16x64xf32>
    }
    ```

    After:

    ```mlir
    !a = !grouped_scaled_gemm.scaled<16x64, nvfp4>
    !b = !grouped_scaled_gemm.scaled<32x64, nvfp4>
    func.func @f(%a: !a, %b: !b, %z: tensor<16x64xbf16>, %c: tensor<16x64xf32>)
        -> tensor<16x64xf32> {
      %empty = tensor.empty() : tensor<16x32xf32>
      %dy = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !b)
          outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
      %d = grouped_scaled_gemm.glu_backward <swiglu, gate = <halves, gate_first>>
          (%z : tensor<16x64xbf16>) gradient(%dy : tensor<16x32xf32>)
          outs(%c : tensor<16x64xf32>) -> tensor<16x64xf32>
      return %d : tensor<16x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::nvfp4::gsg::GroupedScaledGemmDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"];
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_DECOMPOSEPASSES_TD
