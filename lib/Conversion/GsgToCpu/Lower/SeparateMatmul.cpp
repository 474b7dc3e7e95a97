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
// `quantize` on y in f32 after it, `relayout_scales` to linear before it. So
// do further quantised results, but for transposed copies of whole blocks.
//
//===----------------------------------------------------------------------===//

#include "../Product/ProductOperands.h"
#include "nvfp4/Conversion/GsgArithmetic/LoopBuilder.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/StorageAccess.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/SeparateQuantization.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;

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
// Groups within four tiled scales
//===----------------------------------------------------------------------===//

static bool splitsScaleWords(ScaledType type, GroupingAttr grouping) {
  return type && getForm(grouping).cutsK() &&
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

/// A tile has whole blocks of rows of a group.
static bool isCopyOfTiles(const ProductCopy &copy) {
  ScaledType type = copy.out.type;
  return copy.attr.getTransposed() && type.isKMajor() &&
         type.getGroupStart() == GroupStart::Whole &&
         !copy.attr.getQuantizer().getTwoD();
}

static bool hasSeparateQuantization(MatmulOp op) {
  ScaledType type = op.getQuantizedType();
  return !op.getOut() || (type && !type.isKMajor()) ||
         !llvm::all_of(op.getCopyList(), isCopyOfTiles);
}

bool cpu::needsSeparation(MatmulOp op) {
  return hasSeparateQuantization(op) ||
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
    promoteCopy(rewriter, op);
    if (hasSeparateQuantization(op)) {
      // y in f32 takes the place of a quantised result.
      bool takesAll = op.getQuantizer() || !op.getOut();
      separateQuantization(rewriter, op, [&](const ProductCopy &copy) {
        return !takesAll && isCopyOfTiles(copy);
      });
    }
    return success();
  }
};
} // namespace

void cpu::populateSeparateMatmulPatterns(RewritePatternSet &patterns) {
  patterns.add<SeparateMatmul>(patterns.getContext());
}
