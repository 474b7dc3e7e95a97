//===- MemoryOps.cpp - Buffers and copies -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of allocations, views and copies.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// Allocations and views
//===----------------------------------------------------------------------===//

/// Elements of a buffer of static shape; none if they are more than 64 bits
/// count.
static std::optional<int64_t> countElements(MemRefType type) {
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

void SmemAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "smem");
}

LogicalResult SmemAllocOp::verify() {
  MemRefType type = getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      type.getRank() < 1)
    return emitOpError("expected a static shape and the identity layout, but "
                       "got ")
           << type;
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() % 8 != 0)
    if (!isa<Float4E2M1FNType>(type.getElementType()))
      return emitOpError("expected elements of whole bytes, or padded FP4, but "
                         "got ")
             << type.getElementType();
  std::optional<int64_t> elements = countElements(type);
  if (!elements || *elements > kSharedBytesLimit ||
      getSharedBytes(type) > kSharedBytesLimit)
    return emitOpError("expected at most ")
           << kSharedBytesLimit
           << " bytes, the shared memory of a block, but got " << type;
  if (unsigned swizzle = getSwizzle(type)) {
    MemRefType row =
        MemRefType::get({type.getShape().back()}, type.getElementType(),
                        MemRefLayoutAttrInterface(), type.getMemorySpace());
    if (getSharedBytes(row) != swizzle)
      return emitOpError("expected rows of ")
             << swizzle << " bytes, the span of the swizzle, but got "
             << getSharedBytes(row);
  }
  if (getOffset() && *getOffset() % getSharedAlignment(type) != 0)
    return emitOpError("expected an offset that is a multiple of ")
           << getSharedAlignment(type) << ", but got " << *getOffset()
           << "; the next is "
           << llvm::alignTo(*getOffset(), getSharedAlignment(type));
  return success();
}

/// 128 lanes, elements of 32 bits, in numbers of 32 bits.
static LogicalResult verifyTmem(Operation *op, MemRefType type) {
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      type.getRank() < 2 || type.getDimSize(type.getRank() - 2) != kTmemLanes ||
      !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() != 32)
    return op->emitOpError("expected a static shape of 128 lanes by columns, "
                           "with elements of 32 bits, but got ")
           << type;
  std::optional<int64_t> elements = countElements(type);
  if (!elements || *elements > std::numeric_limits<int32_t>::max())
    return op->emitOpError("expected at most ")
           << kTmemColumns << " columns of tensor memory, but got " << type;
  return success();
}

void TmemAllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "tmem");
}

static int64_t getSlotColumns(MemRefType type) {
  return type.getDimSize(type.getRank() - 1);
}

int64_t TmemAllocOp::getSlotStride() {
  return getStride().value_or(getSlotColumns(getType()));
}

int64_t TmemAllocOp::getNumColumns() {
  MemRefType type = getType();
  int64_t slots = type.getRank() == 3 ? type.getDimSize(0) : 1;
  return getTmemColumns(type) + (std::max<int64_t>(slots, 1) - 1) *
                                    (getSlotStride() - getSlotColumns(type));
}

LogicalResult TmemAllocOp::verify() {
  if (failed(verifyTmem(*this, getType())))
    return failure();
  int64_t columns = getSlotColumns(getType());
  if (getSlotStride() < columns)
    return emitOpError("expected a stride of at least the ")
           << columns << " columns of a slot, but got " << getSlotStride();
  if (getStride() && getType().getRank() != 3)
    return emitOpError("expected a stride with slots only, [slots, 128, "
                       "columns], but got ")
           << getType();
  int64_t end = getNumColumns() + getColumn().value_or(0);
  if (end > kTmemColumns)
    return emitOpError(
               "expected at most 512 columns of tensor memory, but got ")
           << end;
  return success();
}

LogicalResult TmemJoinOp::verify() {
  for (Value buffer : {getFirst(), getSecond(), getResult()}) {
    auto type = cast<MemRefType>(buffer.getType());
    if (failed(verifyTmem(*this, type)))
      return failure();
    if (type.getRank() != 2 ||
        type.getElementType() != getType().getElementType())
      return emitOpError("expected single slots of one element type, but got ")
             << type << " beside " << getType();
  }
  int64_t columns = getTmemColumns(getFirst().getType()) +
                    getTmemColumns(getSecond().getType());
  if (getTmemColumns(getType()) != columns)
    return emitOpError("expected a result of ")
           << columns << " columns, but got " << getTmemColumns(getType());
  return success();
}

Value TmemSliceOp::getViewSource() { return getSource(); }

LogicalResult TmemSliceOp::verify() {
  if (failed(verifyTmem(*this, getSource().getType())) ||
      failed(verifyTmem(*this, getType())))
    return failure();
  int64_t columns = getTmemColumns(getType());
  int64_t available = getTmemColumns(getSource().getType());
  if (columns > available)
    return emitOpError("expected at most ")
           << available << " columns, but got " << columns;
  APInt offset;
  if (matchPattern(getOffset(), m_ConstantInt(&offset)) &&
      (offset.isNegative() || offset.getSExtValue() + columns > available))
    return emitOpError("expected columns within the ")
           << available << " of the source, but got [" << offset.getSExtValue()
           << ", " << offset.getSExtValue() + columns << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// The vector of one lane.
static VectorType getLaneType(MemRefType type) {
  return VectorType::get({getTmemColumns(type)}, type.getElementType());
}

LogicalResult TmemLoadOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           ValueRange operands, DictionaryAttr,
                                           OpaqueProperties, RegionRange,
                                           SmallVectorImpl<Type> &types) {
  auto type = operands.empty() ? MemRefType()
                               : dyn_cast<MemRefType>(operands[0].getType());
  if (!type || !type.hasStaticShape() || getTmemColumns(type) < 1 ||
      !VectorType::isValidElementType(type.getElementType()))
    return failure();
  types.push_back(getLaneType(type));
  return success();
}

/// One instruction moves 1, 2, 4, ... 128 columns of one slot.
static LogicalResult verifyLanes(Operation *op, MemRefType type, Type vector) {
  if (failed(verifyTmem(op, type)))
    return failure();
  int64_t columns = getTmemColumns(type);
  if (type.getRank() != 2 || !llvm::isPowerOf2_64(columns) || columns > 128)
    return op->emitOpError(
               "expected 128 lanes by a power of two of columns, at "
               "most 128, but got ")
           << type;
  if (vector != getLaneType(type))
    return op->emitOpError("expected ")
           << getLaneType(type) << ", but got " << vector;
  return success();
}

LogicalResult TmemLoadOp::verify() {
  return verifyLanes(*this, getSource().getType(), getType());
}

LogicalResult TmemStoreOp::verify() {
  return verifyLanes(*this, getTarget().getType(), getValue().getType());
}

static LogicalResult verifySmemAccess(Operation *op, MemRefType buffer,
                                      size_t indices, VectorType vector) {
  if (buffer.getRank() < 1 || !buffer.hasStaticShape() ||
      !buffer.getLayout().isIdentity())
    return op->emitOpError("expected a buffer of static shape and identity "
                           "layout, but got ")
           << buffer;
  if (indices != static_cast<size_t>(buffer.getRank()))
    return op->emitOpError("expected ")
           << buffer.getRank() << " indices, but got " << indices;
  if (vector.getElementType() != buffer.getElementType())
    return op->emitOpError("expected elements of ")
           << buffer.getElementType() << ", but got "
           << vector.getElementType();
  if (vector.isScalable() || !vector.getElementType().isIntOrFloat())
    return op->emitOpError("expected a fixed number of integers or floats");
  if (vector.getElementTypeBitWidth() % 8 != 0)
    return op->emitOpError("expected elements of whole bytes, as each takes in "
                           "shared memory, but got ")
           << vector.getElementType();
  int64_t bits = vector.getNumElements() * vector.getElementTypeBitWidth();
  bool whole =
      bits % 128 == 0 || (bits < 128 && bits >= 8 && llvm::isPowerOf2_64(bits));
  if (!whole)
    return op->emitOpError("expected 1, 2, 4, 8 or a multiple of 16 bytes, but "
                           "got ")
           << bits << " bits";
  if (vector.getNumElements() > buffer.getShape().back())
    return op->emitOpError("expected at most a row of ")
           << buffer.getShape().back() << " elements, but got "
           << vector.getNumElements();
  return success();
}

LogicalResult SmemLoadOp::verify() {
  return verifySmemAccess(*this, getSource().getType(), getIndices().size(),
                          cast<VectorType>(getType()));
}

LogicalResult SmemStoreOp::verify() {
  return verifySmemAccess(*this, getTarget().getType(), getIndices().size(),
                          cast<VectorType>(getValue().getType()));
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Contiguous elements in global memory.
static bool isGlobal(MemRefType type) {
  auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
  return type.getLayout().isIdentity() && space && space.getInt() == 1;
}

static LogicalResult verifyFlags(Operation *op, Value flags) {
  if (isGlobal(cast<MemRefType>(flags.getType())))
    return success();
  return op->emitOpError("expected flags memref<?xi32, 1>, but got ")
         << flags.getType();
}

LogicalResult PublishOp::verify() { return verifyFlags(*this, getFlags()); }

LogicalResult AwaitOp::verify() { return verifyFlags(*this, getFlags()); }

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

LogicalResult TensorMapOp::verify() {
  auto type = cast<MemRefType>(getTable().getType());
  if (type.getRank() != 2 || type.getDimSize(1) != 128 ||
      !type.getElementType().isInteger(8) || !isGlobal(type))
    return emitOpError("expected a table memref<?x128xi8, 1>, but got ")
           << type;
  return success();
}

/// The box of `map` and the buffer are the same tile.
static LogicalResult verifyBox(Operation *op, TensorMapType map, size_t rank,
                               MemRefType buffer) {
  if (rank != static_cast<size_t>(map.getRank()))
    return op->emitOpError("expected ")
           << map.getRank() << " coordinates, but got " << rank;
  if (!buffer.getElementType().isIntOrFloat())
    return op->emitOpError("expected elements that are integers or floats, but "
                           "got ")
           << buffer.getElementType();
  if (map.getElementType() != buffer.getElementType() &&
      map.getElementType().getIntOrFloatBitWidth() !=
          buffer.getElementType().getIntOrFloatBitWidth() &&
      !map.getElementType().isInteger())
    return op->emitOpError("expected elements of ")
           << map.getElementType() << ", but got " << buffer.getElementType();
  if (!buffer.hasStaticShape() || !buffer.getLayout().isIdentity() ||
      getSharedBytes(buffer) != map.getSharedBytes())
    return op->emitOpError("expected a buffer of the ")
           << map.getSharedBytes() << " bytes of the box, but got " << buffer;
  if (getSwizzle(buffer) != map.getSwizzle())
    return op->emitOpError("expected the swizzle of the map, ")
           << map.getSwizzle() << ", but got " << getSwizzle(buffer);
  if (map.getSwizzle() != 0 &&
      map.getShape().back() * (map.getSharedBytes() /
                               ShapedType::getNumElements(map.getShape())) !=
          map.getSwizzle())
    return op->emitOpError("expected rows of the swizzle's span in the box");
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return verifyBox(*this, getMap().getType(), getCoordinates().size(),
                   getTarget().getType());
}

LogicalResult TmaStoreOp::verify() {
  if (isa<Float4E2M1FNType>(getMap().getType().getElementType()))
    return emitOpError("expected elements that can be stored, but got padded "
                       "FP4, which can only be loaded");
  if (Value memory = getMemory();
      memory && (isSmem(memory.getType()) || isTmem(memory.getType())))
    return emitOpError("expected global memory behind of, but got ")
           << memory.getType();
  return verifyBox(*this, getMap().getType(), getCoordinates().size(),
                   getSource().getType());
}

//===----------------------------------------------------------------------===//
// Lowered operations
//===----------------------------------------------------------------------===//

LogicalResult FenceOp::verify() { return success(); }
LogicalResult TmemWaitOp::verify() { return success(); }

LogicalResult RoleBarrierOp::verify() {
  if (!(*this)->getParentOfType<RolesOp>())
    return emitOpError("expected to be inside a role");
  return success();
}

LogicalResult InitBarriersOp::verify() {
  if (static_cast<int32_t>(getOffset()) % 8 != 0 ||
      static_cast<int32_t>(getDepth()) < 1 ||
      static_cast<int32_t>(getCount()) < 1)
    return emitOpError(
        "expected an offset that is a multiple of 8, and a depth "
        "and a count of at least 1");
  return success();
}

/// A power of two in [32, 512].
static LogicalResult verifyColumns(Operation *op, int32_t columns) {
  if (columns < 32 || columns > 512 || !llvm::isPowerOf2_32(columns))
    return op->emitOpError(
               "expected a power of two in [32, 512] as columns, but "
               "got ")
           << columns;
  return success();
}
LogicalResult ReserveTmemOp::verify() {
  return verifyColumns(*this, getColumns());
}
LogicalResult ReleaseTmemOp::verify() {
  return verifyColumns(*this, getColumns());
}

//===----------------------------------------------------------------------===//
// tma_load_rows and bulk_load
//===----------------------------------------------------------------------===//

LogicalResult TmaLoadRowsOp::verify() {
  MemRefType target = getTarget().getType();
  if (target.getRank() != 3 || !target.hasStaticShape())
    return emitOpError("expected a target of rank 3, but got ") << target;
  if (getMaps().empty())
    return emitOpError("expected at least one map");
  for (auto [number, map] : llvm::enumerate(getMaps())) {
    auto type = cast<TensorMapType>(map.getType());
    int64_t rows = 8 * (static_cast<int64_t>(number) + 1);
    if (type.getShape() != ArrayRef<int64_t>{target.getDimSize(0), rows,
                                             target.getDimSize(2)} ||
        type.getElementType() != target.getElementType() ||
        type.getSwizzle() != getSwizzle(target))
      return emitOpError("expected map ")
             << number << " with boxes of " << target.getDimSize(0) << "x"
             << rows << "x" << target.getDimSize(2) << " like the target, but "
             << "got " << type;
  }
  int64_t most = 8 * static_cast<int64_t>(getMaps().size());
  if (most > target.getDimSize(1))
    return emitOpError("expected at most ")
           << target.getDimSize(1) / 8 << " maps, but got " << getMaps().size();
  return success();
}

LogicalResult BulkLoadOp::verify() {
  MemRefType target = getTarget().getType();
  auto source = cast<MemRefType>(getSource().getType());
  if (target.getRank() != 2 || !target.hasStaticShape() ||
      getSwizzle(target) != 0 ||
      getSharedBytes(target) / target.getDimSize(0) % 16 != 0)
    return emitOpError("expected a target [entries, bytes] of a multiple of 16 "
                       "bytes each, but got ")
           << target;
  if (source.getRank() != 1 || !source.getElementType().isInteger(8) ||
      !target.getElementType().isInteger(8))
    return emitOpError("expected bytes in a row, but got ") << source;
  if (static_cast<int64_t>(getEntry()) >= target.getDimSize(0))
    return emitOpError("expected an entry below ")
           << target.getDimSize(0) << ", but got " << getEntry();
  return success();
}
