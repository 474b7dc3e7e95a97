//===- Strategy.cpp - products for the cost model ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extents that are unknown here get assumed values; those are for the cost
// model only and never decide what is legal.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Strategy.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

strategy::Tile gsg::getTile(StrategyAttr attr) {
  return {.m = attr.getTileM(),
          .n = attr.getTileN(),
          .k = attr.getTileK(),
          .stages = attr.getStages(),
          .ctas = attr.getCtas(),
          .clusterM = attr.getClusterM(),
          .clusterN = attr.getClusterN(),
          .splitK = attr.getSplitK(),
          .swapAB = attr.getSwapAB(),
          .dynamicN = attr.getDynamicN(),
          .scheduler = static_cast<strategy::Scheduler>(attr.getScheduler()),
          .accumulatorStages = attr.getAccumulatorStages(),
          .scaleStages = attr.getScaleStages(),
          .epilogueN = attr.getEpilogueN()};
}

StrategyAttr gsg::getStrategyAttr(MLIRContext *context,
                                  const strategy::Tile &tile) {
  return StrategyAttr::get(context, tile.m, tile.n, tile.k, tile.stages,
                           tile.ctas, tile.clusterM, tile.clusterN, tile.splitK,
                           tile.accumulatorStages, tile.scaleStages,
                           tile.epilogueN, tile.swapAB, tile.dynamicN,
                           static_cast<Scheduler>(tile.scheduler));
}

/// A static extent, as far as any device can hold it, or what is assumed.
static int64_t extentOr(int64_t extent, int64_t assumed) {
  constexpr int64_t kMost = int64_t(1) << 31;
  return ShapedType::isDynamic(extent) ? assumed : std::min(extent, kMost);
}

static double bitsOf(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth();
}

static void addStaged(strategy::Epilogue &epilogue, double bits) {
  epilogue.stagedBytes += static_cast<int64_t>((bits + 7) / 8);
}

int64_t gsg::getResultColumns(MatmulOp op, bool isSwapped) {
  ActivationAttr activation = op.getActivationOrIdentity();
  if (!activation.isPaired())
    return 32;
  // Kernels lay halves out in runs of 32.
  int64_t run = activation.getGate().getGranularity();
  if (run != 0 && run < 32)
    return 16;
  ScaledType quantized = op.getQuantizedType();
  bool hasWideBlock =
      getRowBlock(op) == 32 || (quantized && quantized.getBlockSize() == 32);
  bool isWide = op.getAddend() || op.getPreactOut() || hasWideBlock ||
                (op.getMath() == MathMode::Fast && !isSwapped);
  return isWide ? 32 : 16;
}

std::string gsg::explainIllegalTile(const strategy::Tile &tile,
                                    const strategy::Violation &violation,
                                    const strategy::Problem &problem,
                                    const KernelTarget &target) {
  std::string text =
      "the strategy " + strategy::toString(tile) + ": " + violation.text;
  if (auto legal = target.findNearestLegal(tile, problem))
    text += "; the nearest one is " + strategy::toString(*legal);
  return text;
}

static strategy::Epilogue describeEpilogue(MatmulOp op) {
  strategy::Epilogue epilogue = {.storedBits = 0, .stagedBytes = 0};
  ActivationAttr activation = op.getActivationOrIdentity();
  epilogue.paired = activation.isPaired();
  if (epilogue.paired)
    epilogue.gateGranularity = activation.getGate().getGranularity();
  ActivationKind kind = activation.getKind();
  epilogue.heavy =
      (kind != ActivationKind::Identity && kind != ActivationKind::ReLU) ||
      op.getQuantizerAttr();

  // Bits of y for an element of z.
  double result = 32;
  if (ScaledType quantized = op.getQuantizedType())
    result = strategy::storedBits(toFormat(quantized.getFormat()));
  else if (op.getOut())
    result = bitsOf(op.getOut().getType());
  if (epilogue.paired)
    result /= 2;
  epilogue.storedBits += result;
  bool isWide = epilogue.paired && getResultColumns(op) == 32;
  addStaged(epilogue, isWide ? 2 * result : result);
  for (const ProductCopy &copy : op.getCopyList())
    epilogue.storedBits +=
        strategy::storedBits(toFormat(copy.out.type.getFormat())) /
        (epilogue.paired ? 2 : 1);
  epilogue.rowBlock = getRowBlock(op);
  if (op.getPreactOut()) {
    epilogue.storedBits += bitsOf(op.getPreactOut().getType());
    addStaged(epilogue, bitsOf(op.getPreactOut().getType()));
  }
  if (op.getAddend()) {
    epilogue.loadedBits = bitsOf(op.getAddend().getType());
    addStaged(epilogue, epilogue.loadedBits);
  } else if (op.getBeta()) {
    epilogue.loadedBits = result;
    addStaged(epilogue, result);
  }
  return epilogue;
}

strategy::Problem gsg::forKernels(strategy::Problem problem) {
  problem.forKernels = true;
  return problem;
}

strategy::Problem gsg::describe(MatmulOp op, int64_t expectedRows,
                                const AssumedExtents &assumed) {
  strategy::Problem problem;
  ScaledType lhs = op.getLhsType(), rhs = op.getRhsType();
  if (lhs)
    problem.lhs = toFormat(lhs.getFormat());
  problem.unscaledRows = !lhs;
  problem.f16Rows =
      !lhs && getElementTypeOrSelf(op.getLhs()[0].getType()).isF16();
  problem.rhs = toFormat(rhs.getFormat());
  problem.epilogue = describeEpilogue(op);
  problem.anyK = ShapedType::isDynamic(op.getK());
  problem.relaxed = op.getDeterminism() == Determinism::Relaxed;
  problem.extentsOnDevice = op.getGrouping().hasGroupsOperand();

  if (std::optional<uint64_t> hint = op.getExpectedRows())
    expectedRows = static_cast<int64_t>(std::min<uint64_t>(*hint, 1u << 31));
  int64_t n = extentOr(op.getN(), assumed.n);
  int64_t k = extentOr(op.getK(), assumed.k);
  int64_t count = extentOr(op.getNumGroups(), assumed.groups);
  ArrayRef<int64_t> shape =
      lhs ? lhs.getShape()
          : cast<ShapedType>(op.getLhs()[0].getType()).getShape();
  int64_t rows = shape[shape.size() - 2];
  bool areRowsKnown = !ShapedType::isDynamic(rows);
  auto spread = [&](int64_t capacity) {
    problem.groups = strategy::spreadRows(expectedRows, count, n, k, capacity);
  };
  const GroupingForm &form = getForm(op.getGrouping());
  if (form.cutsK()) {
    problem.groupedK = true;
    problem.wholeK = k;
    int64_t share = ShapedType::isDynamic(op.getK())
                        ? assumed.k
                        : k / std::max<int64_t>(count, 1);
    problem.groups = {{count, extentOr(rows, assumed.rowsPerGroup), n,
                       std::max<int64_t>(share, 1)}};
    return problem;
  }
  if (form.coversRows()) {
    int64_t unknown =
        expectedRows > 0
            ? std::max<int64_t>(expectedRows / std::max<int64_t>(count, 1), 1)
            : assumed.rowsPerGroup;
    problem.groups = {{count, extentOr(rows, unknown), n, k}};
    return problem;
  }
  // A buffer of known size bounds the rows that groups cut; take it as full.
  if (form.cutsRows() && expectedRows == 0 && areRowsKnown)
    expectedRows = extentOr(rows, 0);
  if (expectedRows > 0)
    spread(extentOr(rows, INT64_MAX));
  else if (form.hasCounts())
    problem.groups = {
        {count,
         std::min(extentOr(rows, assumed.rowsPerGroup), assumed.rowsPerGroup),
         n, k}};
  else if (!areRowsKnown)
    problem.groups = {{count, assumed.rowsPerGroup, n, k}};
  return problem;
}

strategy::Problem gsg::describe(MatmulListOp op,
                                const AssumedExtents &assumed) {
  strategy::Problem problem;
  problem.lhs = toFormat(op.getLhsType(0).getFormat());
  problem.rhs = toFormat(op.getRhsType(0).getFormat());
  problem.relaxed = op.getDeterminism() == Determinism::Relaxed;
  double bits = bitsOf(op.getOuts()[0].getType());
  problem.epilogue = {.storedBits = bits,
                      .loadedBits = op.getBeta() ? bits : 0,
                      .stagedBytes = 0};
  addStaged(problem.epilogue, bits);
  addStaged(problem.epilogue, problem.epilogue.loadedBits);
  for (int64_t i = 0, e = op.getOuts().size(); i < e; ++i) {
    ScaledType lhs = op.getLhsType(i), rhs = op.getRhsType(i);
    // Either side may say K.
    int64_t k = ShapedType::isDynamic(lhs.getDimSize(1)) ? rhs.getDimSize(1)
                                                         : lhs.getDimSize(1);
    problem.anyK |= ShapedType::isDynamic(k);
    problem.groups.push_back(
        {1, extentOr(lhs.getDimSize(0), assumed.rowsPerGroup),
         extentOr(rhs.getDimSize(0), assumed.n), extentOr(k, assumed.k)});
  }
  return problem;
}
