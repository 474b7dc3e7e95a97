//===- LowerMemory.cpp - Buffers and shared memory to addresses -----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierBuilder.h"
#include "KernelPattern.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

namespace {
struct SmemAllocLowering : KernelPattern<SmemAllocOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(SmemAllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    rewriter.replaceOp(op, b.getSharedAddress(op.getOffset().value_or(0)));
    return success();
  }
};

struct TmemAllocLowering : KernelPattern<TmemAllocOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(TmemAllocOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // All of them stand in the kernel's own block, after the reservation, with
    // nothing between that stores: one load is left of theirs by CSE.
    AddressBuilder b(rewriter, op.getLoc());
    Value slot = b.getPointer(
        Space::Shared, b.getSharedAddress(kernels.getKernel(op).getTmemSlot()));
    Value base = LLVM::LoadOp::create(rewriter, op.getLoc(), b.getI32(), slot);
    rewriter.replaceOp(op, b.add(base, op.getColumn().value_or(0)));
    return success();
  }
};

/// An operation of two operands that is one of their addresses.
template <typename AddressOp, typename ArithOp>
struct ArithLowering : KernelPattern<AddressOp> {
  using KernelPattern<AddressOp>::KernelPattern;
  LogicalResult
  matchAndRewrite(AddressOp op, typename ArithLowering::OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ValueRange operands = adaptor.getOperands();
    rewriter.replaceOpWithNewOp<ArithOp>(op, operands[0], operands[1]);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Threads and shared memory
//===----------------------------------------------------------------------===//

/// Offset in bytes of an element of a packed row-major buffer: what varies, and
/// the rest.
static std::pair<Value, int64_t>
getByteOffset(AddressBuilder &b, MemRefType type, ValueRange indices) {
  int64_t stride = getSharedBytes(type) / type.getNumElements();
  Value offset;
  int64_t fixed = 0;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (std::optional<int64_t> index = getConstantIntValue(indices[dim])) {
      fixed += *index * stride;
    } else {
      Value part =
          stride == 1 ? Value(indices[dim]) : b.multiply(indices[dim], stride);
      offset = offset ? b.add(offset, part) : part;
    }
    stride *= type.getDimSize(dim);
  }
  return {offset ? offset : b.constant(0), fixed};
}

/// Address of the piece of at most 16 bytes at `offset` and `bytes` of a
/// buffer: its place among the 16-byte pieces of its row depends on the row.
/// Without a swizzle the constant is one of the instruction, and takes no
/// register.
static Value getPieceAddress(AddressBuilder &b, MemRefType type, Value base,
                             Value offset, int64_t bytes) {
  unsigned swizzle = getSwizzle(type);
  if (!swizzle) {
    Value first = b.getPointer(Space::Shared, b.add(base, offset));
    return LLVM::GEPOp::create(
        b.b, b.loc, first.getType(), b.b.getI8Type(), first,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  Value place = b.add(offset, bytes);
  Value row = b.shiftRight(place, 7);
  Value bits = b.bitAnd(row, swizzle / 16 - 1);
  Value shifted = arith::ShLIOp::create(b.b, b.loc, bits, b.constant(4));
  place = arith::XOrIOp::create(b.b, b.loc, place, shifted);
  return b.getPointer(Space::Shared, b.add(base, place));
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

namespace {
struct SmemLoadLowering : KernelPattern<SmemLoadOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(SmemLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    MemRefType buffer = op.getSource().getType();
    auto type = cast<VectorType>(op.getType());
    VectorType piece = getPieceType(type);
    VectorType whole = VectorType::get(type.getShape(), piece.getElementType());
    int64_t count = piece.getNumElements();
    int64_t bytes = count * piece.getElementTypeBitWidth() / 8;
    Value base = adaptor.getSource();
    auto [offset, fixed] = getByteOffset(b, buffer, adaptor.getIndices());
    Value result;
    for (int64_t i = 0; i * count < type.getNumElements(); ++i) {
      Value loaded = LLVM::LoadOp::create(
          rewriter, loc, piece,
          getPieceAddress(b, buffer, base, offset, fixed + i * bytes), bytes);
      if (piece == whole) {
        result = loaded;
        break;
      }
      if (!result)
        result = arith::ConstantOp::create(rewriter, loc,
                                           rewriter.getZeroAttr(whole));
      result = vector::InsertStridedSliceOp::create(
          rewriter, loc, loaded, result, ArrayRef<int64_t>{i * count},
          ArrayRef<int64_t>{1});
    }
    if (whole != type)
      result = vector::BitCastOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct SmemStoreLowering : KernelPattern<SmemStoreOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(SmemStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    MemRefType buffer = op.getTarget().getType();
    Value value = adaptor.getValue();
    auto type = cast<VectorType>(value.getType());
    VectorType piece = getPieceType(type);
    VectorType whole = VectorType::get(type.getShape(), piece.getElementType());
    int64_t count = piece.getNumElements();
    int64_t bytes = count * piece.getElementTypeBitWidth() / 8;
    if (whole != type)
      value = vector::BitCastOp::create(rewriter, loc, whole, value);
    Value base = adaptor.getTarget();
    auto [offset, fixed] = getByteOffset(b, buffer, adaptor.getIndices());
    for (int64_t i = 0; i * count < type.getNumElements(); ++i) {
      Value part = value;
      if (piece != whole)
        part = vector::ExtractStridedSliceOp::create(
            rewriter, loc, value, ArrayRef<int64_t>{i * count},
            ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
      LLVM::StoreOp::create(
          rewriter, loc, part,
          getPieceAddress(b, buffer, base, offset, fixed + i * bytes), bytes);
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Flags in global memory
//===----------------------------------------------------------------------===//

// Words that blocks hand over are stored and loaded in the order that
// memory has for the whole device.
static constexpr llvm::StringLiteral kDevice = "device";
static constexpr unsigned kWordBytes = 4;

namespace {
struct PublishLowering : KernelPattern<PublishOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(PublishOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AddressBuilder b(rewriter, op.getLoc());
    Value word =
        b.getGlobal(adaptor.getFlags(), adaptor.getIndex(), kWordBytes);
    LLVM::StoreOp::create(rewriter, op.getLoc(), b.constant(1), word,
                          kWordBytes, /*isVolatile=*/false,
                          /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                          LLVM::AtomicOrdering::release, kDevice);
    rewriter.eraseOp(op);
    return success();
  }
};

struct AwaitLowering : KernelPattern<AwaitOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(AwaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    BarrierBuilder b(rewriter, op.getLoc());
    Value word =
        b.getGlobal(adaptor.getFlags(), adaptor.getIndex(), kWordBytes);
    b.waitUntil([&] {
      Value value = LLVM::LoadOp::create(
          rewriter, op.getLoc(), b.getI32(), word, kWordBytes,
          /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
          /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, kDevice);
      return arith::CmpIOp::create(rewriter, op.getLoc(),
                                   arith::CmpIPredicate::ne, value,
                                   b.constant(0));
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void nvfp4::warpspec::populateMemoryToNVVMPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  patterns.add<SmemAllocLowering, TmemAllocLowering,
               ArithLowering<TmemJoinOp, arith::MinUIOp>,
               ArithLowering<TmemSliceOp, arith::AddIOp>, SmemLoadLowering,
               SmemStoreLowering, PublishLowering, AwaitLowering>(
      converter, patterns.getContext(), kernels);
}
