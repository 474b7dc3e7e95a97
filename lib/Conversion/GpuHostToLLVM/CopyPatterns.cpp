//===- CopyPatterns.cpp - Copies of rows, and zeros -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's gpu.memcpy takes memrefs whose elements all follow each other, and
// its gpu.memset types of 16 and 32 bits. Rows may begin anywhere here, and
// zeros have any type.
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4;

static int64_t getElementBytes(MemRefType type) {
  return type.getElementTypeBitWidth() / 8;
}

/// Whether the elements of a row follow each other, and so do rows of matrices:
/// the first dimension alone may have any stride.
static bool hasRows(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() == 0 || type.getElementTypeBitWidth() % 8 != 0 ||
      failed(type.getStridesAndOffset(strides, offset)))
    return type.getRank() == 0;
  int64_t expected = 1;
  for (int64_t d = type.getRank() - 1; d > 0; --d) {
    bool isUnit = type.getDimSize(d) == 1;
    if (!isUnit && strides[d] != expected)
      return false;
    if (type.isDynamicDim(d) && d > 1)
      return false;
    expected = type.isDynamicDim(d) ? ShapedType::kDynamic
                                    : expected * type.getDimSize(d);
  }
  return type.getRank() > 1 || strides[0] == 1;
}

LogicalResult nvfp4::verifyCopy(gpu::MemcpyOp op) {
  for (Value memref : op->getOperands().take_back(2))
    if (auto type = cast<MemRefType>(memref.getType());
        !type.getLayout().isIdentity() && !hasRows(type))
      return op.emitOpError("expected memrefs of which the first dimension "
                            "alone has gaps, but got ")
             << type;
  return success();
}

namespace {
struct LowerCopyOfRows : HostPattern<gpu::MemcpyOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(gpu::MemcpyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto target = cast<MemRefType>(op.getDst().getType());
    auto source = cast<MemRefType>(op.getSrc().getType());
    if (target.getLayout().isIdentity() && source.getLayout().isIdentity())
      return rewriter.notifyMatchFailure(op, "upstream's pattern copies it");
    Value stream = getStream(op, adaptor, rewriter);
    if (!stream)
      return failure();
    HostCalls host = calls(rewriter, op);
    Location loc = op.getLoc();
    MemRefDescriptor to(adaptor.getDst()), from(adaptor.getSrc());
    int64_t rank = source.getRank();
    auto mul = [&](Value a, Value b) -> Value {
      return LLVM::MulOp::create(rewriter, loc, a, b);
    };
    Value elementBytes = host.i64(getElementBytes(source));
    Value bytes = elementBytes;
    for (int64_t d = 1; d < rank; ++d)
      bytes = mul(bytes, from.size(rewriter, loc, d));
    Value rows = host.i64(1), targetPitch = bytes, sourcePitch = bytes;
    if (rank == 1) {
      bytes = mul(bytes, from.size(rewriter, loc, 0));
    } else if (rank > 1) {
      rows = from.size(rewriter, loc, 0);
      targetPitch = mul(to.stride(rewriter, loc, 0), elementBytes);
      sourcePitch = mul(from.stride(rewriter, loc, 0), elementBytes);
    }
    host.call("nvfp4_kernel_copy_rows", Type(),
              {host.where(),
               host.address(target, adaptor.getDst(), *getTypeConverter()),
               targetPitch,
               host.address(source, adaptor.getSrc(), *getTypeConverter()),
               sourcePitch, bytes, rows, stream});
    rewriter.replaceOp(op, stream);
    return success();
  }
};

struct LowerClear : HostPattern<gpu::MemsetOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(gpu::MemsetOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<MemRefType>(op.getDst().getType());
    FloatAttr number;
    bool isZero = matchPattern(op.getValue(), m_Zero()) ||
                  (matchPattern(op.getValue(), m_Constant(&number)) &&
                   number.getValue().bitcastToAPInt().isZero());
    if (!isZero)
      return rewriter.notifyMatchFailure(op, "not all bits are zero");
    if (!type.getLayout().isIdentity() ||
        type.getElementTypeBitWidth() % 8 != 0)
      return rewriter.notifyMatchFailure(op, "elements have gaps");
    Value stream = getStream(op, adaptor, rewriter);
    if (!stream)
      return failure();
    HostCalls host = calls(rewriter, op);
    Location loc = op.getLoc();
    MemRefDescriptor memref(adaptor.getDst());
    Value bytes = host.i64(getElementBytes(type));
    for (int64_t d = 0; d < type.getRank(); ++d)
      bytes = LLVM::MulOp::create(rewriter, loc, bytes,
                                  memref.size(rewriter, loc, d));
    host.call("nvfp4_kernel_clear", Type(),
              {host.where(),
               host.address(type, adaptor.getDst(), *getTypeConverter()), bytes,
               stream});
    rewriter.replaceOp(op, stream);
    return success();
  }
};
} // namespace

void nvfp4::populateCopyPatterns(const LLVMTypeConverter &converter,
                                 RewritePatternSet &patterns,
                                 gsg::checks::CheckModule &texts) {
  patterns.add<LowerCopyOfRows, LowerClear>(converter, texts, /*benefit=*/2);
}
