//===- FuseEpilogue.cpp - gsg-fuse-epilogue ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion changes no bit: a pattern applies only where the intermediate result
// is not rounded, or where the epilogue can round it the same way.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_FUSEEPILOGUEPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {

/// A copy of `matmul` with other result types; the caller completes its
/// operands.
MatmulOp cloneWithResults(MatmulOp matmul, TypeRange types,
                          PatternRewriter &rewriter) {
  OperationState state(matmul.getLoc(), matmul->getName(),
                       matmul->getOperands(), types, matmul->getAttrs());
  state.addRegion();
  auto clone = cast<MatmulOp>(rewriter.create(state));
  Region &epilogue = matmul.getEpilogue();
  if (!epilogue.empty())
    rewriter.cloneRegionBefore(epilogue, clone.getEpilogue(),
                               clone.getEpilogue().begin());
  return clone;
}

/// The product whose plain tensor result y is `value`.
FailureOr<MatmulOp> getProducer(Value value, Operation *user,
                                PatternRewriter &rewriter) {
  auto matmul = value.getDefiningOp<MatmulOp>();
  if (!matmul)
    return rewriter.notifyMatchFailure(user, "operand is no product");
  if (matmul.getQuantizedType() || matmul.getCopies())
    return rewriter.notifyMatchFailure(user, "product is quantised");
  if (matmul.getGradientOf())
    return rewriter.notifyMatchFailure(user, "product has gradient_of");
  if (value != matmul->getResult(matmul.getPreactOut() ? 1 : 0))
    return rewriter.notifyMatchFailure(user, "operand is not y of the product");
  return matmul;
}

/// True if nothing depends on what a destination holds.
bool isUndefined(Value destination) {
  return destination.getDefiningOp<tensor::EmptyOp>() != nullptr;
}

/// True if every row of the result belongs to a group.
bool coversAllRows(MatmulOp matmul) {
  return getForm(matmul.getGrouping()).coversRows();
}

/// True if rows of the result that belong to no group are zero.
bool isZeroOutsideGroups(MatmulOp matmul) {
  if (matmul.getTail() == TailMode::Zero)
    return true;
  auto fill = matmul.getOut().getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.value(), m_PosZeroFloat());
}

/// Moves `glu` into the product of its operand.
struct FuseGlu : OpRewritePattern<GluOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GluOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getResult())
      return rewriter.notifyMatchFailure(op, "operates on memrefs");
    FailureOr<MatmulOp> producer = getProducer(op.getInput(), op, rewriter);
    if (failed(producer))
      return failure();
    MatmulOp matmul = *producer;
    if (matmul.getActivationOrIdentity().getKind() != ActivationKind::Identity)
      return rewriter.notifyMatchFailure(op, "product has an activation");
    if (matmul.getPreactOut() || matmul.getAmaxOut())
      return rewriter.notifyMatchFailure(op, "product has other results");
    if (matmul.getBeta() && !matmul.getAddend())
      return rewriter.notifyMatchFailure(op, "product accumulates in place");
    if (matmul.getProb() &&
        matmul.getProbPosition() == ProbPosition::PostActivation)
      return rewriter.notifyMatchFailure(op, "prob follows the activation");
    // Rows outside every group: glu reads what the product left there, and
    // makes zeros of zeros, but for -0 with a negative beta.
    bool isZeroOutside = !coversAllRows(matmul) &&
                         isZeroOutsideGroups(matmul) &&
                         !op.getActivation().getBeta().getValue().isNegative();
    if (!coversAllRows(matmul) && !isZeroOutside &&
        !(isUndefined(matmul.getOut()) && isUndefined(op.getOut()) &&
          matmul.getTail() == TailMode::Preserve))
      return rewriter.notifyMatchFailure(op, "rows outside groups are defined");
    Type element = cast<ShapedType>(op.getInput().getType()).getElementType();
    if (element.isF16())
      return rewriter.notifyMatchFailure(op, "product is rounded to f16");

    // Step 8 of the product rounds z as its activation and its result did.
    bool roundsZ = matmul.getActivationOrIdentity().getRoundBf16();
    ActivationAttr activation = op.getActivation();
    if (element.isBF16() || roundsZ)
      activation = ActivationAttr::get(
          op.getContext(), activation.getKind(), activation.getGate(),
          activation.getAlpha(), activation.getBeta(), activation.getLimit(),
          /*roundBf16=*/true);
    // The fused product stands where glu does; other uses must follow it.
    bool keepsPreactivation = !op.getInput().hasOneUse();
    for (Operation *user : op.getInput().getUsers())
      if (user != op &&
          (user->getBlock() != op->getBlock() || user->isBeforeInBlock(op)))
        return rewriter.notifyMatchFailure(op, "the product is used before");
    // preact_out is z before step 8.
    if (keepsPreactivation && roundsZ && !element.isBF16())
      return rewriter.notifyMatchFailure(op, "other uses see bf16 in f32");
    SmallVector<Type> types;
    if (keepsPreactivation)
      types.push_back(matmul->getResult(0).getType());
    types.push_back(op.getResult().getType());

    MatmulOp fused = cloneWithResults(matmul, types, rewriter);
    if (keepsPreactivation)
      fused.getPreactOutMutable().assign(matmul.getOut());
    fused.getOutMutable().assign(op.getOut());
    fused.setActivationAttr(activation);
    fused.setMath(op.getMath());
    if (isZeroOutside)
      fused.setTail(TailMode::Zero);
    rewriter.replaceOp(op, fused->getResults().back());
    if (keepsPreactivation)
      rewriter.replaceOp(matmul, fused->getResult(0));
    else
      rewriter.eraseOp(matmul);
    return success();
  }
};

/// Moves `quantize` into the product of its operand.
struct FuseQuantize : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "not in value form");
    FailureOr<MatmulOp> producer = getProducer(op.getInput(), op, rewriter);
    if (failed(producer))
      return failure();
    MatmulOp matmul = *producer;
    if (op.getTransposed() || op.getHadamard())
      return rewriter.notifyMatchFailure(op,
                                         "the result is transposed, or of a "
                                         "Hadamard transform");
    if (op.getPerRow())
      return rewriter.notifyMatchFailure(op, "each row has a global scale");
    if (!op.getInput().hasOneUse())
      return rewriter.notifyMatchFailure(op, "the product has other uses");
    if (!cast<ShapedType>(op.getInput().getType()).getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "the product is rounded");
    if (matmul.getBeta() && !matmul.getAddend())
      return rewriter.notifyMatchFailure(op, "product accumulates in place");
    if (getForm(matmul.getGrouping()).cutsK())
      return rewriter.notifyMatchFailure(op, "gradients are not quantised");
    bool sameGroups = coversAllRows(matmul)
                          ? !op.getGroups()
                          : op.getGroups() == matmul.getGroups() &&
                                op.getGrouping() == matmul.getGrouping();
    if (!sameGroups)
      return rewriter.notifyMatchFailure(op, "groups differ");
    ScaledType type = op.getScaledResultType();
    int64_t columns = matmul.getNumOutputColumns();
    if (ShapedType::isDynamic(columns) || columns % type.getBlockSize() != 0)
      return rewriter.notifyMatchFailure(op, "blocks would be cut");

    SmallVector<Type> types(matmul->getResultTypes());
    unsigned index = matmul.getPreactOut() ? 1 : 0;
    types[index] = type;
    rewriter.setInsertionPoint(op);
    MatmulOp fused = cloneWithResults(matmul, types, rewriter);
    fused.getOutMutable().clear();
    fused.setQuantizerAttr(op.getQuantizer());
    if (op.getGlobalScale())
      fused.getGlobalScaleMutable().assign(op.getGlobalScale());
    if (op.getSeed())
      fused.getSeedMutable().assign(op.getSeed());
    rewriter.replaceOp(op, fused->getResult(index));
    for (auto [from, to] :
         llvm::zip_equal(matmul->getResults(), fused->getResults()))
      if (from.getType() == to.getType())
        rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(matmul);
    return success();
  }
};

struct FuseEpilogue : nvfp4::gsg::impl::FuseEpiloguePassBase<FuseEpilogue> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateFuseEpiloguePatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void nvfp4::gsg::populateFuseEpiloguePatterns(RewritePatternSet &patterns) {
  patterns.add<FuseGlu, FuseQuantize>(patterns.getContext());
}
