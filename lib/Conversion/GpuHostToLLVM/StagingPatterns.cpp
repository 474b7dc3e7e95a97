//===- StagingPatterns.cpp - Staging to calls of the runtime ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of nvfp4_staging.h, which work on memory of the host.
//
//===----------------------------------------------------------------------===//

#include "HostCalls.h"
#include "nvfp4/Format/BlockFormat.h"
#include "nvfp4/Runtime/nvfp4_staging.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nvfp4;
using warpspec::GroupForm;

static_assert(static_cast<int>(GroupForm::Counts) == NVFP4_STAGE_COUNTS &&
              static_cast<int>(GroupForm::RowEnds) == NVFP4_STAGE_ROW_ENDS &&
              static_cast<int>(GroupForm::RowStarts) ==
                  NVFP4_STAGE_ROW_STARTS &&
              static_cast<int>(GroupForm::KEnds) == NVFP4_STAGE_K_ENDS &&
              static_cast<int>(GroupForm::KStarts) == NVFP4_STAGE_K_STARTS);

static format::BlockFormat parseFormat(StringRef name) {
  return *format::parseBlockFormat(std::string_view(name.data(), name.size()));
}

namespace {
/// The arguments of one call, in order.
class StagingCall {
public:
  StagingCall(HostCalls &host, Location loc, const LLVMTypeConverter &converter)
      : host(host), loc(loc), converter(converter) {
    add(host.where());
  }

  void add(Value value) { arguments.push_back(value); }
  void addI32(int64_t value) { add(host.i32(value)); }
  void addI64(int64_t value) { add(host.i64(value)); }
  /// The address of the first element; null for none.
  void addAddress(Value memref, Value descriptor) {
    add(memref ? host.address(memref.getType(), descriptor, converter)
               : LLVM::ZeroOp::create(host.b, loc, host.pointer()).getResult());
  }
  void addDim(Value descriptor, int64_t index) {
    add(MemRefDescriptor(descriptor).size(host.b, loc, index));
  }
  void addLastDim(Value memref, Value descriptor) {
    addDim(descriptor, getRank(memref) - 1);
  }
  /// The number of matrices, and the rows of each.
  void addMatricesAndRows(Value memref, Value descriptor) {
    if (getRank(memref) > 2)
      addDim(descriptor, 0);
    else
      addI64(1);
    addDim(descriptor, getRank(memref) - 2);
  }
  /// The rows of all matrices.
  void addAllRows(Value memref, Value descriptor) {
    MemRefDescriptor view(descriptor);
    Value rows = view.size(host.b, loc, getRank(memref) - 2);
    for (int64_t d = 0; d < getRank(memref) - 2; ++d)
      rows = LLVM::MulOp::create(host.b, loc, rows, view.size(host.b, loc, d));
    add(rows);
  }
  /// Rows of tiles of scales, and the bytes of each.
  void addTileRows(Value memref, Value descriptor) {
    constexpr int64_t tileRank = 3, tileBytes = 512;
    MemRefDescriptor view(descriptor);
    int64_t last = getRank(memref) - tileRank - 1;
    Value rows = host.i64(1);
    for (int64_t d = 0; d < last; ++d)
      rows = LLVM::MulOp::create(host.b, loc, rows, view.size(host.b, loc, d));
    add(rows);
    add(LLVM::MulOp::create(host.b, loc, view.size(host.b, loc, last),
                            host.i64(tileBytes)));
  }
  /// Form, offsets, their bits, number and alignment, and the stage.
  template <typename Op, typename Adaptor>
  void addGroups(Op op, Adaptor adaptor, std::optional<GroupForm> form) {
    Value groups = op.getGroups();
    addI32(groups ? static_cast<int64_t>(*form) : int64_t{NVFP4_STAGE_ALL});
    addAddress(groups, adaptor.getGroups());
    addI32(groups ? cast<MemRefType>(groups.getType()).getElementTypeBitWidth()
                  : 32);
    if (groups)
      addDim(adaptor.getGroups(), 0);
    else
      addI64(0);
    addI64(op.getAlign());
    addI64(op.getStage());
  }
  /// Address and pitch in bytes.
  void addTarget(Value memref, Value descriptor) {
    addAddress(memref, descriptor);
    int64_t bytes =
        cast<MemRefType>(memref.getType()).getElementTypeBitWidth() / 8;
    add(LLVM::MulOp::create(host.b, loc,
                            MemRefDescriptor(descriptor).stride(host.b, loc, 0),
                            host.i64(bytes)));
  }
  void replace(Operation *op, StringRef name) {
    host.call(name, host.b.getI32Type(), arguments);
    host.b.eraseOp(op);
  }

private:
  static int64_t getRank(Value memref) {
    return cast<MemRefType>(memref.getType()).getRank();
  }

  HostCalls &host;
  Location loc;
  const LLVMTypeConverter &converter;
  SmallVector<Value> arguments;
};

/// A pattern whose `fill` adds the arguments of the call.
template <typename Op> struct LowerStaging : HostPattern<Op> {
  using Base = HostPattern<Op>;
  using OpAdaptor = typename Op::Adaptor;
  using Base::Base;

  LogicalResult
  matchAndRewrite(Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    HostCalls host = this->calls(rewriter, op);
    StagingCall call(host, op.getLoc(), *this->getTypeConverter());
    StringRef name = fill(call, op, adaptor);
    call.replace(op, name);
    return success();
  }

private:
  static StringRef fill(StagingCall &call, Op op, OpAdaptor adaptor);
};

template <>
StringRef LowerStaging<warpspec::StageRowsOp>::fill(StagingCall &call,
                                                    warpspec::StageRowsOp op,
                                                    OpAdaptor adaptor) {
  call.addI32(
      op.getFormat() ? static_cast<int64_t>(parseFormat(*op.getFormat())) : -1);
  call.addAddress(op.getInput(), adaptor.getInput());
  call.addAddress(op.getScales(), adaptor.getScales());
  if (op.getScales())
    call.addLastDim(op.getScales(), adaptor.getScales());
  else
    call.addI64(0);
  call.addI32(op.getCompact());
  call.addMatricesAndRows(op.getInput(), adaptor.getInput());
  call.add(adaptor.getColumns());
  call.addGroups(op, adaptor, op.getForm());
  call.addTarget(op.getOut(), adaptor.getOut());
  return "nvfp4_stage_rows";
}

template <>
StringRef LowerStaging<warpspec::StageValuesOp>::fill(
    StagingCall &call, warpspec::StageValuesOp op, OpAdaptor adaptor) {
  call.addI32(format::elementBits(parseFormat(op.getFormat())));
  call.addAddress(op.getInput(), adaptor.getInput());
  call.addAllRows(op.getInput(), adaptor.getInput());
  call.add(adaptor.getColumns());
  call.addGroups(op, adaptor, op.getForm());
  call.addTarget(op.getOut(), adaptor.getOut());
  return "nvfp4_stage_values";
}

template <>
StringRef LowerStaging<warpspec::StageScalesOp>::fill(
    StagingCall &call, warpspec::StageScalesOp op, OpAdaptor adaptor) {
  call.addAddress(op.getInput(), adaptor.getInput());
  call.addAllRows(op.getInput(), adaptor.getInput());
  call.add(adaptor.getColumns());
  call.addLastDim(op.getInput(), adaptor.getInput());
  call.addI64(format::blockSize(parseFormat(op.getFormat())));
  call.addI32(op.getCompact());
  call.addGroups(op, adaptor, op.getForm());
  call.addTarget(op.getOut(), adaptor.getOut());
  return "nvfp4_stage_scales";
}

template <>
StringRef LowerStaging<warpspec::StageWeightsOp>::fill(
    StagingCall &call, warpspec::StageWeightsOp op, OpAdaptor adaptor) {
  call.addI32(static_cast<int64_t>(parseFormat(op.getFormat())));
  call.addI32(op.getF16());
  call.addAddress(op.getInput(), adaptor.getInput());
  call.addAddress(op.getScales(), adaptor.getScales());
  call.addLastDim(op.getScales(), adaptor.getScales());
  call.addI32(op.getCompact());
  call.addMatricesAndRows(op.getInput(), adaptor.getInput());
  call.add(adaptor.getColumns());
  call.addGroups(op, adaptor, op.getForm());
  call.addTarget(op.getOut(), adaptor.getOut());
  call.addAddress(op.getFactors(), adaptor.getFactors());
  return "nvfp4_stage_weights";
}

template <>
StringRef LowerStaging<warpspec::StagePaddedScalesOp>::fill(
    StagingCall &call, warpspec::StagePaddedScalesOp op, OpAdaptor adaptor) {
  call.addAddress(op.getInput(), adaptor.getInput());
  call.addTileRows(op.getInput(), adaptor.getInput());
  call.add(adaptor.getColumns());
  call.addTarget(op.getOut(), adaptor.getOut());
  return "nvfp4_stage_padded_scales";
}

template <>
StringRef LowerStaging<warpspec::StageOddValuesOp>::fill(
    StagingCall &call, warpspec::StageOddValuesOp op, OpAdaptor adaptor) {
  call.addAddress(op.getInput(), adaptor.getInput());
  call.addAllRows(op.getInput(), adaptor.getInput());
  call.addLastDim(op.getInput(), adaptor.getInput());
  call.addTarget(op.getOut(), adaptor.getOut());
  return "nvfp4_stage_odd_values";
}
} // namespace

void nvfp4::populateStagingPatterns(const LLVMTypeConverter &converter,
                                    RewritePatternSet &patterns,
                                    gsg::checks::CheckModule &texts) {
  patterns.add<LowerStaging<warpspec::StageOddValuesOp>,
               LowerStaging<warpspec::StagePaddedScalesOp>,
               LowerStaging<warpspec::StageRowsOp>,
               LowerStaging<warpspec::StageScalesOp>,
               LowerStaging<warpspec::StageValuesOp>,
               LowerStaging<warpspec::StageWeightsOp>>(converter, texts);
}
