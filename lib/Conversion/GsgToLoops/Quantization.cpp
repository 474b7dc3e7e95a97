//===- Quantization.cpp - quantize and dequantize ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block at a time, in registers. Rows may be those of tokens that an order
// names, in bf16 or quantised already. Elements are numbered for stochastic
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
#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// The tokens whose rows are quantised, for rows that `permute` would move.
struct TokenRows {
  /// token_of_row, and the number of tokens.
  MemRefParts tokenOfRow;
  Value count;
  DataChecks checks;
  /// The rows of the tokens that are quantised already, if they are.
  std::optional<CodeLines> codes;
  std::optional<ScaleLines> scales;

  TokenRows(LoopBuilder &mb, OneLaunchOp launch, bool checksData) {
    auto permute = launch.find<PermuteOp>();
    tokenOfRow = MemRefParts::getColumn(mb, permute.getTokenOfRow());
    count = mb.toI64(mb.dim(permute.getInput(), 0));
    if (checksData)
      checks = DataChecks(mb.builder, permute,
                          DataChecks::getIndex(permute.getContext(),
                                               "permute_c4", "token_of_row"));
    ScaledType type = launch.getTokensType();
    if (!launch.getTokens())
      return;
    codes = CodeLines{MemRefParts::get(mb, launch.getTokens()),
                      format::elementKind(toFormat(type.getFormat()))};
    scales = ScaleLines::get(mb, launch.getTokenScales(), type);
  }

  /// The values of `found` where the row `at` is of a token, which lies at the
  /// position it gets, and else those of `none`.
  SmallVector<Value>
  select(LoopBuilder &mb, const Position &at,
         function_ref<SmallVector<Value>(const Position &)> found,
         function_ref<SmallVector<Value>()> none) const {
    Value address = tokenOfRow.rowAddress(mb, at.line);
    Value entry = mb.load(mb.i32, address, /*bytes=*/0, /*alignment=*/4);
    Value token = mb.signExtend(entry, mb.i64);
    Value isToken = mb.cmp(IntPredicate::ult, token, count);
    auto branch = scf::IfOp::create(
        mb.builder, mb.loc, isToken,
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(mb.builder, mb.loc,
                               found({at.batch, token, at.along}));
        },
        [&](OpBuilder &, Location) {
          report(mb, at, token);
          scf::YieldOp::create(mb.builder, mb.loc, none());
        });
    return SmallVector<Value>(branch.getResults());
  }

private:
  /// Reports a token that is not -1, by the thread of the first block.
  void report(LoopBuilder &mb, const Position &at, Value token) const {
    if (!checks)
      return;
    Value isBad = mb.cmp(IntPredicate::ne, token, -1);
    isBad = mb.bitAnd(isBad, mb.cmp(IntPredicate::eq, at.along, 0));
    DataChecks::Finding finding;
    finding.row = at.line;
    finding.seen = token;
    finding.limit = count;
    checks.report(mb, 0, isBad, finding);
  }
};

/// The second-level scale of a part of a line, or null without.
Value loadGlobalScale(LoopBuilder &mb, Value scale, bool perRow,
                      const LinePart &part) {
  if (!perRow)
    return emitGroupEntry(mb, scale, part.group);
  SmallVector<Value, 2> row;
  if (cast<MemRefType>(scale.getType()).getRank() == 2)
    row.push_back(mb.toIndex(part.begin.batch));
  row.push_back(mb.toIndex(part.begin.line));
  return mb.load(scale, row);
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
  /// Null if rows are quantised where they lie.
  const TokenRows *tokens = nullptr;

  void emitPart(const LinePart &part) {
    Value global =
        loadGlobalScale(mb, op.getGlobalScale(), op.getPerRow(), part);
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
    QuantizedBlock found =
        tokens && tokens->codes
            ? copyBlock(at, number, count, global)
            : makeBlock(at, load(at, count), count, global, amax);
    codes.store(mb, found.codes, at, count);
    Position scale = scaleOf(mb, part.scales[0], number);
    scale.line = mb.add(scale.line, mb.sub(line, part.begin.line));
    mb.store(found.scale, lines.scales[0].address(mb, scale));
  }

  Value zeros() {
    return mb.constantF32(VectorType::get(quantizer.getBlockSize(), mb.f32),
                          0.0f);
  }

  Value load(const Position &at, Value count) {
    auto loadAt = [&](const Position &from) {
      return input.load(mb, from, quantizer.getBlockSize(), count);
    };
    if (!tokens)
      return loadAt(at);
    return tokens->select(
        mb, at,
        [&](const Position &from) { return SmallVector<Value>{loadAt(from)}; },
        [&] { return SmallVector<Value>{zeros()}; })[0];
  }

  /// Block `number` of a token that is quantised; rows of none are zeros.
  QuantizedBlock copyBlock(const Position &at, Value number, Value count,
                           Value global) {
    SmallVector<Value> found = tokens->select(
        mb, at,
        [&](const Position &from) -> SmallVector<Value> {
          Value code =
              tokens->codes->load(mb, from, quantizer.getBlockSize(), count);
          Position scale{from.batch, from.line, number};
          return {code, mb.load(mb.i8, tokens->scales->address(mb, scale))};
        },
        [&]() -> SmallVector<Value> {
          QuantizedBlock zero = makeBlock(at, zeros(), count, global, Value());
          return {zero.codes, zero.scale};
        });
    return {found[0], found[1]};
  }

  QuantizedBlock makeBlock(const Position &at, Value x, Value count,
                           Value global, Value amax) {
    if (std::optional<HadamardAttr> hadamard = op.getHadamard())
      x = transform(*hadamard, x, count);
    QuantizeInputs inputs{global, {}, {}};
    if (quantizer.stochastic) {
      inputs.seed = op.getSeed() ? Value(op.getSeed()) : mb.i64Constant(0);
      Value lineNumber = mb.add(mb.mul(at.batch, lines.extents.lines), at.line);
      inputs.elementIndex =
          mb.add(mb.mul(lineNumber, lines.extents.length), at.along);
    }
    return amax ? emitQuantizeBlockWithAmax(mb.builder, mb.loc, quantizer,
                                            inputs, amax, x)
                : emitQuantizeBlock(mb.builder, mb.loc, quantizer, inputs, x);
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
      Value x = load(elementAt(part, line, number), count);
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
              Value x = load(elementAt(part, line, number), count);
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

/// The emitter of the blocks of `op`, whose rows are those of `rows` or of
/// tokens.
QuantizeEmitter makeEmitter(LoopBuilder &mb, QuantizeOp op, Value rows,
                            const TokenRows *tokens, bool checksData) {
  ScaledType type = op.getScaledResultType();
  RealLines input{MemRefParts::get(mb, rows),
                  type.isKMajor() == op.getTransposed()};
  GroupedLines lines;
  lines.type = type;
  MemRefParts logical = input.parts;
  if (tokens)
    logical.sizes[0] = tokens->tokenOfRow.sizes[0];
  if (op.getTransposed())
    std::swap(*std::prev(logical.sizes.end(), 2), logical.sizes.back());
  lines.extents = LineExtents::get(mb, type, logical);
  bool hasWarps =
      mb.isOnDevice() && op.getQuantizer().getTwoD() && hasWarpsOfLines(type);
  lines.areColumns = input.transposed || !type.isKMajor() || hasWarps;
  lines.grouping = op.getGrouping().value_or(GroupingAttr());
  lines.groups = op.getGroups();
  lines.scales = {ScaleLines::get(mb, op.getOutScales(), type)};
  input.anyPhase = lines.cutsLines();
  lines.wholeLines = type.isFP4() && type.isKMajor() && lines.cutsLines() &&
                     !beginAtEvenPlaces(lines.grouping);
  if (checksData)
    lines.addChecks(mb, op, {"outs"},
                    op.getPerRow() ? Value() : op.getGlobalScale());
  CodeLines codes = codesOf(mb, op.getOut(), lines);
  return {
      mb,       op,    BlockQuantizer::get(op.getQuantizer(), type.getFormat()),
      lines,    input, codes,
      hasWarps, tokens};
}

/// The code of `op`; its rows are those of `rows`, or of tokens.
void emitQuantize(LoopBuilder &mb, QuantizeOp op, Value rows,
                  const TokenRows *tokens, bool checksData) {
  QuantizeEmitter emitter = makeEmitter(mb, op, rows, tokens, checksData);
  forEachPart(mb, emitter.lines,
              [&](const LinePart &part) { emitter.emitPart(part); });
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
    emitQuantize(*loops, op, op.getInput(), /*tokens=*/nullptr, checksData);
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
      Value global =
          loadGlobalScale(mb, op.getGlobalScale(), op.getPerRow(), part);
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

void loops::lowerPermuteAndQuantize(RewriterBase &rewriter, OneLaunchOp launch,
                                    bool checksData) {
  auto quantize = launch.find<QuantizeOp>();
  DeviceLoopBuilder mb(rewriter, quantize,
                       launch.getTokens() ? "permute_quantized"
                                          : "permute_quantize");
  TokenRows tokens(mb, launch, checksData);
  emitQuantize(mb, quantize, launch.find<PermuteOp>().getInput(), &tokens,
               checksData);
  rewriter.eraseOp(launch);
}

void loops::lowerBothDirections(RewriterBase &rewriter, OneLaunchOp launch,
                                bool checksData) {
  auto rows = cast<QuantizeOp>(launch.getBody()->front());
  auto columns = cast<QuantizeOp>(launch.getBody()->back());
  DeviceLoopBuilder mb(rewriter, rows, "quantize_both");
  auto make = [&](QuantizeOp op) {
    return makeEmitter(mb, op, op.getInput(), /*tokens=*/nullptr, checksData);
  };
  QuantizeEmitter ofRows = make(rows), ofColumns = make(columns);
  forEachPartOfBoth(
      mb, ofRows.lines, [&](const LinePart &part) { ofRows.emitPart(part); },
      ofColumns.lines, [&](const LinePart &part) { ofColumns.emitPart(part); });
  rewriter.eraseOp(launch);
}

void loops::populateQuantizationPatterns(RewritePatternSet &patterns,
                                         bool onDevice, bool checksData) {
  patterns.add<LowerQuantize, LowerDequantize>(patterns.getContext(), onDevice,
                                               checksData);
}
