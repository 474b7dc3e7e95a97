//===- RowTiling.cpp - TilingInterface of row-wise operations ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of glu, hadamard, quantize and dequantize depends on the same row of
// the input, so all dimensions but the last can be cut. Columns of glu are cut
// where the gate layout allows, those of hadamard between its runs of 16; those
// of quantised values are not, since scales lie in tiles of blocks. Groups
// depend on data: such operations stay whole.
//
//===----------------------------------------------------------------------===//

#include "RowTiling.h"

#include "OperandSlicer.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace nvfp4::gsg;

//===----------------------------------------------------------------------===//
// What each operation iterates over
//===----------------------------------------------------------------------===//

/// The plain tensor or memref with the shape of the iteration domain.
static Value getPlain(GluOp op) { return op.getOut(); }
static Value getPlain(HadamardOp op) { return op.getOut(); }
static Value getPlain(DequantizeOp op) { return op.getOut(); }
static Value getPlain(QuantizeOp op) { return op.getInput(); }

/// The number of leading dimensions of getPlain that are iterated over.
template <typename OpTy> static unsigned getNumLoops(OpTy op) {
  int64_t rank = cast<ShapedType>(getPlain(op).getType()).getRank();
  return rank - isa<QuantizeOp, DequantizeOp>(op.getOperation());
}

/// One span for each dimension that is iterated over.
static Spans getSpans(ArrayRef<OpFoldResult> offsets,
                      ArrayRef<OpFoldResult> sizes) {
  Spans spans;
  for (auto [d, offset, size] : llvm::enumerate(offsets, sizes))
    spans.push_back({static_cast<unsigned>(d), Span{offset, size}});
  return spans;
}

/// True if `span` is known to be all of dimension `d` of `value`.
static bool isWhole(const Span &span, Value value, int64_t d) {
  if (!isZeroInteger(span.offset))
    return false;
  auto type = cast<ShapedType>(value.getType());
  if (!type.isDynamicDim(d))
    return getConstantIntValue(span.size) == type.getDimSize(d);
  auto size = dyn_cast<Value>(span.size);
  Operation *dim = size ? size.getDefiningOp() : nullptr;
  if (!isa_and_nonnull<tensor::DimOp, memref::DimOp>(dim) ||
      getConstantIntValue(dim->getOperand(1)) != d)
    return false;
  // Within the loops of the tiles the destination is what they carry.
  while (dim->getOperand(0) != value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop = argument ? dyn_cast_or_null<LoopLikeOpInterface>(
                               argument.getOwner()->getParentOp())
                         : LoopLikeOpInterface();
    OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
    if (!init)
      return false;
    value = init->get();
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The tile of each operation
//===----------------------------------------------------------------------===//

/// Replaces the operands of `tile`, a copy of `op`, by their slices.
static LogicalResult sliceOperands(OperandSlicer &slicer, GluOp op, GluOp tile,
                                   const Spans &spans) {
  auto [last, columns] = spans.back();
  slicer.column = columns;
  if (failed(slicer.computeWeightRows(op.getActivation(),
                                      isWhole(columns, op.getOut(), last))))
    return failure();
  Spans input(spans);
  input.back().second = *slicer.weightRow;
  tile.getInputMutable().assign(slicer.slice(op.getInput(), input));
  tile.getOutMutable().assign(slicer.slice(op.getOut(), spans));
  return success();
}

static LogicalResult sliceOperands(OperandSlicer &slicer, HadamardOp op,
                                   HadamardOp tile, const Spans &spans) {
  auto [last, columns] = spans.back();
  std::optional<int64_t> size = getConstantIntValue(columns.size);
  if (!isWhole(columns, op.getOut(), last) && (!size || *size % 16))
    return op.emitOpError("expected column tiles that are a multiple of 16, "
                          "but got ")
           << (size ? std::to_string(*size) : "a dynamic size");
  tile.getInputMutable().assign(slicer.slice(op.getInput(), spans));
  tile.getOutMutable().assign(slicer.slice(op.getOut(), spans));
  return success();
}

/// Sets the rows of `slicer` for values of type `type`; refuses what is not
/// row-wise.
template <typename OpTy>
static LogicalResult setRows(OperandSlicer &slicer, OpTy op, ScaledType type,
                             const Spans &spans) {
  if (op.getGroups())
    return op.emitOpError("expected no groups to tile rows: which row belongs "
                          "to which group depends on data");
  if (!type.isKMajor())
    return op.emitOpError("expected blocks along the last dimension to tile "
                          "rows, but got ")
           << type;
  if (!spans.empty())
    slicer.row = spans.back().second;
  if (spans.size() == 2)
    slicer.group = spans.front().second;
  return success();
}

/// One second-level scale a matrix follows the matrices, one a row the rows.
static Value sliceGlobalScale(OperandSlicer &slicer, Value scale, bool perRow,
                              const Spans &spans) {
  if (scale && perRow)
    return slicer.slice(scale, spans);
  auto type = scale ? dyn_cast<ShapedType>(scale.getType()) : ShapedType();
  bool isOneForAll = !type || type.getRank() == 0 || type.getDimSize(0) == 1;
  return isOneForAll ? scale : slicer.slice(scale, slicer.spansOfGroups(scale));
}

static LogicalResult sliceOperands(OperandSlicer &slicer, DequantizeOp op,
                                   DequantizeOp tile, const Spans &spans) {
  ScaledOperand input{op.getInput(), op.getInputScales(), op.getInputType()};
  if (failed(setRows(slicer, op, input.type, spans)))
    return failure();
  FailureOr<ScaledOperand> part = slicer.sliceScaled(input, slicer.row);
  if (failed(part))
    return failure();
  tile.getInputMutable().assign(part->data);
  if (part->isStorageForm()) {
    tile.getInputScalesMutable().assign(part->scales);
    tile.setInputTypesAttr(
        Builder(op.getContext()).getTypeArrayAttr(Type(part->type)));
  }
  if (Value scale = op.getGlobalScale())
    tile.getGlobalScaleMutable().assign(
        sliceGlobalScale(slicer, scale, op.getPerRow(), spans));
  tile.getOutMutable().assign(slicer.slice(op.getOut(), spans));
  return success();
}

static LogicalResult sliceOperands(OperandSlicer &slicer, QuantizeOp op,
                                   QuantizeOp tile, const Spans &spans) {
  if (!op.getOut())
    return op.emitOpError("expected results that are tensors to tile; run "
                          "gsg-decompose-scaled first");
  if (op.getTransposed() || op.getHadamard())
    return op.emitOpError("expected a result that is not transposed, without "
                          "hadamard, to tile it by rows");
  ScaledOperand out{op.getOut(), op.getOutScales(), op.getScaledResultType()};
  if (failed(setRows(slicer, op, out.type, spans)))
    return failure();
  // The generator of stochastic rounding counts the elements of the whole
  // result, and a square crosses rows.
  QuantizerAttr quantizer = op.getQuantizer();
  if (quantizer.getRounding() == Rounding::Stochastic || quantizer.getTwoD())
    return op.emitOpError("expected a quantizer with rounding = nearest and "
                          "blocks within rows to tile a quantised result");
  FailureOr<ScaledOperand> part = slicer.sliceScaled(out, slicer.row);
  if (failed(part))
    return failure();
  tile.getOutMutable().assign(part->data);
  tile.getOutScalesMutable().assign(part->scales);
  tile.setOutTypesAttr(
      Builder(op.getContext()).getTypeArrayAttr(Type(part->type)));
  tile.getInputMutable().assign(slicer.slice(op.getInput(), spans));
  if (Value scale = op.getGlobalScale())
    tile.getGlobalScaleMutable().assign(
        sliceGlobalScale(slicer, scale, op.getPerRow(), spans));
  return success();
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

namespace {
template <typename OpTy>
struct RowTiling : TilingInterface::ExternalModel<RowTiling<OpTy>, OpTy> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *op) const {
    return SmallVector<utils::IteratorType>(getNumLoops(cast<OpTy>(op)),
                                            utils::IteratorType::parallel);
  }

  SmallVector<Range> getIterationDomain(Operation *op,
                                        OpBuilder &builder) const {
    SmallVector<Range> domain;
    for (unsigned d = 0; d < getNumLoops(cast<OpTy>(op)); ++d)
      domain.push_back(
          {builder.getIndexAttr(0),
           getDim(builder, op->getLoc(), getPlain(cast<OpTy>(op)), d),
           builder.getIndexAttr(1)});
    return domain;
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *op, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    auto tile =
        cast<OpTy>(clone(builder, op, op->getResultTypes(), op->getOperands()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(tile);
    OperandSlicer slicer(builder, op, std::nullopt, std::nullopt, std::nullopt);
    if (failed(sliceOperands(slicer, cast<OpTy>(op), tile,
                             getSpans(offsets, sizes)))) {
      tile.erase();
      return failure();
    }
    for (auto [result, init] :
         llvm::zip(tile->getResults(), tile.getDpsInitsMutable()))
      result.setType(init.get().getType());
    return TilingResult{{tile},
                        SmallVector<Value>(tile->getResults()),
                        std::move(slicer.slices)};
  }

  LogicalResult
  getResultTilePosition(Operation *op, OpBuilder &builder,
                        unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    Value init = cast<OpTy>(op).getDpsInitsMutable()[resultNumber].get();
    int64_t rank = cast<ShapedType>(init.getType()).getRank();
    for (int64_t d = 0; d < rank; ++d) {
      bool isTiled = d < static_cast<int64_t>(offsets.size());
      resultOffsets.push_back(isTiled ? offsets[d] : builder.getIndexAttr(0));
      resultSizes.push_back(isTiled ? sizes[d]
                                    : getDim(builder, op->getLoc(), init, d));
    }
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (!quantize || init != quantize.getOutScales() || offsets.empty())
      return success();
    // Rows of scales that lie in tiles.
    OperandSlicer slicer(builder, op, std::nullopt, std::nullopt, std::nullopt);
    FailureOr<Span> rows = slicer.getScaleRows(
        quantize.getScaledResultType(), Span{offsets.back(), sizes.back()});
    if (failed(rows))
      return failure();
    resultOffsets[offsets.size() - 1] = rows->offset;
    resultSizes[offsets.size() - 1] = rows->size;
    return success();
  }

  LogicalResult getIterationDomainTileFromResultTile(
      Operation *op, OpBuilder &, unsigned resultNumber,
      ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
      SmallVectorImpl<OpFoldResult> &iterOffsets,
      SmallVectorImpl<OpFoldResult> &iterSizes) const {
    // Of two results neither is made without the other.
    if (isa<QuantizeOp>(op))
      return failure();
    unsigned numLoops = getNumLoops(cast<OpTy>(op));
    Value init = cast<OpTy>(op).getDpsInitsMutable()[resultNumber].get();
    for (unsigned d = numLoops; d < offsets.size(); ++d)
      if (!isWhole({offsets[d], sizes[d]}, init, d))
        return failure();
    iterOffsets.assign(offsets.begin(), offsets.begin() + numLoops);
    iterSizes.assign(sizes.begin(), sizes.begin() + numLoops);
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *op, OpBuilder &builder,
                          unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    SmallVector<OpFoldResult> iterOffsets, iterSizes;
    if (failed(getIterationDomainTileFromResultTile(
            op, builder, resultNumber, offsets, sizes, iterOffsets, iterSizes)))
      return failure();
    return getTiledImplementation(op, builder, iterOffsets, iterSizes);
  }
};

template <typename... OpTys> void attachTo(MLIRContext *context) {
  (OpTys::template attachInterface<RowTiling<OpTys>>(*context), ...);
}
} // namespace

void nvfp4::gsg::attachRowTiling(MLIRContext *context) {
  attachTo<GluOp, HadamardOp, QuantizeOp, DequantizeOp>(context);
}
