//===- Passes.td - Exporters' output as linalg -------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// convert-stablehlo-to-linalg.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_STABLEHLOTOLINALG_PASSES_TD
#define NVFP4_CONVERSION_STABLEHLOTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertStablehloToLinalgPass : Pass<"convert-stablehlo-to-linalg", "::mlir::ModuleOp"> {
  let summary = "make linalg, tensor and arith of what JAX and torch export";
  let description = [{
    Accepts operations of StableHLO and CHLO on tensors of static shape, in the
    generic form and with `--allow-unregistered-dialect`, because LLVM does not
    hold these dialects. Afterwards there are none: each is an operation of
    `linalg` or `tensor` with `arith` and `math` in its body, and integers have no
    sign. An operation or a form that the pass does not know is an error that
    names it; the pass names all unknown operations at once.

    It converts what layers of a language model consist of: elementwise
    operations, `convert` and `bitcast_convert`, constants and `iota`, broadcasts,
    reshapes, transpositions, slices (also dynamic ones), concatenation and
    padding; `dot_general` and `chlo.ragged_dot` by groups of rows; `reduce` and
    `reduce_window`; `gather` and `scatter`; `sort` and `chlo.top_k`; and
    `optimization_barrier`, of which nothing is left. A `composite` becomes a call
    of its decomposition, that of `chlo.ragged_dot` what this operation becomes.

    The spelling is one that `raise-to-grouped-scaled-gemm` follows:
    `dot_general` is one `linalg.generic` with sums in f32 also where the result
    is bf16 or f16 and is rounded after it. Sums keep no particular order, as in
    StableHLO. Integers divided by zero give -1, with themselves as the remainder;
    the least number divided by -1 is itself, with a remainder of 0. `sort` counts
    for each element those before it, which takes the square of the extent; it is
    always stable.

    Before:

    ```
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<
           lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}>
         : (tensor<8x64xbf16>, tensor<32x64xbf16>) -> tensor<8x32xf32>
    ```

    After:

    ```mlir
    #x = affine_map<(m, n, k) -> (m, k)>
    #w = affine_map<(m, n, k) -> (n, k)>
    #y = affine_map<(m, n, k) -> (m, n)>
    func.func @f(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xf32> {
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<8x32xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x32xf32>) -> tensor<8x32xf32>
      %0 = linalg.generic {indexing_maps = [#x, #w, #y],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%x, %w : tensor<8x64xbf16>, tensor<32x64xbf16>)
          outs(%init : tensor<8x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %sum: f32):
        %aw = arith.extf %a : bf16 to f32
        %bw = arith.extf %b : bf16 to f32
        %p = arith.mulf %aw, %bw : f32
        %s = arith.addf %sum, %p : f32
        linalg.yield %s : f32
      } -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // NVFP4_CONVERSION_STABLEHLOTOLINALG_PASSES_TD
