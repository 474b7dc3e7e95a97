//===- TmaOps.cpp - Copies that TMA carries out -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of tensor maps and of asynchronous copies.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

using namespace mlir;
using namespace nvfp4::warpspec;

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
  if (map.hasOpenExtents())
    return op->emitOpError("expected a box of known extents, but got ") << map;
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
  int64_t rowBytes = map.getSharedBytes() /
                     ShapedType::getNumElements(map.getShape()) *
                     map.getShape().back();
  if (map.getSwizzle() != 0 && rowBytes != map.getSwizzle())
    return op->emitOpError("expected rows of ")
           << map.getSwizzle()
           << " bytes in the box, the span of the swizzle, but got "
           << rowBytes;
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return verifyBox(*this, getMap().getType(), getCoordinates().size(),
                   getTarget().getType());
}

LogicalResult TmaLoadRowsOp::verify() {
  MemRefType target = getTarget().getType();
  if (target.getRank() != 3 || !target.hasStaticShape())
    return emitOpError("expected a target of rank 3, but got ") << target;
  if (getMaps().empty())
    return emitOpError("expected at least one map, but got none");
  bool isOpen = hasOpenRows();
  for (auto [number, map] : llvm::enumerate(getMaps())) {
    auto type = cast<TensorMapType>(map.getType());
    int64_t rows =
        isOpen ? ShapedType::kDynamic : 8 * (static_cast<int64_t>(number) + 1);
    if (type.getShape() != ArrayRef<int64_t>{target.getDimSize(0), rows,
                                             target.getDimSize(2)} ||
        type.getElementType() != target.getElementType() ||
        type.getSwizzle() != getSwizzle(target))
      return emitOpError("expected map ")
             << number << " with boxes of " << target.getDimSize(0) << "x"
             << (isOpen ? "?" : std::to_string(rows)) << "x"
             << target.getDimSize(2) << " like the target, but "
             << "got " << type;
  }
  if (isOpen && getMaps().size() > 1)
    return emitOpError("expected one map of boxes with an open number of rows, "
                       "but got ")
           << getMaps().size();
  int64_t most = 8 * static_cast<int64_t>(getMaps().size());
  if (most > target.getDimSize(1))
    return emitOpError("expected at most ")
           << target.getDimSize(1) / 8 << " maps, but got " << getMaps().size();
  return success();
}

bool TmaLoadRowsOp::hasOpenRows() {
  return cast<TensorMapType>(getMaps().front().getType()).hasOpenExtents();
}

LogicalResult BulkLoadOp::verify() {
  MemRefType target = getTarget().getType();
  auto source = cast<MemRefType>(getSource().getType());
  if (target.getRank() != 2 || !target.hasStaticShape() ||
      target.getDimSize(0) == 0 || getSwizzle(target) != 0 ||
      getSharedBytes(target) / target.getDimSize(0) % 16 != 0)
    return emitOpError("expected a target [entries, bytes] of a multiple of 16 "
                       "bytes each, but got ")
           << target;
  if (source.getRank() != 1 || !source.getElementType().isInteger(8) ||
      !isGlobal(source))
    return emitOpError("expected a source memref<?xi8, 1>, but got ") << source;
  if (!target.getElementType().isInteger(8))
    return emitOpError("expected a target of i8, but got ") << target;
  if (static_cast<int64_t>(getEntry()) >= target.getDimSize(0))
    return emitOpError("expected an entry below ")
           << target.getDimSize(0) << ", but got " << getEntry();
  return success();
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
