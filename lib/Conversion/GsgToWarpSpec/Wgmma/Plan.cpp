//===- Plan.cpp - Sizes of kernels for sm_90a --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel cannot do is refused here, before anything is built.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "../Common/KernelParameters.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Strategy.h"
#include "nvfp4/Format/WgmmaWeights.h"
#include "nvfp4/Strategy/Wgmma/WgmmaTiles.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::wgmma;

static_assert(strategy::kWgmmaSharedBytes == warpspec::kSharedBytesLimit);

static void setWarpgroups(Plan &plan, int64_t warpgroups) {
  plan.warpgroups = warpgroups;
  bool isWide = warpgroups == 4;
  plan.width = isWide ? 96 : 192;
  plan.widthStep = isWide ? 8 : 16;
  plan.stages = std::min<int64_t>(isWide ? 4 : 3, plan.getMostStages());
  plan.registers = isWide ? 112 : 232;
  plan.otherRegisters = isWide ? 32 : 40;
}

static std::string findUnsupportedLayout(ScaledType rows, ScaledType weights) {
  if (!weights.isKMajor())
    return "weights whose blocks do not run along the last dimension";
  if (weights.getLayout() != ScaleLayout::Linear && !weights.isCoded())
    return "scales of weights that are not laid out by gsg-assign-scale-layout";
  if (rows && rows.getLayout() != ScaleLayout::Linear)
    return "scales of rows that are not laid out by gsg-assign-scale-layout";
  return "";
}

static void setFormats(Plan &plan) {
  ScaledType weights = plan.weights.type;
  plan.code = kernels::getWeightCode(weights);
  format::wgmma::Coding coding{
      format::elementKind(
          static_cast<format::BlockFormat>(weights.getFormat())),
      format::ScaleKind::UE4M3, format::wgmma::Multiplicand::BF16};
  plan.blockBytes = coding.blockBytes();
  // Rows that are not scaled are multiplied as they are.
  auto rows = cast<MemRefType>(plan.a.data.getType()).getElementType();
  plan.element = plan.a.type ? BFloat16Type::get(rows.getContext()) : rows;
}

/// Places the stages of `tile`, which kernels have, or returns why they do not
/// fit.
static std::string placeTile(Plan &plan, const strategy::Tile &tile) {
  setWarpgroups(plan, tile.n / 64);
  plan.width = tile.m;
  plan.blocks = tile.k / 64;
  int64_t fit = plan.getMostStages();
  plan.stages = tile.stages ? tile.stages : std::min<int64_t>(fit, 6);
  if (plan.stages >= 2 && plan.stages <= fit)
    return "";
  std::string bytes = std::to_string(plan.getStageBytes());
  if (fit < 2)
    return "expected a tile of which 2 stages fit into shared memory, but got "
           "stages of " +
           bytes + " bytes";
  return "expected 2 to " + std::to_string(fit) + " stages of " + bytes +
         " bytes, which fit into shared memory, but got " +
         std::to_string(plan.stages);
}

/// The tile that fits and differs least from `wish`.
static strategy::Tile findNearestTile(Plan plan, const strategy::Tile &wish,
                                      std::optional<int64_t> k) {
  strategy::Tile tile = strategy::findNearestWgmmaTile(wish, k, plan.rowBlock);
  if (placeTile(plan, tile).empty())
    return tile;
  if (tile.stages)
    tile.stages =
        std::max<int64_t>(2, std::min(plan.getMostStages(), tile.stages));
  while (!placeTile(plan, tile).empty()) {
    strategy::Tile smaller = tile;
    smaller.stages = 0;
    if (tile.k == 256)
      smaller.k = 128;
    else
      smaller.m -= std::max<int64_t>(8, plan.rowBlock);
    tile = strategy::findNearestWgmmaTile(smaller, k, plan.rowBlock);
  }
  return tile;
}

/// Takes the tile that `strategy` asks for, or returns why there is no kernel
/// of it. K is not known if `values` is dynamic.
static std::string chooseTile(Plan &plan, StrategyAttr strategy,
                              int64_t values) {
  strategy::Tile tile = getTile(strategy);
  std::optional<int64_t> k;
  if (!ShapedType::isDynamic(values))
    k = values;
  auto violation = strategy::findWgmmaViolation(tile, k, plan.rowBlock);
  std::string text = violation ? violation->text : placeTile(plan, tile);
  if (text.empty())
    return "";
  return "the strategy " + strategy::toString(tile) + ": " + text +
         "; the nearest one is " +
         strategy::toString(findNearestTile(plan, tile, k));
}

/// The epilogue stores acc, or acc times alpha.
static bool storesSums(MatmulOp op) {
  Block &epilogue = op.getEpilogue().front();
  Value acc = epilogue.getArgument(0);
  Value y = cast<StoreResultOp>(epilogue.getTerminator()).getY();
  if (y == acc)
    return true;
  auto product = y.getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  auto load = product.getLhs().getDefiningOp<LoadClauseOp>();
  return load && load.getClause() == EpilogueClause::Alpha &&
         product.getRhs() == acc;
}

bool wgmma::hasPlainResults(MatmulOp op) {
  auto out = cast<MemRefType>(op.getOut().getType());
  int64_t columns = out.getShape().back();
  return !op.getQuantizer() && !op.getCopies() && !op.getPreactOut() &&
         !op.getAmaxOut() && storesSums(op) &&
         (out.getElementType().isBF16() || out.getElementType().isF16()) &&
         !ShapedType::isDynamic(columns) && columns % 8 == 0;
}

/// Whether and how tiles are cut. It costs 2 to 6 percent of the time where
/// nothing is cut in the end, least in wide tiles; so only for known groups, no
/// more than are sorted, with wide tiles or where rows are known to make more
/// than a round of tiles. Nor where a known K has an odd number of stages,
/// which would be a branch in each round of the loop along K.
static void setCut(Plan &plan, MatmulOp op) {
  constexpr int64_t mostGroups = 32;
  ScaledType weights = plan.weights.type;
  int64_t groups = weights.getRank() == 3 ? weights.getShape()[0] : 1;
  if (getForm(op.getGrouping()).cutsK() || groups < 1 || groups > mostGroups)
    return;
  int64_t k = op.getK();
  bool areTwos = plan.blocks == 2 && !ShapedType::isDynamic(k);
  // There is a stage even if K is 0.
  int64_t stages =
      areTwos ? (k + plan.getStageValues() - 1) / plan.getStageValues() : 0;
  if (areTwos && std::max<int64_t>(stages, 1) % 2)
    return;
  plan.cutStages = areTwos ? 2 : 1;
  plan.inParts = op.getDeterminism() == Determinism::Relaxed;
  int64_t n = op.getN(), rows = op.getExpectedRows().value_or(0);
  bool hasRounds = false;
  if (rows && !ShapedType::isDynamic(n)) {
    int64_t tiles = groups * ((rows / groups + plan.width - 1) / plan.width) *
                    ((n + plan.getColumns() - 1) / plan.getColumns());
    hasRounds = tiles > Plan::kMostBlocks;
  }
  plan.isCut = plan.inParts || hasRounds || (rows == 0 && plan.warpgroups == 2);
}

/// The plan of `op` with a K that is known or dynamic; `isPlain` says what
/// hasPlainResults does, of all problems that have the kernel.
static FailureOr<Plan> makePlan(MatmulOp op,
                                const strategy::WgmmaTarget &target,
                                bool isPlain, int64_t k) {
  auto refuse = [&](const Twine &what) {
    return refuseKernel(op, target, what);
  };
  if (std::string what = findUnsupportedByKernels(op, target); !what.empty())
    return refuse(what);
  Plan plan;
  plan.a =
      getScaledOperands(op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr())
          .front();
  plan.weights =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr())
          .front();
  if (std::string what = findUnsupportedLayout(plan.a.type, plan.weights.type);
      !what.empty())
    return refuse(what);
  setFormats(plan);
  plan.isPlain = isPlain;
  plan.rowBlock = getRowBlock(op);
  strategy::Tile tile = target.getDefaultTile(describe(op));
  setWarpgroups(plan, tile.n / 64);
  if (StrategyAttr strategy = op.getStrategyAttr())
    if (std::string what = chooseTile(plan, strategy, k); !what.empty())
      return refuse(what);
  setCut(plan, op);
  return plan;
}

FailureOr<Plan> Plan::get(MatmulOp op, const strategy::WgmmaTarget &target) {
  bool isAlongK = getForm(op.getGrouping()).cutsK();
  return makePlan(op, target, hasPlainResults(op),
                  isAlongK ? ShapedType::kDynamic : op.getK());
}

FailureOr<Plan> Plan::get(MatmulListOp list, MatmulOp first,
                          const strategy::WgmmaTarget &target) {
  bool isPlain = hasPlainResults(first);
  for (int64_t i = 1, e = list.getOuts().size(); i < e; ++i) {
    if (std::string what =
            findUnsupportedLayout(list.getLhsType(i), list.getRhsType(i));
        !what.empty())
      return refuseKernel(list, target, what);
    int64_t columns =
        cast<MemRefType>(list.getOuts()[i].getType()).getShape().back();
    isPlain &= !ShapedType::isDynamic(columns) && columns % 8 == 0;
  }
  // Stages along K must fit each of them.
  std::optional<int64_t> k = strategy::getKnownK(describe(list));
  FailureOr<Plan> plan =
      makePlan(first, target, isPlain, k.value_or(ShapedType::kDynamic));
  // Steps along K differ.
  if (succeeded(plan))
    plan->isCut = plan->inParts = false;
  return plan;
}
