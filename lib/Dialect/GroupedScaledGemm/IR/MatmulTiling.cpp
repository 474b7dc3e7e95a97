//===- MatmulTiling.cpp - TilingInterface of matmul ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

using namespace mlir;
using namespace nvfp4::gsg;

SmallVector<utils::IteratorType> MatmulOp::getLoopIteratorTypes() { return {}; }

SmallVector<Range> MatmulOp::getIterationDomain(OpBuilder &) { return {}; }

FailureOr<TilingResult>
MatmulOp::getTiledImplementation(OpBuilder &, ArrayRef<OpFoldResult>,
                                 ArrayRef<OpFoldResult>) {
  return failure();
}

LogicalResult MatmulOp::getResultTilePosition(OpBuilder &, unsigned,
                                              ArrayRef<OpFoldResult>,
                                              ArrayRef<OpFoldResult>,
                                              SmallVector<OpFoldResult> &,
                                              SmallVector<OpFoldResult> &) {
  return failure();
}

LogicalResult MatmulOp::getIterationDomainTileFromResultTile(
    OpBuilder &, unsigned, ArrayRef<OpFoldResult>, ArrayRef<OpFoldResult>,
    SmallVectorImpl<OpFoldResult> &, SmallVectorImpl<OpFoldResult> &) {
  return failure();
}

FailureOr<TilingResult>
MatmulOp::generateResultTileValue(OpBuilder &, unsigned, ArrayRef<OpFoldResult>,
                                  ArrayRef<OpFoldResult>) {
  return failure();
}
