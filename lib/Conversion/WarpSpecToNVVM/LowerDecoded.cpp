//===- LowerDecoded.cpp - Weights decoded in registers ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `mma_decoded`: a loop for each width, and the choice among them.
//
//===----------------------------------------------------------------------===//

#include "DecodedLoop.h"
#include "KernelPattern.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::warpspec;

using Values = DecodedLoop::Values;

namespace {
struct MmaDecodedLowering : KernelPattern<MmaDecodedOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(MmaDecodedOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    BarrierBuilder b(rewriter, loc);
    DecodedOperands operands(adaptor);
    int64_t values = getFragmentSize(op.getResult());
    Value steps =
        arith::SubIOp::create(rewriter, loc, operands.to, operands.from);
    Value zero =
        arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0));
    // All widths leave their fragment in the same places, zero beyond it.
    SmallVector<Type> types(values, rewriter.getF32Type());
    types.append(2, b.getI32());
    auto buildWidth = [&](int64_t width) {
      Values results =
          DecodedLoop(b, op, operands, kernels.getPipeline(op), width)
              .build(steps);
      results.insert(results.begin() + width / 2, values - width / 2, zero);
      scf::YieldOp::create(rewriter, loc, results);
    };
    SmallVector<int64_t> widths = op.getWidths();
    Value some = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                                       steps, b.constant(0));
    auto outer = scf::IfOp::create(rewriter, loc, types, some, true, true);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(outer.elseBlock());
      Values none(values, zero);
      none.append({operands.stage, operands.phase});
      scf::YieldOp::create(rewriter, loc, none);
      rewriter.setInsertionPointToStart(outer.thenBlock());
      choose(b, operands.width, types, widths, buildWidth);
    }
    ValueRange results = outer.getResults();
    Value fragment = vector::FromElementsOp::create(
        rewriter, loc, op.getResult().getType(), results.take_front(values));
    rewriter.replaceOp(op, {fragment, results[values], results[values + 1]});
    return success();
  }

private:
  /// A tree of comparisons, all before the first loop: a chain would run
  /// through the instructions of every narrower loop. Not a switch: ptxas
  /// serialises every wgmma behind an indirect branch.
  static void choose(AddressBuilder &b, Value width, TypeRange types,
                     ArrayRef<int64_t> widths,
                     llvm::function_ref<void(int64_t)> build) {
    if (widths.size() == 1)
      return build(widths.front());
    size_t half = widths.size() / 2;
    Value opaque = assemble(b.b, b.loc, "", "=r,0", b.getI32(), width,
                            /*hasEffects=*/true)
                       .front();
    Value is = arith::CmpIOp::create(b.b, b.loc, arith::CmpIPredicate::slt,
                                     opaque, b.constant(widths[half]));
    auto branch = scf::IfOp::create(b.b, b.loc, types, is, true, true);
    scf::YieldOp::create(b.b, b.loc, branch.getResults());
    b.b.setInsertionPointToStart(branch.thenBlock());
    choose(b, width, types, widths.take_front(half), build);
    b.b.setInsertionPointToStart(branch.elseBlock());
    choose(b, width, types, widths.drop_front(half), build);
  }
};
} // namespace

void nvfp4::warpspec::populateDecodedToNVVMPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  patterns.add<MmaDecodedLowering>(converter, patterns.getContext(), kernels);
}
