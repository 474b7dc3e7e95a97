//===- RaiseToGroupedScaledGemm.cpp - Upstream's spelling to ours -*- C++
//-*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass and its patterns: a contraction, and loops over parts of K and over
// groups.
//
//===----------------------------------------------------------------------===//

#include "MakeProduct.h"
#include "MatchContraction.h"
#include "RaiseGlu.h"
#include "TosaProduct.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_RAISETOGROUPEDSCALEDGEMMPASS
#include "nvfp4/Conversion/UpstreamToGsg/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

namespace {

/// `value` with its last two dimensions exchanged.
static Value transpose(PatternRewriter &rewriter, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  auto order = llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  std::swap(shape.end()[-1], shape.end()[-2]);
  std::swap(order.end()[-1], order.end()[-2]);
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
  return linalg::TransposeOp::create(rewriter, loc, value, empty, order)
      ->getResult(0);
}

/// As `makeResult`, where the rows follow the columns.
static Value makeTransposedResult(PatternRewriter &rewriter, Location loc,
                                  const ScaledContraction &product,
                                  Value init) {
  auto type = cast<RankedTensorType>(init.getType());
  Value out;
  if (product.readsDestination) {
    SmallVector<int64_t> shape(product.outShape);
    std::swap(shape.end()[-1], shape.end()[-2]);
    out = transpose(rewriter, loc, reshape(rewriter, loc, init, shape));
  } else {
    Value empty = tensor::EmptyOp::create(rewriter, loc, product.outShape,
                                          type.getElementType());
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
    out = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
  }
  Value result =
      transpose(rewriter, loc,
                makeProduct(rewriter, loc, product, product.offsetsKind,
                            product.offsets, out));
  return reshape(rewriter, loc, result, type.getShape());
}

/// `product`, which adds to or replaces `init`.
static Value makeResult(PatternRewriter &rewriter, Location loc,
                        const ScaledContraction &product, Value init) {
  if (product.isTransposed)
    return makeTransposedResult(rewriter, loc, product, init);
  auto type = cast<RankedTensorType>(init.getType());
  bool isReshaped =
      product.routing ||
      type.getRank() != static_cast<int64_t>(product.outShape.size());
  Value out =
      isReshaped ? reshape(rewriter, loc, init, product.outShape) : init;
  Value result = product.routing
                     ? makeRoutedProduct(rewriter, loc, product, out)
                     : makeProduct(rewriter, loc, product, product.offsetsKind,
                                   product.offsets, out);
  return isReshaped ? reshape(rewriter, loc, result, type.getShape()) : result;
}

struct RaiseContraction : OpInterfaceRewritePattern<linalg::LinalgOp> {
  RaiseContraction(MLIRContext *context, const RaiseOptions &options)
      : OpInterfaceRewritePattern(context), options(options) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    std::string reason;
    std::optional<ScaledContraction> product =
        matchContraction(op, options, reason);
    if (!product)
      return rewriter.notifyMatchFailure(
          op, reason.empty() ? "no sum of products of scaled values" : reason);
    if (isChosenFrom(op))
      return rewriter.notifyMatchFailure(op, "is one product with the choice "
                                             "of an expert for each row");
    linalg::LinalgOp adder = findAdder(op);
    std::optional<ScaledContraction> biased =
        adder ? matchBiased(op, adder, options) : std::nullopt;
    if (biased)
      rewriter.setInsertionPoint(adder);
    Value result =
        makeResult(rewriter, op.getLoc(), biased ? *biased : *product,
                   op.getDpsInitOperand(0)->get());
    if (biased)
      rewriter.replaceOp(adder, result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  /// True if all that the results are for is a choice of some of them.
  bool isChosenFrom(linalg::LinalgOp op) const {
    constexpr unsigned kMaxUses = 8;
    Operation *user = op;
    for (unsigned i = 0; i < kMaxUses; ++i) {
      if (user->getNumResults() != 1 || !user->hasOneUse())
        return false;
      user = *user->user_begin();
      auto sum = dyn_cast<linalg::LinalgOp>(user);
      if (sum && sum.getNumReductionLoops())
        return findChosen(sum, options) == op;
    }
    return false;
  }

  RaiseOptions options;
};

struct RaiseDepthLoop : OpRewritePattern<scf::ForOp> {
  RaiseDepthLoop(MLIRContext *context, const RaiseOptions &options)
      : OpRewritePattern(context), options(options) {}

  LogicalResult matchAndRewrite(scf::ForOp loop,
                                PatternRewriter &rewriter) const override {
    std::optional<DepthLoop> depth = matchDepthLoop(loop);
    if (!depth || depth->insert)
      return rewriter.notifyMatchFailure(loop, "no loop over parts of K");
    std::string reason;
    std::optional<ScaledContraction> product =
        matchContraction(*depth, options, reason);
    if (!product)
      return rewriter.notifyMatchFailure(
          loop,
          reason.empty() ? "no sum of products of scaled values" : reason);
    rewriter.replaceOp(loop, makeResult(rewriter, depth->contraction.getLoc(),
                                        *product, depth->getDestination()));
    return success();
  }

private:
  RaiseOptions options;
};

struct RaiseGroupLoop : OpRewritePattern<scf::ForOp> {
  RaiseGroupLoop(MLIRContext *context, const RaiseOptions &options)
      : OpRewritePattern(context), options(options) {}

  LogicalResult matchAndRewrite(scf::ForOp loop,
                                PatternRewriter &rewriter) const override {
    std::optional<GroupLoop> groups = matchGroupLoop(loop);
    if (!groups)
      return rewriter.notifyMatchFailure(loop, "no loop over groups of rows");
    std::string reason;
    std::optional<ScaledContraction> product =
        matchContraction(*groups, options, reason);
    if (!product)
      return rewriter.notifyMatchFailure(
          loop,
          reason.empty() ? "no sum of products of scaled values" : reason);
    Location loc = groups->contraction.getLoc();
    Value result = makeProduct(rewriter, loc, *product, groups->kind,
                               makeGroups(rewriter, loc, *groups),
                               loop.getInitArgs()[groups->result]);
    rewriter.replaceAllUsesWith(loop.getResult(groups->result), result);
    rewriter.eraseOp(loop);
    return success();
  }

private:
  RaiseOptions options;
};

/// The sizes that alone keep the values that they are of.
static SmallVector<Operation *> findLastingSizes(Operation *root) {
  SmallVector<Operation *> sizes;
  auto isKnown = [](Operation *user) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
    auto type =
        dim ? dyn_cast<RankedTensorType>(dim.getSource().getType()) : nullptr;
    return index && type && *index >= 0 && *index < type.getRank();
  };
  root->walk([&](tensor::DimOp dim) {
    Operation *source = dim.getSource().getDefiningOp();
    if (source && llvm::all_of(source->getUsers(), isKnown))
      sizes.push_back(dim);
  });
  return sizes;
}

struct RaiseToGroupedScaledGemmPass
    : nvfp4::gsg::impl::RaiseToGroupedScaledGemmPassBase<
          RaiseToGroupedScaledGemmPass> {
  using RaiseToGroupedScaledGemmPassBase::RaiseToGroupedScaledGemmPassBase;

  void runOnOperation() override {
    RaiseOptions options;
    options.moveGlobalScales = moveGlobalScales;
    RewritePatternSet patterns(&getContext());
    populateRaiseToGroupedScaledGemmPatterns(patterns, options);
    // Loops come before what is in them. Only what the patterns make dead may
    // change besides.
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true)
        .enableFolding(false)
        .enableConstantCSE(false)
        .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    bool isRaised = false;
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     config, &isRaised)))
      return signalPassFailure();
    if (isRaised) {
      SmallVector<Operation *> sizes = findLastingSizes(getOperation());
      RewritePatternSet resolve(&getContext());
      memref::populateResolveRankedShapedTypeResultDimsPatterns(resolve);
      if (failed(applyOpPatternsGreedily(sizes, std::move(resolve), config)))
        return signalPassFailure();
    }
    if (explain)
      getOperation()->walk([&](Operation *op) {
        if (std::optional<std::string> reason = explainNotRaised(op, options))
          op->emitRemark("not raised: ") << *reason;
      });
  }
};

} // namespace

void nvfp4::gsg::populateRaiseToGroupedScaledGemmPatterns(
    RewritePatternSet &patterns, const RaiseOptions &options) {
  patterns.add<RaiseContraction, RaiseDepthLoop, RaiseGroupLoop>(
      patterns.getContext(), options);
  populateWriteOutTosaProductPatterns(patterns);
  populateRaiseGluPatterns(patterns);
}

/// Why an operation on the elements of a product stays after it.
static std::optional<std::string> explainEpilogue(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() != 0 ||
      llvm::none_of(op.getDpsInputs(), isOfProduct))
    return std::nullopt;
  return "expected glu or quantize behind a product, which gsg-fuse-epilogue "
         "moves into its epilogue, but got " +
         op->getName().getStringRef().str() +
         ", which is a loop of its own over the result";
}

std::optional<std::string>
nvfp4::gsg::explainNotRaised(Operation *op, const RaiseOptions &options) {
  auto contraction = dyn_cast<linalg::LinalgOp>(op);
  if (!contraction)
    return explainTosaProduct(op);
  if (std::optional<std::string> reason = explainEpilogue(contraction))
    return reason;
  std::string reason;
  if (matchContraction(contraction, options, reason) || reason.empty())
    return std::nullopt;
  return reason;
}
