//===- DataCheckPatterns.cpp - Checks of data to constants ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The descriptions that messages are made from, and the record for them. See
// nvfp4_data_check.
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"
#include "nvfp4/Runtime/nvfp4_kernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nvfp4;
using warpspec::DataKind;

static_assert(static_cast<int>(DataKind::Groups) == NVFP4_DATA_GROUPS &&
              static_cast<int>(DataKind::Index) == NVFP4_DATA_INDEX &&
              static_cast<int>(DataKind::Positive) == NVFP4_DATA_POSITIVE &&
              static_cast<int>(DataKind::Factor) == NVFP4_DATA_FACTOR &&
              static_cast<int>(DataKind::Room) == NVFP4_DATA_ROOM &&
              static_cast<int>(DataKind::Weights) == NVFP4_DATA_WEIGHTS);

namespace {
struct LowerDataRecord : HostPattern<warpspec::DataRecordOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(warpspec::DataRecordOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    HostCalls host = calls(rewriter, op);
    Value record =
        host.call("nvfp4_kernel_data_record", host.pointer(), {host.where()});
    rewriter.replaceOpWithNewOp<LLVM::PtrToIntOp>(op, rewriter.getI64Type(),
                                                  record);
    return success();
  }
};

struct LowerDataChecks : HostPattern<warpspec::DataChecksOp> {
  using HostPattern::HostPattern;

  LogicalResult
  matchAndRewrite(warpspec::DataChecksOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LLVM::GlobalOp global = define(op, rewriter);
    Value address = LLVM::AddressOfOp::create(rewriter, op.getLoc(), global);
    rewriter.replaceOpWithNewOp<LLVM::PtrToIntOp>(op, rewriter.getI64Type(),
                                                  address);
    return success();
  }

private:
  /// An array of nvfp4_data_check.
  LLVM::GlobalOp define(warpspec::DataChecksOp op,
                        ConversionPatternRewriter &rewriter) const {
    OpBuilder::InsertionGuard guard(rewriter);
    Location loc = op.getLoc();
    auto module = op->getParentOfType<ModuleOp>();
    std::string name;
    for (unsigned number = 0; name.empty() || module.lookupSymbol(name);
         ++number)
      name = "nvfp4_data_checks_" + std::to_string(number);
    HostCalls host = calls(rewriter, op);
    Type pointer = host.pointer(), i64 = rewriter.getI64Type();
    auto entry = LLVM::LLVMStructType::getLiteral(
        rewriter.getContext(), {pointer, pointer, pointer, i64, i64, i64});
    auto type = LLVM::LLVMArrayType::get(entry, op.getChecks().size());
    // Before its texts, which are added at the start.
    rewriter.setInsertionPointToEnd(module.getBody());
    auto global = LLVM::GlobalOp::create(
        rewriter, loc, type,
        /*isConstant=*/true, LLVM::Linkage::Internal, name, Attribute());
    rewriter.setInsertionPointToStart(
        &global.getInitializerRegion().emplaceBlock());
    Value array = LLVM::PoisonOp::create(rewriter, loc, type);
    auto checks = op.getChecks().getAsRange<warpspec::DataCheckAttr>();
    for (auto [number, check] : llvm::enumerate(checks)) {
      SmallVector<Value> fields;
      for (StringRef text : {op.getPlace(), check.getLabel(), check.getWhat()})
        fields.push_back(texts.text(rewriter, loc, text));
      SmallVector<int64_t, 3> numbers{static_cast<int64_t>(check.getKind())};
      llvm::append_range(numbers, check.getNumbers());
      numbers.resize(3);
      for (int64_t value : numbers)
        fields.push_back(host.i64(value));
      for (auto [field, value] : llvm::enumerate(fields))
        array = LLVM::InsertValueOp::create(
            rewriter, loc, array, value,
            ArrayRef<int64_t>{static_cast<int64_t>(number),
                              static_cast<int64_t>(field)});
    }
    LLVM::ReturnOp::create(rewriter, loc, array);
    return global;
  }
};
} // namespace

void nvfp4::populateDataCheckPatterns(const LLVMTypeConverter &converter,
                                      RewritePatternSet &patterns,
                                      gsg::checks::CheckModule &texts) {
  patterns.add<LowerDataRecord, LowerDataChecks>(converter, texts);
}
