//===- StorageAccess.cpp - values and scales in memory ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole blocks of neighbouring elements move as vectors, ends of lines under a
// mask; everything else (strided lines, lines that start inside a byte) element
// by element.
//
//===----------------------------------------------------------------------===//

#include "StorageAccess.h"

#include "ScaleTile.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

MemRefParts MemRefParts::get(MathBuilder &mb, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  MemRefParts parts;
  parts.element = type.getElementType();
  parts.elementBytes = type.getElementTypeBitWidth() / 8;
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  bool known = succeeded(type.getStridesAndOffset(strides, offset));
  bool dynamic = !known || ShapedType::isDynamic(offset) ||
                 llvm::any_of(strides, ShapedType::isDynamic);
  bool identity = type.getLayout().isIdentity();
  memref::ExtractStridedMetadataOp metadata;
  if (dynamic && !identity)
    metadata =
        memref::ExtractStridedMetadataOp::create(mb.builder, mb.loc, memref);
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(size)) {
      Value dim = memref::DimOp::create(mb.builder, mb.loc, memref,
                                        static_cast<int64_t>(i));
      parts.sizes.push_back(mb.toI64(dim));
    } else {
      parts.sizes.push_back(mb.i64Constant(size));
    }
  }
  int64_t rank = type.getRank();
  parts.strides.resize(rank);
  for (int64_t i = rank - 1; i >= 0; --i) {
    if (known && !ShapedType::isDynamic(strides[i]))
      parts.strides[i] = mb.i64Constant(strides[i]);
    else if (identity)
      parts.strides[i] = mb.mul(parts.strides[i + 1], parts.sizes[i + 1]);
    else
      parts.strides[i] = mb.toI64(metadata.getStrides()[i]);
  }
  parts.isContiguous = rank == 0 || identity || (known && strides.back() == 1);
  Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(
      mb.builder, mb.loc, memref);
  parts.address =
      LLVM::IntToPtrOp::create(mb.builder, mb.loc, mb.ptr, mb.toI64(pointer));
  if (identity)
    return parts;
  Value first = ShapedType::isDynamic(offset) ? mb.toI64(metadata.getOffset())
                                              : mb.i64Constant(offset);
  parts.address = mb.ptrAdd(parts.address, mb.mul(first, parts.elementBytes));
  return parts;
}

Value MemRefParts::rows(MathBuilder &mb) const {
  Value rows = mb.i64Constant(1);
  for (Value size : ArrayRef(sizes).drop_back(sizes.empty() ? 0 : 1))
    rows = mb.mul(rows, size);
  return rows;
}

Value MemRefParts::columns(MathBuilder &mb) const {
  return sizes.empty() ? mb.i64Constant(1) : sizes.back();
}

Value MemRefParts::rowAddress(MathBuilder &mb, Value row) const {
  Value offset = mb.i64Constant(0);
  for (int64_t dim = getRank() - 2; dim >= 0; --dim) {
    Value at = row;
    if (dim > 0) {
      at = mb.rem(row, sizes[dim]);
      row = mb.div(row, sizes[dim]);
    }
    offset = mb.add(offset, mb.mul(at, strides[dim]));
  }
  return mb.ptrAdd(address, mb.mul(offset, elementBytes));
}

Value cpu::emitLaneMask(MathBuilder &mb, Value count, int64_t lanes) {
  SmallVector<int32_t> iota(lanes);
  std::iota(iota.begin(), iota.end(), 0);
  auto type = VectorType::get(lanes, mb.i32);
  Value lane = arith::ConstantOp::create(
      mb.builder, mb.loc, DenseElementsAttr::get(type, ArrayRef(iota)));
  return mb.cmp(IntPredicate::slt, lane,
                mb.splat(mb.truncate(count, mb.i32), lanes));
}

/// `lanes` elements of integer type `element` at `address`.
static Value loadVector(MathBuilder &mb, Type element, Value address,
                        int64_t lanes, Value mask) {
  auto type = VectorType::get(lanes, element);
  if (!mask)
    return mb.load(type, address);
  return LLVM::MaskedLoadOp::create(
      mb.builder, mb.loc, type, address, mask, mb.constant(type, 0),
      mb.builder.getI32IntegerAttr(1), /*nontemporal=*/UnitAttr());
}

/// `count`, which LLVM does not know to be constant. LLVM 22 stores too many
/// bytes for a truncated vector of which a constant mask selects one lane
/// (https://github.com/llvm/llvm-project/issues/179489).
static Value hideConstant(MathBuilder &mb, Value count) {
  return LLVM::InlineAsmOp::create(
             mb.builder, mb.loc, TypeRange(count.getType()), ValueRange(count),
             /*asm_string=*/"", /*constraints=*/"=r,0",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None,
             /*asm_dialect=*/LLVM::AsmDialectAttr(),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}

/// Stores the first `count` lanes, or all of them.
static void storeVector(MathBuilder &mb, Value vector, Value address,
                        Value count) {
  if (!count)
    return mb.store(vector, address);
  auto type = cast<VectorType>(vector.getType());
  if (type.getElementTypeBitWidth() < 32)
    count = hideConstant(mb, count);
  LLVM::MaskedStoreOp::create(mb.builder, mb.loc, vector, address,
                              emitLaneMask(mb, count, type.getNumElements()),
                              mb.builder.getI32IntegerAttr(1));
}

/// The integer type as wide as `element`.
static Type bitsOf(MathBuilder &mb, Type element) {
  return mb.builder.getIntegerType(element.getIntOrFloatBitWidth());
}

Value cpu::emitLoadReals(MathBuilder &mb, Type element, Value address,
                         int64_t lanes, Value mask) {
  Value bits = loadVector(mb, bitsOf(mb, element), address, lanes, mask);
  return emitFromReal(mb.builder, mb.loc, mb.bitcastLike(bits, element));
}

void cpu::emitStoreReals(MathBuilder &mb, Type element, Value values,
                         Value address, Value count) {
  Value rounded = emitToReal(mb.builder, mb.loc, values, element);
  storeVector(mb, mb.bitcastLike(rounded, bitsOf(mb, element)), address, count);
}

/// for lane in [0, count or lanes).
static SmallVector<Value> forLanes(MathBuilder &mb, Value count, int64_t lanes,
                                   ValueRange init,
                                   KernelBuilder::CarryBody body) {
  return mb.forLoop(mb.i64Constant(0), count ? count : mb.i64Constant(lanes), 1,
                    init, body);
}

static Value insertLane(MathBuilder &mb, Value element, Value vector,
                        Value lane) {
  return LLVM::InsertElementOp::create(mb.builder, mb.loc, vector, element,
                                       lane);
}
static Value extractLane(MathBuilder &mb, Value vector, Value lane) {
  return LLVM::ExtractElementOp::create(mb.builder, mb.loc, vector, lane);
}

static Position advanced(MathBuilder &mb, const Position &at, Value by) {
  return {at.batch, at.line, mb.add(at.along, by)};
}

Value RealLines::address(MathBuilder &mb, const Position &at) const {
  int64_t rank = parts.getRank();
  Value offset = mb.mul(transposed ? at.line : at.along, parts.strides.back());
  if (rank > 1)
    offset = mb.add(offset, mb.mul(transposed ? at.along : at.line,
                                   parts.strides[rank - 2]));
  if (rank > 2)
    offset = mb.add(offset, mb.mul(at.batch, parts.strides[0]));
  return mb.ptrAdd(parts.address, mb.mul(offset, parts.elementBytes));
}

Value RealLines::load(MathBuilder &mb, const Position &at, int64_t lanes,
                      Value count) const {
  if (!transposed && parts.isContiguous)
    return emitLoadReals(mb, parts.element, address(mb, at), lanes,
                         count ? emitLaneMask(mb, count, lanes) : Value());
  Type bits = bitsOf(mb, parts.element);
  Value zero = mb.constant(VectorType::get(lanes, bits), 0);
  Value found = forLanes(mb, count, lanes, zero, [&](Value k, ValueRange v) {
    Value one = mb.load(bits, address(mb, advanced(mb, at, k)));
    return SmallVector<Value>{insertLane(mb, one, v[0], k)};
  })[0];
  return emitFromReal(mb.builder, mb.loc, mb.bitcastLike(found, parts.element));
}

void RealLines::store(MathBuilder &mb, Value values, const Position &at,
                      Value count) const {
  int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
  if (!transposed && parts.isContiguous)
    return emitStoreReals(mb, parts.element, values, address(mb, at), count);
  Value rounded = emitToReal(mb.builder, mb.loc, values, parts.element);
  Value bits = mb.bitcastLike(rounded, bitsOf(mb, parts.element));
  forLanes(mb, count, lanes, {}, [&](Value k, ValueRange) {
    mb.store(extractLane(mb, bits, k), address(mb, advanced(mb, at, k)));
    return SmallVector<Value>();
  });
}

std::pair<Value, Value> CodeLines::locate(MathBuilder &mb,
                                          const Position &at) const {
  int64_t rank = parts.getRank();
  Value column = transposed ? at.line : at.along;
  Value row = transposed ? at.along : at.line;
  Value byte = isFP4() ? mb.shr(column, 1) : column;
  Value offset = mb.mul(byte, parts.strides.back());
  if (rank > 1)
    offset = mb.add(offset, mb.mul(row, parts.strides[rank - 2]));
  if (rank > 2)
    offset = mb.add(offset, mb.mul(at.batch, parts.strides[0]));
  Value shift = mb.truncate(mb.shl(mb.bitAnd(column, 1), 2), mb.i8);
  return {mb.ptrAdd(parts.address, offset), shift};
}

Value CodeLines::loadOneByOne(MathBuilder &mb, const Position &at,
                              int64_t lanes, Value count) const {
  Value zero = mb.constant(VectorType::get(lanes, mb.i8), 0);
  return forLanes(mb, count, lanes, zero, [&](Value k, ValueRange v) {
    auto [address, shift] = locate(mb, advanced(mb, at, k));
    Value code = mb.load(mb.i8, address);
    if (isFP4())
      code = mb.bitAnd(mb.shr(code, shift), 15);
    return SmallVector<Value>{insertLane(mb, code, v[0], k)};
  })[0];
}

void CodeLines::storeOneByOne(MathBuilder &mb, Value codes, const Position &at,
                              int64_t lanes, Value count) const {
  Value isLast;
  if (transposed && lines)
    isLast = mb.bitAnd(mb.cmp(IntPredicate::eq, mb.add(at.line, 1), lines),
                       mb.cmp(IntPredicate::eq, mb.bitAnd(at.line, 1), 0));
  forLanes(mb, count, lanes, {}, [&](Value k, ValueRange) {
    auto [address, shift] = locate(mb, advanced(mb, at, k));
    Value code = extractLane(mb, codes, k);
    if (isFP4()) {
      // The other half of the byte stays as it is.
      Value other =
          mb.shl(mb.constant(mb.i8, 15), mb.sub(mb.constant(mb.i8, 4), shift));
      if (isLast)
        other = mb.select(isLast, mb.constant(mb.i8, 0), other);
      code = mb.bitOr(mb.bitAnd(mb.load(mb.i8, address), other),
                      mb.shl(code, shift));
    }
    mb.store(code, address);
    return SmallVector<Value>();
  });
}

/// Even lanes of the low, odd ones of the high nibbles.
static Value unpackNibbles(MathBuilder &mb, Value bytes) {
  Value wide = mb.zeroExtend(bytes, mb.i16);
  Value pairs =
      mb.bitOr(mb.bitAnd(wide, 0xF), mb.shl(mb.bitAnd(wide, 0xF0), 4));
  return mb.bitcast(pairs, mb.i8);
}

Value CodeLines::load(MathBuilder &mb, const Position &at, int64_t lanes,
                      Value count) const {
  if (transposed || !parts.isContiguous || (anyPhase && isFP4()))
    return loadOneByOne(mb, at, lanes, count);
  Value address = locate(mb, at).first;
  if (!isFP4())
    return loadVector(mb, mb.i8, address, lanes,
                      count ? emitLaneMask(mb, count, lanes) : Value());
  Value mask =
      count ? emitLaneMask(mb, mb.ceilShift(count, 1), lanes / 2) : Value();
  return unpackNibbles(mb, loadVector(mb, mb.i8, address, lanes / 2, mask));
}

void CodeLines::store(MathBuilder &mb, Value codes, const Position &at,
                      Value count) const {
  int64_t lanes = cast<VectorType>(codes.getType()).getNumElements();
  if (transposed || !parts.isContiguous)
    return storeOneByOne(mb, codes, at, lanes, count);
  Value address = locate(mb, at).first;
  auto storePacked = [&] {
    // Where a row ends inside a byte, the rest of the byte is zero.
    Value kept = codes;
    if (count)
      kept = mb.select(emitLaneMask(mb, count, lanes), codes,
                       mb.constant(codes.getType(), 0));
    Value bytes = emitPackCodes(mb.builder, mb.loc, kind, kept);
    storeVector(mb, bytes, address,
                count && isFP4() ? mb.ceilShift(count, 1) : count);
  };
  if (!anyPhase || !isFP4())
    return storePacked();
  if (count)
    return storeOneByOne(mb, codes, at, lanes, count);
  Value even = mb.cmp(IntPredicate::eq, mb.bitAnd(at.along, 1), 0);
  mb.ifThenElse(even, storePacked,
                [&] { storeOneByOne(mb, codes, at, lanes, count); });
}

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

void ScaleLines::fill(MathBuilder &mb, uint8_t byte) const {
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
  mb.forLoop(mb.i64Constant(0), runs, 1, [&](Value run) {
    Value offset = mb.i64Constant(0);
    for (int64_t i = outer - 1; i >= 0; --i) {
      offset =
          mb.add(offset, mb.mul(mb.rem(run, parts.sizes[i]), parts.strides[i]));
      run = mb.div(run, parts.sizes[i]);
    }
    LLVM::MemsetOp::create(mb.builder, mb.loc, mb.ptrAdd(parts.address, offset),
                           mb.constant(mb.i8, static_cast<int8_t>(byte)), bytes,
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
