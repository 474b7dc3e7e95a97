//===- WgmmaPlan.cpp - Sizes and parameters of kernels for sm_90a -*- C++
//-*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel cannot do is refused here, before anything is built.
//
//===----------------------------------------------------------------------===//

#include "WgmmaBody.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;

/// Rows a group from which on a tile of 128 columns by up to 192 rows is
/// better than one of 256 by 96.
static constexpr int64_t kManyRows = 384;

static void setWarpgroups(WgmmaPlan &plan, int64_t warpgroups) {
  plan.warpgroups = warpgroups;
  bool isWide = warpgroups == 4;
  plan.width = isWide ? 96 : 192;
  plan.stages = isWide ? 4 : 3;
  plan.registers = isWide ? 112 : 232;
  plan.otherRegisters = isWide ? 32 : 40;
}

static std::string findUnsupported(const WgmmaPlan &plan) {
  ScaledType weights = plan.weights.front().type;
  if (weights.getFormat() != BlockFormat::NVFP4)
    return "weights of another format than nvfp4; quantise them to nvfp4, or "
           "use target cpu";
  if (!weights.isKMajor())
    return "weights whose blocks do not run along the last dimension";
  if (weights.getLayout() != ScaleLayout::Linear)
    return "scales of weights that are not laid out by gsg-assign-scale-layout";
  return "";
}

/// The tile that `strategy` asks for, or what is missing.
static std::string chooseTile(WgmmaPlan &plan, StrategyAttr strategy) {
  auto text = [](int64_t value) { return std::to_string(value); };
  if (strategy.getCtas() != 1 || strategy.getClusterM() != 1 ||
      strategy.getClusterN() != 1)
    return "a strategy with clusters or pairs of CTAs; use ctas = 1";
  if (strategy.getSplitK() != 1)
    return "a strategy with split_k; use split_k = 1";
  if (strategy.getScheduler() != Scheduler::StaticPersistent)
    return "a strategy with another scheduler than static_persistent";
  int64_t m = strategy.getTileM(), n = strategy.getTileN();
  if (n != 256 && n != 128)
    return "a tile of " + text(n) + " columns; use n = 128 or 256";
  setWarpgroups(plan, n / 64);
  if (m % 8 != 0 || m < 8 || m > plan.width || (m > 64 && m % 16 != 0))
    return "a tile of " + text(m) + "x" + text(n) + "; use m up to " +
           text(plan.width) + ", a multiple of 8, of 16 beyond 64";
  if (strategy.getTileK() != WgmmaPlan::kValues)
    return "a strategy with k = " + text(strategy.getTileK()) + "; use k = 128";
  plan.width = m;
  int64_t stage = plan.warpgroups * WgmmaPlan::kWeightBytes +
                  WgmmaPlan::kBlocks * plan.width * 128;
  int64_t other =
      plan.warpgroups * WgmmaPlan::kChunk * WgmmaPlan::kPitch * 4 + 2048;
  int64_t fit = (warpspec::kSharedBytesLimit - other) / stage;
  plan.stages = std::min<int64_t>(fit, 6);
  if (int64_t stages = strategy.getStages()) {
    if (stages < 2)
      return "a strategy with stages = 1; use at least 2";
    if (stages > fit)
      return text(stages) + " stages of " + text(stage) + " bytes; at most " +
             text(fit) + " fit into shared memory";
    plan.stages = stages;
  }
  return "";
}

FailureOr<WgmmaPlan> WgmmaPlan::get(MatmulOp op) {
  auto refuse = [&](const Twine &what) {
    return op.emitOpError("kernels for sm_90a do not support ") << what;
  };
  if (std::string what = sm100::findUnsupported(op); !what.empty())
    return refuse(what);
  WgmmaPlan plan;
  plan.a =
      getScaledOperands(op.getLhs(), op.getLhsScales(), op.getLhsTypesAttr())
          .front();
  plan.weights =
      getScaledOperands(op.getRhs(), op.getRhsScales(), op.getRhsTypesAttr());
  if (std::string what = ::findUnsupported(plan); !what.empty())
    return refuse(what);
  setWarpgroups(plan, op.getExpectedRows().value_or(0) >= kManyRows ? 2 : 4);
  if (StrategyAttr strategy = op.getStrategyAttr())
    if (std::string what = chooseTile(plan, strategy); !what.empty())
      return refuse(what);
  if (GateAttr gate = op.getActivationOrIdentity().getGate()) {
    int64_t q = gate.getGranularity();
    if (q == 0 || q > 32 || 32 % q != 0)
      return refuse(
          "gate layouts other than <1>, <2>, <4>, <8>, <16> and <32>; "
          "gsg-assign-scale-layout makes one of these");
  }
  return plan;
}

/// The rows of A as bf16, which holds every value times its scale exactly.
static Value dequantize(Launch &launch, const ScaledOperand &a, MatmulOp op) {
  OpBuilder &b = launch.host;
  Location loc = op.getLoc();
  auto type = MemRefType::get(a.type.getShape(), b.getBF16Type());
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d))
      continue;
    Value size = memref::DimOp::create(b, loc, a.data, d);
    if (d + 1 == type.getRank() && a.type.isFP4())
      size = arith::AddIOp::create(b, loc, size, size);
    sizes.push_back(size);
  }
  Value out = memref::AllocOp::create(b, loc, type, sizes);
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  memref::DeallocOp::create(after, loc, out);
  bool isByGroup = a.type.getGroupStart() != GroupStart::Whole;
  DequantizeOp::create(
      b, loc, Type(), a.data, a.scales, b.getArrayAttr(TypeAttr::get(a.type)),
      isByGroup ? op.getGroups() : Value(),
      isByGroup ? op.getGroupingAttr() : GroupingAttr(), Value(), out);
  return out;
}

WgmmaParameters nvfp4::gsg::sm100::addParameters(Launch &launch,
                                                 const WgmmaPlan &plan,
                                                 MatmulOp op,
                                                 HostNumber &blocks) {
  HostMath &math = launch.math;
  WgmmaParameters p;
  Value tokens = dequantize(launch, plan.a, op);
  int64_t rank = cast<MemRefType>(tokens.getType()).getRank();
  HostNumber k = math.dim(tokens, rank - 1);
  // Whole stages of K in a row: what lies behind K is zero.
  Value buffer = launch.addBuffer(tokens, countRows(math, tokens, 1),
                                  math.mul(k, math.constant(2)),
                                  2 * WgmmaPlan::kValues, Launch::Read);
  p.tokenMaps = launch.addTokenMaps(buffer, plan.width, WgmmaPlan::kBlocks);
  ProductExtents extents = ProductExtents::get(math, op);
  bool isOne = plan.weights.size() == 1;
  p.weights = launch.addCodedWeights(
      llvm::map_to_vector(plan.weights,
                          [](const ScaledOperand &part) { return part.data; }),
      llvm::map_to_vector(
          plan.weights, [](const ScaledOperand &part) { return part.scales; }),
      isOne ? extents.groups : math.constant(1), extents.columns, k);
  addCommonParameters(launch, KernelPlan(), op,
                      math.ceilDiv(k, WgmmaPlan::kValues), p);
  blocks = countTiles(math, op, plan.width, plan.getColumns());
  return p;
}
