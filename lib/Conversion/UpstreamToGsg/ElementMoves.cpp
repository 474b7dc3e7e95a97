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

#include "ElementTrace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nvfp4::gsg;

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

SmallVector<AffineExpr> nvfp4::gsg::getLoops(linalg::LinalgOp op,
                                             ArrayRef<AffineExpr> indices) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<AffineExpr> loops(op.getNumLoops());
  for (auto [expr, index] : llvm::zip_equal(map.getResults(), indices))
    loops[cast<AffineDimExpr>(expr).getPosition()] = index;
  return loops;
}

SmallVector<AffineExpr> nvfp4::gsg::mapIndices(AffineMap map,
                                               ArrayRef<AffineExpr> loops) {
  SmallVector<AffineExpr> result;
  for (AffineExpr expr : map.getResults())
    result.push_back(simplify(expr.replaceDims(loops)));
  return result;
}

static bool hasDynamicDim(ArrayRef<int64_t> shape) {
  return ShapedType::isDynamicShape(shape);
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

std::optional<SmallVector<AffineExpr>>
ElementTrace::enterSlice(tensor::ExtractSliceOp op,
                         ArrayRef<AffineExpr> indices) {
  if (!op.hasUnitStride())
    return std::nullopt;
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
        return std::nullopt;
      index = simplify(index + getAffineSymbolExpr(symbol, context));
      if (symbol == slices.size())
        slices.push_back({offset, size});
    }
    inner.push_back(index);
  }
  return inner;
}

bool ElementTrace::peelOnce(Value &tensor, Indices &indices) {
  Operation *op = tensor.getDefiningOp();
  if (!op || ++steps > kMaxSteps || !isCountable(tensor.getType()))
    return false;
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (!isa<RankedTensorType>(cast.getSource().getType()))
      return false;
    tensor = cast.getSource();
    return true;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && behind == Slices::All) {
    std::optional<Indices> inner = enterSlice(slice, indices);
    if (!inner)
      return false;
    tensor = slice.getSource();
    indices = std::move(*inner);
    return true;
  }
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
      if (hasDynamicDim(shape.slice(group.front() + 1, group.size() - 1)))
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
  if (isa<tensor::GatherOp>(op))
    return enterGather(tensor, indices);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!isElementwise(linalgOp))
    return false;
  auto argument = dyn_cast<BlockArgument>(
      linalgOp.getBlock()->getTerminator()->getOperand(0));
  if (!argument || argument.getOwner() != linalgOp.getBlock())
    return false;
  OpOperand *operand = linalgOp.getMatchingOpOperand(argument);
  if (!linalgOp.isDpsInput(operand) ||
      !isa<RankedTensorType>(operand->get().getType()))
    return false;
  indices = mapIndices(linalgOp.getMatchingIndexingMap(operand),
                       getLoops(linalgOp, indices));
  tensor = operand->get();
  return true;
}

void ElementTrace::peel(Value &tensor, Indices &indices) {
  while (peelOnce(tensor, indices))
    ;
}

Operation *ElementTrace::Scalar::getComputation() const {
  Operation *op = value.getDefiningOp();
  if (op && owner ? op->getBlock() != owner.getBlock() : !op)
    return nullptr;
  StringRef dialect = op->getName().getDialectNamespace();
  bool isScalar = dialect == "arith" || dialect == "math" ||
                  (owner && isa<linalg::IndexOp, tensor::ExtractOp>(op));
  return isScalar && !isa<arith::ConstantOp>(op) ? op : nullptr;
}

void ElementTrace::settle(Scalar &scalar, Scalar *element) {
  while (++steps < kMaxSteps) {
    if (scalar.owner) {
      auto argument = dyn_cast<BlockArgument>(scalar.value);
      if (argument && argument.getOwner() == scalar.owner.getBlock()) {
        OpOperand *operand = scalar.owner.getMatchingOpOperand(argument);
        if (!scalar.owner.isDpsInput(operand))
          return;
        scalar.indices = mapIndices(
            scalar.owner.getMatchingIndexingMap(operand), scalar.indices);
        scalar.value = operand->get();
        scalar.owner = {};
      } else if (!enterLookup(scalar)) {
        return;
      }
    }
    if (!isa<RankedTensorType>(scalar.value.getType()))
      return;
    peel(scalar.value, scalar.indices);
    if (auto splat = scalar.value.getDefiningOp<tensor::SplatOp>()) {
      scalar = {splat.getInput(), {}, {}};
      return;
    }
    if (element)
      *element = scalar;
    auto producer = scalar.value.getDefiningOp<linalg::LinalgOp>();
    if (!isElementwise(producer))
      return;
    scalar = {producer.getBlock()->getTerminator()->getOperand(0), producer,
              getLoops(producer, scalar.indices)};
  }
}
