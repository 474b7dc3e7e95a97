//===- SelectStrategy.cpp - gsg-select-strategy -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the cost model, or checks what the user asks for. What is decided and
// how is in lib/Strategy; comments name the constraints of docs/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Strategy.h"
#include "nvfp4/Strategy/StrategyExplain.h"
#include "nvfp4/Strategy/Wgmma/WgmmaTiles.h"

#include "llvm/Support/FormatVariadic.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SELECTSTRATEGYPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

namespace {
struct SelectStrategy
    : nvfp4::gsg::impl::SelectStrategyPassBase<SelectStrategy> {
  using SelectStrategyPassBase::SelectStrategyPassBase;

  void runOnOperation() override;

  /// The strategy for an op with `given` (or none), or failure after a
  /// diagnostic.
  FailureOr<StrategyAttr> select(Operation *op, StrategyAttr given,
                                 const strategy::Problem &problem,
                                 const strategy::Machine &machine);
};
} // namespace

static std::string formatTime(double microseconds) {
  return llvm::formatv("{0:F1}", microseconds).str();
}

/// The given strategy, completed, if it is legal.
static FailureOr<StrategyAttr> check(Operation *op, StrategyAttr given,
                                     const strategy::Problem &problem,
                                     const strategy::Machine &machine) {
  strategy::Tile tile = getTile(given);
  // target_c4: what is asked for exists and fits; else the nearest is named.
  if (auto violation = strategy::findViolation(tile, problem, machine)) {
    InFlightDiagnostic diag = op->emitOpError() << violation->text;
    if (auto legal = strategy::findNearestLegal(tile, problem, machine))
      diag << "; the nearest legal strategy is " << strategy::toString(*legal);
    return diag;
  }
  return getStrategyAttr(op->getContext(),
                         strategy::complete(tile, problem, machine));
}

FailureOr<StrategyAttr>
SelectStrategy::select(Operation *op, StrategyAttr given,
                       const strategy::Problem &problem,
                       const strategy::Machine &machine) {
  if (given && !explain)
    return check(op, given, problem, machine);
  std::vector<strategy::Candidate> candidates =
      strategy::searchStrategies(problem, machine, {.dynamicN = dynamicN});
  FailureOr<StrategyAttr> result = failure();
  if (given) {
    result = check(op, given, problem, machine);
    if (failed(result))
      return failure();
  } else if (candidates.front().violation) {
    // target_c5: there is a strategy.
    return op->emitOpError() << candidates.front().violation->text;
  } else {
    result = getStrategyAttr(op->getContext(), candidates.front().tile);
  }
  if (explain) {
    InFlightDiagnostic remark = op->emitRemark();
    if (given)
      remark << "keeps its strategy " << strategy::toString(getTile(*result))
             << ", predicted "
             << formatTime(
                    strategy::predict(getTile(*result), problem, machine).total)
             << " us; without it:\n";
    else
      remark << "strategy " << strategy::toString(getTile(*result)) << "\n";
    remark << strategy::explain(
        candidates, strategy::computeFloor(problem, machine), machine.name);
  }
  return result;
}

/// The tile of a kernel for sm_90a, unless one is given. Kernels multiply rows
/// in 16 bits whatever they come in, so the model has no format of rows. It is
/// of groups along M; kernels of others choose their tile.
static void selectWgmmaTile(MatmulOp op, int64_t rows, bool explain) {
  bool given = op.getStrategyAttr() != nullptr;
  bool isModelled = op.getGrouping().getKind() != GroupingKind::RaggedK;
  if (!explain && !isModelled)
    return;
  strategy::Problem problem = describe(op, rows);
  strategy::Floor floor = strategy::computeWgmmaFloor(problem);
  if (!isModelled) {
    op->emitRemark() << (given ? "keeps its strategy; without it its kernel "
                                 "takes"
                               : "no strategy: its kernel takes")
                     << " tiles of at most "
                     << strategy::toString(strategy::getDefaultWgmmaTile(
                            problem.getRowsPerGroup()))
                     << "; the model for sm_90a is of groups along M\n"
                     << strategy::toString(floor, "sm_90a");
    return;
  }
  std::vector<strategy::Candidate> candidates =
      strategy::rankWgmmaTiles(problem);
  const strategy::Tile &best = candidates.front().tile;
  if (!given)
    op.setStrategyAttr(getStrategyAttr(op.getContext(), best));
  if (!explain)
    return;
  InFlightDiagnostic remark = op->emitRemark();
  if (given) {
    strategy::Candidate own =
        strategy::examineWgmmaTile(getTile(op.getStrategyAttr()), problem);
    remark << "keeps its strategy " << strategy::toString(own.tile);
    if (!own.violation)
      remark << ", predicted " << formatTime(own.prediction.total) << " us";
    else
      remark << ", illegal: " << own.violation->text;
    remark << "; without it:\n";
  } else {
    remark << "strategy " << strategy::toString(best) << "\n";
  }
  remark << strategy::explain(candidates, floor, "sm_90a");
}

/// target_c10: success if there is a kernel for what the op asks for, whatever
/// the tile.
static LogicalResult requireKernel(Operation *op, KernelTarget target) {
  auto matmul = dyn_cast<MatmulOp>(op);
  std::string what = matmul ? findUnsupportedByKernels(matmul, target)
                            : findUnsupportedByKernels(cast<MatmulListOp>(op));
  if (what.empty())
    return success();
  return refuseKernel(op, target, what);
}

void SelectStrategy::runOnOperation() {
  FailureOr<KernelTarget> kernelTarget =
      getKernelTarget(getOperation(), target);
  if (failed(kernelTarget))
    return signalPassFailure();
  // None for sm_90a, whose tiles have a model of their own.
  const strategy::Machine *machine = strategy::findMachine(target);
  // target_c6: the hint is a number of rows.
  int64_t rows = expectedRows;
  if (rows < 0) {
    getOperation()->emitError("expected expected-rows >= 0, but got ") << rows;
    return signalPassFailure();
  }
  bool failedAny = false;
  auto record = [&](auto op, strategy::Problem problem) {
    if (kernels)
      problem = forKernels(std::move(problem));
    FailureOr<StrategyAttr> chosen =
        select(op, op.getStrategyAttr(), problem, *machine);
    failedAny |= failed(chosen);
    if (succeeded(chosen))
      op.setStrategyAttr(*chosen);
  };
  getOperation()->walk([&](Operation *op) {
    auto matmul = dyn_cast<MatmulOp>(op);
    auto list = dyn_cast<MatmulListOp>(op);
    if (!matmul && !list)
      return;
    if ((machine && matmul && failed(requireScaledRows(matmul))) ||
        (kernels && failed(requireKernel(op, *kernelTarget))))
      failedAny = true;
    else if (!machine && matmul)
      selectWgmmaTile(matmul, rows, explain);
    else if (machine && matmul)
      record(matmul, describe(matmul, rows));
    else if (machine)
      record(list, describe(list));
  });
  if (failedAny)
    signalPassFailure();
}
