//===- CodedWeights.cpp - Weights that few targets decode -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rhs is the only operand that may be coded (storage_c11).
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/CodedWeights.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/KernelTarget/KernelTarget.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

std::string
nvfp4::gsg::explainCodedWeights(Operation *op,
                                const strategy::KernelTarget *target) {
  auto decodes = [](const strategy::KernelTarget &each) {
    return each.getFeatures().packedWeights;
  };
  if (target && decodes(*target))
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
      return ("expected target " + strategy::listGpus("", decodes) +
              " for weights in the layout '" +
              stringifyScaleLayout(part.type.getLayout()) + "', but got " +
              (target ? target->getFamilyName() : "cpu") +
              "; grouped_scaled_gemm.relayout_weights brings them back to "
              "linear")
          .str();
  return "";
}
