//===- QuantizationOps.cpp - Quantise, dequantise, Hadamard ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

using namespace mlir;
using namespace nvfp4::gsg;

ScaledType QuantizeOp::getScaledResultType() {
  if (ArrayAttr types = getOutTypesAttr(); types && !types.empty())
    if (auto attr = dyn_cast<TypeAttr>(types[0]))
      return dyn_cast<ScaledType>(attr.getValue());
  if (getNumResults() == 1)
    return dyn_cast<ScaledType>(getResult(0).getType());
  return {};
}

LogicalResult QuantizeOp::verify() { return success(); }

ScaledType DequantizeOp::getInputType() {
  return getScaledOperands(getInput(),
                           getInputScales() ? ValueRange(getInputScales())
                                            : ValueRange(),
                           getInputTypesAttr())
      .front()
      .type;
}

LogicalResult DequantizeOp::verify() { return success(); }

LogicalResult HadamardOp::verify() { return success(); }
