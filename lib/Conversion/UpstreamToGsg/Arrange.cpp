//===- Arrange.cpp - Tensors in the order that a format wants ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transpositions, reshapes, and the packing of elements into bytes.
//
//===----------------------------------------------------------------------===//

#include "Arrange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace nvfp4::gsg;

static bool agrees(int64_t source, int64_t target) {
  return source == target || ShapedType::isDynamic(source);
}

/// Elements in one step of dimension 0, or nothing if that is not known.
static std::optional<int64_t> getInnerCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape.drop_front(shape.empty() ? 0 : 1))
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

/// `expr` divided by a positive number, with what it is a multiple of outside
/// of the division.
static AffineExpr divide(AffineExpr expr, int64_t number) {
  AffineExpr whole = getAffineConstantExpr(0, expr.getContext()), rest = whole;
  SmallVector<AffineExpr> terms = {expr};
  while (!terms.empty()) {
    AffineExpr term = terms.pop_back_val();
    auto sum = dyn_cast<AffineBinaryOpExpr>(term);
    if (sum && sum.getKind() == AffineExprKind::Add)
      terms.append({sum.getLHS(), sum.getRHS()});
    else if (term.isMultipleOf(number))
      whole = whole + term.floorDiv(number);
    else
      rest = rest + term;
  }
  // What is left rounds as one: parts of a sum may not be divided.
  auto inner = dyn_cast<AffineBinaryOpExpr>(rest);
  auto by = inner ? dyn_cast<AffineConstantExpr>(inner.getRHS())
                  : AffineConstantExpr();
  if (by && inner.getKind() == AffineExprKind::FloorDiv)
    return whole + inner.getLHS().floorDiv(by.getValue() * number);
  // Sums that are a `mod` become one when they are built.
  if (by && inner.getKind() == AffineExprKind::Mod &&
      by.getValue() % number == 0)
    return whole + divide(inner.getLHS(), number) -
           divide(inner.getLHS(), by.getValue()) * (by.getValue() / number);
  return whole + rest.floorDiv(number);
}

/// The same without `mod`: parts of an index that add up to it cancel.
static AffineExpr expandMod(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = expandMod(binary.getLHS()), rhs = expandMod(binary.getRHS());
  auto number = dyn_cast<AffineConstantExpr>(rhs);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return number && number.getValue() > 0 ? divide(lhs, number.getValue())
                                           : expr;
  case AffineExprKind::Mod:
    return number && number.getValue() > 0
               ? lhs - divide(lhs, number.getValue()) * number
               : expr;
  default:
    return expr;
  }
}

static AffineExpr linearise(ArrayRef<int64_t> shape,
                            ArrayRef<AffineExpr> indices,
                            MLIRContext *context) {
  AffineExpr offset = getAffineConstantExpr(0, context);
  for (auto [i, index] : llvm::enumerate(indices))
    offset = (i ? offset * shape[i] : offset) + index;
  return simplify(offset);
}

std::optional<std::pair<int64_t, AffineExpr>>
nvfp4::gsg::splitSlice(AffineExpr index, size_t numSlices) {
  int64_t slice = -1;
  SmallVector<AffineExpr> zeros(numSlices,
                                getAffineConstantExpr(0, index.getContext()));
  AffineExpr within = simplify(index.replaceSymbols(zeros));
  for (size_t i = 0; i < numSlices; ++i) {
    if (!index.isFunctionOfSymbol(i))
      continue;
    AffineExpr symbol = getAffineSymbolExpr(i, index.getContext());
    if (simplify(within + symbol) != index)
      return std::nullopt;
    slice = i;
  }
  return std::pair(slice, within);
}

/// Cuts what the indices say out of the source of `plan`: gives the indices
/// within that part, and its shape.
static std::optional<std::pair<SmallVector<AffineExpr>, SmallVector<int64_t>>>
planSlices(Arrangement &plan, RankedTensorType type,
           ArrayRef<AffineExpr> indices, ArrayRef<Slice> slices) {
  SmallVector<AffineExpr> inner;
  SmallVector<int64_t> shape;
  Builder b(type.getContext());
  bool isWhole = true;
  for (auto [index, extent] : llvm::zip_equal(indices, type.getShape())) {
    auto split = splitSlice(index, slices.size());
    if (!split)
      return std::nullopt;
    auto [slice, within] = *split;
    inner.push_back(within);
    if (slice < 0) {
      shape.push_back(extent);
      plan.offsets.push_back(b.getIndexAttr(0));
      plan.sizes.push_back(b.getIndexAttr(extent));
      continue;
    }
    isWhole = false;
    plan.offsets.push_back(slices[slice].offset);
    plan.sizes.push_back(slices[slice].size);
    shape.push_back(
        getConstantIntValue(slices[slice].size).value_or(ShapedType::kDynamic));
  }
  if (isWhole) {
    plan.offsets.clear();
    plan.sizes.clear();
  }
  return std::pair(inner, shape);
}

std::optional<Arrangement>
nvfp4::gsg::planArrangement(const Factor &factor, ArrayRef<Slice> slices,
                            ArrayRef<int64_t> shape,
                            ArrayRef<AffineExpr> target) {
  auto type = dyn_cast<RankedTensorType>(factor.source.getType());
  if (!type)
    return std::nullopt;
  Arrangement plan;
  plan.source = factor.source;
  plan.shape = llvm::to_vector(shape);
  auto part = planSlices(plan, type, factor.indices, slices);
  if (!part)
    return std::nullopt;
  auto &[indices, sizes] = *part;
  // For each dimension of the result one of the source, read at its index.
  if (sizes.size() == shape.size()) {
    SmallVector<bool> used(sizes.size());
    for (auto [size, index] : llvm::zip_equal(shape, target))
      for (size_t i = 0; i < sizes.size(); ++i)
        if (!used[i] && indices[i] == index && agrees(sizes[i], size)) {
          used[i] = true;
          plan.permutation.push_back(i);
          break;
        }
    if (plan.permutation.size() == shape.size()) {
      if (llvm::is_sorted(plan.permutation))
        plan.permutation.clear();
      return plan;
    }
    plan.permutation.clear();
  }
  std::optional<int64_t> from = getInnerCount(sizes), to = getInnerCount(shape);
  if (!from || !to || sizes.empty() || !*from || !*to)
    return std::nullopt;
  bool isDynamic = ShapedType::isDynamic(shape.front());
  if (isDynamic != ShapedType::isDynamic(sizes.front()) ||
      (!isDynamic && sizes.front() * *from != shape.front() * *to))
    return std::nullopt;
  MLIRContext *context = type.getContext();
  AffineExpr difference =
      simplify(expandMod(linearise(sizes, indices, context)) -
               expandMod(linearise(shape, target, context)));
  if (difference != getAffineConstantExpr(0, context))
    return std::nullopt;
  return plan;
}

Value nvfp4::gsg::reshape(OpBuilder &b, Location loc, Value source,
                          ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(source.getType());
  auto result = RankedTensorType::get(shape, type.getElementType());
  if (type == result)
    return source;
  auto line = RankedTensorType::get(
      {type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic},
      type.getElementType());
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups(1);
    groups[0].resize(rank);
    std::iota(groups[0].begin(), groups[0].end(), 0);
    return groups;
  };
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(b.getContext(), shape);
  if (ShapedType::isDynamic(shape.front())) {
    // Dimension 0 of both counts the same elements.
    Value count = tensor::DimOp::create(b, loc, source, 0);
    int64_t from = *getInnerCount(type.getShape()), to = *getInnerCount(shape);
    int64_t common = std::gcd(from, to);
    if (from != common)
      count = arith::MulIOp::create(
          b, loc, count, arith::ConstantIndexOp::create(b, loc, from / common));
    if (to != common)
      count = arith::DivUIOp::create(
          b, loc, count, arith::ConstantIndexOp::create(b, loc, to / common));
    sizes.front() = count;
  }
  if (auto groups = getReassociationIndicesForReshape(type, result)) {
    if (type.getRank() > result.getRank())
      return tensor::CollapseShapeOp::create(b, loc, result, source, *groups);
    if (type.getRank() < result.getRank())
      return tensor::ExpandShapeOp::create(b, loc, result, source, *groups,
                                           sizes);
  }
  if (type.getRank() > 1)
    source = tensor::CollapseShapeOp::create(b, loc, line, source,
                                             all(type.getRank()));
  if (result.getRank() > 1)
    source = tensor::ExpandShapeOp::create(b, loc, result, source,
                                           all(result.getRank()), sizes);
  return source;
}

static Value makeEmpty(OpBuilder &b, Location loc, Value like,
                       ArrayRef<int64_t> permutation, ArrayRef<int64_t> shape,
                       Type elementType) {
  SmallVector<Value> sizes;
  for (auto [i, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size))
      sizes.push_back(tensor::DimOp::create(
          b, loc, like, permutation.empty() ? i : permutation[i]));
  return tensor::EmptyOp::create(b, loc, shape, elementType, sizes);
}

static Value cutOut(OpBuilder &b, Location loc, const Arrangement &plan) {
  SmallVector<OpFoldResult> sizes = plan.sizes;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (isConstantIntValue(size, ShapedType::kDynamic))
      size = tensor::DimOp::create(b, loc, plan.source, i).getResult();
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, plan.source, plan.offsets,
                                        sizes, strides);
}

Value nvfp4::gsg::arrange(OpBuilder &b, Location loc, const Arrangement &plan) {
  Value value = plan.source;
  if (!plan.offsets.empty())
    value = cutOut(b, loc, plan);
  auto type = cast<RankedTensorType>(value.getType());
  Type elementType = type.getElementType();
  if (!plan.permutation.empty()) {
    SmallVector<int64_t> moved;
    for (int64_t dim : plan.permutation)
      moved.push_back(type.getDimSize(dim));
    Value empty =
        makeEmpty(b, loc, value, plan.permutation, moved, elementType);
    value = linalg::TransposeOp::create(b, loc, value, empty, plan.permutation)
                ->getResult(0);
  } else if (type.getRank() != static_cast<int64_t>(plan.shape.size()) ||
             !llvm::all_of(
                 llvm::zip_equal(type.getShape(), plan.shape), [](auto sizes) {
                   return agrees(std::get<0>(sizes), std::get<1>(sizes));
                 })) {
    return reshape(b, loc, value, plan.shape);
  }
  auto result = RankedTensorType::get(plan.shape, elementType);
  return value.getType() == result
             ? value
             : tensor::CastOp::create(b, loc, result, value).getResult();
}

/// An elementwise operation with the identity as map of the result.
static Value mapElements(OpBuilder &b, Location loc, ValueRange inputs,
                         ArrayRef<AffineMap> maps, Value empty,
                         function_ref<Value(OpBuilder &, ValueRange)> body) {
  auto type = cast<RankedTensorType>(empty.getType());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, type, inputs, empty, maps, iterators,
             [&](OpBuilder &nested, Location, ValueRange arguments) {
               linalg::YieldOp::create(nested, loc, body(nested, arguments));
             })
      .getResult(0);
}

Value nvfp4::gsg::bitcastElements(OpBuilder &b, Location loc, Value bytes,
                                  Type type) {
  auto source = cast<RankedTensorType>(bytes.getType());
  if (source.getElementType() == type)
    return bytes;
  Value empty = makeEmpty(b, loc, bytes, {}, source.getShape(), type);
  AffineMap map = b.getMultiDimIdentityMap(source.getRank());
  return mapElements(b, loc, bytes, {map, map}, empty,
                     [&](OpBuilder &nested, ValueRange arguments) {
                       return arith::BitcastOp::create(nested, loc, type,
                                                       arguments[0]);
                     });
}

Value nvfp4::gsg::packNibbles(OpBuilder &b, Location loc, Value codes) {
  auto source = cast<RankedTensorType>(codes.getType());
  int64_t rank = source.getRank();
  SmallVector<int64_t> shape = llvm::to_vector(source.getShape());
  shape.back() /= 2;
  Value empty = makeEmpty(b, loc, codes, {}, shape, b.getI8Type());
  auto readNibble = [&](int64_t nibble) {
    SmallVector<AffineExpr> indices;
    for (int64_t i = 0; i < rank; ++i)
      indices.push_back(b.getAffineDimExpr(i));
    indices.back() = indices.back() * 2 + nibble;
    return AffineMap::get(rank, 0, indices, b.getContext());
  };
  SmallVector<AffineMap> maps = {readNibble(0), readNibble(1),
                                 b.getMultiDimIdentityMap(rank)};
  return mapElements(
      b, loc, {codes, codes}, maps, empty,
      [&](OpBuilder &nested, ValueRange arguments) -> Value {
        Value nibbles[2];
        for (int i = 0; i < 2; ++i) {
          Value bits = arith::BitcastOp::create(
              nested, loc, nested.getIntegerType(4), arguments[i]);
          nibbles[i] =
              arith::ExtUIOp::create(nested, loc, nested.getI8Type(), bits);
        }
        Value four =
            arith::ConstantOp::create(nested, loc, nested.getI8IntegerAttr(4));
        Value high = arith::ShLIOp::create(nested, loc, nibbles[1], four);
        return arith::OrIOp::create(nested, loc, nibbles[0], high);
      });
}
