//===- MatmulTiling.cpp - TilingInterface of matmul -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be tiled: rows and columns of dense, batched and ragged-K products,
// whole groups of batched and masked ones, columns of all. Rows of ragged and
// masked products depend on data and K is a block-wise sum in a fixed order,
// so neither is an iteration dimension. A tile of the result is the same
// product of slices of the operands.
//
//===----------------------------------------------------------------------===//

#include "OperandSlicer.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nvfp4::gsg;

namespace {
/// The values of a scaled operand in either form.
Value getData(OpBuilder &builder, Location loc, const ScaledOperand &operand) {
  if (operand.isStorageForm())
    return operand.data;
  return SplitScaledOp::create(builder, loc, operand.data).getData();
}

/// The rank of an operand that may have no scales.
int64_t getRank(const ScaledOperand &operand) {
  return operand.type ? operand.type.getRank()
                      : cast<ShapedType>(operand.data.getType()).getRank();
}

/// Replaces every operand of `range` by its slice.
void sliceEach(MutableOperandRange range, function_ref<Value(Value)> sliceOne) {
  for (OpOperand &operand : range)
    operand.set(sliceOne(operand.get()));
}

/// Slices one group of scaled operands of `tile`.
LogicalResult
sliceScaledOperands(OperandSlicer &slicer, ArrayRef<ScaledOperand> operands,
                    std::optional<Span> rows, MutableOperandRange values,
                    MutableOperandRange scales, SmallVectorImpl<Type> &types) {
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (!operand.type) {
      values[i].set(
          slicer.slice(operand.data, slicer.spansOf(getRank(operand), rows)));
      continue;
    }
    FailureOr<ScaledOperand> tile = slicer.sliceScaled(operand, rows);
    if (failed(tile))
      return failure();
    values[i].set(tile->data);
    if (tile->isStorageForm())
      scales[i].set(tile->scales);
    types.push_back(tile->type);
  }
  return success();
}
} // namespace

SmallVector<utils::IteratorType> MatmulOp::getLoopIteratorTypes() {
  TileDims dims = getTileDims(getGrouping().getKind());
  return SmallVector<utils::IteratorType>(
      !!dims.group + !!dims.row + !!dims.column, utils::IteratorType::parallel);
}

SmallVector<Range> MatmulOp::getIterationDomain(OpBuilder &builder) {
  Location loc = getLoc();
  TileDims dims = getTileDims(getGrouping().getKind());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  ScaledOperand lhs =
      getScaledOperands(getLhs(), getLhsScales(), getLhsTypesAttr()).front();
  ScaledOperand rhs =
      getScaledOperands(getRhs(), getRhsScales(), getRhsTypesAttr()).front();
  auto dimOf = [&](const ScaledOperand &operand, int64_t dim) -> OpFoldResult {
    if (!operand.type)
      return getDim(builder, loc, operand.data, dim);
    if (!operand.type.isDynamicDim(dim))
      return builder.getIndexAttr(operand.type.getDimSize(dim));
    return getDim(builder, loc, getData(builder, loc, operand), dim);
  };
  SmallVector<Range> domain;
  if (dims.group)
    domain.push_back({zero, dimOf(lhs, 0), one});
  if (dims.row)
    domain.push_back({zero, dimOf(lhs, getRank(lhs) - 2), one});
  OpFoldResult columns = dimOf(rhs, rhs.type.getRank() - 2);
  if (getActivationOrIdentity().isPaired())
    columns = affine::makeComposedFoldedAffineApply(
        builder, loc, builder.getAffineDimExpr(0).floorDiv(2), {columns});
  domain.push_back({zero, columns, one});
  return domain;
}

FailureOr<TilingResult>
MatmulOp::getTiledImplementation(OpBuilder &builder,
                                 ArrayRef<OpFoldResult> offsets,
                                 ArrayRef<OpFoldResult> sizes) {
  for (Type type : getResultTypes())
    if (isa<ScaledType>(type))
      return emitOpError("expected results that are tensors to tile; run "
                         "gsg-decompose-scaled first");
  OperandSlicer slicer(builder, *this, offsets, sizes);
  if (getAmaxOut() && !isFullTile(builder, offsets, sizes))
    return emitOpError("expected no amax_outs to tile rows or columns: it is a "
                       "maximum over the whole group");
  if (getGradientOf())
    return emitOpError("expected no gradient_of to tile; run "
                       "gsg-decompose-gradient first");
  if (getCopies())
    return emitOpError("expected no copies to tile, whose blocks may cross "
                       "tiles; tile before the product has them");
  if (hasDiscreteRhs() && slicer.group)
    return emitOpError("expected stacked weights to tile groups");
  if (ScaledType quantized = getQuantizedType();
      quantized && !isFullTile(builder, offsets, sizes)) {
    // The generator of stochastic rounding counts the elements of the whole
    // result, and a square or a column of values may cross tiles.
    QuantizerAttr quantizer = *getQuantizer();
    if (quantizer.getRounding() == Rounding::Stochastic ||
        quantizer.getTwoD() || !quantized.isKMajor())
      return emitOpError("expected a quantizer with rounding = nearest and "
                         "blocks within rows to tile a quantised result");
  }
  if (failed(slicer.computeWeightRows(*this)))
    return failure();

  if (getOuterGate() && !isFullTile(builder, offsets, sizes))
    return emitOpError("expected no outer_gate to tile; tile before "
                       "gsg-assign-scale-layout");

  OperationState state(getLoc(), getOperationName(), getOperands(),
                       getResultTypes(), (*this)->getAttrs());
  state.addRegion();
  auto tile = cast<MatmulOp>(builder.create(state));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tile);
  if (!getEpilogue().empty()) {
    IRMapping mapping;
    getEpilogue().cloneInto(&tile.getEpilogue(), mapping);
  }

  SmallVector<Type> lhsTypes, rhsTypes;
  if (failed(sliceScaledOperands(
          slicer,
          getScaledOperands(getLhs(), getLhsScales(), getLhsTypesAttr()),
          slicer.row, tile.getLhsMutable(), tile.getLhsScalesMutable(),
          lhsTypes)) ||
      failed(sliceScaledOperands(
          slicer,
          getScaledOperands(getRhs(), getRhsScales(), getRhsTypesAttr()),
          slicer.weightRow, tile.getRhsMutable(), tile.getRhsScalesMutable(),
          rhsTypes))) {
    tile.erase();
    return failure();
  }
  if (!getRhsScales().empty()) {
    if (getLhsTypesAttr())
      tile.setLhsTypesAttr(builder.getTypeArrayAttr(lhsTypes));
    tile.setRhsTypesAttr(builder.getTypeArrayAttr(rhsTypes));
  }

  auto perGroup = [&](Value value) {
    return slicer.slice(value, slicer.spansOfGroups(value));
  };
  auto perRow = [&](Value value) {
    return slicer.slice(value, slicer.spansOfRows(value));
  };
  auto perWeightRow = [&](Value value) {
    return slicer.slice(value, slicer.spansOfColumns(value, slicer.weightRow));
  };
  auto perColumn = [&](Value value) {
    return slicer.slice(value, slicer.spansOfColumns(value, slicer.column));
  };
  auto ofProduct = [&](Value value) {
    int64_t rank = cast<ShapedType>(value.getType()).getRank();
    return slicer.slice(value,
                        slicer.spansOf(rank, slicer.row, slicer.weightRow));
  };
  sliceEach(tile.getAlphaMutable(), perGroup);
  sliceEach(tile.getBetaMutable(), perGroup);
  sliceEach(tile.getActivationParamsMutable(), perGroup);
  sliceEach(tile.getGroupMutable(), perGroup);
  sliceEach(tile.getGlobalScaleMutable(), perGroup);
  sliceEach(tile.getAmaxOutMutable(), perGroup);
  if (getForm(getGrouping()).hasCounts())
    sliceEach(tile.getGroupsMutable(), perGroup);
  sliceEach(tile.getRowScaleMutable(), perRow);
  sliceEach(tile.getProbMutable(), perRow);
  sliceEach(tile.getRowMutable(), perRow);
  sliceEach(tile.getBiasMutable(), perWeightRow);
  sliceEach(tile.getColumnMutable(), perColumn);
  sliceEach(tile.getAddendMutable(), ofProduct);
  sliceEach(tile.getPreactOutMutable(), ofProduct);
  if (ScaledType quantized = getQuantizedType()) {
    FailureOr<ScaledOperand> out = slicer.sliceScaled(
        ScaledOperand{getOut(), getOutScales(), quantized}, slicer.row);
    int64_t block = quantized.getBlockSize();
    std::optional<int64_t> size = getConstantIntValue(slicer.column->size);
    if (failed(out) || quantized.getLayout() != ScaleLayout::Linear || !size ||
        *size % block) {
      tile.erase();
      return emitOpError("expected linear scales and column tiles that are a "
                         "multiple of the block size ")
             << block << " to tile a quantised result";
    }
    AffineExpr d0 = builder.getAffineDimExpr(0);
    int64_t perByte = quantized.isFP4() ? 2 : 1;
    unsigned last = quantized.getRank() - 1;
    auto cut = [&](int64_t by) {
      return Spans{
          {last, Span{slicer.apply(d0.floorDiv(by), slicer.column->offset),
                      slicer.apply(d0.floorDiv(by), slicer.column->size)}}};
    };
    tile.getOutMutable().assign(slicer.slice(out->data, cut(perByte)));
    tile.getOutScalesMutable().assign(slicer.slice(out->scales, cut(block)));
    SmallVector<int64_t> shape(out->type.getShape());
    shape.back() = *size;
    tile.setOutTypesAttr(
        builder.getTypeArrayAttr(Type(out->type.withShape(shape))));
  } else {
    sliceEach(tile.getOutMutable(), [&](Value value) {
      int64_t rank = cast<ShapedType>(value.getType()).getRank();
      return slicer.slice(value,
                          slicer.spansOf(rank, slicer.row, slicer.column));
    });
  }

  for (auto [result, init] :
       llvm::zip(tile->getResults(), tile.getDpsInitsMutable()))
    result.setType(init.get().getType());
  return TilingResult{
      {tile}, SmallVector<Value>(tile->getResults()), std::move(slicer.slices)};
}

bool MatmulOp::isFullTile(OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) {
  TileDims dims = getTileDims(getGrouping().getKind());
  SmallVector<Range> domain = getIterationDomain(builder);
  for (auto [i, range] : llvm::enumerate(domain)) {
    if (dims.group && i == *dims.group)
      continue;
    if (!isZeroInteger(offsets[i]) ||
        !isEqualConstantIntOrValue(sizes[i], range.size))
      return false;
  }
  return true;
}

LogicalResult MatmulOp::getResultTilePosition(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  OperandSlicer slicer(builder, *this, offsets, sizes);
  if (failed(slicer.computeWeightRows(*this)))
    return failure();
  auto init = getDpsInitsMutable()[resultNumber].get();
  int64_t rank = cast<ShapedType>(init.getType()).getRank();
  for (int64_t i = 0; i < rank; ++i) {
    resultOffsets.push_back(builder.getIndexAttr(0));
    resultSizes.push_back(getDim(builder, getLoc(), init, i));
  }
  Spans spans;
  if (init == getAmaxOut()) {
    spans = slicer.spansOfGroups(init);
  } else if (init == getPreactOut()) {
    spans = slicer.spansOf(rank, slicer.row, slicer.weightRow);
  } else {
    int64_t divisor = 1;
    if (ScaledType quantized = getQuantizedType())
      divisor = init == getOutScales() ? quantized.getBlockSize()
                : quantized.isFP4()    ? 2
                                       : 1;
    AffineExpr by = builder.getAffineDimExpr(0).floorDiv(divisor);
    spans = slicer.spansOf(rank, slicer.row,
                           Span{slicer.apply(by, slicer.column->offset),
                                slicer.apply(by, slicer.column->size)});
  }
  for (const auto &[dim, span] : spans) {
    resultOffsets[dim] = span.offset;
    resultSizes[dim] = span.size;
  }
  return success();
}

LogicalResult MatmulOp::getIterationDomainTileFromResultTile(
    OpBuilder &, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVectorImpl<OpFoldResult> &iterOffsets,
    SmallVectorImpl<OpFoldResult> &iterSizes) {
  // Only a plain y maps back one to one.
  if (getGradientOf() || getQuantizedType() ||
      resultNumber != (getPreactOut() ? 1u : 0u) ||
      (getAmaxOut() && resultNumber + 1 == (*this)->getNumResults()))
    return failure();
  TileDims dims = getTileDims(getGrouping().getKind());
  unsigned rank = offsets.size();
  auto push = [&](unsigned dim) {
    iterOffsets.push_back(offsets[dim]);
    iterSizes.push_back(sizes[dim]);
  };
  if (dims.group)
    push(0);
  if (dims.row)
    push(rank - 2);
  push(rank - 1);
  return success();
}

FailureOr<TilingResult>
MatmulOp::generateResultTileValue(OpBuilder &builder, unsigned resultNumber,
                                  ArrayRef<OpFoldResult> offsets,
                                  ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> iterOffsets, iterSizes;
  if (failed(getIterationDomainTileFromResultTile(
          builder, resultNumber, offsets, sizes, iterOffsets, iterSizes)))
    return failure();
  FailureOr<TilingResult> tile =
      getTiledImplementation(builder, iterOffsets, iterSizes);
  if (failed(tile))
    return failure();
  tile->tiledValues = {tile->tiledValues[resultNumber]};
  return tile;
}
