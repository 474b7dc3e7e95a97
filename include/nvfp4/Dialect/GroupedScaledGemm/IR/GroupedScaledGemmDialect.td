//===- GroupedScaledGemmDialect.td - The dialect -----------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The public face of the compiler: what a grouped block-scaled product is, with
// no machine in it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_DIALECT_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_DIALECT_TD

include "mlir/IR/OpBase.td"

def GroupedScaledGemm_Dialect : Dialect {
  let name = "grouped_scaled_gemm";
  let cppNamespace = "::nvfp4::gsg";
  let summary = "grouped matrix products over block-scaled operands";
  let description = [{
    Mixture-of-Experts layers multiply many groups of tokens, of sizes known
    only on the device, by the weights of many experts. In NVFP4, MXFP4 and
    MXFP8 every operand is a tensor of 4- or 8-bit values with one scale per
    block of 16 or 32 values along K.

    This dialect states such a product in one verified operation. Its parts:

    - the type `!grouped_scaled_gemm.scaled`: values and scales as one SSA
      value, with the format and the memory layout of the scales in the type;
    - `matmul` and `matmul_list`: every form of grouping (ragged rows, masked,
      batched, ragged K, list of problems), with the epilogue that such layers
      need;
    - `quantize`, `dequantize`, `relayout_scales`, `relayout_gate`,
      `relayout_weights`: ways in and out of the type, each named after the
      convention it reproduces byte for byte;
    - `glu`, `hadamard`, `route`, `sort_tokens`, `permute`, `combine`: the rest
      of the layer.

    Operations that write tensors are in destination-passing style and exist on
    tensors and on memrefs. Values of type `scaled` exist above
    `gsg-decompose-scaled` only; below it the same operations take values and
    scales as separate tensors or memrefs ("storage form") and keep the scaled
    type as an attribute, so that nothing about the layout is ever lost.

    The meaning of each operation, with numbered constraints, is in
    docs/Spec.md; the verifier and its tests carry the same labels.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let hasCanonicalizer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Names the scaled type of which an argument or result is the values.
    static constexpr ::llvm::StringLiteral getValuesOfAttrName() {
      return "grouped_scaled_gemm.values_of";
    }
    /// Names the scaled type of which an argument or result is the scales.
    static constexpr ::llvm::StringLiteral getScalesOfAttrName() {
      return "grouped_scaled_gemm.scales_of";
    }
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_DIALECT_TD
