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

#include "nvfp4/Conversion/GsgToLoops/Patterns.h"

#include "nvfp4/Conversion/GsgToLoops/DeviceLoops.h"
#include "nvfp4/Conversion/GsgToLoops/LineParts.h"
#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

namespace {

/// Copies the scale at `at` of a line, or all that are in a `type` from there.
void copyScale(MathBuilder &mb, const ScaleLines &from, Position source,
               const ScaleLines &to, Position target, Value at, Type type) {
  auto advanced = [&](const Position &begin) -> Position {
    return {begin.batch, begin.line, mb.add(begin.along, at)};
  };
  Value scales = mb.load(type, from.address(mb, advanced(source)));
  mb.store(scales, to.address(mb, advanced(target)));
}

/// Copies `count` scales of a line, by words of four where both begin one.
void copyScales(MathBuilder &mb, const ScaleLines &from, Position source,
                const ScaleLines &to, Position target, Value count,
                bool wordAligned) {
  auto copy = [&](Type type, Value at) {
    copyScale(mb, from, source, to, target, at, type);
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
  LowerRelayoutScales(MLIRContext *context, bool onDevice, bool checksData)
      : OpRewritePattern(context), onDevice(onDevice), checksData(checksData) {}

  LogicalResult matchAndRewrite(RelayoutScalesOp op,
                                PatternRewriter &rewriter) const override {
    ScaledType from = op.getInputType(), to = op.getResultType();
    if (op->getNumResults() || !from || !to || !op.getInputScales() ||
        !op.getOutScales() || !isa<MemRefType>(op.getOutScales().getType()) ||
        isDeviceMemory(op.getOutScales().getType()) != onDevice)
      return rewriter.notifyMatchFailure(op, "is not in storage form");
    std::unique_ptr<LoopBuilder> loops =
        makeLoopBuilder(rewriter, op, op.getOutScales());
    LoopBuilder &mb = *loops;
    GroupedLines lines;
    lines.type = from;
    lines.extents =
        LineExtents::getPacked(mb, from, MemRefParts::get(mb, op.getInput()));
    lines.grouping = op.getGrouping().value_or(GroupingAttr());
    lines.groups = op.getGroups();
    lines.scales = {ScaleLines::get(mb, op.getInputScales(), from),
                    ScaleLines::get(mb, op.getOutScales(), to)};
    if (checksData)
      lines.addChecks(mb, op, {"the input", "outs"});
    auto format = toFormat(from.getFormat());
    lines.scales[1].fill(mb, format::paddingScale(format::scaleKind(format)));
    bool words = hasAdjacentScales(lines.scales[0]) &&
                 hasAdjacentScales(lines.scales[1]) && !lines.cutsLines();
    int64_t block = from.getBlockSize();
    forEachPart(mb, lines, [&](const LinePart &part) {
      if (part.block) {
        part.forEachBlock(mb, block, [&](Value number, Value) {
          copyScale(mb, lines.scales[0], part.scales[0], lines.scales[1],
                    part.scales[1], number, mb.i8);
        });
        return;
      }
      Value blocks = mb.div(mb.add(part.size, block - 1), block);
      copyScales(mb, lines.scales[0], part.scales[0], lines.scales[1],
                 part.scales[1], blocks, words);
    });
    rewriter.eraseOp(op);
    return success();
  }

private:
  bool onDevice, checksData;
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
  Value ofPair = mb.mul(mb.shr(number, 1), toRun);
  Value column = mb.add(ofPair, mb.rem(row, toRun));
  // Runs alternate; whether a row is in the first or second of a pair changes
  // with the order.
  Value second = mb.bitAnd(number, 1);
  if (from.getOrder() != to.getOrder())
    second = mb.bitXor(second, mb.i64Constant(1));
  Value pair = mb.mul(mb.shl(mb.div(column, fromRun), 1), fromRun);
  Value inPair = mb.add(pair, mb.rem(column, fromRun));
  return mb.add(inPair, mb.mul(second, fromRun));
}

struct LowerRelayoutGate : OpRewritePattern<RelayoutGateOp> {
  LowerRelayoutGate(MLIRContext *context, bool onDevice)
      : OpRewritePattern(context), onDevice(onDevice) {}

  LogicalResult matchAndRewrite(RelayoutGateOp op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() || !op.getOut() ||
        !isa<MemRefType>(op.getOut().getType()) ||
        isDeviceMemory(op.getOut().getType()) != onDevice)
      return rewriter.notifyMatchFailure(op, "is not in storage form");
    std::unique_ptr<LoopBuilder> loops =
        makeLoopBuilder(rewriter, op, op.getOut());
    if (op.getInputScales())
      lowerScaled(*loops, op);
    else
      lowerPlain(*loops, op);
    rewriter.eraseOp(op);
    return success();
  }

private:
  bool onDevice;

  /// Permutes the last dimension.
  static void lowerPlain(LoopBuilder &mb, RelayoutGateOp op) {
    MemRefParts input = MemRefParts::get(mb, op.getInput());
    MemRefParts out = MemRefParts::get(mb, op.getOut());
    Type bits = mb.builder.getIntegerType(input.elementBytes * 8);
    Value columns = out.columns(mb);
    int64_t alignment = mb.isOnDevice() ? out.elementBytes : 1;
    forElements(mb, out.rows(mb), columns, [&](Value row, Value c) {
      auto at = [&](const MemRefParts &parts, Value column) {
        Value element = mb.mul(column, parts.strides.back());
        Value start = parts.rowAddress(mb, row);
        return mb.ptrAdd(start, mb.mul(element, parts.elementBytes));
      };
      Value source = emitSourceRow(mb, op.getFrom(), op.getTo(), columns, c);
      Value element = mb.load(bits, at(input, source), /*bytes=*/0, alignment);
      mb.store(element, at(out, c), /*bytes=*/0, alignment);
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
    /// Positions of the first scales of row `row` and of where it comes from.
    auto locate = [&](Value row) -> std::pair<Position, Position> {
      Value batch = zero, line = row;
      if (type.getRank() > 2) {
        batch = mb.div(row, rows);
        line = mb.rem(row, rows);
      }
      Value source = emitSourceRow(mb, op.getFrom(), op.getTo(), rows, line);
      return {{batch, source, zero}, {batch, line, zero}};
    };
    auto sourceAddress = [&](const Position &source) {
      return input.rowAddress(mb,
                              mb.add(mb.mul(source.batch, rows), source.line));
    };
    if (mb.isOnDevice()) {
      forElements(mb, out.rows(mb), out.columns(mb), [&](Value row, Value c) {
        copyByte(mb, input, sourceAddress(locate(row).first), out,
                 out.rowAddress(mb, row), c);
      });
      forElements(mb, out.rows(mb), blocks, [&](Value row, Value block) {
        auto [source, target] = locate(row);
        copyScale(mb, from, source, to, target, block, mb.i8);
      });
      return;
    }
    mb.parallel(mb.toIndex(out.rows(mb)), [&](Value index) {
      Value row = mb.toI64(index);
      auto [source, target] = locate(row);
      copyRow(mb, input, sourceAddress(source), out, out.rowAddress(mb, row));
      copyScales(mb, from, source, to, target, blocks,
                 hasAdjacentScales(from) && hasAdjacentScales(to));
    });
  }

  /// Calls `body(row, column)` for all elements of a matrix: in a thread of the
  /// host for each row, in one of a device for each element.
  static void forElements(LoopBuilder &mb, Value rows, Value columns,
                          function_ref<void(Value, Value)> body) {
    if (mb.isOnDevice()) {
      mb.parallel(mb.toIndex(mb.mul(rows, columns)), [&](Value index) {
        Value number = mb.toI64(index);
        Value row = mb.div(number, columns);
        body(row, mb.rem(number, columns));
      });
      return;
    }
    mb.parallel(mb.toIndex(rows), [&](Value index) {
      Value row = mb.toI64(index);
      mb.forLoop(mb.i64Constant(0), columns, 1,
                 [&](Value column) { body(row, column); });
    });
  }

  static void copyByte(MathBuilder &mb, const MemRefParts &input, Value from,
                       const MemRefParts &out, Value to, Value column) {
    Value byte =
        mb.load(mb.i8, mb.ptrAdd(from, mb.mul(column, input.strides.back())));
    mb.store(byte, mb.ptrAdd(to, mb.mul(column, out.strides.back())));
  }

  static void copyRow(MathBuilder &mb, const MemRefParts &input, Value from,
                      const MemRefParts &out, Value to) {
    if (input.isContiguous && out.isContiguous) {
      LLVM::MemcpyOp::create(mb.builder, mb.loc, to, from, out.columns(mb),
                             /*isVolatile=*/false);
      return;
    }
    mb.forLoop(mb.i64Constant(0), out.columns(mb), 1,
               [&](Value c) { copyByte(mb, input, from, out, to, c); });
  }
};
} // namespace

void loops::populateRelayoutPatterns(RewritePatternSet &patterns, bool onDevice,
                                     bool checksData) {
  patterns.add<LowerRelayoutScales>(patterns.getContext(), onDevice,
                                    checksData);
  patterns.add<LowerRelayoutGate>(patterns.getContext(), onDevice);
}
