//===- RaiseGlu.cpp - SwiGLU after a product --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element is a quotient of products, in whatever order it is written:
//
//   gate * (up + beta) / (1 + exp(-alpha * gate))
//
// of two elements of one row, `gate` and `up`, perhaps clamped.
//
//===----------------------------------------------------------------------===//

#include "RaiseGlu.h"

#include "Arrange.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::gsg;

bool nvfp4::gsg::isOfProduct(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<MatmulOp>(op))
      return true;
    if (!isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

namespace {

/// An element of a product, and the bounds that it is kept in.
struct Column {
  Value source;
  Indices indices;
  std::optional<double> low, high;

  bool operator==(const Column &other) const {
    return source == other.source && indices == other.indices &&
           low == other.low && high == other.high;
  }
};

struct Glu {
  Column gate, up;
  double alpha = 1, beta = 0;
};

class GluMatcher : ElementWalker {
public:
  explicit GluMatcher(MLIRContext *context)
      : ElementWalker(context, Slices::OfProducts, /*allowLookups=*/false) {}

  /// The activation that `op` computes; nothing if it is none.
  std::optional<Glu> match(linalg::LinalgOp op);

private:
  std::optional<double> getConstant(const Element &element) {
    // JAX converts whole numbers where they are used, and torch-mlir those of
    // f64.
    APInt whole;
    if (isa_and_nonnull<arith::SIToFPOp>(element.getOp()) &&
        matchPattern(getOperand(element, 0).value, m_ConstantInt(&whole)))
      return whole.getSExtValue();
    bool losesInfo,
        isRounded = isa_and_nonnull<arith::TruncFOp>(element.getOp());
    APFloat number(APFloat::IEEEdouble());
    if (!matchPattern(isRounded ? getOperand(element, 0).value : element.value,
                      m_ConstantFloat(&number)))
      return std::nullopt;
    if (isRounded)
      number.convert(cast<FloatType>(element.getType()).getFloatSemantics(),
                     APFloat::rmNearestTiesToEven, &losesInfo);
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.convertToDouble();
  }
  /// The factors that `element` is the product of and is divided by.
  bool split(const Element &element, bool isDivisor,
             SmallVectorImpl<Element> &factors,
             SmallVectorImpl<Element> &divisors);
  /// The other operand of an operation of two, and the number.
  std::optional<std::pair<Element, double>> splitNumber(const Element &element);
  std::optional<std::pair<Column, double>> getScaled(Element element);
  struct Bounded {
    Element element;
    double bound;
    bool isHigh;
  };
  /// The operands of one side of a clamp.
  std::optional<Bounded> getBounded(const Element &element);
  std::optional<Column> getColumn(Element element);
};

} // namespace

bool GluMatcher::split(const Element &element, bool isDivisor,
                       SmallVectorImpl<Element> &factors,
                       SmallVectorImpl<Element> &divisors) {
  constexpr unsigned kMaxFactors = 8;
  if (!countStep() || factors.size() + divisors.size() > kMaxFactors)
    return false;
  Operation *op = element.getOp();
  if (isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return split(getOperand(element, 0), isDivisor, factors, divisors) &&
           split(getOperand(element, 1), isDivisor != isa<arith::DivFOp>(op),
                 factors, divisors);
  if (getConstant(element) != 1.0)
    (isDivisor ? divisors : factors).push_back(element);
  return true;
}

std::optional<std::pair<Element, double>>
GluMatcher::splitNumber(const Element &element) {
  for (unsigned side : {0, 1})
    if (std::optional<double> number = getConstant(getOperand(element, side)))
      return std::pair(getOperand(element, 1 - side), *number);
  return std::nullopt;
}

std::optional<std::pair<Column, double>>
GluMatcher::getScaled(Element element) {
  double factor = 1;
  while (countStep()) {
    Operation *op = element.getOp();
    if (isa_and_nonnull<arith::NegFOp>(op)) {
      factor = -factor;
      element = getOperand(element, 0);
    } else if (auto scaled = isa_and_nonnull<arith::MulFOp>(op)
                                 ? splitNumber(element)
                                 : std::nullopt) {
      factor *= scaled->second;
      element = scaled->first;
    } else {
      std::optional<Column> column = getColumn(element);
      return column ? std::optional(std::pair(*column, factor)) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<GluMatcher::Bounded>
GluMatcher::getBounded(const Element &element) {
  Operation *op = element.getOp();
  if (isa_and_nonnull<arith::MinimumFOp, arith::MaximumFOp>(op)) {
    auto bounded = splitNumber(element);
    return bounded ? std::optional(Bounded{bounded->first, bounded->second,
                                           isa<arith::MinimumFOp>(op)})
                   : std::nullopt;
  }
  // torch-mlir compares; it drops a NaN that torch lets through, as glu does.
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  auto compare =
      select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  if (!compare || compare.getLhs() != select.getFalseValue() ||
      compare.getRhs() != select.getTrueValue())
    return std::nullopt;
  using Predicate = arith::CmpFPredicate;
  auto isOneOf = [&](ArrayRef<Predicate> predicates) {
    return llvm::is_contained(predicates, compare.getPredicate());
  };
  bool isHigh = isOneOf({Predicate::OGT, Predicate::UGT});
  std::optional<double> bound = getConstant(getOperand(element, 1));
  if (!bound || (!isHigh && !isOneOf({Predicate::OLT, Predicate::ULT})))
    return std::nullopt;
  return Bounded{getOperand(element, 2), *bound, isHigh};
}

std::optional<Column> GluMatcher::getColumn(Element element) {
  Column column;
  while (std::optional<Bounded> bounded = getBounded(element)) {
    std::optional<double> &bound = bounded->isHigh ? column.high : column.low;
    if (!countStep() || bound)
      return std::nullopt;
    bound = bounded->bound;
    element = bounded->element;
  }
  if (isa_and_nonnull<arith::ExtFOp>(element.getOp()))
    element = getOperand(element, 0);
  // Every second column is a slice, too.
  while (auto slice = element.value.getDefiningOp<tensor::ExtractSliceOp>()) {
    if (!countStep() || element.getOp() || slice.getDroppedDims().any() ||
        ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
        ShapedType::isDynamicShape(slice.getStaticStrides()))
      return std::nullopt;
    Indices inner;
    for (auto [index, offset, stride] :
         llvm::zip_equal(element.indices, slice.getStaticOffsets(),
                         slice.getStaticStrides()))
      inner.push_back(simplify(index * stride + offset));
    element = getElement(slice.getSource(), std::move(inner));
  }
  auto permute = element.value.getDefiningOp<PermuteOp>();
  if (element.getOp() ||
      !isOfProduct(permute ? permute.getInput() : element.value))
    return std::nullopt;
  column.source = element.value;
  column.indices = element.indices;
  return column;
}

std::optional<Glu> GluMatcher::match(linalg::LinalgOp op) {
  Indices loops;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    loops.push_back(getAffineDimExpr(i, context));
  Element root =
      getScalar(op.getBlock()->getTerminator()->getOperand(0), op, loops);
  if (isa_and_nonnull<arith::TruncFOp>(root.getOp()))
    root = getOperand(root, 0);
  SmallVector<Element> factors, divisors;
  if (!root.getType().isF32() ||
      !split(root, /*isDivisor=*/false, factors, divisors) ||
      factors.size() != 2 || divisors.size() != 1 ||
      !isa_and_nonnull<arith::AddFOp>(divisors[0].getOp()))
    return std::nullopt;
  auto one = splitNumber(divisors[0]);
  if (!one || one->second != 1 ||
      !isa_and_nonnull<math::ExpOp>(one->first.getOp()))
    return std::nullopt;
  auto scaled = getScaled(getOperand(one->first, 0));
  if (!scaled || scaled->second >= 0)
    return std::nullopt;
  Glu glu;
  glu.alpha = -scaled->second;
  for (unsigned i : {0, 1}) {
    std::optional<Column> gate = getColumn(factors[i]);
    if (!gate || !(*gate == scaled->first))
      continue;
    Element up = factors[1 - i];
    if (isa_and_nonnull<arith::AddFOp>(up.getOp())) {
      auto sum = splitNumber(up);
      if (!sum)
        return std::nullopt;
      glu.beta = sum->second;
      up = sum->first;
    }
    std::optional<Column> column = getColumn(up);
    if (!column || column->source != gate->source)
      return std::nullopt;
    glu.gate = *gate;
    glu.up = *column;
    return glu;
  }
  return std::nullopt;
}

/// The number of a row of all but the last dimension, from 0.
static AffineExpr linearize(ArrayRef<AffineExpr> indices,
                            ArrayRef<int64_t> shape) {
  AffineExpr number = indices[0] * 0;
  for (size_t i = 0; i + 1 < indices.size(); ++i)
    number = number * shape[i] + indices[i];
  return number;
}

/// Where the columns lie; null if they are no pairs of one row of `source`,
/// whose rows are those of the result.
static GateAttr getGate(const Glu &glu, ArrayRef<int64_t> shape) {
  auto source = cast<RankedTensorType>(glu.gate.source.getType()).getShape();
  MLIRContext *context = glu.gate.source.getContext();
  int64_t columns = shape.back();
  if (ShapedType::isDynamicShape(source) || ShapedType::isDynamicShape(shape) ||
      source.back() != 2 * columns)
    return {};
  Indices dims;
  for (size_t i = 0; i < shape.size(); ++i)
    dims.push_back(getAffineDimExpr(i, context));
  AffineExpr row = simplify(linearize(dims, shape), shape);
  for (const Column *column : {&glu.gate, &glu.up})
    if (simplify(linearize(column->indices, source), shape) != row)
      return {};
  AffineExpr last = dims.back();
  auto isAt = [&](const Column &column, AffineExpr place) {
    return simplify(column.indices.back(), shape) == simplify(place);
  };
  for (GateOrder order : {GateOrder::GateFirst, GateOrder::UpFirst}) {
    bool isFirst = order == GateOrder::GateFirst;
    const Column &first = isFirst ? glu.gate : glu.up;
    const Column &second = isFirst ? glu.up : glu.gate;
    if (isAt(first, last) && isAt(second, last + columns))
      return GateAttr::get(context, 0, order);
    if (isAt(first, last * 2) && isAt(second, last * 2 + 1))
      return GateAttr::get(context, 1, order);
  }
  return {};
}

/// `glu` of `source`; before its rows are permuted, where they are.
static Value makeGlu(OpBuilder &b, Location loc, ActivationAttr activation,
                     Value source, Type element) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(source.getType()).getShape());
  shape.back() /= 2;
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  auto permute = source.getDefiningOp<PermuteOp>();
  if (!permute)
    return GluOp::create(b, loc, empty.getType(), activation, source,
                         MathMode::Strict, empty)
        .getResult();
  // A row of zeros stays one.
  Value inner = makeGlu(b, loc, activation, permute.getInput(), element);
  return PermuteOp::create(b, loc, empty.getType(), inner,
                           permute.getTokenOfRow(), empty)
      .getResult();
}

namespace {
struct RaiseGlu : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    auto fail = [&](const char *why) {
      return rewriter.notifyMatchFailure(op, why);
    };
    if (!isElementwise(op) || op.getNumLoops() == 0 ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return fail("is no elementwise operation");
    if (isRoundedLater(op))
      return fail("is raised with the rounding of its result");
    std::optional<Glu> glu = GluMatcher(op.getContext()).match(op);
    if (!glu)
      return fail("is no SwiGLU of a product");
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    GateAttr gate = getGate(*glu, type.getShape());
    if (!gate)
      return fail("expected gate and up as halves of a row or side by side, of "
                  "known extents");
    // One limit for both, from above alone for the gate.
    std::optional<double> limit = glu->gate.high;
    if (glu->gate.low || glu->up.high != limit ||
        glu->up.low != (limit ? std::optional(-*limit) : std::nullopt) ||
        limit.value_or(1) <= 0)
      return fail("expected min(gate, limit) and clamp(up, -limit, limit)");
    auto number = [&](double value) { return rewriter.getF32FloatAttr(value); };
    auto activation = ActivationAttr::get(
        op.getContext(), ActivationKind::SwiGLU, gate, number(glu->alpha),
        number(glu->beta), limit ? number(*limit) : FloatAttr(),
        /*roundBf16=*/false);
    Value result = makeGlu(rewriter, op.getLoc(), activation, glu->gate.source,
                           type.getElementType());
    rewriter.replaceOp(op,
                       reshape(rewriter, op.getLoc(), result, type.getShape()));
    return success();
  }

private:
  static bool isRoundedLater(linalg::LinalgOp op) {
    if (!op->hasOneUse())
      return false;
    auto user = dyn_cast<linalg::LinalgOp>(*op->user_begin());
    Operation *last =
        user && isElementwise(user)
            ? user.getBlock()->getTerminator()->getOperand(0).getDefiningOp()
            : nullptr;
    return isa_and_nonnull<arith::TruncFOp>(last) &&
           isa<BlockArgument>(last->getOperand(0));
  }
};
} // namespace

void nvfp4::gsg::populateRaiseGluPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseGlu>(patterns.getContext());
}
