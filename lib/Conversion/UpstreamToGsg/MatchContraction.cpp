//===- MatchContraction.cpp - A contraction that is a product ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a contraction sums, and the product that its parts make.
//
//===----------------------------------------------------------------------===//

#include "MatchContraction.h"

#include "ContractionMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// True if the destination is zero before the sum.
static bool isZeroFilled(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.value(), m_AnyZeroFloat());
  return matchPattern(value, m_AnyZeroFloat());
}

/// What is added to the destination of `op` in each step; null if it is no sum.
static Value getTerm(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() == 0 ||
      op.getNumReductionLoops() + op.getNumParallelLoops() != op.getNumLoops())
    return {};
  Block *body = op.getBlock();
  auto add =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return {};
  BlockArgument sum = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  return add.getLhs() == sum   ? add.getRhs()
         : add.getRhs() == sum ? add.getLhs()
                               : Value();
}

/// The value that the body of `adder` adds to the results of `op`; null if it
/// does anything else.
static Value getBias(linalg::LinalgOp op, linalg::LinalgOp adder) {
  auto add = adder.getBlock()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  for (unsigned side = 0; add && side < 2; ++side) {
    auto argument = dyn_cast<BlockArgument>(add->getOperand(side));
    if (!argument || argument.getOwner() != adder.getBlock())
      continue;
    OpOperand *operand = adder.getMatchingOpOperand(argument);
    if (operand->get() == op->getResult(0) && adder.isDpsInput(operand) &&
        adder.getMatchingIndexingMap(operand).isIdentity())
      return add->getOperand(1 - side);
  }
  return {};
}

/// The terms of the sum that `choice` takes the results of.
std::optional<Product> ContractionMatcher::traceChosen(ElementTrace &trace,
                                                       const Product &choice) {
  if (choice.factors.size() != 1 || choice.isRounded)
    return std::nullopt;
  const Factor &factor = choice.factors.front();
  auto sum = factor.source.getDefiningOp<linalg::LinalgOp>();
  Value term = sum ? getTerm(sum) : Value();
  if (!term || sum->getBlock() != op->getBlock() || !term.getType().isF32() ||
      !isZeroFilled(sum.getDpsInitOperand(0)->get()))
    return std::nullopt;
  AffineMap out = sum.getMatchingIndexingMap(sum.getDpsInitOperand(0));
  if (!out.isProjectedPermutation() ||
      out.getNumResults() != sum.getNumParallelLoops())
    return std::nullopt;
  SmallVector<AffineExpr> inner(sum.getNumLoops());
  for (auto [expr, index] : llvm::zip_equal(out.getResults(), factor.indices))
    inner[cast<AffineDimExpr>(expr).getPosition()] = index;
  SmallVector<int64_t> extents = sum.getStaticLoopRanges();
  SmallVector<unsigned> reductions;
  sum.getReductionDims(reductions);
  for (unsigned loop : reductions) {
    inner[loop] = dim(ranges.size());
    loops[Depth].push_back(ranges.size());
    ranges.push_back(extents[loop]);
  }
  std::optional<Product> product =
      trace.trace(trace.getScalar(term, sum, inner));
  if (!product || product->mask)
    return std::nullopt;
  product->mask = choice.mask;
  chosen = sum;
  return product;
}

std::optional<Product> ContractionMatcher::traceProduct() {
  Value term = getTerm(op);
  if (!term)
    return std::nullopt;
  Type type = op.getDpsInitOperand(0)->get().getType();
  if (!isCountable(type))
    return fail(kUncountable, print(type));
  op.getReductionDims(loops[Depth]);
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    dims.push_back(dim(i));
  ElementTrace trace(context, options.moveGlobalScales,
                     groups || depth ? Slices::All : Slices::OfProducts,
                     allowLookups, allowHalves);
  std::optional<Product> product = trace.trace(trace.getScalar(term, op, dims));
  if (product && !product->isNarrow() && product->mask && product->mask->expert)
    product = traceChosen(trace, *product);
  bool isComplete = !adder || (product && traceBias(trace));
  slices.assign(trace.getSlices().begin(), trace.getSlices().end());
  lookups.assign(trace.getLookups().begin(), trace.getLookups().end());
  if (!product)
    reason = trace.getReason();
  if (!product || !product->isNarrow()) {
    if (reason.empty())
      reason = trace.getLoss();
    return std::nullopt;
  }
  if (!term.getType().isF32())
    return fail("expected a sum in f32, but got {0}", print(term.getType()));
  if (!isComplete)
    return std::nullopt;
  if (depth && !leaveDepthLoop(*product))
    return fail("expected parts of K, of tensors outside the loop over them");
  return product;
}

bool ContractionMatcher::traceBias(ElementTrace &trace) {
  AffineMap out = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!out.isProjectedPermutation() ||
      out.getNumResults() != op.getNumParallelLoops())
    return false;
  Element element = trace.getScalar(getBias(op, adder), adder,
                                    SmallVector<AffineExpr>(out.getResults()));
  if (isa_and_nonnull<arith::ExtFOp>(element.getOp()))
    element = trace.getOperand(element, 0);
  Type type = element.getType();
  if (!element.tensor || !(type.isF32() || type.isF16() || type.isBF16()))
    return false;
  biases.push_back({element.tensor, element.place, type, {}});
  return true;
}

std::optional<Arrangement> ContractionMatcher::describeBias() {
  const Factor &bias = biases[0];
  // Rows outside every group get none.
  if (groups || depth || mask || numChoices || uses(bias, Row) ||
      uses(bias, Slot) || uses(bias, Depth))
    return std::nullopt;
  SmallVector<int64_t> shape = {extents[Column]};
  SmallVector<AffineExpr> target = {dim(Column)};
  if (uses(bias, Batch)) {
    shape.insert(shape.begin(), extents[Batch]);
    target.insert(target.begin(), dim(Batch));
  }
  if (ShapedType::isDynamicShape(shape))
    return std::nullopt;
  return arrange(bias, shape, target, "a bias of columns");
}

std::optional<ScaledContraction> ContractionMatcher::match() {
  std::optional<Product> product = traceProduct();
  if (!product || !splitFactors(*product) || !takeLookup() || !groupLoops() ||
      !assignScales())
    return std::nullopt;
  for (Factor &factor : llvm::concat<Factor>(codes, scales, globals, biases))
    substitute(factor);
  if (depth)
    for (const Factor &factor : llvm::concat<Factor>(codes, scales))
      if (!readsAllDepth(factor))
        return std::nullopt;
  if (isRouted() && !leaveLookup())
    return std::nullopt;
  if (groups && !leaveLoop())
    return fail("expected slices of the rows of a group and of one matrix of "
                "weights a group, of tensors outside the loop");
  for (const Factor &factor : globals)
    if (uses(factor, Row) || uses(factor, Slot) || uses(factor, Column) ||
        uses(factor, Depth) ||
        llvm::any_of(factor.indices, [&](AffineExpr index) {
          auto split = splitSlice(index, slices.size());
          return !split || split->first >= 0;
        }))
      return fail("expected further factors to be one number a matrix, but got "
                  "one of {0}",
                  print(factor.source.getType()));

  ScaledContraction result;
  std::optional<RaisedOperand> lhs =
      hasPlainRows ? describeRows() : describe(codes[0], scales[0], Row);
  std::optional<RaisedOperand> rhs =
      lhs ? describe(codes[1], scales.back(), Column) : std::nullopt;
  if (!lhs || !rhs)
    return std::nullopt;
  if (lhs->type && (lhs->type.getBlockSize() != rhs->type.getBlockSize() ||
                    lhs->scaleType != rhs->scaleType))
    return fail("expected one block size and one type of scales, but got {0} "
                "and {1}",
                print(lhs->type), print(rhs->type));
  if (isRepeated) {
    if (ShapedType::isDynamic(extents[Batch]))
      return fail("expected a known number of matrices that share their rows");
    lhs->repeat = extents[Batch];
    if (lhs->type)
      lhs->type = ScaledType::get(
          context, {extents[Batch], extents[Row], extents[Depth]},
          lhs->type.getFormat());
  }
  result.lhs = *lhs;
  result.rhs = *rhs;
  result.kind = groups || mask || isRouted() ? GroupingKind::RaggedRows
                : loops[Batch].empty()       ? GroupingKind::Dense
                                             : GroupingKind::Batched;
  if (mask) {
    result.offsets = mask->offsets;
    result.offsetsKind =
        mask->areStarts ? OffsetsKind::Starts : OffsetsKind::Ends;
  }
  if (isRouted()) {
    result.routing = describeRouting();
    if (!result.routing)
      return std::nullopt;
  }
  result.count = extents[Batch];
  if (result.kind == GroupingKind::Batched)
    result.outShape.push_back(extents[Batch]);
  bool isDynamic = ShapedType::isDynamic(extents[Row]);
  llvm::append_values(result.outShape,
                      isDynamic ? extents[Row] : extents[Row] * extents[Slot],
                      extents[Column]);
  ArrayRef<int64_t> inner = ArrayRef(result.outShape).drop_front();
  ArrayRef<int64_t> own =
      cast<RankedTensorType>(op.getDpsInitOperand(0)->get().getType())
          .getShape();
  if (own.size() != result.outShape.size() && ShapedType::isDynamicShape(inner))
    return fail("expected a result whose inner extents are known");
  if (adder && !(result.bias = describeBias()))
    return std::nullopt;
  result.isTransposed = isTransposed;
  result.globals = std::move(globals);
  result.readsDestination = !isZeroFilled(
      depth ? depth->getDestination() : op.getDpsInitOperand(0)->get());
  if (groups && result.readsDestination != groups->readsDestination)
    return fail("expected sums that start from zero or from the destination");
  return result;
}

static std::optional<ScaledContraction>
matchContraction(linalg::LinalgOp op, const GroupLoop *groups,
                 const DepthLoop *depth, const RaiseOptions &options,
                 std::string &reason, linalg::LinalgOp adder = {}) {
  reason.clear();
  bool allowLookups = !groups && !depth;
  ContractionMatcher matcher(op, groups, depth, options, allowLookups,
                             /*allowHalves=*/true, reason, adder);
  std::optional<ScaledContraction> product = matcher.match();
  std::string ownReason;
  if (matcher.hasLookups() && !(product && product->routing)) {
    // Weights that were looked up may still be a tensor like any other.
    product = ContractionMatcher(op, groups, depth, options,
                                 /*allowLookups=*/false, /*allowHalves=*/true,
                                 ownReason, adder)
                  .match();
    if (product || reason.empty() ||
        (!matcher.isRouted() && !ownReason.empty()))
      reason = ownReason;
  }
  // Halves of bytes in another order are put in order as elements are.
  if (!product && matcher.hasOtherHalves())
    product = ContractionMatcher(op, groups, depth, options,
                                 /*allowLookups=*/false, /*allowHalves=*/false,
                                 ownReason, adder)
                  .match();
  return product;
}

Operation *nvfp4::gsg::findChosen(linalg::LinalgOp op,
                                  const RaiseOptions &options) {
  std::string reason;
  ContractionMatcher matcher(op, /*groups=*/nullptr, /*depth=*/nullptr, options,
                             /*allowLookups=*/true, /*allowHalves=*/true,
                             reason);
  return matcher.match() ? matcher.getChosen() : nullptr;
}

std::optional<ScaledContraction>
nvfp4::gsg::matchContraction(linalg::LinalgOp op, const RaiseOptions &options,
                             std::string &reason) {
  return ::matchContraction(op, nullptr, nullptr, options, reason);
}

linalg::LinalgOp nvfp4::gsg::findAdder(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || !op->hasOneUse())
    return {};
  auto adder = dyn_cast<linalg::LinalgOp>(*op->user_begin());
  // The body of a loop may run often.
  bool isAdder =
      isElementwise(adder) && adder->getBlock() == op->getBlock() &&
      getBias(op, adder) &&
      adder.getMatchingIndexingMap(adder.getDpsInitOperand(0)).isIdentity() &&
      adder->getResult(0).getType() == op->getResult(0).getType();
  return isAdder ? adder : linalg::LinalgOp();
}

std::optional<ScaledContraction>
nvfp4::gsg::matchBiased(linalg::LinalgOp op, linalg::LinalgOp adder,
                        const RaiseOptions &options) {
  std::string reason;
  return ::matchContraction(op, nullptr, nullptr, options, reason, adder);
}

std::optional<ScaledContraction>
nvfp4::gsg::matchContraction(const DepthLoop &depth,
                             const RaiseOptions &options, std::string &reason) {
  return ::matchContraction(depth.contraction, nullptr, &depth, options,
                            reason);
}

std::optional<ScaledContraction>
nvfp4::gsg::matchContraction(const GroupLoop &groups,
                             const RaiseOptions &options, std::string &reason) {
  return ::matchContraction(groups.contraction, &groups,
                            groups.depth ? &*groups.depth : nullptr, options,
                            reason);
}
