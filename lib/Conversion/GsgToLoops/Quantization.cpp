//===- Quantization.cpp - quantize and dequantize ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block at a time, in registers. Elements are numbered for stochastic
// rounding along lines, so the bytes depend neither on groups nor on threads.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/Patterns.h"

#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"
#include "nvfp4/Conversion/GsgArithmetic/Quantize.h"
#include "nvfp4/Conversion/GsgArithmetic/Rounding.h"
#include "nvfp4/Conversion/GsgToLoops/DeviceLoops.h"
#include "nvfp4/Conversion/GsgToLoops/LineParts.h"
#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using IntPredicate = arith::CmpIPredicate;

namespace {

CodeLines codesOf(MathBuilder &mb, Value memref, const GroupedLines &lines) {
  return {MemRefParts::get(mb, memref),
          format::elementKind(toFormat(lines.type.getFormat())),
          !lines.type.isKMajor(), lines.cutsLines(), lines.extents.lines};
}

Position blockBegin(MathBuilder &mb, const Position &begin, Value number,
                    int64_t block) {
  return {begin.batch, begin.line, mb.add(begin.along, mb.mul(number, block))};
}

Position scaleOf(MathBuilder &mb, const Position &first, Value number) {
  return {first.batch, first.line, mb.add(first.along, number)};
}

/// The pieces of one lowering of `quantize`.
struct QuantizeEmitter {
  LoopBuilder &mb;
  QuantizeOp op;
  BlockQuantizer quantizer;
  GroupedLines lines;
  RealLines input;
  CodeLines codes;
  /// The threads of a warp have neighbouring lines, whole squares of them.
  bool hasWarps = false;

  void emitPart(const LinePart &part) {
    Value global = emitGroupEntry(mb, op.getGlobalScale(), part.group);
    checkGlobalScale(mb, lines, part, op.getGlobalScale());
    if (op.getQuantizer().getTwoD())
      return emitSquares(part, global);
    part.forEachBlock(mb, quantizer.getBlockSize(), [&](Value n, Value count) {
      emitBlock(part, part.begin.line, n, count, global, Value());
    });
  }

private:
  Position elementAt(const LinePart &part, Value line, Value number) {
    Position begin{part.begin.batch, line, part.begin.along};
    return blockBegin(mb, begin, number, quantizer.getBlockSize());
  }

  /// Quantises block `number` of the part that `line` has in the group;
  /// `amax`, if any, is the maximum of the square that it lies in.
  void emitBlock(const LinePart &part, Value line, Value number, Value count,
                 Value global, Value amax) {
    Position at = elementAt(part, line, number);
    Value x = input.load(mb, at, quantizer.getBlockSize(), count);
    if (std::optional<HadamardAttr> hadamard = op.getHadamard())
      x = transform(*hadamard, x, count);
    QuantizeInputs inputs{global, {}, {}};
    if (quantizer.stochastic) {
      inputs.seed = op.getSeed() ? Value(op.getSeed()) : mb.i64Constant(0);
      Value lineNumber = mb.add(mb.mul(at.batch, lines.extents.lines), at.line);
      inputs.elementIndex =
          mb.add(mb.mul(lineNumber, lines.extents.length), at.along);
    }
    QuantizedBlock found =
        amax ? emitQuantizeBlockWithAmax(mb.builder, mb.loc, quantizer, inputs,
                                         amax, x)
             : emitQuantizeBlock(mb.builder, mb.loc, quantizer, inputs, x);
    codes.store(mb, found.codes, at, count);
    Position scale = scaleOf(mb, part.scales[0], number);
    scale.line = mb.add(scale.line, mb.sub(line, part.begin.line));
    mb.store(found.scale, lines.scales[0].address(mb, scale));
  }

  /// The Hadamard transform of a block, which ends after `count` elements.
  Value transform(HadamardAttr hadamard, Value x, Value count) {
    Value y =
        emitHadamard(mb, x, hadamard.getNormalized(), hadamard.getSignMask());
    if (!count)
      return y;
    Value mask = emitLaneMask(mb, count, quantizer.getBlockSize());
    return mb.select(mask, y, mb.real(y, 0.0));
  }

  /// The larger of the maxima of 16 threads, as bits.
  Value shareOverSquare(Value bits) {
    constexpr int32_t warp = 32;
    for (int32_t distance = 8; distance > 0; distance /= 2)
      bits = mb.maxS(bits,
                     gpu::ShuffleOp::create(mb.builder, mb.loc, bits, distance,
                                            warp, gpu::ShuffleMode::XOR)
                         .getShuffleResult());
    return bits;
  }

  /// Each thread has a line of a square.
  void emitLineOfSquares(const LinePart &part, Value global) {
    Value line = part.begin.line;
    int64_t block = quantizer.getBlockSize();
    part.forEachBlock(mb, block, [&](Value number, Value count) {
      Value x = input.load(mb, elementAt(part, line, number), block, count);
      Value amax = emitBlockAmax(mb.builder, mb.loc, quantizer, x);
      emitBlock(part, line, number, count, global,
                mb.fromBits(shareOverSquare(mb.toBits(amax))));
    });
  }

  /// The first line of each square of lines does the work of all of them.
  void emitSquares(const LinePart &part, Value global) {
    if (hasWarps)
      return emitLineOfSquares(part, global);
    int64_t block = quantizer.getBlockSize();
    Value leads = mb.cmp(IntPredicate::eq, mb.rem(part.lineInGroup, block), 0);
    mb.ifThen(leads, [&] {
      Value left = mb.sub(part.linesOfGroup, part.lineInGroup);
      Value first = part.begin.line;
      Value end = mb.add(first, mb.minS(left, block));
      part.forEachBlock(mb, block, [&](Value number, Value count) {
        Value bits = mb.forLoop(
            first, end, 1, {mb.constant(mb.i32, 0)},
            [&](Value line, ValueRange largest) {
              Value x =
                  input.load(mb, elementAt(part, line, number), block, count);
              Value amax = emitBlockAmax(mb.builder, mb.loc, quantizer, x);
              // Not negative, so ordered like the bits.
              return SmallVector<Value>{mb.maxS(mb.toBits(amax), largest[0])};
            })[0];
        mb.forLoop(first, end, 1, [&](Value line) {
          emitBlock(part, line, number, count, global, mb.fromBits(bits));
        });
      });
    });
  }
};

/// Whether the lines of a tensor of `type` are known to be of whole warps.
bool hasWarpsOfLines(ScaledType type) {
  if (!type.isKMajor() || type.getRank() < 2)
    return false;
  int64_t lines = type.getDimSize(type.getRank() - 2);
  return !ShapedType::isDynamic(lines) && lines % 32 == 0;
}

/// Whether no byte of FP4 values is of two groups.
bool beginAtEvenPlaces(GroupingAttr grouping) {
  return grouping.getOffsets() == OffsetsKind::Ends &&
         grouping.getAlign() % 2 == 0;
}

struct LowerQuantize : OpRewritePattern<QuantizeOp> {
  LowerQuantize(MLIRContext *context, bool onDevice, bool checksData)
      : OpRewritePattern(context), onDevice(onDevice), checksData(checksData) {}

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    ScaledType type = op.getScaledResultType();
    if (op->getNumResults() || !type || !op.getOutScales() ||
        !isa<MemRefType>(op.getInput().getType()) ||
        isDeviceMemory(op.getInput().getType()) != onDevice)
      return rewriter.notifyMatchFailure(op, "is not in storage form");
    std::unique_ptr<LoopBuilder> loops =
        makeLoopBuilder(rewriter, op, op.getInput());
    LoopBuilder &mb = *loops;
    RealLines input{MemRefParts::get(mb, op.getInput()),
                    type.isKMajor() == op.getTransposed()};
    GroupedLines lines;
    lines.type = type;
    MemRefParts logical = input.parts;
    if (op.getTransposed())
      std::swap(*std::prev(logical.sizes.end(), 2), logical.sizes.back());
    lines.extents = LineExtents::get(mb, type, logical);
    bool hasWarps =
        onDevice && op.getQuantizer().getTwoD() && hasWarpsOfLines(type);
    lines.areColumns = input.transposed || !type.isKMajor() || hasWarps;
    lines.grouping = op.getGrouping().value_or(GroupingAttr());
    lines.groups = op.getGroups();
    lines.scales = {ScaleLines::get(mb, op.getOutScales(), type)};
    input.anyPhase = lines.cutsLines();
    lines.wholeLines = type.isFP4() && type.isKMajor() && lines.cutsLines() &&
                       !beginAtEvenPlaces(lines.grouping);
    if (checksData)
      lines.addChecks(mb, op, {"outs"}, op.getGlobalScale());
    CodeLines codes = codesOf(mb, op.getOut(), lines);
    QuantizeEmitter emitter{
        mb,
        op,
        BlockQuantizer::get(op.getQuantizer(), type.getFormat()),
        lines,
        input,
        codes,
        hasWarps};
    forEachPart(mb, lines,
                [&](const LinePart &part) { emitter.emitPart(part); });
    rewriter.eraseOp(op);
    return success();
  }

private:
  bool onDevice, checksData;
};

struct LowerDequantize : OpRewritePattern<DequantizeOp> {
  LowerDequantize(MLIRContext *context, bool onDevice, bool checksData)
      : OpRewritePattern(context), onDevice(onDevice), checksData(checksData) {}

  LogicalResult matchAndRewrite(DequantizeOp op,
                                PatternRewriter &rewriter) const override {
    ScaledType type = op.getInputType();
    if (op->getNumResults() || !type || !op.getInputScales() ||
        !isa<MemRefType>(op.getOut().getType()) ||
        isDeviceMemory(op.getOut().getType()) != onDevice)
      return rewriter.notifyMatchFailure(op, "is not in storage form");
    std::unique_ptr<LoopBuilder> loops =
        makeLoopBuilder(rewriter, op, op.getOut());
    LoopBuilder &mb = *loops;
    RealLines out{MemRefParts::get(mb, op.getOut()), !type.isKMajor()};
    GroupedLines lines;
    lines.type = type;
    lines.areColumns = out.transposed;
    lines.extents = LineExtents::get(mb, type, out.parts);
    lines.grouping = op.getGrouping().value_or(GroupingAttr());
    lines.groups = op.getGroups();
    lines.scales = {ScaleLines::get(mb, op.getInputScales(), type)};
    out.anyPhase = lines.cutsLines();
    if (checksData)
      lines.addChecks(mb, op, {"the input"});
    CodeLines codes = codesOf(mb, op.getInput(), lines);
    int64_t block = type.getBlockSize();
    forEachPart(mb, lines, [&](const LinePart &part) {
      Value global = emitGroupEntry(mb, op.getGlobalScale(), part.group);
      part.forEachBlock(mb, block, [&](Value number, Value count) {
        Position at = blockBegin(mb, part.begin, number, block);
        Value code = codes.load(mb, at, block, count);
        Value scale = mb.load(
            mb.i8,
            lines.scales[0].address(mb, scaleOf(mb, part.scales[0], number)));
        out.store(mb, emitValues(mb, type, code, scale, global), at, count);
      });
    });
    rewriter.eraseOp(op);
    return success();
  }

private:
  bool onDevice, checksData;

  /// f32 values of codes under a scale byte.
  static Value emitValues(MathBuilder &mb, ScaledType type, Value codes,
                          Value scale, Value global) {
    Value exact =
        emitDequantizeExactly(mb, toFormat(type.getFormat()), codes, scale);
    bool isWide = getElementTypeOrSelf(exact.getType()).isF64();
    if (global)
      exact =
          mb.mulF(exact, mb.spread(isWide ? mb.widen(global) : global, exact));
    return isWide ? mb.narrow(exact) : exact;
  }
};
} // namespace

void loops::populateQuantizationPatterns(RewritePatternSet &patterns,
                                         bool onDevice, bool checksData) {
  patterns.add<LowerQuantize, LowerDequantize>(patterns.getContext(), onDevice,
                                               checksData);
}
