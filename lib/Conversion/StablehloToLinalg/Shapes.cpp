//===- Shapes.cpp - The same elements elsewhere -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants, counters, and operations that move elements to places that are
// known, or named by few scalars.
//
//===----------------------------------------------------------------------===//

#include "HloOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nvfp4::hlo;

static SmallVector<Value> convertConstant(const HloOp &op, LocBuilder &b) {
  auto value = op.getOperation()->getAttrOfType<ElementsAttr>("value");
  auto dense = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!dense)
    return op.fail("expected the elements of a constant in the module");
  Type type = op.getType().getElementType();
  if (type != dense.getElementType())
    dense = dense.bitcast(type);
  return {arith::ConstantOp::create(b, dense)};
}

static SmallVector<Value> convertIota(const HloOp &op, LocBuilder &b) {
  RankedTensorType type = op.getType();
  int64_t dim = op.getInteger("iota_dimension", 0);
  return makeElements(
      b, {}, {}, type,
      [&](LocBuilder &inner, ValueRange) -> SmallVector<Value> {
        Value index = linalg::IndexOp::create(inner, dim);
        Type element = type.getElementType();
        if (!isa<FloatType>(element))
          return {castIndex(inner, index, element)};
        Value integer = castIndex(inner, index, inner.getI32Type());
        Type wide = element.getIntOrFloatBitWidth() >= 32 ? element
                                                          : inner.getF32Type();
        Value number = arith::SIToFPOp::create(inner, wide, integer);
        if (wide != element)
          number = arith::TruncFOp::create(inner, element, number);
        return {number};
      });
}

/// The result, if all elements of the operand are known to be one number.
static Value fillSplat(const HloOp &op, LocBuilder &b) {
  TypedAttr splat = op.getSplat(0);
  return splat ? fill(b, op.getType(), arith::ConstantOp::create(b, splat))
               : Value();
}

static SmallVector<Value> convertBroadcast(const HloOp &op, LocBuilder &b) {
  if (Value same = fillSplat(op, b))
    return {same};
  RankedTensorType type = op.getType(), source = op.getOperandType(0);
  SmallVector<AffineExpr> indices;
  for (auto [i, dim] : llvm::enumerate(op.getIntegers("broadcast_dimensions")))
    indices.push_back(source.getDimSize(i) == type.getDimSize(dim)
                          ? b.getAffineDimExpr(dim)
                          : b.getAffineConstantExpr(0));
  if (static_cast<int64_t>(indices.size()) != source.getRank())
    return op.fail("expected {0} broadcast_dimensions, but got {1}",
                   source.getRank(), indices.size());
  return makeElements(
      b, op.getOperand(0),
      AffineMap::get(type.getRank(), 0, indices, b.getContext()), type,
      [](LocBuilder &, ValueRange arguments) -> SmallVector<Value> {
        return {arguments[0]};
      });
}

static SmallVector<Value> convertReshape(const HloOp &op, LocBuilder &b) {
  if (Value same = fillSplat(op, b))
    return {same};
  return {reshape(b, op.getOperand(0), op.getType().getShape())};
}

static SmallVector<Value> convertTranspose(const HloOp &op, LocBuilder &b) {
  RankedTensorType type = op.getType();
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  return SmallVector<Value>(
      linalg::TransposeOp::create(b, op.getOperand(0), empty,
                                  op.getIntegers("permutation"))
          ->getResults());
}

static SmallVector<Value> convertSlice(const HloOp &op, LocBuilder &b) {
  if (Value same = fillSplat(op, b))
    return {same};
  return {tensor::ExtractSliceOp::create(
      b, op.getType(), op.getOperand(0), ValueRange{}, ValueRange{},
      ValueRange{}, op.getIntegers("start_indices"), op.getType().getShape(),
      op.getIntegers("strides"))};
}

static SmallVector<Value> convertConcatenate(const HloOp &op, LocBuilder &b) {
  RankedTensorType type = op.getType();
  int64_t dim = op.getInteger("dimension", 0), offset = 0;
  Value result =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  for (Value part : op.getOperands()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(part.getType()).getShape();
    SmallVector<int64_t> offsets(type.getRank(), 0), ones(type.getRank(), 1);
    offsets[dim] = offset;
    offset += shape[dim];
    result = tensor::InsertSliceOp::create(b, type, part, result, ValueRange{},
                                           ValueRange{}, ValueRange{}, offsets,
                                           shape, ones);
  }
  return {result};
}

static SmallVector<Value> convertPad(const HloOp &op, LocBuilder &b) {
  SmallVector<int64_t> low = op.getIntegers("edge_padding_low"),
                       high = op.getIntegers("edge_padding_high");
  auto isNegative = [](int64_t extent) { return extent < 0; };
  if (llvm::any_of(low, isNegative) || llvm::any_of(high, isNegative) ||
      llvm::any_of(op.getIntegers("interior_padding"),
                   [](int64_t extent) { return extent != 0; }))
    return op.fail("expected padding of at least 0 at the edges and none "
                   "between elements");
  return {tensor::PadOp::create(b, op.getType(), op.getOperand(0),
                                getAsIndexOpFoldResult(b.getContext(), low),
                                getAsIndexOpFoldResult(b.getContext(), high),
                                getScalar(b, op.getOperand(1)))};
}

/// Scalar operands from `first` on as offsets of a slice that stays inside.
static SmallVector<OpFoldResult> getOffsets(const HloOp &op, LocBuilder &b,
                                            unsigned first,
                                            ArrayRef<int64_t> sizes) {
  RankedTensorType type = op.getOperandType(0);
  SmallVector<OpFoldResult> offsets;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    Value start = castIndex(b, getScalar(b, op.getOperand(first + i)),
                            b.getIndexType(), op.isUnsigned(first + i));
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value most = arith::ConstantIndexOp::create(b, type.getDimSize(i) - size);
    Value clamped =
        arith::MinSIOp::create(b, arith::MaxSIOp::create(b, start, zero), most);
    offsets.push_back(clamped);
  }
  return offsets;
}

static SmallVector<Value> convertDynamicSlice(const HloOp &op, LocBuilder &b) {
  ArrayRef<int64_t> sizes = op.getType().getShape();
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  return {tensor::ExtractSliceOp::create(
      b, op.getType(), op.getOperand(0), getOffsets(op, b, 1, sizes),
      getAsIndexOpFoldResult(b.getContext(), sizes), ones)};
}

static SmallVector<Value> convertDynamicUpdateSlice(const HloOp &op,
                                                    LocBuilder &b) {
  ArrayRef<int64_t> sizes = op.getOperandType(1).getShape();
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  return {tensor::InsertSliceOp::create(
      b, op.getOperand(1), op.getOperand(0), getOffsets(op, b, 2, sizes),
      getAsIndexOpFoldResult(b.getContext(), sizes), ones)};
}

static SmallVector<Value> convertBarrier(const HloOp &op, LocBuilder &) {
  return SmallVector<Value>(op.getOperands());
}

static SmallVector<Value> convertBitcast(const HloOp &op, LocBuilder &b) {
  RankedTensorType type = op.getType(), source = op.getOperandType(0);
  Type from = source.getElementType(), to = type.getElementType();
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth < toWidth)
    return op.fail("expected elements that stay as wide or become parts of "
                   "what they were, but got {0} to {1}",
                   source, type);
  // The low bits come first, in a further dimension.
  int64_t rank = type.getRank();
  auto map = AffineMap::getMultiDimIdentityMap(rank, b.getContext());
  if (fromWidth != toWidth)
    map = map.dropResult(rank - 1);
  return makeElements(
      b, op.getOperand(0), map, type,
      [&](LocBuilder &inner, ValueRange arguments) -> SmallVector<Value> {
        Value bits = arguments[0];
        if (fromWidth == toWidth && from == to)
          return {bits};
        if (fromWidth == toWidth)
          return {arith::BitcastOp::create(inner, to, bits)};
        Type integer = inner.getIntegerType(fromWidth);
        if (integer != from)
          bits = arith::BitcastOp::create(inner, integer, bits);
        Value part =
            castIndex(inner, linalg::IndexOp::create(inner, rank - 1), integer);
        Value width = arith::ConstantOp::create(
            inner, inner.getIntegerAttr(integer, toWidth));
        Value shifted = arith::ShRUIOp::create(
            inner, bits, arith::MulIOp::create(inner, part, width));
        Type narrow = inner.getIntegerType(toWidth);
        Value result = arith::TruncIOp::create(inner, narrow, shifted);
        if (narrow != to)
          result = arith::BitcastOp::create(inner, to, result);
        return {result};
      });
}

void nvfp4::hlo::addShapes(ConversionTable &table) {
  table["stablehlo.bitcast_convert"] = convertBitcast;
  table["stablehlo.broadcast_in_dim"] = convertBroadcast;
  table["stablehlo.concatenate"] = convertConcatenate;
  table["stablehlo.constant"] = convertConstant;
  table["stablehlo.dynamic_slice"] = convertDynamicSlice;
  table["stablehlo.dynamic_update_slice"] = convertDynamicUpdateSlice;
  table["stablehlo.iota"] = convertIota;
  table["stablehlo.optimization_barrier"] = convertBarrier;
  table["stablehlo.pad"] = convertPad;
  table["stablehlo.reshape"] = convertReshape;
  table["stablehlo.slice"] = convertSlice;
  table["stablehlo.transpose"] = convertTranspose;
}
