//===- CodedWeights.cpp - Weights that only sm_90a decodes ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rhs is the only operand that may be coded (storage_c11).
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/CodedWeights.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

std::string
nvfp4::gsg::explainCodedWeights(Operation *op,
                                std::optional<strategy::KernelTarget> target) {
  if (target == strategy::KernelTarget::SM90A)
    return "";
  SmallVector<ScaledOperand> weights;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    weights = getScaledOperands(matmul.getRhs(), matmul.getRhsScales(),
                                matmul.getRhsTypesAttr());
  else if (auto list = dyn_cast<MatmulListOp>(op))
    weights = getScaledOperands(list.getRhs(), list.getRhsScales(),
                                list.getRhsTypesAttr());
  for (const ScaledOperand &part : weights)
    if (part.type && part.type.isCoded())
      return ("expected target sm_90a for weights in the layout '" +
              stringifyScaleLayout(part.type.getLayout()) + "', but got " +
              (target ? strategy::stringify(*target) : "cpu") +
              "; grouped_scaled_gemm.relayout_weights brings them back to "
              "linear")
          .str();
  return "";
}
