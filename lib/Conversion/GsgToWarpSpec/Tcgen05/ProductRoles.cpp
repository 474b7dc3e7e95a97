//===- ProductRoles.cpp - Roles that load and multiply ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops along K: TMA fills stages, the tensor core drains them.
//
//===----------------------------------------------------------------------===//

#include "../Common/ProblemTable.h"
#include "Kernel.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::tcgen05;
using namespace nvfp4::warpspec;

namespace {
/// Where the operands of a group lie, i32.
struct OperandPlace {
  /// Its first row in A and in the weights, and the first rows of tiles of
  /// their scales.
  Value row, weightRow, rowAtom, weightAtom;
  /// Its first stage along K, null if that is the operands' first, and how
  /// many there are.
  Value step, steps;
};
} // namespace

/// The first stage of the tile's part of K among `steps`, and how many it has:
/// at least one, which may lie after the last.
static std::pair<Value, Value>
getPartSteps(const Kernel &k, const TileState &tile, Value steps) {
  if (!tile.part)
    return {Value(), steps};
  Value each = k.ceilDiv(steps, k.plan.splitK);
  Value first = k.mul(tile.part, each);
  return {first, k.clamp(k.sub(steps, first), k.i32(1), each)};
}

static OperandPlace getOperands(const Kernel &k, const TileState &tile) {
  auto [step, steps] = getPartSteps(k, tile, tile.extents.steps);
  if (k.parameters.problems) {
    Value zero = k.i32(0);
    return {zero, zero, zero, zero, step, steps};
  }
  GroupPlace group = getGroup(k, tile.extents, tile.group);
  if (group.steps) {
    Value zero = k.i32(0);
    // An empty group has a stage of zeros.
    steps = arith::MaxSIOp::create(k.b, k.loc, group.steps, k.i32(1));
    return {zero, zero, zero, zero, group.firstStep, steps};
  }
  return {group.start,
          k.mul(tile.group, tile.extents.columns),
          group.scaleAtom,
          k.mul(tile.group, k.ceilDiv(tile.extents.columns, 128)),
          step,
          steps};
}

/// Stages along K of a tile, or of its part, at least one.
static Value getSteps(const Kernel &k, const TileState &tile) {
  return getForm(k.getOp().getGrouping()).cutsK()
             ? getOperands(k, tile).steps
             : getPartSteps(k, tile, tile.extents.steps).second;
}

/// Rounds of the loop along K through so many stages.
static Value getRounds(const Kernel &k, Value steps) {
  return k.plan.splits ? k.mul(steps, 2) : steps;
}

/// Whether round `round` is one of the second time through K, of upper parts.
static Value isSecondTime(const Kernel &k, Value round, Value steps) {
  return arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::sge, round,
                               steps);
}

void tcgen05::buildLoadRole(const Kernel &kernel) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  const Plan &plan = kernel.plan;
  kernel.forEachTile(/*isEpilogue=*/false, [&](const TileState &tile) {
    auto add = [&](Value x, Value y) { return kernel.add(x, y); };
    auto mul = [&](Value x, int64_t y) { return kernel.mul(x, y); };
    OperandPlace place = getOperands(kernel, tile);
    Value g = tile.group;
    Value aMap = getMap(kernel, kernel.maps.a, g, 0);
    Value bMap = getMap(kernel, kernel.maps.b, g, 1);
    Value aScaleMap =
        plan.decodes ? Value() : getMap(kernel, kernel.maps.aScales, g, 2);
    Value bScaleMap = getMap(kernel, kernel.maps.bScales, g, 3);
    Value rowInGroup = mul(tile.m, plan.getTileRows());
    Value column = mul(tile.n, plan.getTileColumns());
    Value row = add(place.row, kernel.addOwn(rowInGroup, plan.getOwnRows()));
    Value weightRow =
        add(place.weightRow, kernel.addOwn(column, plan.getOwnColumns()));
    // Blocks of a pair share what lies on N, so each has all of its scales.
    Value ownRow =
        plan.swap ? rowInGroup : kernel.addOwn(rowInGroup, kTmemLanes);
    Value ownColumn = plan.swap ? kernel.addOwn(column, kTmemLanes) : column;
    Value rowAtom = add(place.rowAtom, kernel.div(ownRow, 128));
    Value columnAtom = add(place.weightAtom, kernel.div(ownColumn, 128));
    // Rows are read again for every tile of columns. Weights on M come by
    // once, if the rows of a group are one tile.
    auto rowHint = CacheHintAttr::get(b.getContext(), CacheHint::EvictLast);
    auto weightHint =
        plan.swap ? CacheHintAttr::get(b.getContext(), CacheHint::EvictFirst)
                  : CacheHintAttr();
    if (plan.decodes) {
      // Codes first: decoding them takes longest.
      auto fillStage = [&](Value k, AcquireOp codes) {
        if (plan.splits)
          k = arith::SelectOp::create(b, loc,
                                      isSecondTime(kernel, k, place.steps),
                                      kernel.sub(k, place.steps), k);
        if (place.step)
          k = add(place.step, k);
        auto load = [&](Value map, ArrayRef<Value> at, AcquireOp fill,
                        unsigned slot, CacheHintAttr cache) {
          TmaLoadOp::create(b, loc, map, at, fill.getSlot()[slot],
                            fill.getToken(), cache);
        };
        Value zero = kernel.i32(0);
        load(bMap, {weightRow, mul(k, plan.b.rowBytes)}, codes, 0, weightHint);
        load(bScaleMap, {mul(k, plan.scaleAtoms), columnAtom, zero}, codes, 1,
             weightHint);
        SmallVector<Value> at{mul(k, plan.getRowBlocks()), row, zero};
        if (plan.splits)
          return load(aMap, at, codes, 2, rowHint);
        auto rows = open<AcquireOp>(kernel, kernel.buffers.input);
        load(aMap, at, rows, 0, rowHint);
        CommitOp::create(b, loc, rows.getToken());
      };
      fillStages(kernel, kernel.buffers.codes, kernel.i32(0),
                 getRounds(kernel, place.steps), fillStage);
      return;
    }
    unsigned rowSlot = plan.swap, columnSlot = !plan.swap;
    auto fillStage = [&](Value k, AcquireOp fill) {
      if (place.step)
        k = add(place.step, k);
      auto load = [&](Value map, ArrayRef<Value> at, unsigned slot,
                      CacheHintAttr cache) {
        TmaLoadOp::create(b, loc, map, at, fill.getSlot()[slot],
                          fill.getToken(), cache);
      };
      auto rowOffset = [&](Value map) {
        return mul(k, cast<TensorMapType>(map.getType()).getShape().back());
      };
      Value atom = mul(k, plan.scaleAtoms), zero = kernel.i32(0);
      load(aMap, {row, rowOffset(aMap)}, rowSlot, rowHint);
      load(bMap, {weightRow, rowOffset(bMap)}, columnSlot, weightHint);
      load(aScaleMap, {atom, rowAtom, zero}, 2 + rowSlot, rowHint);
      load(bScaleMap, {atom, columnAtom, zero}, 2 + columnSlot, weightHint);
    };
    fillStages(kernel, kernel.buffers.input, kernel.i32(0), place.steps,
               fillStage);
  });
}

/// Multiplies a stage of decoded weights by one of rows, which `rows` has.
static void multiplyDecoded(const Kernel &kernel, Value acc, WaitOp rows,
                            Value more) {
  auto decoded = open<WaitOp>(kernel, kernel.buffers.decoded);
  MmaOp::create(kernel.b, kernel.loc, acc, decoded.getSlot()[0],
                rows.getSlot()[0], more);
  ReleaseOp::create(kernel.b, kernel.loc, decoded.getToken());
}

/// Multiplies a stage of scaled operands, which `drain` has; N of the tile
/// begins at `inAtom` within 128 rows of scales, and at lane `inLanes` if that
/// is not null. With `more` products are added to `acc`.
static void multiply(const Kernel &kernel, Value acc, WaitOp drain, Value more,
                     Value inAtom, Value inLanes) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  const Plan &plan = kernel.plan;
  const Buffers &buffers = kernel.buffers;
  Value sa = buffers.mScales, sb = buffers.nScales;
  auto copy = [&](unsigned slot, Value to, Value row) {
    CopyScalesOp::create(b, loc, drain.getSlot()[slot], to, row);
  };
  WaitOp scales;
  if (buffers.scaleColumns) {
    auto copied = open<AcquireOp>(kernel, buffers.scaleColumns);
    copy(2, copied.getSlot()[0], Value());
    copy(3, copied.getSlot()[1], inLanes);
    CommitOp::create(b, loc, copied.getToken());
    scales = open<WaitOp>(kernel, buffers.scaleColumns);
    sa = scales.getSlot()[0];
    sb = scales.getSlot()[1];
  } else {
    copy(2, sa, Value());
    copy(3, sb, inLanes);
  }
  if (plan.n % 128 != 0) {
    // A tile that begins in the middle of an atom: at one of its columns.
    auto type = cast<MemRefType>(sb.getType());
    int64_t last = plan.n % 64 == 0 ? 2 : 3;
    auto shorter = MemRefType::get(
        {kTmemLanes, type.getDimSize(1) - last}, type.getElementType(),
        MemRefLayoutAttrInterface(), type.getMemorySpace());
    sb = TmemSliceOp::create(b, loc, shorter, sb, kernel.div(inAtom, 32));
  }
  MmaScaledOp::create(b, loc, plan.kind, acc, drain.getSlot()[0], sa,
                      drain.getSlot()[1], sb, more, plan.ue8m0);
  if (scales)
    ReleaseOp::create(b, loc, scales.getToken());
}

void tcgen05::buildMmaRole(const Kernel &kernel) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  const Plan &plan = kernel.plan;
  const Buffers &buffers = kernel.buffers;
  auto i32 = [&](int64_t value) { return kernel.i32(value); };
  kernel.forEachTile(/*isEpilogue=*/false, [&](const TileState &tile) {
    // Where N of the tile begins within an atom of 128 rows.
    Value inAtom, inLanes;
    if (!plan.decodes) {
      Value start = kernel.mul(plan.swap ? tile.m : tile.n, plan.n);
      inAtom = arith::AndIOp::create(b, loc, start, i32(127));
      if (plan.isNarrow())
        inLanes = arith::AndIOp::create(b, loc, start, i32(31));
    }
    auto fill = open<AcquireOp>(kernel, buffers.accumulators);
    Value acc = fill.getSlot()[0];
    AcquireOp shared;
    if (buffers.sharedColumns) {
      shared = open<AcquireOp>(kernel, buffers.sharedColumns);
      auto type = MemRefType::get({kTmemLanes, plan.n}, b.getF32Type(),
                                  MemRefLayoutAttrInterface(),
                                  TmemAttr::get(b.getContext()));
      acc = TmemJoinOp::create(b, loc, type, acc, shared.getSlot()[0]);
    }
    Value zero = i32(0), one = i32(1);
    auto loop = scf::ForOp::create(
        b, loc, zero, getRounds(kernel, getSteps(kernel, tile)), one);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      auto drain = open<WaitOp>(kernel, buffers.input);
      Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                         loop.getInductionVar(), zero);
      if (plan.decodes)
        multiplyDecoded(kernel, acc, drain, more);
      else
        multiply(kernel, acc, drain, more, inAtom, inLanes);
      ReleaseOp::create(b, loc, drain.getToken());
    }
    CommitOp::create(b, loc, fill.getToken());
    if (shared)
      CommitOp::create(b, loc, shared.getToken());
  });
}

/// Fills `input` with the upper or lower parts of the rows of a stage: the
/// number in bf16, or what that leaves of it, which bf16 holds.
static void splitRows(const Kernel &kernel, WaitOp stage, Value thread,
                      Value isUpper) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  const Plan &plan = kernel.plan;
  auto fill = open<AcquireOp>(kernel, kernel.buffers.input);
  // Threads take 16 bytes each, one row of a K block after the other.
  constexpr int64_t values = 8, inRow = Plan::kBlockValues / values;
  int64_t count = plan.getRowBlocks() * plan.n * inRow;
  auto loop = scf::ForOp::create(b, loc, thread, kernel.i32(count),
                                 kernel.i32(32 * kDecodeWarps));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar();
    Value line = kernel.div(i, inRow), block = kernel.div(line, plan.n);
    SmallVector<Value> at{
        block, kernel.sub(line, kernel.mul(block, plan.n)),
        kernel.mul(kernel.sub(i, kernel.mul(line, inRow)), values)};
    auto vector = [&](Type element) {
      return VectorType::get({values}, element);
    };
    Type f32 = b.getF32Type(), bf16 = plan.getMultiplicand();
    Value loaded = SmemLoadOp::create(b, loc, vector(plan.a.element),
                                      stage.getSlot()[2], at);
    Value x = arith::ExtFOp::create(b, loc, vector(f32), loaded);
    Value upper = arith::TruncFOp::create(b, loc, vector(bf16), x);
    Value lower = arith::SubFOp::create(
        b, loc, x, arith::ExtFOp::create(b, loc, vector(f32), upper));
    // Infinity is its upper part alone.
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vector(bf16)));
    Value isWhole =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, lower, lower);
    lower = arith::TruncFOp::create(b, loc, vector(bf16), lower);
    lower = arith::SelectOp::create(b, loc, isWhole, lower, zero);
    Value part = arith::SelectOp::create(b, loc, isUpper, upper, lower);
    SmemStoreOp::create(b, loc, part, fill.getSlot()[0], at);
  }
  CommitOp::create(b, loc, fill.getToken());
}

void tcgen05::buildDecodeRole(const Kernel &kernel) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  const Plan &plan = kernel.plan;
  auto i32 = [&](int64_t value) { return kernel.i32(value); };
  Type i8 = b.getI8Type();
  // A thread has a lane, which is a row of weights, and a part of K.
  constexpr int64_t parts = 32 * kDecodeWarps / kTmemLanes;
  int64_t columns = plan.getDecodedColumns() / parts, values = 2 * columns;
  int64_t bytes = plan.b.rowBytes / parts;
  int64_t scales = values / plan.b.operand.type.getBlockSize();
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  Value lane = arith::AndIOp::create(b, loc, thread, i32(kTmemLanes - 1));
  Value part = kernel.div(thread, kTmemLanes);
  // Rows r of a scale tile have 16 bytes for r, r + 32, r + 64 and r + 96.
  Value scale = kernel.mul(part, scales);
  Value atom = kernel.div(scale, 4);
  Value inAtom =
      kernel.add(kernel.mul(arith::AndIOp::create(b, loc, lane, i32(31)), 16),
                 kernel.add(kernel.mul(kernel.div(lane, 32), 4),
                            kernel.sub(scale, kernel.mul(atom, 4))));
  auto decoded = MemRefType::get({kTmemLanes, columns}, b.getI32Type(),
                                 MemRefLayoutAttrInterface(),
                                 TmemAttr::get(b.getContext()));
  kernel.forEachTile(/*isEpilogue=*/false, [&](const TileState &tile) {
    Value steps = getSteps(kernel, tile);
    auto loop =
        scf::ForOp::create(b, loc, i32(0), getRounds(kernel, steps), i32(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto stage = open<WaitOp>(kernel, kernel.buffers.codes);
    Value codes = SmemLoadOp::create(b, loc, VectorType::get({bytes}, i8),
                                     stage.getSlot()[0],
                                     ValueRange{lane, kernel.mul(part, bytes)});
    Value factors =
        SmemLoadOp::create(b, loc, VectorType::get({scales}, i8),
                           stage.getSlot()[1], ValueRange{atom, inAtom});
    if (plan.splits)
      splitRows(kernel, stage, thread,
                isSecondTime(kernel, loop.getInductionVar(), steps));
    ReleaseOp::create(b, loc, stage.getToken());
    Value words = DecodeCodesOp::create(
        b, loc, VectorType::get({columns}, b.getI32Type()), codes, factors,
        plan.code, plan.getMultiplicand());
    auto fill = open<AcquireOp>(kernel, kernel.buffers.decoded);
    Value own = TmemSliceOp::create(b, loc, decoded, fill.getSlot()[0],
                                    kernel.mul(part, columns));
    TmemStoreOp::create(b, loc, words, own);
    CommitOp::create(b, loc, fill.getToken());
  });
}
