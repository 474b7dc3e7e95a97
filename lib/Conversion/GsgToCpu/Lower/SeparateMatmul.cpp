//===- SeparateMatmul.cpp - operations beside a product ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile has 128 rows of 64 columns and reads four neighbouring scales at a
// time. Blocks along rows of the result cross tiles, and groups along K may
// start within four tiled scales. Both become operations beside the product:
// `quantize` on y in f32 after it, `relayout_scales` to linear before it.
//
//===----------------------------------------------------------------------===//

#include "../Product/ProductOperands.h"
#include "../Storage/StorageAccess.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

/// Memory until `op` has run, and what `use` adds after it. `extents` has a
/// value for each dimension; those that `shape` knows are not used.
static Value allocateAround(LoopBuilder &mb, Operation *op, Type element,
                            ArrayRef<int64_t> shape, ArrayRef<Value> extents) {
  SmallVector<Value> dynamic;
  for (auto [size, extent] : llvm::zip_equal(shape, extents))
    if (ShapedType::isDynamic(size))
      dynamic.push_back(mb.toIndex(extent));
  Value memory = memref::AllocOp::create(
      mb.builder, mb.loc, MemRefType::get(shape, element), dynamic,
      mb.builder.getI64IntegerAttr(64));
  OpBuilder::InsertionGuard guard(mb.builder);
  mb.builder.setInsertionPointAfter(op);
  memref::DeallocOp::create(mb.builder, mb.loc, memory);
  return memory;
}

//===----------------------------------------------------------------------===//
// The quantisation of the result
//===----------------------------------------------------------------------===//

/// The shape of y as i64.
static SmallVector<Value> getResultExtents(LoopBuilder &mb, MatmulOp op) {
  MemRefParts out = MemRefParts::get(mb, op.getOut());
  SmallVector<Value> extents = out.sizes;
  if (!op.getQuantizedType().isFP4())
    return extents;
  Value stored = mb.shl(extents.back(), 1);
  extents.back() = stored;
  // Blocks along columns are whole: their number is even (matmul_c29).
  if (op.getQuantizedType().isKMajor())
    return extents;
  // The values do not tell an odd number of columns. Coded weights are padded,
  // but there is a scale for each column; what disagrees does not lead outside
  // the values.
  Value columns;
  if (op.getRhsType().isCoded()) {
    columns = MemRefParts::get(mb, op.getOutScales()).sizes.back();
  } else {
    MemRefParts weights = MemRefParts::get(mb, op.getRhs().front());
    columns = weights.sizes[weights.getRank() - 2];
    if (op.getActivationOrIdentity().isPaired())
      columns = mb.shr(columns, 1);
  }
  extents.back() = mb.minS(columns, stored);
  return extents;
}

/// Zero for values and scales of a quantised result.
static void clearResult(LoopBuilder &mb, MatmulOp op) {
  MemRefParts out = MemRefParts::get(mb, op.getOut());
  Value bytes = mb.mul(out.columns(mb), out.elementBytes);
  mb.parallel(mb.toIndex(out.rows(mb)), [&](Value row) {
    LLVM::MemsetOp::create(mb.builder, mb.loc,
                           out.rowAddress(mb, mb.toI64(row)),
                           mb.constant(mb.i8, 0), bytes, /*isVolatile=*/false);
  });
  ScaleLines::get(mb, op.getOutScales(), op.getQuantizedType()).fill(mb, 0);
}

void cpu::separateQuantization(RewriterBase &rewriter, MatmulOp op) {
  LoopBuilder mb(rewriter, op.getLoc());
  Value y = allocateAround(mb, op, mb.f32, op.getQuantizedType().getShape(),
                           getResultExtents(mb, op));
  GroupingAttr grouping = op.getGrouping();
  if (op.getTail() == TailMode::Zero)
    clearResult(mb, op);
  // Groups along K have a matrix of the result each.
  bool cutsResult = grouping.hasGroupsOperand() &&
                    grouping.getKind() != GroupingKind::RaggedK;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(op);
  QuantizeOp::create(rewriter, op.getLoc(), TypeRange(), op.getQuantizerAttr(),
                     y, cutsResult ? op.getGroups() : Value(),
                     cutsResult ? grouping : GroupingAttr(),
                     op.getGlobalScale(), op.getSeed(), op.getOut(),
                     op.getOutScales(), op.getOutTypesAttr());
  rewriter.modifyOpInPlace(op, [&] {
    op.removeQuantizerAttr();
    op.removeOutTypesAttr();
    op.getGlobalScaleMutable().clear();
    op.getSeedMutable().clear();
    op.getOutScalesMutable().clear();
    op.getOutMutable().assign(y);
  });
}

//===----------------------------------------------------------------------===//
// Groups within four tiled scales
//===----------------------------------------------------------------------===//

static bool splitsScaleWords(ScaledType type, GroupingAttr grouping) {
  return type && grouping.getKind() == GroupingKind::RaggedK &&
         type.getLayout() != ScaleLayout::Linear &&
         type.getGroupStart() == GroupStart::Whole &&
         grouping.getAlign() % (4 * type.getBlockSize()) != 0;
}

/// Scales of `operand` in the layout linear, before `op`.
static Value relayoutBefore(LoopBuilder &mb, MatmulOp op,
                            const ScaledOperand &operand, ScaledType linear) {
  LineExtents extents = LineExtents::getPacked(
      mb, operand.type, MemRefParts::get(mb, operand.data));
  int64_t block = linear.getBlockSize();
  Value blocks = mb.div(mb.add(extents.length, block - 1), block);
  Value scales =
      allocateAround(mb, op, linear.getScaleElementType(),
                     linear.getScaleShape(), {extents.lines, blocks});
  RelayoutScalesOp::create(
      mb.builder, mb.loc, TypeRange(), operand.data, operand.scales,
      mb.builder.getTypeArrayAttr(Type(operand.type)),
      /*groups=*/Value(), GroupingAttr(), scales, TypeAttr::get(linear));
  return scales;
}

static void separateRelayout(PatternRewriter &rewriter, MatmulOp op) {
  LoopBuilder mb(rewriter, op.getLoc());
  auto relayout = [&](const ScaledOperand &operand, MutableOperandRange scales,
                      void (MatmulOp::*setTypes)(ArrayAttr)) {
    if (!splitsScaleWords(operand.type, op.getGrouping()))
      return;
    ScaledType linear =
        operand.type.withLayout(ScaleLayout::Linear, GroupStart::Whole);
    Value moved = relayoutBefore(mb, op, operand, linear);
    rewriter.modifyOpInPlace(op, [&] {
      scales.assign(moved);
      (op.*setTypes)(rewriter.getTypeArrayAttr(Type(linear)));
    });
  };
  relayout(
      getScaledOperands(op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr())
          .front(),
      op.getLhsScalesMutable(), &MatmulOp::setLhsTypesAttr);
  relayout(
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr())
          .front(),
      op.getRhsScalesMutable(), &MatmulOp::setRhsTypesAttr);
}

//===----------------------------------------------------------------------===//
// Either
//===----------------------------------------------------------------------===//

static bool hasBlocksAlongRows(MatmulOp op) {
  ScaledType type = op.getQuantizedType();
  return type && !type.isKMajor();
}

bool cpu::needsSeparation(MatmulOp op) {
  return hasBlocksAlongRows(op) ||
         splitsScaleWords(op.getLhsType(), op.getGrouping()) ||
         splitsScaleWords(op.getRhsType(), op.getGrouping());
}

namespace {
struct SeparateMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (std::string reason = explainUnsupported(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    if (!needsSeparation(op))
      return rewriter.notifyMatchFailure(op, "is one for tiles as it is");
    separateRelayout(rewriter, op);
    if (hasBlocksAlongRows(op))
      separateQuantization(rewriter, op);
    return success();
  }
};
} // namespace

void cpu::populateSeparateMatmulPatterns(RewritePatternSet &patterns) {
  patterns.add<SeparateMatmul>(patterns.getContext());
}
