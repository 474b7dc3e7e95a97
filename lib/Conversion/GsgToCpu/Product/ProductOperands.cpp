//===- ProductOperands.cpp - from operands to frame slots -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads addresses, strides and extents of the operands of a product into the
// frame that its tasks share.
//
//===----------------------------------------------------------------------===//

#include "ProductOperands.h"

#include "nvfp4/Conversion/GsgToLoops/ScaleTile.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/CodedWeights.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

MemRefPieces OperandReader::split(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto metadata =
      memref::ExtractStridedMetadataOp::create(mb.builder, mb.loc, memref);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      mb.builder, mb.loc, memref);
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  MemRefPieces pieces;
  pieces.address =
      mb.add(mb.toI64(address), mb.mul(mb.toI64(metadata.getOffset()), bytes));
  for (Value size : metadata.getSizes())
    pieces.sizes.push_back(mb.toI64(size));
  for (Value stride : metadata.getStrides())
    pieces.strides.push_back(mb.toI64(stride));
  return pieces;
}

Value OperandReader::dim(Value memref, int64_t index) {
  return mb.toI64(
      mb.builder.createOrFold<memref::DimOp>(mb.loc, memref, index));
}
Value OperandReader::dimFromEnd(Value memref, int64_t fromEnd) {
  return dim(memref, cast<MemRefType>(memref.getType()).getRank() - fromEnd);
}

Value OperandReader::depthOf(const ScaledOperand &operand) {
  if (!operand.type)
    return dimFromEnd(operand.data, 1);
  int64_t depth = operand.type.getDimSize(operand.type.getRank() - 1);
  if (!ShapedType::isDynamic(depth))
    return mb.i64Constant(depth);
  Value stored = dimFromEnd(operand.data, 1);
  return operand.type.isFP4() ? mb.shl(stored, 1) : stored;
}

MatrixRef OperandReader::matrix(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  MemRefPieces pieces = split(memref);
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  MatrixRef ref;
  ref.element = type.getElementType();
  ref.perGroup = type.getRank() == 3;
  ref.address = product.frame.add(pieces.address);
  ref.groupStride = product.frame.add(
      ref.perGroup ? mb.mul(pieces.strides[0], bytes) : mb.i64Constant(0));
  ref.rowStride =
      product.frame.add(mb.mul(pieces.strides[type.getRank() - 2], bytes));
  return ref;
}

ScalesRef OperandReader::scales(ScaledType type, Value memref) {
  MemRefPieces pieces = split(memref);
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  int64_t tile = rank - getLayoutRank(type.getLayout());
  ScalesRef ref;
  ref.layout = type.getLayout();
  ref.start = type.getGroupStart();
  ref.blockSize = type.getBlockSize();
  ref.address = product.frame.add(pieces.address);
  ref.groupStride =
      product.frame.add(tile > 0 ? pieces.strides[0] : mb.i64Constant(0));
  ref.tileStride = product.frame.add(pieces.strides[tile]);
  ref.wordStride = product.frame.add(ref.layout == ScaleLayout::Linear
                                         ? mb.i64Constant(4)
                                         : pieces.strides[tile + 1]);
  return ref;
}

ScalesRef OperandReader::noScales(ScaledType type) {
  ScalesRef ref;
  ref.layout = type.getLayout();
  ref.start = type.getGroupStart();
  ref.blockSize = type.getBlockSize();
  Frame::Slot zero = product.frame.add(mb.i64Constant(0));
  ref.address = ref.groupStride = ref.tileStride = ref.wordStride = zero;
  return ref;
}

GroupRef OperandReader::perGroup(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type)
    return {GroupRef::Scalar, product.frame.add(value)};
  if (type.getRank() == 0 || (type.getRank() == 1 && type.getDimSize(0) == 1)) {
    SmallVector<Value> indices;
    if (type.getRank() == 1)
      indices.push_back(arith::ConstantIndexOp::create(mb.builder, mb.loc, 0));
    Value scalar = memref::LoadOp::create(mb.builder, mb.loc, value, indices);
    return {GroupRef::Scalar, product.frame.add(scalar)};
  }
  MemRefPieces pieces = split(value);
  return {type.getRank() == 1 ? GroupRef::One : GroupRef::Several,
          product.frame.add(pieces.address),
          product.frame.add(mb.mul(pieces.strides[0], 4))};
}

RowRef OperandReader::perRow(Value memref) {
  MemRefPieces pieces = split(memref);
  Value groupStride = pieces.strides.size() == 2 ? mb.mul(pieces.strides[0], 4)
                                                 : mb.i64Constant(0);
  return {product.frame.add(pieces.address), product.frame.add(groupStride)};
}

ColumnRef OperandReader::perColumn(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  MemRefPieces pieces = split(memref);
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Value groupStride = type.getRank() == 2 ? mb.mul(pieces.strides[0], bytes)
                                          : mb.i64Constant(0);
  return {product.frame.add(pieces.address), product.frame.add(groupStride),
          type.getElementType()};
}

Value cpu::wordStrideOf(MathBuilder &mb, ScaledType type,
                        const MemRefPieces &scales) {
  if (type.getLayout() == ScaleLayout::Linear)
    return mb.i64Constant(4);
  return scales
      .strides[scales.strides.size() - getLayoutRank(type.getLayout()) + 1];
}

void cpu::fillWeights(MathBuilder &mb, OperandReader &read,
                      const ScaledOperand &weights, Value entry) {
  MemRefPieces data = read.split(weights.data);
  MemRefPieces scales = read.split(weights.scales);
  auto set = [&](problem::Field field, Value value) {
    mb.store(value, entry, 8 * field);
  };
  set(problem::RhsData, data.address);
  set(problem::RhsRowStride, data.strides[data.strides.size() - 2]);
  set(problem::RhsScales, scales.address);
  set(problem::RhsTileStride,
      scales.strides[scales.strides.size() -
                     getLayoutRank(weights.type.getLayout())]);
  set(problem::RhsWordStride, wordStrideOf(mb, weights.type, scales));
}

std::string cpu::explainUnsupported(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (isa<TensorType, ScaledType>(operand.getType()))
      return "expected memrefs in storage form; run gsg-decompose-scaled and "
             "one-shot-bufferize first";
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || type.getRank() == 0)
      continue;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        strides.back() != 1)
      return "expected memrefs with contiguous rows";
    // Matrices may have any stride between rows; the rest must be dense from
    // its second dimension on.
    int64_t expected = 1;
    for (int64_t d = type.getRank() - 1; d > 1; --d) {
      if (type.getRank() > 3 && strides[d] != expected)
        return "expected dense memrefs of scales";
      if (ShapedType::isDynamic(type.getDimSize(d)))
        break;
      expected *= type.getDimSize(d);
    }
  }
  if (std::string reason = explainCodedWeights(op, nullptr); !reason.empty())
    return reason;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return explainUnsupportedMatmul(matmul);
  if (auto list = dyn_cast<MatmulListOp>(op))
    return explainUnsupportedMatmulList(list);
  return {};
}
