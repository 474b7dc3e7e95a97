//===- ArgumentAttributes.cpp - values_of and scales_of ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes by which the two halves of what was a scaled argument or
// result of a function name their type. An entry point is described to its
// callers from them, so they must be true.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// arg_c1 to arg_c3: `attribute`, on `type`, which diagnostics call `what` and
/// number, is true.
static LogicalResult verifyHalf(Operation *op, NamedAttribute attribute,
                                Type type, StringRef what, unsigned index) {
  bool isValues =
      attribute.getName() == GroupedScaledGemmDialect::getValuesOfAttrName();
  // arg_c1
  if (!isValues &&
      attribute.getName() != GroupedScaledGemmDialect::getScalesOfAttrName())
    return op->emitOpError("expected values_of or scales_of of "
                           "grouped_scaled_gemm on ")
           << what << " " << index << ", but got " << attribute.getName();
  auto typeAttr = dyn_cast<TypeAttr>(attribute.getValue());
  auto scaled = typeAttr ? dyn_cast<ScaledType>(typeAttr.getValue()) : nullptr;
  // arg_c2
  if (!scaled)
    return op->emitOpError("expected ")
           << attribute.getName() << " of " << what << " " << index
           << " to be a type scaled, but got " << attribute.getValue();
  RankedTensorType wanted =
      isValues ? scaled.getDataTensorType() : scaled.getScaleTensorType();
  auto shaped = dyn_cast<ShapedType>(type);
  // arg_c3
  if (!isa<RankedTensorType, MemRefType>(type) ||
      shaped.getShape() != wanted.getShape() ||
      shaped.getElementType() != wanted.getElementType())
    return op->emitOpError("expected ")
           << what << " " << index << ", " << (isValues ? "values" : "scales")
           << " of " << scaled << ", to be " << wanted
           << " or such a memref, but got " << type;
  return success();
}

/// The function that `op` is, where its arguments are still tensors or memrefs:
/// the LLVM dialect has several arguments a descriptor and repeats the
/// attributes on each.
static FunctionOpInterface getFunction(Operation *op) {
  if (op->getName().getDialectNamespace() == "llvm")
    return {};
  return dyn_cast<FunctionOpInterface>(op);
}

LogicalResult GroupedScaledGemmDialect::verifyRegionArgAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  FunctionOpInterface function = getFunction(op);
  return success(
      !function ||
      succeeded(verifyHalf(op, attribute, function.getArgumentTypes()[index],
                           "argument", index)));
}

LogicalResult GroupedScaledGemmDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  FunctionOpInterface function = getFunction(op);
  return success(
      !function ||
      succeeded(verifyHalf(op, attribute, function.getResultTypes()[index],
                           "result", index)));
}
