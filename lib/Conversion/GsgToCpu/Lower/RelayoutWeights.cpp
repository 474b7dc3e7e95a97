//===- RelayoutWeights.cpp - relayout_weights -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of the runtime, which wants memory without gaps.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToRuntimeChecks/CheckModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::checks;
using namespace nvfp4::gsg::cpu;

namespace {

/// `memref` itself, or memory of the same extents without gaps.
Value withoutGaps(OpBuilder &builder, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getLayout().isIdentity())
    return memref;
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(memref::DimOp::create(builder, loc, memref, d));
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  return memref::AllocOp::create(builder, loc, dense, sizes);
}

struct LowerRelayoutWeights : OpRewritePattern<RelayoutWeightsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutWeightsOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !op.getInputScales() || !op.getOutScales() ||
        !isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not in storage form");
    Location loc = op.getLoc();
    ScaledType from = op.getInputType(), to = op.getResultType();
    bool isBack = from.isCoded();
    ScaledType coded = isBack ? from : to;

    Value matrices = arith::ConstantIntOp::create(rewriter, loc, 1, 64);
    if (from.getRank() > 2)
      matrices = arith::IndexCastOp::create(
          rewriter, loc, rewriter.getI64Type(),
          memref::DimOp::create(rewriter, loc, op.getInput(), 0));
    auto number = [&](int64_t value, unsigned bits) -> Value {
      return arith::ConstantIntOp::create(rewriter, loc, value, bits);
    };
    CheckModule module(op->getParentOfType<ModuleOp>());
    SmallVector<Value> arguments{
        module.text(rewriter, loc, describePlace(op)),
        number(static_cast<int64_t>(coded.getFormat()), 32),
        number(coded.getLayout() == ScaleLayout::WgmmaF16, 32),
        matrices,
        number(coded.getDimSize(coded.getRank() - 2), 64),
        number(coded.getDimSize(coded.getRank() - 1), 64)};
    SmallVector<Value> memrefs{op.getInput(), op.getInputScales(), op.getOut(),
                               op.getOutScales()};
    SmallVector<Value> dense;
    for (Value memref : memrefs) {
      dense.push_back(withoutGaps(rewriter, loc, memref));
      arguments.push_back(getAddress(rewriter, loc, dense.back()));
    }
    // The first two are read, the others written.
    for (size_t i = 0; i < 2; ++i)
      if (dense[i] != memrefs[i])
        memref::CopyOp::create(rewriter, loc, memrefs[i], dense[i]);
    StringRef name =
        isBack ? "nvfp4_relayout_weights_back" : "nvfp4_relayout_weights";
    LLVM::CallOp::create(rewriter, loc, module.function(name, arguments),
                         arguments);
    for (size_t i = 0; i < memrefs.size(); ++i) {
      if (dense[i] == memrefs[i])
        continue;
      if (i >= 2)
        memref::CopyOp::create(rewriter, loc, dense[i], memrefs[i]);
      memref::DeallocOp::create(rewriter, loc, dense[i]);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  static Value getAddress(OpBuilder &builder, Location loc, Value memref) {
    Value index =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
    Value word =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    return LLVM::IntToPtrOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), word);
  }
};

} // namespace

void nvfp4::gsg::cpu::populateRelayoutWeightsToCpuPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerRelayoutWeights>(patterns.getContext());
}
