//===- TensorMapPatterns.cpp - Tensor maps and tables -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map is a pointer to its 128 bytes in the frame of the function.
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"
#include "nvfp4/Runtime/nvfp4_device.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nvfp4;

/// Bytes of a tensor map and of an entry of a table.
static constexpr int64_t kEntryBytes = 128;

static int32_t getMapType(Type element) {
  if (isa<Float4E2M1FNType>(element))
    return NVFP4_TENSOR_U4_PADDED;
  if (element.isBF16())
    return NVFP4_TENSOR_BF16;
  if (element.isF16())
    return NVFP4_TENSOR_F16;
  return element.isInteger(16) ? NVFP4_TENSOR_U16 : NVFP4_TENSOR_U8;
}

static int32_t getSwizzle(unsigned span) {
  return span == 128  ? NVFP4_SWIZZLE_128B
         : span == 64 ? NVFP4_SWIZZLE_64B
         : span == 32 ? NVFP4_SWIZZLE_32B
                      : NVFP4_SWIZZLE_NONE;
}

namespace {
struct LowerEncodeTensorMap : HostPattern<warpspec::EncodeTensorMapOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(warpspec::EncodeTensorMapOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    HostCalls host = calls(rewriter, op);
    warpspec::TensorMapType type = op.getType();
    // The runtime has the innermost dimension first.
    auto collect = [&](ArrayRef<OpFoldResult> mixed, ValueRange dynamic) {
      SmallVector<Value> values;
      size_t next = 0;
      for (OpFoldResult size : mixed)
        values.push_back(
            host.i64(size, isa<Value>(size) ? dynamic[next++] : Value()));
      std::reverse(values.begin(), values.end());
      return host.array(values, /*bytes=*/8);
    };
    SmallVector<Value> open;
    for (auto [index, converted] :
         llvm::zip_equal(op.getBox(), adaptor.getBox()))
      open.push_back(
          host.parameter(index.getType(), converted, *getTypeConverter()));
    SmallVector<Value> box;
    ArrayRef<Value> rest = open;
    for (int64_t extent : type.getShape()) {
      if (ShapedType::isDynamic(extent))
        box.push_back(rest.consume_front());
      else
        box.push_back(host.i32(extent));
    }
    std::reverse(box.begin(), box.end());
    Value map = host.room(kEntryBytes, kEntryBytes);
    host.call("nvfp4_kernel_tensor_map", Type(),
              {host.where(), host.i32(getMapType(type.getElementType())),
               host.i32(type.getRank()),
               host.address(op.getMemory().getType(), adaptor.getMemory(),
                            *getTypeConverter()),
               collect(op.getMixedSizes(), adaptor.getSizes()),
               collect(op.getMixedStrides(), adaptor.getStrides()),
               host.array(box, /*bytes=*/4),
               host.i32(getSwizzle(type.getSwizzle())), map});
    rewriter.replaceOp(op, map);
    return success();
  }
};

struct LowerWriteTable : HostPattern<warpspec::WriteTableOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(warpspec::WriteTableOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value stream = getStream(op, adaptor, rewriter);
    if (!stream)
      return failure();
    HostCalls host = calls(rewriter, op);
    int64_t entries = op.getRowEntries() * op.getRows();
    Value values = host.room(entries * kEntryBytes, kEntryBytes);
    auto width = static_cast<int64_t>(op.getValues().size()) / op.getRows();
    for (int64_t row = 0; row < op.getRows(); ++row) {
      int64_t first = row * op.getRowEntries() * kEntryBytes;
      int64_t word = first, map = first + kEntryBytes;
      for (int64_t i = row * width; i < (row + 1) * width; ++i) {
        Type type = op.getValues()[i].getType();
        Value value = adaptor.getValues()[i];
        if (isa<warpspec::TensorMapType>(type)) {
          Value bytes = LLVM::LoadOp::create(
              rewriter, op.getLoc(),
              LLVM::LLVMArrayType::get(rewriter.getI64Type(), kEntryBytes / 8),
              value, /*alignment=*/8);
          host.store(bytes, values, map);
          map += kEntryBytes;
          continue;
        }
        int64_t size = type.isIndex() ? 4 : 8;
        word = llvm::alignTo(word, size);
        host.store(host.parameter(type, value, *getTypeConverter()), values,
                   word);
        word += size;
      }
    }
    host.call("nvfp4_kernel_write_table", Type(),
              {host.where(),
               host.address(op.getTable().getType(), adaptor.getTable(),
                            *getTypeConverter()),
               values, host.i64(entries), stream});
    rewriter.replaceOp(op, stream);
    return success();
  }
};
} // namespace

void nvfp4::populateTensorMapPatterns(const LLVMTypeConverter &converter,
                                      RewritePatternSet &patterns,
                                      gsg::checks::CheckModule &texts) {
  patterns.add<LowerEncodeTensorMap, LowerWriteTable>(converter, texts);
}
