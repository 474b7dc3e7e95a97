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
#include "nvfp4/KernelTarget/StrategyExplain.h"

#include "llvm/Support/FormatVariadic.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_SELECTSTRATEGYPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

namespace {
/// A product for which a strategy is wanted.
struct Request {
  Operation *op;
  /// Null if there is none.
  StrategyAttr given;
  strategy::Problem problem;
  const KernelTarget &target;
};

struct SelectStrategy
    : nvfp4::gsg::impl::SelectStrategyPassBase<SelectStrategy> {
  using SelectStrategyPassBase::SelectStrategyPassBase;

  void runOnOperation() override;

  /// The strategy, null if its kernel chooses, or failure after a diagnostic.
  FailureOr<StrategyAttr> select(const Request &request);
  /// Success if the op may be asked for; else failure after a diagnostic.
  LogicalResult verify(Operation *op, const KernelTarget &target);
};
} // namespace

static std::string formatTime(double microseconds) {
  return llvm::formatv("{0:F1}", microseconds).str();
}

/// The given strategy, completed, if it is legal.
static FailureOr<StrategyAttr> check(const Request &request) {
  const auto &[op, given, problem, target] = request;
  strategy::Tile tile = getTile(given);
  // target_c4: what is asked for exists and fits; else the nearest is named.
  auto violation = target.findViolation(tile, problem);
  if (!violation)
    return getStrategyAttr(op->getContext(), target.complete(tile, problem));
  if (problem.forKernels)
    return refuseKernel(op, target,
                        explainIllegalTile(tile, *violation, problem, target));
  InFlightDiagnostic diag = op->emitOpError() << violation->text;
  if (auto legal = target.findNearestLegal(tile, problem))
    diag << "; the nearest legal strategy is " << strategy::toString(*legal);
  return diag;
}

/// Why a product that the model does not cover gets no strategy.
static void explainNoModel(const Request &request, StringRef model) {
  const auto &[op, given, problem, target] = request;
  op->emitRemark() << (given ? "keeps its strategy; without it its kernel takes"
                             : "no strategy: its kernel takes")
                   << " tiles of at most "
                   << strategy::toString(target.getDefaultTile(problem))
                   << "; the model for " << target.getName() << " is of "
                   << model << "\n"
                   << strategy::toString(target.computeFloor(problem),
                                         target.getName());
}

/// The strategy of an op among its alternatives, `candidates`.
static void explain(const Request &request, StrategyAttr chosen,
                    ArrayRef<strategy::Candidate> candidates) {
  const auto &[op, given, problem, target] = request;
  InFlightDiagnostic remark = op->emitRemark();
  strategy::Tile tile = getTile(chosen);
  if (given) {
    strategy::Candidate own = target.examine(tile, problem);
    remark << "keeps its strategy " << strategy::toString(tile);
    if (own.violation)
      remark << ", illegal: " << own.violation->text;
    else
      remark << ", predicted " << formatTime(own.prediction.total) << " us";
    remark << "; without it:\n";
  } else {
    remark << "strategy " << strategy::toString(tile) << "\n";
  }
  remark << strategy::explain(candidates.vec(), target.computeFloor(problem),
                              target.getName());
}

FailureOr<StrategyAttr> SelectStrategy::select(const Request &request) {
  const auto &[op, given, problem, target] = request;
  FailureOr<StrategyAttr> result = given;
  if (given)
    result = check(request);
  if (failed(result) || (given && !explain))
    return result;
  if (std::string model = target.explainNoModel(problem); !model.empty()) {
    if (explain)
      explainNoModel(request, model);
    return result;
  }
  std::vector<strategy::Candidate> candidates =
      target.rankTiles(problem, {.dynamicN = dynamicN});
  if (!given) {
    // target_c5: there is a strategy.
    if (candidates.front().violation)
      return op->emitOpError() << candidates.front().violation->text;
    result = getStrategyAttr(op->getContext(), candidates.front().tile);
  }
  if (explain)
    ::explain(request, *result, candidates);
  return result;
}

LogicalResult SelectStrategy::verify(Operation *op,
                                     const KernelTarget &target) {
  auto matmul = dyn_cast<MatmulOp>(op);
  if (!kernels)
    return success();
  // target_c10: there is a kernel for what the op asks for, whatever the tile.
  std::string what = matmul ? findUnsupportedByKernels(matmul, target)
                            : findUnsupportedByKernels(cast<MatmulListOp>(op));
  if (what.empty())
    return success();
  return refuseKernel(op, target, what);
}

void SelectStrategy::runOnOperation() {
  FailureOr<const KernelTarget *> found =
      getKernelTarget(getOperation(), target);
  if (failed(found))
    return signalPassFailure();
  const KernelTarget &kernelTarget = **found;
  // target_c6: the hint is a number of rows.
  int64_t rows = expectedRows;
  if (rows < 0) {
    getOperation()->emitError("expected expected-rows >= 0, but got ") << rows;
    return signalPassFailure();
  }
  if (multiprocessors < 0) {
    getOperation()->emitError("expected multiprocessors >= 0, but got ")
        << multiprocessors.getValue();
    return signalPassFailure();
  }
  bool failedAny = false;
  auto assign = [&](auto op, strategy::Problem problem) {
    problem.forKernels = kernels;
    problem.multiprocessors = multiprocessors;
    FailureOr<StrategyAttr> chosen =
        select({op, op.getStrategyAttr(), std::move(problem), kernelTarget});
    failedAny |= failed(chosen);
    if (succeeded(chosen) && *chosen)
      op.setStrategyAttr(*chosen);
  };
  getOperation()->walk([&](Operation *op) {
    if (!isa<MatmulOp, MatmulListOp>(op))
      return;
    if (failed(verify(op, kernelTarget)))
      failedAny = true;
    else if (auto matmul = dyn_cast<MatmulOp>(op))
      assign(matmul, describe(matmul, rows));
    else
      assign(cast<MatmulListOp>(op), describe(cast<MatmulListOp>(op)));
  });
  if (failedAny)
    signalPassFailure();
}
