//===- BufferOps.cpp - Buffers and their views ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of allocations and views.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

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
  if (getSharedBytes(type) > kSharedBytesLimit)
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

LogicalResult nvfp4::warpspec::verifyTmem(Operation *op, MemRefType type) {
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      type.getRank() < 2 || type.getDimSize(type.getRank() - 2) != kTmemLanes ||
      !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() != 32)
    return op->emitOpError("expected a static shape of 128 lanes by columns, "
                           "with elements of 32 bits, but got ")
           << type;
  if (countElements(type) > std::numeric_limits<int32_t>::max())
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
  if (auto alloc = getSource().getDefiningOp<TmemAllocOp>();
      alloc && alloc.getNumColumns() != getTmemColumns(alloc.getType()))
    return emitOpError("expected a source whose columns are side by side, but "
                       "got slots with a stride of ")
           << alloc.getSlotStride() << " columns";
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
