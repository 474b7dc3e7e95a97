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

#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"

#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

/// The most that one load of a GPU takes, in bytes.
static constexpr int64_t kVectorBytes = 16;

/// A power of two of bytes, at most kVectorBytes, that all strides but the last
/// are multiples of. Without gaps they are products of extents.
static int64_t getRowAlignment(MemRefType type, ArrayRef<int64_t> strides) {
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t pitch = kVectorBytes;
  for (size_t i = 0; i + 1 < strides.size(); ++i) {
    int64_t factor = strides[i];
    if (ShapedType::isDynamic(factor)) {
      factor = 1;
      if (type.getLayout().isIdentity())
        for (int64_t size : type.getShape().drop_front(i + 1))
          factor *= ShapedType::isDynamic(size) ? 1 : size;
    }
    pitch = std::gcd(pitch, factor * bytes);
  }
  return pitch;
}

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
  if (!known || offset != 0)
    parts.rowAlignment = parts.elementBytes;
  else
    parts.rowAlignment = getRowAlignment(type, strides);
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

MemRefParts MemRefParts::getColumn(MathBuilder &mb, Value memref) {
  MemRefParts parts = get(mb, memref);
  parts.sizes.push_back(mb.i64Constant(1));
  parts.strides.push_back(mb.i64Constant(1));
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

Value loops::emitLaneMask(MathBuilder &mb, Value count, int64_t lanes) {
  SmallVector<int32_t> iota(lanes);
  std::iota(iota.begin(), iota.end(), 0);
  auto type = VectorType::get(lanes, mb.i32);
  Value lane = arith::ConstantOp::create(
      mb.builder, mb.loc, DenseElementsAttr::get(type, ArrayRef(iota)));
  return mb.cmp(IntPredicate::slt, lane,
                mb.splat(mb.truncate(count, mb.i32), lanes));
}

/// Of `bytes` bytes of a row that start at a multiple of as many, or anywhere.
static int64_t alignmentOf(MathBuilder &mb, const MemRefParts &parts,
                           int64_t bytes, bool anyPhase) {
  if (!mb.isOnDevice())
    return 1;
  return anyPhase ? parts.elementBytes : std::gcd(parts.rowAlignment, bytes);
}

/// Whether `bytes` bytes at `address` may be one access, or several of
/// kVectorBytes, although its alignment is not known to be more than
/// `alignment`; null where that is no question.
static Value isAligned(MathBuilder &mb, Value address, int64_t bytes,
                       int64_t alignment) {
  int64_t wanted = std::min(bytes, kVectorBytes);
  if (!mb.isOnDevice() || alignment >= wanted || !llvm::isPowerOf2_64(wanted))
    return Value();
  Value number = LLVM::PtrToIntOp::create(mb.builder, mb.loc, mb.i64, address);
  return mb.cmp(IntPredicate::eq, mb.bitAnd(number, wanted - 1), 0);
}

static int64_t bytesOf(VectorType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// `lanes` elements of integer type `element` at `address`.
static Value loadVector(MathBuilder &mb, Type element, Value address,
                        int64_t lanes, Value mask, int64_t alignment) {
  auto type = VectorType::get(lanes, element);
  auto load = [&](int64_t known) {
    return mb.load(type, address, /*bytes=*/0, known);
  };
  if (!mask) {
    int64_t bytes = bytesOf(type);
    Value aligned = isAligned(mb, address, bytes, alignment);
    if (!aligned)
      return load(alignment);
    auto branch = scf::IfOp::create(
        mb.builder, mb.loc, aligned,
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(mb.builder, mb.loc,
                               load(std::min(bytes, kVectorBytes)));
        },
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(mb.builder, mb.loc, load(alignment));
        });
    return branch.getResult(0);
  }
  return LLVM::MaskedLoadOp::create(
      mb.builder, mb.loc, type, address, mask, mb.constant(type, 0),
      mb.builder.getI32IntegerAttr(static_cast<int32_t>(alignment)),
      /*nontemporal=*/UnitAttr());
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
                        Value count, int64_t alignment) {
  auto type = cast<VectorType>(vector.getType());
  auto store = [&](int64_t known) {
    mb.store(vector, address, /*bytes=*/0, known);
  };
  if (!count) {
    int64_t bytes = bytesOf(type);
    Value aligned = isAligned(mb, address, bytes, alignment);
    if (!aligned)
      return store(alignment);
    return mb.ifThenElse(
        aligned, [&] { store(std::min(bytes, kVectorBytes)); },
        [&] { store(alignment); });
  }
  if (type.getElementTypeBitWidth() < 32 && !mb.isOnDevice())
    count = hideConstant(mb, count);
  LLVM::MaskedStoreOp::create(
      mb.builder, mb.loc, vector, address,
      emitLaneMask(mb, count, type.getNumElements()),
      mb.builder.getI32IntegerAttr(static_cast<int32_t>(alignment)));
}

/// The integer type as wide as `element`.
static Type bitsOf(MathBuilder &mb, Type element) {
  return mb.builder.getIntegerType(element.getIntOrFloatBitWidth());
}

Value loops::emitLoadReals(MathBuilder &mb, Type element, Value address,
                           int64_t lanes, Value mask, int64_t alignment) {
  Value bits =
      loadVector(mb, bitsOf(mb, element), address, lanes, mask, alignment);
  return emitFromReal(mb.builder, mb.loc, mb.bitcastLike(bits, element));
}

void loops::emitStoreReals(MathBuilder &mb, Type element, Value values,
                           Value address, Value count, int64_t alignment) {
  Value rounded = emitToReal(mb.builder, mb.loc, values, element);
  storeVector(mb, mb.bitcastLike(rounded, bitsOf(mb, element)), address, count,
              alignment);
}

/// Each lane by itself, as vectors in registers of a GPU want it.
static SmallVector<Value> forEachLane(MathBuilder &mb, Value count,
                                      int64_t lanes, ValueRange init,
                                      KernelBuilder::CarryBody body) {
  SmallVector<Value> carried(init);
  for (int64_t k = 0; k < lanes; ++k) {
    Value lane = mb.i64Constant(k);
    if (!count) {
      carried = body(lane, carried);
      continue;
    }
    auto branch = scf::IfOp::create(
        mb.builder, mb.loc, mb.cmp(IntPredicate::slt, lane, count),
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(mb.builder, mb.loc, body(lane, carried));
        },
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(mb.builder, mb.loc, carried);
        });
    carried = branch.getResults();
  }
  return carried;
}

/// for lane in [0, count or lanes).
static SmallVector<Value> forLanes(MathBuilder &mb, Value count, int64_t lanes,
                                   ValueRange init,
                                   KernelBuilder::CarryBody body) {
  if (mb.isOnDevice())
    return forEachLane(mb, count, lanes, init, body);
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
  if (!transposed && parts.isContiguous) {
    Value source = address(mb, at);
    return emitLoadReals(
        mb, parts.element, source, lanes,
        count ? emitLaneMask(mb, count, lanes) : Value(),
        alignmentOf(mb, parts, lanes * parts.elementBytes, anyPhase));
  }
  Type bits = bitsOf(mb, parts.element);
  Value zero = mb.constant(VectorType::get(lanes, bits), 0);
  Value found = forLanes(mb, count, lanes, zero, [&](Value k, ValueRange v) {
    Value one = mb.load(bits, address(mb, advanced(mb, at, k)), /*bytes=*/0,
                        alignmentOf(mb, parts, 1, /*anyPhase=*/true));
    return SmallVector<Value>{insertLane(mb, one, v[0], k)};
  })[0];
  return emitFromReal(mb.builder, mb.loc, mb.bitcastLike(found, parts.element));
}

void RealLines::store(MathBuilder &mb, Value values, const Position &at,
                      Value count) const {
  int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
  if (!transposed && parts.isContiguous)
    return emitStoreReals(
        mb, parts.element, values, address(mb, at), count,
        alignmentOf(mb, parts, lanes * parts.elementBytes, anyPhase));
  Value rounded = emitToReal(mb.builder, mb.loc, values, parts.element);
  Value bits = mb.bitcastLike(rounded, bitsOf(mb, parts.element));
  forLanes(mb, count, lanes, {}, [&](Value k, ValueRange) {
    Value lane = extractLane(mb, bits, k);
    mb.store(lane, address(mb, advanced(mb, at, k)),
             /*bytes=*/0, alignmentOf(mb, parts, 1, /*anyPhase=*/true));
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
  if (transposed && lines) {
    isLast = mb.cmp(IntPredicate::eq, mb.add(at.line, 1), lines);
    Value isEven = mb.cmp(IntPredicate::eq, mb.bitAnd(at.line, 1), 0);
    isLast = mb.bitAnd(isLast, isEven);
  }
  forLanes(mb, count, lanes, {}, [&](Value k, ValueRange) {
    auto [address, shift] = locate(mb, advanced(mb, at, k));
    Value code = extractLane(mb, codes, k);
    if (isFP4()) {
      // The other half of the byte stays as it is.
      Value other =
          mb.shl(mb.constant(mb.i8, 15), mb.sub(mb.constant(mb.i8, 4), shift));
      if (isLast)
        other = mb.select(isLast, mb.constant(mb.i8, 0), other);
      Value kept = mb.bitAnd(mb.load(mb.i8, address), other);
      code = mb.bitOr(kept, mb.shl(code, shift));
    }
    mb.store(code, address);
    return SmallVector<Value>();
  });
}

/// Even lanes of the low, odd ones of the high nibbles.
static Value unpackNibbles(MathBuilder &mb, Value bytes) {
  Value wide = mb.zeroExtend(bytes, mb.i16);
  Value low = mb.bitAnd(wide, 0xF);
  Value pairs = mb.bitOr(low, mb.shl(mb.bitAnd(wide, 0xF0), 4));
  return mb.bitcast(pairs, mb.i8);
}

Value CodeLines::load(MathBuilder &mb, const Position &at, int64_t lanes,
                      Value count) const {
  if (transposed || !parts.isContiguous)
    return loadOneByOne(mb, at, lanes, count);
  if (!anyPhase || !isFP4())
    return loadPacked(mb, at, lanes, count);
  Value even = mb.cmp(IntPredicate::eq, mb.bitAnd(at.along, 1), 0);
  auto branch = scf::IfOp::create(
      mb.builder, mb.loc, even,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(mb.builder, mb.loc,
                             loadPacked(mb, at, lanes, count));
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(mb.builder, mb.loc,
                             loadOneByOne(mb, at, lanes, count));
      });
  return branch.getResult(0);
}

Value CodeLines::loadPacked(MathBuilder &mb, const Position &at, int64_t lanes,
                            Value count) const {
  Value address = locate(mb, at).first;
  int64_t bytes = isFP4() ? lanes / 2 : lanes;
  Value mask;
  if (count)
    mask = emitLaneMask(mb, isFP4() ? mb.ceilShift(count, 1) : count, bytes);
  Value loaded = loadVector(mb, mb.i8, address, bytes, mask,
                            alignmentOf(mb, parts, bytes, anyPhase));
  return isFP4() ? unpackNibbles(mb, loaded) : loaded;
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
                count && isFP4() ? mb.ceilShift(count, 1) : count,
                alignmentOf(mb, parts, isFP4() ? lanes / 2 : lanes, anyPhase));
  };
  if (!anyPhase || !isFP4())
    return storePacked();
  if (count)
    return storeOneByOne(mb, codes, at, lanes, count);
  Value even = mb.cmp(IntPredicate::eq, mb.bitAnd(at.along, 1), 0);
  mb.ifThenElse(even, storePacked,
                [&] { storeOneByOne(mb, codes, at, lanes, count); });
}
