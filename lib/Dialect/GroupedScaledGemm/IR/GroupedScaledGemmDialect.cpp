//===- GroupedScaledGemmDialect.cpp - Registration --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the dialect registers, and the aliases that keep its text short.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"
#include "RowTiling.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/Exchange.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nvfp4::gsg;

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmDialect.cpp.inc"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmTypes.cpp.inc"

namespace {
/// Prints `!scaled` and `#activation` in place of the long spellings.
struct GroupedScaledGemmAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const final {
    if (!isa<ScaledType>(type))
      return AliasResult::NoAlias;
    os << "scaled";
    return AliasResult::OverridableAlias;
  }
};

/// Every operation may stand in every function.
struct GroupedScaledGemmInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void GroupedScaledGemmDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "nvfp4/Dialect/GroupedScaledGemm/IR/ExchangeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "nvfp4/Dialect/GroupedScaledGemm/IR/LaunchOps.cpp.inc"
      >();
  addInterfaces<GroupedScaledGemmAsmInterface,
                GroupedScaledGemmInlinerInterface>();
  attachDestinationStyle(getContext());
  attachRowTiling(getContext());
  declarePromisedInterfaces<
      bufferization::BufferizableOpInterface, MatmulOp, MatmulListOp,
      QuantizeOp, DequantizeOp, HadamardOp, GluOp, GluBackwardOp, SumRowsOp,
      AmaxOp, RouteOp, SortTokensOp, PermuteOp, CombineOp, RelayoutScalesOp,
      RelayoutGateOp, RelayoutWeightsOp>();
}

LogicalResult
GroupedScaledGemmDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  // op_c1: what an operation reads is part of its definition.
  if (op->getDialect() != this)
    return success();
  return op->emitOpError("expected no attribute ")
         << attribute.getName().getValue() << " beside those of the operation";
}
