//===- StorageOps.cpp - In and out of the scaled type ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;

LogicalResult MakeScaledOp::verify() { return success(); }

LogicalResult SplitScaledOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
    OpaqueProperties, RegionRange, SmallVectorImpl<Type> &types) {
  auto type = dyn_cast<ScaledType>(operands[0].getType());
  if (!type)
    return failure();
  types.assign({type.getDataTensorType(), type.getScaleTensorType()});
  return success();
}

LogicalResult SplitScaledOp::verify() { return success(); }

LogicalResult SplitScaledOp::fold(FoldAdaptor,
                                  SmallVectorImpl<OpFoldResult> &results) {
  auto make = getInput().getDefiningOp<MakeScaledOp>();
  if (!make || make.getData().getType() != getData().getType() ||
      make.getScales().getType() != getScales().getType())
    return failure();
  results.assign({make.getData(), make.getScales()});
  return success();
}

ScaledType RelayoutScalesOp::getInputType() {
  return getScaledOperands(getInput(),
                           getInputScales() ? ValueRange(getInputScales())
                                            : ValueRange(),
                           getInputTypesAttr())
      .front()
      .type;
}

ScaledType RelayoutScalesOp::getResultType() {
  if (getOutType())
    return dyn_cast<ScaledType>(*getOutType());
  return getResult() ? dyn_cast<ScaledType>(getResult().getType())
                     : ScaledType();
}

LogicalResult RelayoutScalesOp::verify() { return success(); }

LogicalResult RelayoutScalesOp::fold(FoldAdaptor,
                                     SmallVectorImpl<OpFoldResult> &results) {
  if (!getResult() || getResult().getType() != getInput().getType())
    return failure();
  results.push_back(getInput());
  return success();
}

void RelayoutScalesOp::getCanonicalizationPatterns(RewritePatternSet &,
                                                   MLIRContext *) {}

LogicalResult RelayoutGateOp::verify() { return success(); }

void RelayoutGateOp::getCanonicalizationPatterns(RewritePatternSet &,
                                                 MLIRContext *) {}
