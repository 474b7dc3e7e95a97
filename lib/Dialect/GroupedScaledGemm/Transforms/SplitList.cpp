//===- SplitList.cpp - The pass gsg-split-list ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For lists that have no kernel of their own: of one problem, or of results of
// several types.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/ListProblem.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SPLITLISTPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// A factor of problem `i`: a number, or the entry of a memref that holds one
/// for all or one a problem.
static Value getFactor(OpBuilder &b, Location loc, Value factor, int64_t i) {
  auto type = factor ? dyn_cast<MemRefType>(factor.getType()) : MemRefType();
  if (!type)
    return factor;
  SmallVector<Value> at;
  if (type.getRank() == 1)
    at.push_back(arith::ConstantIndexOp::create(
        b, loc, type.getDimSize(0) == 1 ? 0 : i));
  return memref::LoadOp::create(b, loc, factor, at);
}

static void split(MatmulListOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  for (int64_t i = 0, e = op.getOuts().size(); i < e; ++i) {
    Value alpha = getFactor(b, loc, op.getAlpha(), i);
    Value beta = getFactor(b, loc, op.getBeta(), i);
    createProblem(b, op, i, alpha, beta);
  }
  op.erase();
}

namespace {
struct SplitList : nvfp4::gsg::impl::SplitListPassBase<SplitList> {
  using SplitListPassBase::SplitListPassBase;

  void runOnOperation() override {
    getOperation()->walk([&](MatmulListOp op) {
      if (isStored(op) && (all || !hasOneKernel(op)))
        split(op);
    });
  }
};
} // namespace
