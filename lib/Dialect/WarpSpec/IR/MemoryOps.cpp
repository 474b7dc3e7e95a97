//===- MemoryOps.cpp - What threads load and store --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of loads and stores by threads.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

/// The vector of one lane.
static VectorType getLaneType(MemRefType type) {
  return VectorType::get({getTmemColumns(type)}, type.getElementType());
}

LogicalResult TmemLoadOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           ValueRange operands, DictionaryAttr,
                                           OpaqueProperties, RegionRange,
                                           SmallVectorImpl<Type> &types) {
  if (operands.size() != 1)
    return emitOptionalError(loc, "expected one operand, but got ",
                             operands.size());
  auto type = dyn_cast<MemRefType>(operands[0].getType());
  if (!type || !isTmem(type))
    return emitOptionalError(loc,
                             "expected a buffer in tensor memory, but got ",
                             operands[0].getType());
  if (!type.hasStaticShape() || getTmemColumns(type) < 1 ||
      !VectorType::isValidElementType(type.getElementType()))
    return emitOptionalError(loc,
                             "expected a static shape of 128 lanes by columns, "
                             "with elements of 32 bits, but got ",
                             type);
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

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static LogicalResult verifySmemAccess(Operation *op, MemRefType buffer,
                                      ValueRange indices, VectorType vector) {
  if (buffer.getRank() < 1 || !buffer.hasStaticShape() ||
      !buffer.getLayout().isIdentity())
    return op->emitOpError("expected a buffer of static shape and identity "
                           "layout, but got ")
           << buffer;
  if (indices.size() != static_cast<size_t>(buffer.getRank()))
    return op->emitOpError("expected ")
           << buffer.getRank() << " indices, but got " << indices.size();
  if (vector.getElementType() != buffer.getElementType())
    return op->emitOpError("expected elements of ")
           << buffer.getElementType() << ", but got "
           << vector.getElementType();
  if (vector.isScalable() || !vector.getElementType().isIntOrFloat())
    return op->emitOpError("expected a fixed number of integers or floats, but "
                           "got ")
           << vector;
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
  return verifySmemAccess(*this, getSource().getType(), getIndices(),
                          cast<VectorType>(getType()));
}

LogicalResult SmemStoreOp::verify() {
  return verifySmemAccess(*this, getTarget().getType(), getIndices(),
                          cast<VectorType>(getValue().getType()));
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

bool nvfp4::warpspec::isGlobal(MemRefType type) {
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
