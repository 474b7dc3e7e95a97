//===- Relayout.cpp - relayout_scales and relayout_gate ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves bytes: scales from one layout to another, and rows of weights from one
// gate/up convention to another.
//
//===----------------------------------------------------------------------===//

#include "../Storage/GroupedLines.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

namespace {

/// Copies `count` scales of a line, by words of four where both begin one.
void copyScales(MathBuilder &mb, const ScaleLines &from, Position source,
                const ScaleLines &to, Position target, Value count,
                bool wordAligned) {
  auto advanced = [&](const Position &at, Value by) -> Position {
    return {at.batch, at.line, mb.add(at.along, by)};
  };
  auto copy = [&](Type type, Value at) {
    Value scales = mb.load(type, from.address(mb, advanced(source, at)));
    mb.store(scales, to.address(mb, advanced(target, at)));
  };
  Value copied = mb.i64Constant(0);
  if (wordAligned) {
    copied = mb.shl(mb.shr(count, 2), 2);
    mb.forLoop(mb.i64Constant(0), copied, 4,
               [&](Value at) { copy(mb.i32, at); });
  }
  mb.forLoop(copied, count, 1, [&](Value at) { copy(mb.i8, at); });
}

/// Scales of neighbouring blocks are neighbours in memory.
bool hasAdjacentScales(const ScaleLines &scales) {
  return scales.type.isKMajor() &&
         (scales.type.getLayout() != ScaleLayout::Linear ||
          scales.parts.isContiguous);
}

struct LowerRelayoutScales : OpRewritePattern<RelayoutScalesOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutScalesOp op,
                                PatternRewriter &rewriter) const override {
    ScaledType from = op.getInputType(), to = op.getResultType();
    if (op->getNumResults() || !from || !to || !op.getInputScales() ||
        !op.getOutScales() || !isa<MemRefType>(op.getOutScales().getType()))
      return rewriter.notifyMatchFailure(op, "is not in storage form");
    LoopBuilder mb(rewriter, op.getLoc());
    GroupedLines lines;
    lines.type = from;
    lines.extents =
        LineExtents::getPacked(mb, from, MemRefParts::get(mb, op.getInput()));
    lines.grouping = op.getGrouping().value_or(GroupingAttr());
    lines.groups = op.getGroups();
    lines.scales = {ScaleLines::get(mb, op.getInputScales(), from),
                    ScaleLines::get(mb, op.getOutScales(), to)};
    auto format = toFormat(from.getFormat());
    lines.scales[1].fill(mb, format::paddingScale(format::scaleKind(format)));
    bool words = hasAdjacentScales(lines.scales[0]) &&
                 hasAdjacentScales(lines.scales[1]) && !lines.cutsLines();
    int64_t block = from.getBlockSize();
    lines.forEachPart(mb, [&](const LinePart &part) {
      Value blocks = mb.div(mb.add(part.size, block - 1), block);
      copyScales(mb, lines.scales[0], part.scales[0], lines.scales[1],
                 part.scales[1], blocks, words);
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// The row of a weight under `from` that becomes row `row` under `to`, for
/// `rows` rows in all.
Value emitSourceRow(MathBuilder &mb, GateAttr from, GateAttr to, Value rows,
                    Value row) {
  auto run = [&](GateAttr gate) -> Value {
    return gate.getGranularity() > 0 ? mb.i64Constant(gate.getGranularity())
                                     : mb.shr(rows, 1);
  };
  Value toRun = run(to), fromRun = run(from);
  Value number = mb.div(row, toRun);
  Value column = mb.add(mb.mul(mb.shr(number, 1), toRun), mb.rem(row, toRun));
  // Runs alternate; whether a row is in the first or second of a pair changes
  // with the order.
  Value second = mb.bitAnd(number, 1);
  if (from.getOrder() != to.getOrder())
    second = mb.bitXor(second, mb.i64Constant(1));
  Value pair = mb.mul(mb.shl(mb.div(column, fromRun), 1), fromRun);
  return mb.add(mb.add(pair, mb.rem(column, fromRun)), mb.mul(second, fromRun));
}

struct LowerRelayoutGate : OpRewritePattern<RelayoutGateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RelayoutGateOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !op.getOut() ||
        !isa<MemRefType>(op.getOut().getType()))
      return rewriter.notifyMatchFailure(op, "is not in storage form");
    LoopBuilder mb(rewriter, op.getLoc());
    if (op.getInputScales())
      lowerScaled(mb, op);
    else
      lowerPlain(mb, op);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Permutes the last dimension.
  static void lowerPlain(LoopBuilder &mb, RelayoutGateOp op) {
    MemRefParts input = MemRefParts::get(mb, op.getInput());
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    Type bits = mb.builder.getIntegerType(input.elementBytes * 8);
    Value columns = out.columns(mb);
    mb.parallel(mb.toIndex(out.rows(mb)), [&](Value index) {
      Value row = mb.toI64(index);
      Value in = input.rowAddress(mb, row), to = out.rowAddress(mb, row);
      auto at = [&](const MemRefParts &parts, Value base, Value column) {
        Value element = mb.mul(column, parts.strides.back());
        return mb.ptrAdd(base, mb.mul(element, parts.elementBytes));
      };
      mb.forLoop(mb.i64Constant(0), columns, 1, [&](Value c) {
        Value source = emitSourceRow(mb, op.getFrom(), op.getTo(), columns, c);
        mb.store(mb.load(bits, at(input, in, source)), at(out, to, c));
      });
    });
  }

  /// Permutes the rows of values and scales alike.
  static void lowerScaled(LoopBuilder &mb, RelayoutGateOp op) {
    ScaledOperand operand =
        getScaledOperands(op.getInput(), op.getInputScales(),
                          op.getInputTypesAttr())
            .front();
    ScaledType type = operand.type;
    MemRefParts input = MemRefParts::get(mb, op.getInput());
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    ScaleLines from = ScaleLines::get(mb, op.getInputScales(), type);
    ScaleLines to = ScaleLines::get(mb, op.getOutScales(), type);
    Value rows = out.sizes[out.getRank() - 2];
    LineExtents extents = LineExtents::getPacked(mb, type, input);
    int64_t block = type.getBlockSize();
    Value blocks = mb.div(mb.add(extents.length, block - 1), block);
    Value zero = mb.i64Constant(0);
    mb.parallel(mb.toIndex(out.rows(mb)), [&](Value index) {
      Value row = mb.toI64(index);
      Value batch = zero, line = row;
      if (type.getRank() > 2) {
        batch = mb.div(row, rows);
        line = mb.rem(row, rows);
      }
      Value source = emitSourceRow(mb, op.getFrom(), op.getTo(), rows, line);
      Value sourceRow = mb.add(mb.mul(batch, rows), source);
      copyRow(mb, input, input.rowAddress(mb, sourceRow), out,
              out.rowAddress(mb, row));
      copyScales(mb, from, {batch, source, zero}, to, {batch, line, zero},
                 blocks, hasAdjacentScales(from) && hasAdjacentScales(to));
    });
  }

  static void copyRow(MathBuilder &mb, const MemRefParts &input, Value from,
                      const MemRefParts &out, Value to) {
    if (input.isContiguous && out.isContiguous) {
      LLVM::MemcpyOp::create(mb.builder, mb.loc, to, from, out.columns(mb),
                             /*isVolatile=*/false);
      return;
    }
    mb.forLoop(mb.i64Constant(0), out.columns(mb), 1, [&](Value c) {
      Value byte =
          mb.load(mb.i8, mb.ptrAdd(from, mb.mul(c, input.strides.back())));
      mb.store(byte, mb.ptrAdd(to, mb.mul(c, out.strides.back())));
    });
  }
};
} // namespace

void nvfp4::gsg::cpu::populateRelayoutToCpuPatterns(
    RewritePatternSet &patterns) {
  patterns.add<LowerRelayoutScales, LowerRelayoutGate>(patterns.getContext());
}
