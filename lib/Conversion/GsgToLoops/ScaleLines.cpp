//===- ScaleLines.cpp - scales in memory ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The address of a scale in each layout, and extents in lines.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/ScaleTile.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::loops;

ScaleLines ScaleLines::get(MathBuilder &mb, Value memref, ScaledType type) {
  return {MemRefParts::get(mb, memref), type};
}

int64_t ScaleLines::matrixDim() const {
  return parts.getRank() - getLayoutRank(type.getLayout());
}

Value ScaleLines::numRows(MathBuilder &mb) const {
  int64_t dim = matrixDim();
  if (type.getLayout() == ScaleLayout::Linear)
    return dim < 0 ? mb.i64Constant(1) : parts.sizes[dim];
  return mb.mul(parts.sizes[dim], getRowTile(type.getLayout()));
}

Value ScaleLines::numColumns(MathBuilder &mb) const {
  if (type.getLayout() == ScaleLayout::Linear)
    return parts.sizes.back();
  return mb.mul(parts.sizes[matrixDim() + 1], 4);
}

Value ScaleLines::numLines(MathBuilder &mb) const {
  return type.isKMajor() ? numRows(mb) : numColumns(mb);
}
Value ScaleLines::numBlocks(MathBuilder &mb) const {
  return type.isKMajor() ? numColumns(mb) : numRows(mb);
}

Value ScaleLines::address(MathBuilder &mb, const Position &at) const {
  Value i = type.isKMajor() ? at.line : at.along;
  Value j = type.isKMajor() ? at.along : at.line;
  int64_t dim = matrixDim();
  Value offset;
  if (type.getLayout() == ScaleLayout::Linear) {
    offset = mb.mul(j, parts.strides.back());
    if (dim >= 0)
      offset = mb.add(offset, mb.mul(i, parts.strides[dim]));
  } else {
    bool large = type.getLayout() == ScaleLayout::Blocked;
    offset = mb.mul(mb.shr(i, large ? 7 : 3), parts.strides[dim]);
    offset = mb.add(offset, mb.mul(mb.shr(j, 2), parts.strides[dim + 1]));
    offset = mb.add(offset, mb.bitAnd(j, 3));
    if (large) {
      offset = mb.add(offset, mb.shl(mb.bitAnd(i, 31), 4));
      offset = mb.add(offset, mb.shl(mb.bitAnd(mb.shr(i, 5), 3), 2));
    } else {
      offset = mb.add(offset, mb.shl(mb.bitAnd(i, 7), 2));
    }
  }
  if (dim > 0)
    offset = mb.add(offset, mb.mul(at.batch, parts.strides[0]));
  return mb.ptrAdd(parts.address, offset);
}

void ScaleLines::fill(LoopBuilder &mb, uint8_t byte) const {
  // One run of neighbouring bytes for each index of the leading dimensions.
  int64_t dim = matrixDim();
  bool linear = type.getLayout() == ScaleLayout::Linear;
  int64_t outer = linear ? parts.getRank() - 1 : dim + 2;
  Value runs = mb.i64Constant(1);
  for (int64_t i = 0; i < outer; ++i)
    runs = mb.mul(runs, parts.sizes[i]);
  Value bytes =
      linear
          ? parts.sizes.back()
          : mb.i64Constant(type.getLayout() == ScaleLayout::Blocked ? 512 : 32);
  Value filling = mb.constant(mb.i8, static_cast<int8_t>(byte));
  auto addressOf = [&](Value run) {
    Value offset = mb.i64Constant(0);
    for (int64_t i = outer - 1; i >= 0; --i) {
      offset =
          mb.add(offset, mb.mul(mb.rem(run, parts.sizes[i]), parts.strides[i]));
      run = mb.div(run, parts.sizes[i]);
    }
    return mb.ptrAdd(parts.address, offset);
  };
  if (mb.isOnDevice()) {
    mb.parallel(mb.toIndex(mb.mul(runs, bytes)), [&](Value index) {
      Value number = mb.toI64(index);
      Value run = addressOf(mb.div(number, bytes));
      mb.store(filling, mb.ptrAdd(run, mb.rem(number, bytes)));
    });
    return;
  }
  mb.forLoop(mb.i64Constant(0), runs, 1, [&](Value run) {
    LLVM::MemsetOp::create(mb.builder, mb.loc, addressOf(run), filling, bytes,
                           /*isVolatile=*/false);
  });
}

static LineExtents extentsOf(MathBuilder &mb, ScaledType type,
                             ArrayRef<Value> shape) {
  LineExtents extents;
  int64_t rank = type.getRank();
  Value one = mb.i64Constant(1);
  Value columns = shape[rank - 1];
  Value rows = rank > 1 ? shape[rank - 2] : one;
  extents.batches = rank > 2 ? shape[0] : one;
  extents.lines = type.isKMajor() ? rows : columns;
  extents.length = type.isKMajor() ? columns : rows;
  return extents;
}

LineExtents LineExtents::get(MathBuilder &mb, ScaledType type,
                             const MemRefParts &logical) {
  return extentsOf(mb, type, logical.sizes);
}

LineExtents LineExtents::getPacked(MathBuilder &mb, ScaledType type,
                                   const MemRefParts &packed) {
  SmallVector<Value> shape;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i))
      shape.push_back(mb.i64Constant(type.getDimSize(i)));
    else if (type.isFP4() && i == type.getRank() - 1)
      shape.push_back(mb.shl(packed.sizes[i], 1));
    else
      shape.push_back(packed.sizes[i]);
  }
  return extentsOf(mb, type, shape);
}
