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

#include "BarrierBuilder.h"
#include "KernelPattern.h"
#include "nvfp4/Conversion/WarpSpecToNVVM/Descriptors.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// Bytes along K of one instruction.
static constexpr int64_t kStepBytes = 32;

/// Fields and the address in units of 16 bytes. The block's rank in the upper
/// bits of a shared address is no part of a descriptor.
static Value getDescriptor(AddressBuilder &b, Value address, uint64_t fields) {
  Value units = b.shiftRight(b.bitAnd(address, 0x3FFFF), 4);
  Value wide = arith::ExtUIOp::create(b.b, b.loc, b.getI64(), units);
  return arith::OrIOp::create(b.b, b.loc, wide, b.constant64(fields));
}

namespace {
struct CopyScalesLowering : KernelPattern<CopyScalesOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(CopyScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    int64_t atoms = getSharedBytes(op.getSource().getType()) / kScaleAtomBytes;
    Value descriptor = getDescriptor(b, adaptor.getSource(), encodeScaleAtom());
    if (Value row = adaptor.getRow()) {
      // Rows are the 16 bytes in which descriptors count.
      Value units = arith::ExtUIOp::create(rewriter, loc, b.getI64(), row);
      descriptor = arith::AddIOp::create(rewriter, loc, descriptor, units);
      --atoms;
    }
    NVVM::CTAGroupKind group = getCtaGroup(kernels.getKernel(op).pair);
    for (int64_t i = 0; i < atoms; ++i) {
      Value atom = descriptor;
      if (i)
        atom = arith::AddIOp::create(rewriter, loc, descriptor,
                                     b.constant64(i * kScaleAtomBytes / 16));
      NVVM::Tcgen05CpOp::create(
          rewriter, loc, NVVM::Tcgen05CpShape::SHAPE_32x128b, group,
          NVVM::Tcgen05CpMulticast::WARPX4, NVVM::Tcgen05CpSrcFormatAttr(),
          b.getPointer(Space::Tensor, b.add(adaptor.getTarget(), 4 * i)), atom);
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

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

/// The descriptor of step `step` of a tile: along the span, then by K block.
static Value getStepDescriptor(AddressBuilder &b, Value descriptor,
                               MemRefType type, int64_t step) {
  int64_t rows = type.getDimSize(type.getRank() - 2);
  int64_t perSpan = getSwizzle(type) / kStepBytes;
  int64_t offset =
      step % perSpan * kStepBytes + step / perSpan * rows * getSwizzle(type);
  if (!offset)
    return descriptor;
  // In units of 16 bytes.
  return arith::AddIOp::create(b.b, b.loc, descriptor,
                               b.constant64(offset / 16));
}

namespace {
struct MmaScaledLowering : KernelPattern<MmaScaledOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(MmaScaledOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    MemRefType aType = op.getA().getType(), bType = op.getB().getType();
    int64_t n = op.getAcc().getType().getDimSize(1);
    int64_t scalesPerStep = op.getScalesPerStep();
    bool pair = kernels.getKernel(op).pair;
    Value aTile =
        getDescriptor(b, adaptor.getA(), encodeOperand(getSwizzle(aType)));
    Value bTile =
        getDescriptor(b, adaptor.getB(), encodeOperand(getSwizzle(bType)));
    Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    for (int64_t step = 0; step < op.getStepCount(); ++step) {
      int64_t atom = step * scalesPerStep / 4, id = step * scalesPerStep % 4;
      uint32_t instruction = encodeInstruction(
          {op.getKind(), pair ? 256 : 128, n, aType.getElementType(),
           bType.getElementType(), op.getUe8m0(), id, id});
      Value aScales = b.add(adaptor.getAScales(), atom * 4);
      Value bScales =
          b.add(adaptor.getBScales(), atom * 4 * llvm::divideCeil(n, 128));
      Value acc = b.getPointer(Space::Tensor, adaptor.getAcc());
      Value aStep = getStepDescriptor(b, aTile, aType, step);
      Value bStep = getStepDescriptor(b, bTile, bType, step);
      Value description = b.constant(instruction);
      Value aScalesAt = b.getPointer(Space::Tensor, aScales);
      Value bScalesAt = b.getPointer(Space::Tensor, bScales);
      NVVM::Tcgen05MMABlockScaleOp::create(
          rewriter, loc, getKind(op.getKind()), getCtaGroup(pair),
          op.getKind() == ScaledKind::MXF4NVF4
              ? NVVM::Tcgen05MMABlockScale::BLOCK16
              : NVVM::Tcgen05MMABlockScale::DEFAULT,
          NVVM::Tcgen05MMACollectorOp::DISCARD, acc, aStep, bStep, description,
          step == 0 && op.getAccumulate() ? adaptor.getAccumulate() : isTrue,
          aScalesAt, bScalesAt);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct MmaLowering : KernelPattern<MmaOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(MmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    MemRefType type = op.getB().getType();
    int64_t n = op.getAcc().getType().getDimSize(1);
    // Words of tensor memory that one instruction takes of A.
    constexpr int64_t stepWords = kStepBytes / 4;
    Value bTile =
        getDescriptor(b, adaptor.getB(), encodeOperand(getSwizzle(type)));
    Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    Value description = b.constant(encodeInstruction(type.getElementType(), n));
    for (int64_t step = 0; step < op.getStepCount(); ++step) {
      Value a =
          b.getPointer(Space::Tensor, b.add(adaptor.getA(), step * stepWords));
      Value acc = b.getPointer(Space::Tensor, adaptor.getAcc());
      NVVM::Tcgen05MMAOp::create(
          rewriter, loc, NVVM::Tcgen05MMAKind::F16, getCtaGroup(false),
          NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false, acc, a,
          getStepDescriptor(b, bTile, type, step), description,
          step == 0 && op.getAccumulate() ? adaptor.getAccumulate() : isTrue,
          /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Tensor memory and threads
//===----------------------------------------------------------------------===//

/// Pointer to `address` in the lanes that this warp can reach.
static Value getLaneAddress(AddressBuilder &b, Value address) {
  Value thread = NVVM::ThreadIdXOp::create(b.b, b.loc, b.getI32());
  Value quarter = b.bitAnd(thread, 3 << 5);
  // Lane 32 * (warp % 4), in bits 16 and up.
  Value lane = arith::ShLIOp::create(b.b, b.loc, quarter, b.constant(16));
  return b.getPointer(Space::Tensor, b.add(address, lane));
}

/// What one instruction moves: i32 or a vector of them.
static Type getWords(VectorType type) {
  Type i32 = IntegerType::get(type.getContext(), 32);
  return type.getNumElements() == 1
             ? i32
             : Type(VectorType::get(type.getShape(), i32));
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

/// A vector as i32 each.
static SmallVector<Value> split(OpBuilder &b, Location loc, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  if (!type.getElementType().isInteger(32))
    vector = vector::BitCastOp::create(
        b, loc, VectorType::get(type.getShape(), b.getI32Type()), vector);
  SmallVector<Value> words;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    words.push_back(vector::ExtractOp::create(b, loc, vector, i));
  return words;
}

/// A vector of `type` from i32, all at once or each.
static Value join(OpBuilder &b, Location loc, ValueRange words,
                  VectorType type) {
  Value vector = words.front();
  auto whole = VectorType::get(type.getShape(), b.getI32Type());
  if (vector.getType() != whole)
    vector = vector::FromElementsOp::create(b, loc, whole, words);
  if (whole != type)
    vector = vector::BitCastOp::create(b, loc, type, vector);
  return vector;
}

namespace {
struct TmemLoadLowering : KernelPattern<TmemLoadOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TmemLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    auto type = cast<VectorType>(op.getType());
    Value words = NVVM::Tcgen05LdOp::create(
        rewriter, op.getLoc(), getWords(type), UnitAttr(),
        NVVM::Tcgen05LdStShapeAttr::get(op.getContext(),
                                        NVVM::Tcgen05LdStShape::SHAPE_32X32B),
        getLaneAddress(b, adaptor.getSource()), Value());
    rewriter.replaceOp(op, join(rewriter, op.getLoc(), words, type));
    return success();
  }
};

struct TmemStoreLowering : KernelPattern<TmemStoreOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TmemStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    Value words = adaptor.getValue();
    auto type = cast<VectorType>(words.getType());
    if (type.getNumElements() == 1)
      words = split(rewriter, loc, words).front();
    else
      words = vector::BitCastOp::create(
          rewriter, loc, cast<VectorType>(getWords(type)), words);
    NVVM::Tcgen05StOp::create(
        rewriter, loc, UnitAttr(),
        NVVM::Tcgen05LdStShapeAttr::get(op.getContext(),
                                        NVVM::Tcgen05LdStShape::SHAPE_32X32B),
        getLaneAddress(b, adaptor.getTarget()), words, Value());
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmemWaitLowering : KernelPattern<TmemWaitOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TmemWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    NVVM::Tcgen05WaitOp::create(rewriter, loc, NVVM::Tcgen05WaitKind::LOAD);
    SmallVector<Value> arrived;
    for (Value value : adaptor.getValues())
      arrived.push_back(join(rewriter, loc,
                             pin(rewriter, loc, split(rewriter, loc, value)),
                             cast<VectorType>(value.getType())));
    rewriter.replaceOp(op, arrived);
    return success();
  }
};

struct ReserveTmemLowering : KernelPattern<ReserveTmemOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(ReserveTmemOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    NVVM::CTAGroupKind group = getCtaGroup(kernels.getKernel(op).pair);
    NVVM::Tcgen05AllocOp::create(
        rewriter, op.getLoc(),
        b.getPointer(Space::Shared, b.getSharedAddress(op.getOffset())),
        b.constant(op.getColumns()), group);
    NVVM::Tcgen05RelinquishAllocPermitOp::create(rewriter, op.getLoc(), group);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReleaseTmemLowering : KernelPattern<ReleaseTmemOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(ReleaseTmemOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    Value slot =
        b.getPointer(Space::Shared, b.getSharedAddress(op.getOffset()));
    Value base = LLVM::LoadOp::create(rewriter, op.getLoc(), b.getI32(), slot);
    NVVM::Tcgen05DeallocOp::create(
        rewriter, op.getLoc(), b.getPointer(Space::Tensor, base),
        b.constant(op.getColumns()), getCtaGroup(kernels.getKernel(op).pair));
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::warpspec::populateTensorCoreToNVVMPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  patterns.add<CopyScalesLowering, MmaScaledLowering, MmaLowering,
               TmemLoadLowering, TmemStoreLowering, TmemWaitLowering,
               ReserveTmemLowering, ReleaseTmemLowering>(
      converter, patterns.getContext(), kernels);
}
