//===- StageWeights.cpp - Packing of weights as kernels ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// relayout_weights, which users call once, and stage_weights, for products
// whose weights nobody has packed.
//
//===----------------------------------------------------------------------===//

#include "PackWeights.h"
#include "RowKernel.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::format::wgmma;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::loops;
using namespace nvfp4::gsg::togpu;

static Coding getCoding(BlockFormat format, bool isF16) {
  format::BlockFormat kind = toFormat(format);
  return {format::elementKind(kind), format::scaleKind(kind),
          isF16 ? Multiplicand::F16 : Multiplicand::BF16};
}

/// Matrices and rows of a memref of rank 2 or 3.
static std::pair<Value, Value> countRows(LoopBuilder &b, Value memref) {
  MemRefParts parts = MemRefParts::get(b, memref);
  Value one = b.i64Constant(1);
  return {parts.getRank() == 3 ? parts.sizes[0] : one,
          parts.sizes[parts.getRank() - 2]};
}

namespace {
struct LowerStageWeights : OpRewritePattern<warpspec::StageWeightsOp> {
  LowerStageWeights(MLIRContext *context, bool checksData)
      : OpRewritePattern(context), checksData(checksData) {}

  LogicalResult matchAndRewrite(warpspec::StageWeightsOp op,
                                PatternRewriter &rewriter) const override {
    if (!isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    DeviceLoopBuilder b(rewriter, op);
    BlockFormat format = *symbolizeBlockFormat(op.getFormat());
    Value codes = getMatrix(b, op.getInput());
    Value scales = getMatrix(b, op.getScales());
    Value columns = b.toI64(op.getColumns());
    StagedColumns source(b, format, columns, scales, GroupsAlongK::get(op));
    PackedWeights weights{getCoding(format, op.getF16()), codes, scales,
                          op.getOut(), op.getFactors()};
    std::tie(weights.matrices, weights.rows) = countRows(b, op.getInput());
    // Rows of the result have whole strips of 64 rows of weights.
    MemRefParts out = MemRefParts::get(b, op.getOut());
    Value strips = b.div(b.add(weights.rows, kBlockRows - 1), kBlockRows);
    Value blocks = b.div(out.columns(b), weights.coding.blockBytes());
    weights.blocks = b.div(blocks, b.maxS(strips, 1));
    weights.pitch = out.strides[0];
    if (checksData)
      weights.addChecks(b, op);
    packWeights(b, weights, source);
    source.free();
    rewriter.eraseOp(op);
    return success();
  }

private:
  const bool checksData;
};

struct LowerRelayoutWeights : OpRewritePattern<RelayoutWeightsOp> {
  LowerRelayoutWeights(MLIRContext *context, bool checksData)
      : OpRewritePattern(context), checksData(checksData) {}

  LogicalResult matchAndRewrite(RelayoutWeightsOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !op.getOut() ||
        !isDeviceMemory(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not on the device");
    ScaledType from = op.getInputType(), to = op.getResultType();
    if (from.isCoded())
      return rewriter.notifyMatchFailure(op, "unpacks weights");
    DeviceLoopBuilder b(rewriter, op);
    Value scales = getMatrix(b, op.getInputScales());
    Value columns = b.i64Constant(from.getDimSize(from.getRank() - 1));
    StagedColumns source(b, from.getFormat(), columns, scales, std::nullopt);
    PackedWeights weights{
        getCoding(from.getFormat(), to.getLayout() == ScaleLayout::WgmmaF16),
        getMatrix(b, op.getInput()), scales, op.getOut(), op.getOutScales()};
    weights.matrices = countRows(b, op.getInput()).first;
    weights.rows = b.i64Constant(from.getDimSize(from.getRank() - 2));
    // Whole stages of 128 columns, two blocks each.
    weights.blocks =
        b.i64Constant(2 * llvm::divideCeil(from.getDimSize(from.getRank() - 1),
                                           2 * kBlockColumns));
    Value strips = b.div(b.add(weights.rows, kBlockRows - 1), kBlockRows);
    weights.pitch =
        b.mul(b.mul(strips, weights.blocks), weights.coding.blockBytes());
    if (checksData)
      weights.addChecks(b, op);
    packWeights(b, weights, source);
    rewriter.eraseOp(op);
    return success();
  }

private:
  const bool checksData;
};
} // namespace

void togpu::populatePackingPatterns(RewritePatternSet &patterns,
                                    bool checksData) {
  patterns.add<LowerStageWeights, LowerRelayoutWeights>(patterns.getContext(),
                                                        checksData);
}
