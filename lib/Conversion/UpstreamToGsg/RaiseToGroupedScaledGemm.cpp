//===- RaiseToGroupedScaledGemm.cpp - Upstream's spelling to ours -*- C++
//-*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass and its pattern: operands arranged, paired with their scales and
// multiplied.
//
//===----------------------------------------------------------------------===//

#include "ScaledContraction.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_RAISETOGROUPEDSCALEDGEMMPASS
#include "nvfp4/Conversion/UpstreamToGsg/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// [N, ..] with `count` times the tensor `source`, which is that if it is 0.
static Value repeat(OpBuilder &b, Location loc, Value source, int64_t count) {
  if (!count)
    return source;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, source);
  sizes.insert(sizes.begin(), b.getIndexAttr(count));
  Value empty = tensor::EmptyOp::create(
      b, loc, sizes, cast<RankedTensorType>(source.getType()).getElementType());
  return linalg::BroadcastOp::create(b, loc, source, empty,
                                     ArrayRef<int64_t>{0})
      ->getResult(0);
}

static Value makeOperand(OpBuilder &b, Location loc,
                         const RaisedOperand &operand) {
  Value data = arrange(b, loc, operand.data);
  if (!operand.type)
    return repeat(b, loc, data, operand.repeat);
  if (!operand.type.isFP4())
    data = bitcastElements(b, loc, data, operand.codeType);
  else if (!operand.isPacked)
    data = packNibbles(b, loc, data);
  Value scales = bitcastElements(b, loc, arrange(b, loc, operand.scales),
                                 operand.scaleType);
  return MakeScaledOp::create(b, loc, operand.type,
                              repeat(b, loc, data, operand.repeat),
                              repeat(b, loc, scales, operand.repeat));
}

/// The product of the further factors of matrix `number`, in f32.
static Value multiplyGlobals(OpBuilder &b, Location loc,
                             ArrayRef<Factor> globals, Value number) {
  Value product;
  for (const Factor &factor : globals) {
    Value value = factor.source;
    if (isa<RankedTensorType>(value.getType())) {
      SmallVector<Value> indices;
      for (AffineExpr index : factor.indices)
        indices.push_back(
            isa<AffineConstantExpr>(index)
                ? arith::ConstantIndexOp::create(
                      b, loc, cast<AffineConstantExpr>(index).getValue())
                      .getResult()
                : affine::AffineApplyOp::create(
                      b, loc, AffineMap::get(1, 0, index), number));
      value = tensor::ExtractOp::create(b, loc, value, indices);
    }
    unsigned width = value.getType().getIntOrFloatBitWidth();
    if (width < 32)
      value = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
    else if (width > 32)
      value = arith::TruncFOp::create(b, loc, b.getF32Type(), value);
    product = product ? arith::MulFOp::create(b, loc, product, value) : value;
  }
  return product;
}

/// `alpha`: nothing, one number, or one a matrix.
static Value makeAlpha(OpBuilder &b, Location loc,
                       const ScaledContraction &product, Value destination) {
  if (product.globals.empty())
    return {};
  bool isUniform = llvm::all_of(product.globals, [](const Factor &factor) {
    return llvm::none_of(factor.indices, [](AffineExpr index) {
      return index.isFunctionOfDim(0);
    });
  });
  if (isUniform)
    return multiplyGlobals(b, loc, product.globals, Value());
  SmallVector<Value> sizes;
  if (ShapedType::isDynamic(product.count))
    sizes.push_back(tensor::DimOp::create(b, loc, destination, 0));
  return tensor::GenerateOp::create(
      b, loc, RankedTensorType::get({product.count}, b.getF32Type()), sizes,
      [&](OpBuilder &nested, Location, ValueRange indices) {
        tensor::YieldOp::create(
            nested, loc,
            multiplyGlobals(nested, loc, product.globals, indices[0]));
      });
}

/// The product, with the offsets of its groups or null.
static Value makeProduct(OpBuilder &b, Location loc,
                         const ScaledContraction &product, OffsetsKind offsets,
                         Value groups, Value out) {
  Value alpha = makeAlpha(b, loc, product, out);
  Value beta;
  if (product.readsDestination)
    beta = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0f));
  auto grouping = GroupingAttr::get(b.getContext(), product.kind, offsets, 1);
  Value lhs = makeOperand(b, loc, product.lhs);
  Value rhs = makeOperand(b, loc, product.rhs);
  return MatmulOp::create(
             b, loc, out.getType(), grouping, groups, lhs,
             /*lhs_scales=*/ValueRange(), /*lhs_types=*/ArrayAttr(), rhs,
             /*rhs_scales=*/ValueRange(), /*rhs_types=*/ArrayAttr(), alpha,
             /*bias=*/Value(), /*prob=*/Value(), ProbPosition::PostActivation,
             beta, /*addend=*/Value(), ActivationAttr(),
             /*outer_gate=*/GateAttr(), /*activation_params=*/Value(),
             /*row=*/ValueRange(), /*column=*/ValueRange(),
             /*group=*/ValueRange(), QuantizerAttr(), /*global_scale=*/Value(),
             /*seed=*/Value(), MathMode::Strict, TailMode::Preserve,
             Determinism::Deterministic, StrategyAttr(),
             /*expected_rows=*/IntegerAttr(), /*preact_out=*/Value(), out,
             /*out_scales=*/Value(), /*out_types=*/ArrayAttr(),
             /*amax_out=*/Value())
      ->getResult(0);
}

namespace {

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
    Location loc = op.getLoc();
    Value init = op.getDpsInitOperand(0)->get();
    auto type = cast<RankedTensorType>(init.getType());
    bool isReshaped =
        type.getRank() != static_cast<int64_t>(product->outShape.size());
    Value out =
        isReshaped ? reshape(rewriter, loc, init, product->outShape) : init;
    Value result = makeProduct(rewriter, loc, *product, product->offsetsKind,
                               product->offsets, out);
    if (isReshaped)
      result = reshape(rewriter, loc, result, type.getShape());
    rewriter.replaceOp(op, result);
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
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
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
  patterns.add<RaiseContraction, RaiseGroupLoop>(patterns.getContext(),
                                                 options);
}

std::optional<std::string>
nvfp4::gsg::explainNotRaised(Operation *op, const RaiseOptions &options) {
  auto contraction = dyn_cast<linalg::LinalgOp>(op);
  std::string reason;
  if (!contraction || matchContraction(contraction, options, reason) ||
      reason.empty())
    return std::nullopt;
  return reason;
}
