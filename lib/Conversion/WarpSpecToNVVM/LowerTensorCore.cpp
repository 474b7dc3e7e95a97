//===- LowerTensorCore.cpp - tcgen05 from tile operations -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptors, steps along K, and tensor-memory addresses.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/Descriptors.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// Bytes along K of one instruction.
static constexpr int64_t kStepBytes = 32;

/// Fields and the address in units of 16 bytes. The block's rank in the upper
/// bits of a shared address is no part of a descriptor.
Value KernelLowering::getDescriptor(Value address, uint64_t fields) {
  Value low = arith::AndIOp::create(rewriter, loc, address, constant(0x3FFFF));
  Value units = arith::ShRUIOp::create(rewriter, loc, low, constant(4));
  Value wide =
      arith::ExtUIOp::create(rewriter, loc, rewriter.getI64Type(), units);
  return arith::OrIOp::create(rewriter, loc, wide, constant64(fields));
}

void KernelLowering::lower(CopyScalesOp op) {
  MemRefType type = getBufferType(op.getSourceMutable());
  int64_t atoms = getSharedBytes(type) / kScaleAtomBytes;
  Value target = op.getTargetMutable().get();
  Value descriptor =
      getDescriptor(op.getSourceMutable().get(), encodeScaleAtom());
  if (op.getRow()) {
    // Rows are the 16 bytes in which descriptors count.
    Value row = arith::ExtUIOp::create(rewriter, loc, rewriter.getI64Type(),
                                       op.getRow());
    descriptor = arith::AddIOp::create(rewriter, loc, descriptor, row);
    --atoms;
  }
  for (int64_t i = 0; i < atoms; ++i) {
    Value atom = descriptor;
    if (i)
      atom = arith::AddIOp::create(rewriter, loc, descriptor,
                                   constant64(i * kScaleAtomBytes / 16));
    NVVM::Tcgen05CpOp::create(
        rewriter, loc, NVVM::Tcgen05CpShape::SHAPE_32x128b, getGroup(),
        NVVM::Tcgen05CpMulticast::WARPX4, NVVM::Tcgen05CpSrcFormatAttr(),
        getTensor(add(target, 4 * i)), atom);
  }
  rewriter.eraseOp(op);
}

static NVVM::MMABlockScaleKind getKind(ScaledKind kind) {
  switch (kind) {
  case ScaledKind::MXF4NVF4:
    return NVVM::MMABlockScaleKind::MXF4NVF4;
  case ScaledKind::MXF4:
    return NVVM::MMABlockScaleKind::MXF4;
  case ScaledKind::MXF8F6F4:
    return NVVM::MMABlockScaleKind::MXF8F6F4;
  }
  llvm_unreachable("covered switch");
}

void KernelLowering::lower(MmaScaledOp op) {
  MemRefType aType = getBufferType(op.getAMutable());
  MemRefType bType = getBufferType(op.getBMutable());
  auto rows = [](MemRefType type) {
    return type.getDimSize(type.getRank() - 2);
  };
  int64_t n = getBufferType(op.getAccMutable()).getDimSize(1);
  int64_t steps = getSharedBytes(aType) / rows(aType) / kStepBytes;
  int64_t scalesPerStep = op.getScalesPerStep();
  Value a =
      getDescriptor(op.getAMutable().get(), encodeOperand(getSwizzle(aType)));
  Value b =
      getDescriptor(op.getBMutable().get(), encodeOperand(getSwizzle(bType)));
  // Offset in units of 16 bytes of a step: along the span, then by K block.
  auto advance = [&](Value descriptor, MemRefType type, int64_t step) {
    int64_t perSpan = getSwizzle(type) / kStepBytes;
    int64_t offset = step % perSpan * kStepBytes +
                     step / perSpan * rows(type) * getSwizzle(type);
    if (!offset)
      return descriptor;
    return Value(arith::AddIOp::create(rewriter, loc, descriptor,
                                       constant64(offset / 16)));
  };
  Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
  for (int64_t step = 0; step < steps; ++step) {
    int64_t atom = step * scalesPerStep / 4, id = step * scalesPerStep % 4;
    uint32_t instruction = encodeInstruction(
        {op.getKind(), kernel.getPair() ? 256 : 128, n, aType.getElementType(),
         bType.getElementType(), op.getUe8m0(), id, id});
    Value aScales = add(op.getAScalesMutable().get(), atom * 4);
    Value bScales =
        add(op.getBScalesMutable().get(), atom * 4 * llvm::divideCeil(n, 128));
    NVVM::Tcgen05MMABlockScaleOp::create(
        rewriter, loc, getKind(op.getKind()), getGroup(),
        op.getKind() == ScaledKind::MXF4NVF4
            ? NVVM::Tcgen05MMABlockScale::BLOCK16
            : NVVM::Tcgen05MMABlockScale::DEFAULT,
        NVVM::Tcgen05MMACollectorOp::DISCARD,
        getTensor(op.getAccMutable().get()), advance(a, aType, step),
        advance(b, bType, step), constant(instruction),
        step == 0 && op.getAccumulate() ? op.getAccumulate() : isTrue,
        getTensor(aScales), getTensor(bScales));
  }
  rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// Tensor memory and threads
//===----------------------------------------------------------------------===//

/// Pointer to `address` in the lanes that this warp can reach.
Value KernelLowering::getLaneAddress(Value address) {
  Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, getI32());
  Value quarter =
      arith::AndIOp::create(rewriter, loc, thread, constant(3 << 5));
  // Lane 32 * (warp % 4), in bits 16 and up.
  Value lane = arith::ShLIOp::create(rewriter, loc, quarter, constant(16));
  return getTensor(add(address, lane));
}

/// What one instruction moves: i32 or a vector of them.
static Type getWords(VectorType type) {
  Type i32 = IntegerType::get(type.getContext(), 32);
  return type.getNumElements() == 1
             ? i32
             : Type(VectorType::get(type.getShape(), i32));
}

void KernelLowering::lower(TmemLoadOp op) {
  auto type = cast<VectorType>(op.getType());
  Value words = NVVM::Tcgen05LdOp::create(
      rewriter, loc, getWords(type), UnitAttr(),
      NVVM::Tcgen05LdStShapeAttr::get(op.getContext(),
                                      NVVM::Tcgen05LdStShape::SHAPE_32X32B),
      getLaneAddress(op.getSourceMutable().get()), Value());
  op->getResult(0).replaceAllUsesWith(words);
  rewriter.eraseOp(op);
}

void KernelLowering::lower(TmemStoreOp op) {
  auto type = cast<VectorType>(op.getValue().getType());
  Value words = op.getValue();
  if (type.getNumElements() == 1) {
    words = vector::ExtractOp::create(rewriter, loc, words, 0);
    words = arith::BitcastOp::create(rewriter, loc, getI32(), words);
  } else {
    words = vector::BitCastOp::create(rewriter, loc,
                                      cast<VectorType>(getWords(type)), words);
  }
  NVVM::Tcgen05StOp::create(
      rewriter, loc, UnitAttr(),
      NVVM::Tcgen05LdStShapeAttr::get(op.getContext(),
                                      NVVM::Tcgen05LdStShape::SHAPE_32X32B),
      getLaneAddress(op.getTargetMutable().get()), words, Value());
  rewriter.eraseOp(op);
}

/// An empty statement that returns what it is given: a use after the wait that
/// LLVM can neither move up nor see through.
static SmallVector<Value> pin(OpBuilder &builder, Location loc,
                              ArrayRef<Value> words) {
  std::string constraints;
  for (size_t i = 0; i < words.size(); ++i)
    constraints += i ? ",=r" : "=r";
  for (size_t i = 0; i < words.size(); ++i)
    constraints += "," + std::to_string(i);
  SmallVector<Type> types(words.size(), builder.getI32Type());
  Type result =
      words.size() == 1
          ? types.front()
          : LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  auto pinned = LLVM::InlineAsmOp::create(
      builder, loc, TypeRange{result}, words, "", constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  if (words.size() == 1)
    return {pinned.getResult(0)};
  SmallVector<Value> values;
  for (size_t i = 0; i < words.size(); ++i)
    values.push_back(
        LLVM::ExtractValueOp::create(builder, loc, pinned.getResult(0), i));
  return values;
}

void KernelLowering::lower(TmemWaitOp op) {
  NVVM::Tcgen05WaitOp::create(rewriter, loc, NVVM::Tcgen05WaitKind::LOAD);
  for (auto [operand, result] :
       llvm::zip_equal(op->getOpOperands(), op->getResults())) {
    auto type = cast<VectorType>(result.getType());
    SmallVector<Value> words;
    if (type.getNumElements() == 1)
      words.push_back(operand.get());
    else
      for (int64_t i = 0; i < type.getNumElements(); ++i)
        words.push_back(
            vector::ExtractOp::create(rewriter, loc, operand.get(), i));
    Value value = vector::FromElementsOp::create(
        rewriter, loc, VectorType::get(type.getShape(), getI32()),
        pin(rewriter, loc, words));
    if (value.getType() != type)
      value = vector::BitCastOp::create(rewriter, loc, type, value);
    result.replaceAllUsesWith(value);
  }
  rewriter.eraseOp(op);
}

void KernelLowering::lower(FenceOp op) {
  switch (op.getKind()) {
  case FenceKind::ProxyAsync:
    NVVM::FenceProxyOp::create(
        rewriter, loc, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(op.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    break;
  case FenceKind::ProxyAsyncGlobal:
    NVVM::FenceProxyOp::create(rewriter, loc, NVVM::ProxyKind::async_global,
                               NVVM::SharedSpaceAttr());
    break;
  case FenceKind::Tcgen05Before:
    NVVM::Tcgen05FenceOp::create(rewriter, loc,
                                 NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    break;
  case FenceKind::Tcgen05After:
    NVVM::Tcgen05FenceOp::create(rewriter, loc,
                                 NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
    break;
  case FenceKind::TmemStores:
    NVVM::Tcgen05WaitOp::create(rewriter, loc, NVVM::Tcgen05WaitKind::STORE);
    break;
  }
  rewriter.eraseOp(op);
}

void KernelLowering::lower(ReserveTmemOp op) {
  NVVM::Tcgen05AllocOp::create(rewriter, loc,
                               getShared(add(sharedBase, op.getOffset())),
                               constant(op.getColumns()), getGroup());
  NVVM::Tcgen05RelinquishAllocPermitOp::create(rewriter, loc, getGroup());
  rewriter.eraseOp(op);
}

void KernelLowering::lower(ReleaseTmemOp op) {
  Value slot = getShared(add(sharedBase, op.getOffset()));
  Value base = LLVM::LoadOp::create(rewriter, loc, getI32(), slot);
  NVVM::Tcgen05DeallocOp::create(rewriter, loc, getTensor(base),
                                 constant(op.getColumns()), getGroup());
  rewriter.eraseOp(op);
}
