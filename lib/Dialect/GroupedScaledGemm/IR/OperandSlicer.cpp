//===- OperandSlicer.cpp - Operands of one tile of a product ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of columns needs the rows of the weights that make them: twice as many
// under a paired activation. Scales in tiles are cut where their tiles are.
//
//===----------------------------------------------------------------------===//

#include "OperandSlicer.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nvfp4::gsg;

TileDims nvfp4::gsg::getTileDims(GroupingKind kind) {
  // Groups that lhs stacks, then rows where no tile may begin within a group
  // that ends earlier, then columns.
  const GroupingForm &form = getForm(kind);
  TileDims dims;
  unsigned next = 0;
  if (form.stacksRows)
    dims.group = next++;
  if (form.coversRows())
    dims.row = next++;
  dims.column = next;
  return dims;
}

OpFoldResult nvfp4::gsg::getDim(OpBuilder &builder, Location loc, Value value,
                                int64_t index) {
  auto type = cast<ShapedType>(value.getType());
  if (!type.isDynamicDim(index))
    return builder.getIndexAttr(type.getDimSize(index));
  if (isa<MemRefType>(type))
    return memref::DimOp::create(builder, loc, value, index).getResult();
  return tensor::DimOp::create(builder, loc, value, index).getResult();
}

OperandSlicer::OperandSlicer(OpBuilder &builder, MatmulOp op,
                             ArrayRef<OpFoldResult> offsets,
                             ArrayRef<OpFoldResult> sizes)
    : builder(builder), op(op), loc(op.getLoc()) {
  TileDims dims = getTileDims(op.getGrouping().getKind());
  auto span = [&](std::optional<unsigned> dim) -> std::optional<Span> {
    if (!dim)
      return std::nullopt;
    return Span{offsets[*dim], sizes[*dim]};
  };
  group = span(dims.group);
  row = span(dims.row);
  column = span(dims.column);
}

OperandSlicer::OperandSlicer(OpBuilder &builder, Operation *op,
                             std::optional<Span> group, std::optional<Span> row,
                             std::optional<Span> column)
    : group(group), row(row), column(column), builder(builder), op(op),
      loc(op->getLoc()) {}

LogicalResult OperandSlicer::computeWeightRows(MatmulOp matmul) {
  std::optional<int64_t> size = getConstantIntValue(column->size);
  return computeWeightRows(matmul.getActivationOrIdentity(),
                           isZeroInteger(column->offset) && size &&
                               *size == matmul.getNumOutputColumns());
}

LogicalResult OperandSlicer::computeWeightRows(ActivationAttr activation,
                                               bool isWhole) {
  weightRow = column;
  if (!activation.isPaired())
    return success();
  int64_t q = activation.getGate().getGranularity();
  std::optional<int64_t> size = getConstantIntValue(column->size);
  if (!isWhole && (q == 0 || !size || *size % q != 0))
    return op->emitOpError("expected column tiles that are a multiple of the "
                           "gate granularity ")
           << q << " (0: halves, not tiled), but got "
           << (size ? std::to_string(*size) : "a dynamic size");
  AffineExpr twice = builder.getAffineDimExpr(0) * 2;
  weightRow = Span{apply(twice, column->offset), apply(twice, column->size)};
  return success();
}

OpFoldResult OperandSlicer::apply(AffineExpr expr, OpFoldResult operand) {
  return affine::makeComposedFoldedAffineApply(builder, loc, expr, {operand});
}

Value OperandSlicer::slice(Value value, const Spans &spans) {
  if (spans.empty())
    return value;
  SmallVector<OpFoldResult> offsets, sizes;
  auto type = cast<ShapedType>(value.getType());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(getDim(builder, loc, value, i));
  }
  for (const auto &[dim, span] : spans) {
    offsets[dim] = span.offset;
    sizes[dim] = span.size;
  }
  SmallVector<OpFoldResult> strides(offsets.size(), builder.getIndexAttr(1));
  Operation *sliced;
  if (isa<MemRefType>(type))
    sliced =
        memref::SubViewOp::create(builder, loc, value, offsets, sizes, strides);
  else
    sliced = tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                            strides);
  slices.push_back(sliced);
  return sliced->getResult(0);
}

Spans OperandSlicer::spansOf(int64_t rank, std::optional<Span> rows,
                             std::optional<Span> columns) {
  Spans spans;
  if (rank == 3 && group)
    spans.push_back({0, *group});
  if (rows)
    spans.push_back({rank - 2, *rows});
  if (columns)
    spans.push_back({rank - 1, *columns});
  return spans;
}

Spans OperandSlicer::spansOfColumns(Value value, std::optional<Span> columns) {
  int64_t rank = cast<ShapedType>(value.getType()).getRank();
  Spans spans;
  if (rank == 2 && group)
    spans.push_back({0, *group});
  if (columns)
    spans.push_back({rank - 1, *columns});
  return spans;
}

Spans OperandSlicer::spansOfRows(Value value) {
  int64_t rank = cast<ShapedType>(value.getType()).getRank();
  Spans spans;
  if (rank == 2 && group)
    spans.push_back({0, *group});
  if (row)
    spans.push_back({rank - 1, *row});
  return spans;
}

Spans OperandSlicer::spansOfGroups(Value value) {
  Spans spans;
  if (group && isa<ShapedType>(value.getType()))
    spans.push_back({0, *group});
  return spans;
}

FailureOr<ScaledOperand>
OperandSlicer::sliceScaled(const ScaledOperand &operand,
                           std::optional<Span> rows) {
  ScaledType type = operand.type;
  Spans spans = spansOf(type.getRank(), rows);
  if (spans.empty())
    return operand;
  if (type.isCoded() && rows)
    return op->emitOpError("expected linear weights to tile columns, but got ")
           << type << "; tile before relayout_weights";
  Value data = operand.data, scales = operand.scales;
  if (!operand.isStorageForm()) {
    auto split = SplitScaledOp::create(builder, loc, operand.data);
    data = split.getData();
    scales = split.getScales();
  }
  Spans scaleSpans = spans;
  if (type.getLayout() != ScaleLayout::Linear && rows) {
    FailureOr<Span> tiles = getScaleRows(type, *rows);
    if (failed(tiles))
      return failure();
    unsigned tileDim = type.getRank() - 2;
    scaleSpans = spansOf(type.getRank(), std::nullopt);
    scaleSpans.push_back({tileDim, *tiles});
  }
  SmallVector<int64_t> shape(type.getShape());
  for (const auto &[dim, span] : spans)
    shape[dim] = getConstantIntValue(span.size).value_or(ShapedType::kDynamic);
  ScaledOperand tile{slice(data, spans), slice(scales, scaleSpans),
                     type.withShape(shape)};
  if (operand.isStorageForm())
    return tile;
  Value made =
      MakeScaledOp::create(builder, loc, tile.type, tile.data, tile.scales);
  return ScaledOperand{made, Value(), tile.type};
}

FailureOr<Span> OperandSlicer::getScaleRows(ScaledType type, Span rows) {
  if (type.getLayout() == ScaleLayout::Linear)
    return rows;
  int64_t tile = type.getLayout() == ScaleLayout::Blocked ? 128 : 8;
  std::optional<int64_t> size = getConstantIntValue(rows.size);
  if (type.getGroupStart() != GroupStart::Whole || !size || *size % tile)
    return op->emitOpError("expected row tiles that are a multiple of ")
           << tile << " for the scale layout of " << type
           << "; move the scales to the linear layout to tile by "
           << (size ? std::to_string(*size) : "a dynamic size");
  AffineExpr d0 = builder.getAffineDimExpr(0);
  return Span{apply(d0.floorDiv(tile), rows.offset),
              apply(d0.ceilDiv(tile), rows.size)};
}
