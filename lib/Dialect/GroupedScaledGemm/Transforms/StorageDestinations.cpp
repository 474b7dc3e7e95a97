//===- StorageDestinations.cpp - Destinations of scaled results -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extents of the storage that a scaled result needs. Where scales start by
// group, the number of row tiles depends on the groups; the bound
// ceil((R + G * (tile - 1)) / tile) holds for `compact` and `upper_bound`.
//
//===----------------------------------------------------------------------===//

#include "StorageDestinations.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
/// Builds extents that fold where they are static.
struct Extents {
  OpBuilder &builder;
  Location loc;

  OpFoldResult dim(Value value, int64_t index) {
    return tensor::getMixedSize(builder, loc, value, index);
  }
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineApply(builder, loc, expr, operands);
  }
  /// Not below zero, whatever offsets there are.
  OpFoldResult numGroups(Value groups, OffsetsKind kind) {
    OpFoldResult count = dim(groups, 0);
    if (kind == OffsetsKind::Ends)
      return count;
    AffineExpr starts = builder.getAffineDimExpr(0);
    auto map =
        AffineMap::get(1, 0, {starts - 1, builder.getAffineConstantExpr(0)},
                       builder.getContext());
    return affine::makeComposedFoldedAffineMax(builder, loc, map, {count});
  }
  OpFoldResult ceilDiv(OpFoldResult size, int64_t by) {
    return apply(builder.getAffineDimExpr(0).ceilDiv(by), {size});
  }
};

/// The logical extents of the scaled result, taken from operands.
SmallVector<OpFoldResult> getLogicalShape(Extents &extents, Operation *op,
                                          ScaledType type,
                                          ArrayRef<SmallVector<Value>> segments,
                                          bool transposed) {
  SmallVector<OpFoldResult> shape;
  int64_t rank = type.getRank();
  Value like = TypeSwitch<Operation *, Value>(op)
                   .Case([&](MatmulOp) { return segments[1].front(); })
                   .Default([&](Operation *) { return segments[0].front(); });
  for (int64_t i = 0; i < rank; ++i) {
    if (!type.isDynamicDim(i)) {
      shape.push_back(extents.builder.getIndexAttr(type.getDimSize(i)));
      continue;
    }
    auto matmul = dyn_cast<MatmulOp>(op);
    // The dimension of y, if `op` is a product.
    int64_t d = transposed && i >= rank - 2 ? 2 * rank - 3 - i : i;
    if (matmul && d == rank - 1) {
      // Output columns: rows of the weights, halved by pairs and doubled by
      // their gradient. Memory of coded weights has other extents than they,
      // but N of them is known.
      Value rhs = segments[3].front();
      int64_t rhsRank = cast<ShapedType>(rhs.getType()).getRank();
      OpFoldResult n = ShapedType::isDynamic(matmul.getN())
                           ? extents.dim(rhs, rhsRank - 2)
                           : extents.builder.getIndexAttr(matmul.getN());
      if (matmul.getActivationOrIdentity().isPaired())
        n = extents.apply(extents.builder.getAffineDimExpr(0).floorDiv(2), {n});
      if (matmul.getGradientOf() && matmul.getGradientOf()->isPaired())
        n = extents.apply(extents.builder.getAffineDimExpr(0) * 2, {n});
      shape.push_back(n);
      continue;
    }
    // With groups along K a matrix of rows of lhs each.
    bool isStacked = matmul && getForm(matmul.getGrouping()).cutsK();
    if (isStacked && i == 0) {
      shape.push_back(extents.numGroups(matmul.getGroups(),
                                        matmul.getGrouping().getOffsets()));
      continue;
    }
    auto quantize = dyn_cast<QuantizeOp>(op);
    OpFoldResult size = extents.dim(like, isStacked  ? 0
                                          : quantize ? quantize.getInputDim(i)
                                                     : d);
    // The packed extent of an input that is scaled itself is half of the
    // logical one; an odd logical extent must be static.
    bool packed =
        !isa<MatmulOp, QuantizeOp>(op) && type.isFP4() && i == rank - 1;
    if (packed)
      size = extents.apply(extents.builder.getAffineDimExpr(0) * 2, {size});
    shape.push_back(size);
  }
  return shape;
}

/// The groups that a result's scale starts depend on.
struct ResultGroups {
  OpFoldResult count;
  /// The dimension that they cut.
  int64_t ragged;
};

/// Groups of the result of `op`, if it names any. `starts` offsets have one
/// entry more than there are groups, which keeps the bound.
std::optional<ResultGroups> getResultGroups(Extents &extents, Operation *op,
                                            bool transposed) {
  return TypeSwitch<Operation *, std::optional<ResultGroups>>(op)
      .Case([&](MatmulOp matmul) -> std::optional<ResultGroups> {
        if (!matmul.getGroups())
          return std::nullopt;
        return ResultGroups{extents.dim(matmul.getGroups(), 0), transposed};
      })
      .Case<QuantizeOp, RelayoutScalesOp>(
          [&](auto grouped) -> std::optional<ResultGroups> {
            if (!grouped.getGroups() || !grouped.getGrouping())
              return std::nullopt;
            bool isAlongK = getForm(*grouped.getGrouping()).cutsK();
            return ResultGroups{extents.dim(grouped.getGroups(), 0), isAlongK};
          })
      .Default([](Operation *) { return std::nullopt; });
}

/// Storage extents of the scales of a result of the given logical shape.
SmallVector<OpFoldResult> getScaleShape(Extents &extents, Operation *op,
                                        ScaledType type,
                                        ArrayRef<OpFoldResult> logical,
                                        bool transposed) {
  Builder &builder = extents.builder;
  SmallVector<OpFoldResult> shape(logical);
  AffineExpr size = builder.getAffineDimExpr(0);
  AffineExpr groups = builder.getAffineDimExpr(1);
  shape[type.getAxis()] =
      extents.ceilDiv(shape[type.getAxis()], type.getBlockSize());
  std::optional<ResultGroups> starts;
  if (type.getGroupStart() != GroupStart::Whole)
    starts = getResultGroups(extents, op, transposed);
  // Scales of each group along the blocks are padded to 4, and a group may end
  // in a block that is not full.
  bool cutsBlocks = starts && starts->ragged == type.getAxis();
  if (cutsBlocks)
    shape[type.getAxis()] = extents.apply(
        size + groups * 4, {shape[type.getAxis()], starts->count});
  if (type.getLayout() == ScaleLayout::Linear)
    return shape;
  int64_t tile = type.getLayout() == ScaleLayout::Blocked ? 128 : 8;
  OpFoldResult columns = extents.ceilDiv(shape.pop_back_val(), 4);
  OpFoldResult rows = shape.empty() ? OpFoldResult(builder.getIndexAttr(1))
                                    : shape.pop_back_val();
  if (starts && !cutsBlocks)
    rows = extents.apply((size + groups * (tile - 1)).ceilDiv(tile),
                         {rows, starts->count});
  else
    rows = extents.ceilDiv(rows, tile);
  shape.append({rows, columns});
  if (type.getLayout() == ScaleLayout::Blocked)
    shape.push_back(builder.getIndexAttr(32));
  else
    shape.push_back(builder.getIndexAttr(8));
  if (type.getLayout() == ScaleLayout::Blocked)
    shape.push_back(builder.getIndexAttr(4));
  shape.push_back(builder.getIndexAttr(4));
  return shape;
}

/// True if `op` may leave rows of its result unwritten.
bool leavesRows(Operation *op) {
  auto isPartial = [](std::optional<GroupingAttr> grouping) {
    return grouping && grouping->hasGroupsOperand();
  };
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](MatmulOp matmul) { return isPartial(matmul.getGrouping()); })
      .Case([&](QuantizeOp quantize) {
        return isPartial(quantize.getGrouping());
      })
      .Default([](Operation *) { return false; });
}

Value fill(OpBuilder &builder, Location loc, Value tensor) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  TypedAttr value;
  if (isa<Float8E8M0FNUType>(element))
    value = builder.getFloatAttr(element, 1.0); // the format has no zero
  else
    value = builder.getZeroAttr(element);
  Value scalar = arith::ConstantOp::create(builder, loc, value);
  return linalg::FillOp::create(builder, loc, scalar, tensor).getResult(0);
}
} // namespace

StorageDestinations nvfp4::gsg::createStorageDestinations(
    OpBuilder &builder, Operation *op, ScaledType type,
    ArrayRef<SmallVector<Value>> segments, bool transposed) {
  Location loc = op->getLoc();
  Extents extents{builder, loc};
  if (type.isCoded()) {
    // Of the extents only the number of matrices may be dynamic.
    auto empty = [&](ArrayRef<int64_t> shape, Type element) {
      SmallVector<OpFoldResult> sizes;
      for (int64_t size : shape)
        sizes.push_back(ShapedType::isDynamic(size)
                            ? extents.dim(segments[0].front(), 0)
                            : builder.getIndexAttr(size));
      return tensor::EmptyOp::create(builder, loc, sizes, element);
    };
    return {empty(type.getDataShape(), type.getDataElementType()),
            empty(type.getScaleShape(), type.getScaleElementType()), type};
  }

  SmallVector<OpFoldResult> logical =
      getLogicalShape(extents, op, type, segments, transposed);
  SmallVector<OpFoldResult> valueShape(logical);
  if (type.isFP4())
    valueShape.back() = extents.ceilDiv(valueShape.back(), 2);
  StorageDestinations destinations{{}, {}, type};
  if (!isa<RelayoutScalesOp>(op)) {
    destinations.values = tensor::EmptyOp::create(builder, loc, valueShape,
                                                  type.getDataElementType());
    if (leavesRows(op))
      destinations.values = fill(builder, loc, destinations.values);
  }
  destinations.scales = tensor::EmptyOp::create(
      builder, loc, getScaleShape(extents, op, type, logical, transposed),
      type.getScaleElementType());
  // Tiles of a layout may hold padding that no row writes.
  if (leavesRows(op) || type.getLayout() != ScaleLayout::Linear ||
      type.getGroupStart() != GroupStart::Whole)
    destinations.scales = fill(builder, loc, destinations.scales);
  return destinations;
}
