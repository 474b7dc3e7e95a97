//===- FoldTensorCast.cpp - tensor.cast of operands -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The canonicalisation of the tensor dialect folds casts into every
// destination-style op by cloning it. The clone of LLVM 22 reads the first
// block of a region that has none, as `matmul` without an epilogue, and counts
// each result as that of a destination, which values of type `scaled` are not.
// This pattern does the same in place, and comes first.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
struct FoldTensorCast : OpInterfaceRewritePattern<DestinationStyleOpInterface> {
  /// Upstream's pattern has a benefit of 1.
  explicit FoldTensorCast(MLIRContext *context)
      : OpInterfaceRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(DestinationStyleOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (!isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect()))
      return rewriter.notifyMatchFailure(op, "is of another dialect");
    if (!tensor::hasFoldableTensorCastOperand(op))
      return rewriter.notifyMatchFailure(op, "no cast loses an extent");
    rewriter.modifyOpInPlace(op, [&] {
      for (OpOperand &operand : op->getOpOperands()) {
        auto cast = operand.get().getDefiningOp<tensor::CastOp>();
        if (cast && tensor::canFoldIntoConsumerOp(cast))
          operand.set(cast.getSource());
      }
    });
    // Tensors among the results are those of the destinations, in order.
    auto init = op.getDpsInitsMutable().begin();
    rewriter.setInsertionPointAfter(op);
    for (OpResult result : op->getResults()) {
      Type before = result.getType();
      if (!isa<TensorType>(before))
        continue;
      Type after = (init++)->get().getType();
      if (after == before)
        continue;
      rewriter.modifyOpInPlace(op, [&] { result.setType(after); });
      auto cast =
          tensor::CastOp::create(rewriter, op->getLoc(), before, result);
      rewriter.replaceAllUsesExcept(result, cast, cast);
    }
    return success();
  }
};
} // namespace

void GroupedScaledGemmDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<FoldTensorCast>(getContext());
}
