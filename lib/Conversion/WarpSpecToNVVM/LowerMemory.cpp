//===- LowerMemory.cpp - Buffers and copies to addresses and TMA ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

void KernelLowering::lower(SmemAllocOp op) {
  rewriter.replaceAllUsesWith(op.getOperation()->getResults(),
                              add(sharedBase, op.getOffset().value_or(0)));
  rewriter.eraseOp(op);
}

void KernelLowering::lower(TmemAllocOp op) {
  // All of them stand in the kernel's own block, after the reservation.
  if (!tmemBase) {
    Value slot = getShared(add(sharedBase, *kernel.getSharedBytes() - 8));
    tmemBase = LLVM::LoadOp::create(rewriter, loc, getI32(), slot);
  }
  op->getResult(0).replaceAllUsesWith(
      add(tmemBase, op.getColumn().value_or(0)));
  rewriter.eraseOp(op);
}

void KernelLowering::lower(TmemJoinOp op) {
  Value first = arith::MinUIOp::create(rewriter, loc, getI32(),
                                       op.getFirstMutable().get(),
                                       op.getSecondMutable().get());
  op->getResult(0).replaceAllUsesWith(first);
  rewriter.eraseOp(op);
}

void KernelLowering::lower(TmemSliceOp op) {
  Value address = add(op.getSourceMutable().get(), op.getOffset());
  op->getResult(0).replaceAllUsesWith(address);
  rewriter.eraseOp(op);
}

void KernelLowering::lower(PipelineOp op) {
  buffers[op].assign(op->operand_begin(), op->operand_end());
}

//===----------------------------------------------------------------------===//
// Threads and shared memory
//===----------------------------------------------------------------------===//

/// Offset in bytes of an element of a packed row-major buffer: what varies, and
/// the rest.
std::pair<Value, int64_t> KernelLowering::getByteOffset(MemRefType type,
                                                        ValueRange indices) {
  int64_t stride = getSharedBytes(type) / type.getNumElements();
  Value offset;
  int64_t fixed = 0;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (std::optional<int64_t> index = getConstantIntValue(indices[dim])) {
      fixed += *index * stride;
    } else {
      Value part =
          stride == 1 ? Value(indices[dim]) : multiply(indices[dim], stride);
      offset = offset ? add(offset, part) : part;
    }
    stride *= type.getDimSize(dim);
  }
  return {offset ? offset : constant(0), fixed};
}

/// Address of the piece of at most 16 bytes at `offset` and `bytes` of a
/// buffer: its place among the 16-byte pieces of its row depends on the row.
/// Without a swizzle the constant is one of the instruction, and takes no
/// register.
Value KernelLowering::getPieceAddress(MemRefType type, Value base, Value offset,
                                      int64_t bytes) {
  unsigned swizzle = getSwizzle(type);
  if (!swizzle) {
    Value first = getShared(add(base, offset));
    return LLVM::GEPOp::create(
        rewriter, loc, first.getType(), rewriter.getI8Type(), first,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  Value place = add(offset, bytes);
  Value row = arith::ShRUIOp::create(rewriter, loc, place, constant(7));
  Value bits =
      arith::AndIOp::create(rewriter, loc, row, constant(swizzle / 16 - 1));
  Value shifted = arith::ShLIOp::create(rewriter, loc, bits, constant(4));
  place = arith::XOrIOp::create(rewriter, loc, place, shifted);
  return getShared(add(base, place));
}

/// The vector in a form that LLVM has, in pieces of at most 16 bytes.
static VectorType getPieceType(VectorType type) {
  Type element = type.getElementType();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element) && bits < 16)
    element = IntegerType::get(type.getContext(), bits);
  int64_t count = std::min<int64_t>(type.getNumElements(), 128 / bits);
  return VectorType::get({count}, element);
}

void KernelLowering::lower(SmemLoadOp op) {
  MemRefType buffer = getBufferType(op.getSourceMutable());
  auto type = cast<VectorType>(op.getType());
  VectorType piece = getPieceType(type);
  VectorType whole = VectorType::get(type.getShape(), piece.getElementType());
  int64_t count = piece.getNumElements();
  int64_t bytes = count * piece.getElementTypeBitWidth() / 8;
  Value base = op.getSourceMutable().get();
  auto [offset, fixed] = getByteOffset(buffer, op.getIndices());
  Value result;
  for (int64_t i = 0; i * count < type.getNumElements(); ++i) {
    Value loaded = LLVM::LoadOp::create(
        rewriter, loc, piece,
        getPieceAddress(buffer, base, offset, fixed + i * bytes), bytes);
    if (piece == whole) {
      result = loaded;
      break;
    }
    if (!result)
      result =
          arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(whole));
    result = vector::InsertStridedSliceOp::create(rewriter, loc, loaded, result,
                                                  ArrayRef<int64_t>{i * count},
                                                  ArrayRef<int64_t>{1});
  }
  if (whole != type)
    result = vector::BitCastOp::create(rewriter, loc, type, result);
  rewriter.replaceOp(op, result);
}

void KernelLowering::lower(SmemStoreOp op) {
  MemRefType buffer = getBufferType(op.getTargetMutable());
  Value value = op.getValue();
  auto type = cast<VectorType>(value.getType());
  VectorType piece = getPieceType(type);
  VectorType whole = VectorType::get(type.getShape(), piece.getElementType());
  int64_t count = piece.getNumElements();
  int64_t bytes = count * piece.getElementTypeBitWidth() / 8;
  if (whole != type)
    value = vector::BitCastOp::create(rewriter, loc, whole, value);
  Value base = op.getTargetMutable().get();
  auto [offset, fixed] = getByteOffset(buffer, op.getIndices());
  for (int64_t i = 0; i * count < type.getNumElements(); ++i) {
    Value part = value;
    if (piece != whole)
      part = vector::ExtractStridedSliceOp::create(
          rewriter, loc, value, ArrayRef<int64_t>{i * count},
          ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
    LLVM::StoreOp::create(
        rewriter, loc, part,
        getPieceAddress(buffer, base, offset, fixed + i * bytes), bytes);
  }
  rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Pointer to entry `index`, an integer, of `bytes` each.
Value KernelLowering::getGlobal(Value memref, Value index, int64_t bytes) {
  Type i64 = rewriter.getI64Type();
  Value pointer =
      memref::ExtractAlignedPointerAsIndexOp::create(rewriter, loc, memref);
  Value base = arith::IndexCastOp::create(rewriter, loc, i64, pointer);
  Value entry =
      index.getType().isIndex()
          ? Value(arith::IndexCastOp::create(rewriter, loc, i64, index))
          : arith::ExtSIOp::create(rewriter, loc, i64, index);
  Value offset = arith::MulIOp::create(rewriter, loc, entry, constant64(bytes));
  Value address = arith::AddIOp::create(rewriter, loc, base, offset);
  return LLVM::IntToPtrOp::create(
      rewriter, loc, LLVM::LLVMPointerType::get(kernel.getContext(), 1),
      address);
}

// Words that blocks hand over are stored and loaded in the order that
// memory has for the whole device.
static constexpr llvm::StringLiteral kDevice = "device";
static constexpr unsigned kWordBytes = 4;

void KernelLowering::lower(PublishOp op) {
  Value word = getGlobal(op.getFlags(), op.getIndex(), kWordBytes);
  LLVM::StoreOp::create(rewriter, loc, constant(1), word, kWordBytes,
                        /*isVolatile=*/false, /*isNonTemporal=*/false,
                        /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::release, kDevice);
  rewriter.eraseOp(op);
}

void KernelLowering::lower(AwaitOp op) {
  awaitsBlocks = true;
  Value word = getGlobal(op.getFlags(), op.getIndex(), kWordBytes);
  waitUntil([&] {
    Value value = LLVM::LoadOp::create(
        rewriter, loc, getI32(), word, kWordBytes, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, kDevice);
    return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, value,
                                 constant(0));
  });
  rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

void KernelLowering::lower(TensorMapOp op) {
  Value global = getGlobal(op.getTable(), op.getIndex(), 128);
  MLIRContext *context = op.getContext();
  Value map = LLVM::AddrSpaceCastOp::create(
      rewriter, loc, LLVM::LLVMPointerType::get(context), global);
  NVVM::FenceProxyAcquireOp::create(rewriter, loc, NVVM::MemScopeKind::GPU, map,
                                    constant(128));
  op->getResult(0).replaceAllUsesWith(map);
  rewriter.eraseOp(op);
}

/// The 64-bit policies that libraries use as immediates.
Value KernelLowering::getCachePolicy(std::optional<CacheHint> hint) {
  if (!hint)
    return {};
  switch (*hint) {
  case CacheHint::EvictNormal:
    return constant64(0x1000000000000000);
  case CacheHint::EvictFirst:
    return constant64(0x12F0000000000000);
  case CacheHint::EvictLast:
    return constant64(0x14F0000000000000);
  }
  llvm_unreachable("covered switch");
}

/// Coordinates run innermost first in the instruction.
static SmallVector<Value> reversed(ValueRange values) {
  return llvm::to_vector(llvm::reverse(values));
}

void KernelLowering::lower(TmaLoadOp op) {
  Value target = getShared(op.getTargetMutable().get());
  PipelineOp pipeline = pipelines.lookup(op);
  Value address = getBarrier(pipeline, true, op.getFillMutable().get());
  // In a pair the bytes of both blocks are counted in the even one.
  bool pair = kernel.getPair() && pipeline.getConsumer() == Agent::TensorCore;
  if (pair)
    address =
        arith::AndIOp::create(rewriter, loc, address, constant(0xFEFFFFFF));
  Value barrier = getShared(address);
  if (pair)
    target = LLVM::AddrSpaceCastOp::create(
        rewriter, loc, LLVM::LLVMPointerType::get(op.getContext(), 7), target);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      rewriter, loc, target, op.getMapMutable().get(),
      reversed(op.getCoordinates()), barrier, ValueRange(), Value(),
      getCachePolicy(op.getCache()), NVVM::TMALoadMode::TILE, !pair,
      pair ? NVVM::CTAGroupKindAttr::get(op.getContext(),
                                         NVVM::CTAGroupKind::CTA_2)
           : NVVM::CTAGroupKindAttr(),
      Value());
  rewriter.eraseOp(op);
}

void KernelLowering::lower(TmaLoadRowsOp op) {
  Value target = getShared(op.getTargetMutable().get());
  Value barrier = getShared(
      getBarrier(pipelines.lookup(op), true, op.getFillMutable().get()));
  // Parameters of 128 bytes that follow each other lie so: the address of the
  // one for these rows, without a choice among all of them.
  auto pointer = LLVM::LLVMPointerType::get(op.getContext());
  Value first =
      LLVM::PtrToIntOp::create(rewriter, loc, rewriter.getI64Type(),
                               UnrealizedConversionCastOp::create(
                                   rewriter, loc, pointer, op.getMaps().front())
                                   .getResult(0));
  Value number =
      arith::ShRUIOp::create(rewriter, loc, add(op.getRows(), -1), constant(3));
  number = arith::MinUIOp::create(
      rewriter, loc, number,
      constant(static_cast<int64_t>(op.getMaps().size()) - 1));
  Value offset = arith::ExtUIOp::create(rewriter, loc, rewriter.getI64Type(),
                                        multiply(number, 128));
  Value address = arith::AddIOp::create(rewriter, loc, first, offset);
  Value map = LLVM::IntToPtrOp::create(rewriter, loc, pointer, address);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      rewriter, loc, target, map,
      ValueRange{op.getColumn(), op.getRow(), op.getK()}, barrier, ValueRange(),
      Value(), getCachePolicy(op.getCache()), NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/true, NVVM::CTAGroupKindAttr(), Value());
  rewriter.eraseOp(op);
}

void KernelLowering::lower(BulkLoadOp op) {
  MLIRContext *context = op.getContext();
  MemRefType type = getBufferType(op.getTargetMutable());
  int64_t size = getSharedBytes(type) / type.getDimSize(0);
  Value index = memref::ExtractAlignedPointerAsIndexOp::create(rewriter, loc,
                                                               op.getSource());
  Value base =
      arith::IndexCastOp::create(rewriter, loc, rewriter.getI64Type(), index);
  Value start = arith::AddIOp::create(rewriter, loc, base, op.getOffset());
  Value source = LLVM::IntToPtrOp::create(
      rewriter, loc, LLVM::LLVMPointerType::get(context, 1), start);
  Value target = getShared(add(op.getTargetMutable().get(),
                               size * static_cast<int64_t>(op.getEntry())));
  Value barrier = getShared(
      getBarrier(pipelines.lookup(op), true, op.getFillMutable().get()));
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
      rewriter, loc, target, source, barrier, constant(size), Value(),
      getCachePolicy(op.getCache()));
  rewriter.eraseOp(op);
}

void KernelLowering::lower(TmaStoreOp op) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      rewriter, loc, op.getMapMutable().get(),
      getShared(op.getSourceMutable().get()), reversed(op.getCoordinates()),
      getCachePolicy(op.getCache()), NVVM::TMAStoreMode::TILE, Value());
  rewriter.eraseOp(op);
}
