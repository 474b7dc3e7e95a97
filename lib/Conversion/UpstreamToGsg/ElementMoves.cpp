//===- ElementMoves.cpp - Where an element comes from -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that move whole elements: casts, slices, reshapes, broadcasts and
// transpositions become arithmetic on the indices of their sources.
//
//===----------------------------------------------------------------------===//

#include "Element.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nvfp4::gsg;

/// No dimension of a trace has a higher number.
static constexpr unsigned kMaxDims = 64;

AffineExpr nvfp4::gsg::simplify(AffineExpr expr) {
  return simplifyAffineExpr(expr, kMaxDims, kMaxSymbols);
}

bool nvfp4::gsg::isCountable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t count = 1;
  return !tensor || llvm::all_of(tensor.getShape(), [&](int64_t size) {
    return size <= 1 || !llvm::MulOverflow(count, size, count);
  });
}

/// The largest value of `expr`, which is not negative; nothing if either is not
/// known.
static std::optional<int64_t> getMaximum(AffineExpr expr,
                                         ArrayRef<int64_t> extents) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() < 0 ? std::nullopt
                                   : std::optional(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    bool isKnown =
        dim.getPosition() < extents.size() && extents[dim.getPosition()] > 0;
    return isKnown ? std::optional(extents[dim.getPosition()] - 1)
                   : std::nullopt;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> a = getMaximum(binary.getLHS(), extents);
  std::optional<int64_t> b = getMaximum(binary.getRHS(), extents);
  AffineExprKind kind = expr.getKind();
  if (kind == AffineExprKind::Mod && b && *b > 0 &&
      isa<AffineConstantExpr>(binary.getRHS()))
    return std::min(a.value_or(*b), *b - 1);
  if (!a || !b)
    return std::nullopt;
  if (kind == AffineExprKind::FloorDiv)
    return isa<AffineConstantExpr>(binary.getRHS()) && *b > 0
               ? std::optional(*a / *b)
               : std::nullopt;
  int64_t result;
  bool overflows = kind == AffineExprKind::Add
                       ? llvm::AddOverflow(*a, *b, result)
                       : llvm::MulOverflow(*a, *b, result);
  bool isKnown = kind == AffineExprKind::Add || kind == AffineExprKind::Mul;
  return isKnown && !overflows ? std::optional(result) : std::nullopt;
}

/// `expr` without divisions by more than what is divided.
static AffineExpr foldDivisions(AffineExpr expr, ArrayRef<int64_t> extents) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = foldDivisions(binary.getLHS(), extents);
  AffineExpr rhs = foldDivisions(binary.getRHS(), extents);
  bool isMod = expr.getKind() == AffineExprKind::Mod;
  auto number = dyn_cast<AffineConstantExpr>(rhs);
  if (number && (isMod || expr.getKind() == AffineExprKind::FloorDiv))
    if (std::optional<int64_t> most = getMaximum(lhs, extents);
        most && *most < number.getValue())
      return isMod ? lhs : getAffineConstantExpr(0, expr.getContext());
  return getAffineBinaryOpExpr(expr.getKind(), lhs, rhs);
}

AffineExpr nvfp4::gsg::simplify(AffineExpr expr, ArrayRef<int64_t> extents) {
  return simplify(foldDivisions(simplify(expr), extents));
}

bool nvfp4::gsg::isElementwise(linalg::LinalgOp op) {
  return op && op.hasPureTensorSemantics() && op.getNumDpsInits() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation();
}

Operation *Element::getOp() const {
  Operation *op = value.getDefiningOp();
  if (op && owner ? op->getBlock() != owner.getBlock() : !op)
    return nullptr;
  StringRef dialect = op->getName().getDialectNamespace();
  bool isScalar = dialect == "arith" || dialect == "math" ||
                  (owner && isa<linalg::IndexOp, tensor::ExtractOp>(op));
  return isScalar && !isa<arith::ConstantOp>(op) ? op : nullptr;
}

Element ElementWalker::getScalar(Value value, linalg::LinalgOp op,
                                 ArrayRef<AffineExpr> loops) {
  Element element{value, op, Indices(loops), {}, {}};
  settle(element);
  return element;
}

Element ElementWalker::getElement(Value tensor, Indices indices) {
  Element element{tensor, {}, std::move(indices), {}, {}};
  settle(element);
  return element;
}

Element ElementWalker::getOperand(const Element &element, unsigned i) {
  return getScalar(element.value.getDefiningOp()->getOperand(i), element.owner,
                   element.indices);
}

/// The indices of an operand of `op` where its loops are `loops`.
static Indices getPlace(linalg::LinalgOp op, OpOperand *operand,
                        ArrayRef<AffineExpr> loops) {
  Indices result;
  for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
    result.push_back(simplify(expr.replaceDims(loops)));
  return result;
}

void ElementWalker::settle(Element &element) {
  while (countStep()) {
    linalg::LinalgOp owner = element.owner;
    auto argument = dyn_cast<BlockArgument>(element.value);
    if (owner && argument && argument.getOwner() == owner.getBlock()) {
      OpOperand *operand = owner.getMatchingOpOperand(argument);
      if (!owner.isDpsInput(operand))
        return;
      element.indices = getPlace(owner, operand, element.indices);
      element.value = operand->get();
      element.owner = {};
    } else if (owner && !enterLookup(element)) {
      return;
    }
    if (!isa<RankedTensorType>(element.value.getType()))
      return;
    while (peel(element.value, element.indices))
      ;
    if (auto splat = element.value.getDefiningOp<tensor::SplatOp>()) {
      element.value = splat.getInput();
      element.indices.clear();
      return;
    }
    element.tensor = element.value;
    element.place = element.indices;
    auto producer = element.value.getDefiningOp<linalg::LinalgOp>();
    if (!isElementwise(producer) || !isCountable(element.value.getType()))
      return;
    // Each loop is an index of the result.
    Indices loops(producer.getNumLoops());
    AffineMap map =
        producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
    for (auto [expr, index] :
         llvm::zip_equal(map.getResults(), element.indices))
      loops[cast<AffineDimExpr>(expr).getPosition()] = index;
    element.value = producer.getBlock()->getTerminator()->getOperand(0);
    element.owner = producer;
    element.indices = std::move(loops);
  }
}

/// True if `tensor` is a slice that has `size` elements in dimension `dim`.
static bool isSizeOf(OpFoldResult size, Value tensor, unsigned dim) {
  auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice)
    return false;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> sizes;
  for (auto [i, own] : llvm::enumerate(slice.getMixedSizes()))
    if (!dropped[i])
      sizes.push_back(own);
  return sizes[dim] == size;
}

bool ElementWalker::peelSlice(tensor::ExtractSliceOp op, Value &tensor,
                              Indices &indices) {
  if (!op.hasUnitStride())
    return false;
  ArrayRef<int64_t> shape = op.getSourceType().getShape();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Indices inner;
  const AffineExpr *next = indices.begin();
  for (auto [i, offset, size] :
       llvm::enumerate(op.getMixedOffsets(), op.getMixedSizes())) {
    AffineExpr index = dropped[i] ? getAffineConstantExpr(0, context) : *next++;
    bool isWhole = isConstantIntValue(offset, 0) &&
                   (getConstantIntValue(size) == shape[i] ||
                    isSizeOf(size, op.getSource(), i));
    if (!isWhole) {
      // Halves of the bytes of one slice compare equal.
      const Slice *slice = llvm::find_if(slices, [&](const Slice &known) {
        return known.offset == offset && known.size == size;
      });
      unsigned symbol = slice - slices.begin();
      if (symbol == kMaxSlices)
        return false;
      index = simplify(index + getAffineSymbolExpr(symbol, context));
      if (symbol == slices.size())
        slices.push_back({offset, size});
    }
    inner.push_back(index);
  }
  tensor = op.getSource();
  indices = std::move(inner);
  return true;
}

std::optional<Element> ElementWalker::enterSlice(const Element &element) {
  auto slice = element.value.getDefiningOp<tensor::ExtractSliceOp>();
  Value tensor = element.value;
  Indices indices = element.indices;
  if (!slice || !peelSlice(slice, tensor, indices))
    return std::nullopt;
  return getElement(tensor, std::move(indices));
}

bool ElementWalker::peel(Value &tensor, Indices &indices) {
  Operation *op = tensor.getDefiningOp();
  if (!op || !countStep() || !isCountable(tensor.getType()))
    return false;
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (!isa<RankedTensorType>(cast.getSource().getType()))
      return false;
    tensor = cast.getSource();
    return true;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return behind == Slices::All && peelSlice(slice, tensor, indices);
  if (auto gather = dyn_cast<tensor::GatherOp>(op))
    return enterGather(gather, tensor, indices);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    ArrayRef<int64_t> shape = expand.getResultType().getShape();
    Indices inner;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      AffineExpr index = getAffineConstantExpr(0, context);
      for (auto [position, dim] : llvm::enumerate(group)) {
        if (position && ShapedType::isDynamic(shape[dim]))
          return false;
        index = (position ? index * shape[dim] : index) + indices[dim];
      }
      inner.push_back(simplify(index));
    }
    tensor = expand.getSrc();
    indices = std::move(inner);
    return true;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    Indices inner(shape.size(), getAffineConstantExpr(0, context));
    for (auto [group, index] :
         llvm::zip_equal(collapse.getReassociationIndices(), indices)) {
      AffineExpr rest = index;
      if (ShapedType::isDynamicShape(
              shape.slice(group.front() + 1, group.size() - 1)))
        return false;
      for (int64_t dim : llvm::reverse(group)) {
        if (dim == group.front()) {
          inner[dim] = rest;
        } else if (shape[dim] > 0) {
          inner[dim] = simplify(rest % shape[dim]);
          rest = simplify(rest.floorDiv(shape[dim]));
        }
      }
    }
    tensor = collapse.getSrc();
    indices = std::move(inner);
    return true;
  }
  return false;
}
