//===- Origin.cpp - Where tokens and buffers come from ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows values through views, loops and branches to what made them.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// One step back; null at an origin.
static Value stepBack(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast_or_null<LoopLikeOpInterface>(arg.getOwner()->getParentOp());
    if (!loop)
      return {};
    OpOperand *init = loop.getTiedLoopInit(arg);
    return init ? init->get() : Value();
  }
  auto result = cast<OpResult>(value);
  if (auto view = dyn_cast<ViewLikeOpInterface>(result.getOwner()))
    return view.getViewSource();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(result.getOwner())) {
    OpOperand *init = loop.getTiedLoopInit(result);
    return init ? init->get() : Value();
  }
  if (auto branch = dyn_cast<scf::IfOp>(result.getOwner()))
    return branch.thenYield().getOperand(result.getResultNumber());
  return {};
}

Value nvfp4::warpspec::getOrigin(Value value) {
  while (Value before = stepBack(value))
    value = before;
  return value;
}

Operation *nvfp4::warpspec::getOpener(Value token) {
  Operation *opener = getOrigin(token).getDefiningOp();
  return isa_and_nonnull<AcquireOp, WaitOp>(opener) ? opener : nullptr;
}

Operation *nvfp4::warpspec::getSlotOpener(Value buffer) {
  auto result = dyn_cast<OpResult>(getOrigin(buffer));
  if (!result || result.getResultNumber() == 0)
    return nullptr;
  return isa<AcquireOp, WaitOp>(result.getOwner()) ? result.getOwner()
                                                   : nullptr;
}

PipelineOp nvfp4::warpspec::getPipelineOp(Value pipeline) {
  return pipeline.getDefiningOp<PipelineOp>();
}

PipelineOp nvfp4::warpspec::getPipelineOf(Value token) {
  Operation *opener = getOpener(token);
  return opener ? getPipelineOp(opener->getOperand(0)) : PipelineOp();
}
