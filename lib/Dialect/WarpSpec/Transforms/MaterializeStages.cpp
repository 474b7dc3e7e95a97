//===- MaterializeStages.cpp - Stages and phases as values ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of a role at one end of a pipeline is a pair of values, stage and
// phase, that each acquire or wait advances. The pairs are carried through
// every loop and branch that uses them.
//
//===----------------------------------------------------------------------===//

#include "EachKernel.h"
#include "ScheduleChecks.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace nvfp4::warpspec {
#define GEN_PASS_DEF_MATERIALIZESTAGESPASS
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h.inc"
} // namespace nvfp4::warpspec

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// The positions of all ends that a role uses, while walking it in order.
class Threader {
public:
  explicit Threader(Region &role) : rewriter(role.getContext()) {
    role.walk([&](PipelineEndOpInterface op) {
      if (!llvm::is_contained(ends, op.getEnd()))
        ends.push_back(op.getEnd());
    });
    positions.resize(ends.size());
    rewriter.setInsertionPointToStart(&role.front());
    for (auto [end, position] : llvm::zip_equal(ends, positions)) {
      Location loc = end.pipeline.getLoc();
      position.stage = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
      // A fresh barrier is past the phase before its first: producers start
      // one phase ahead, so that empty slots need no signal.
      position.phase =
          arith::ConstantIntOp::create(rewriter, loc, end.fills, 32);
    }
  }

  LogicalResult run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto end = dyn_cast<PipelineEndOpInterface>(op)) {
        RingPosition &position = positions[getNumber(end)];
        end.setPosition(position);
        position = end.getNextPosition(rewriter);
        continue;
      }
      SmallVector<unsigned> used = getEndsUsedIn(&op);
      if (used.empty())
        continue;
      LogicalResult done = success();
      if (auto branch = dyn_cast<scf::IfOp>(op))
        done = runBranch(branch, used);
      else if (auto loop = dyn_cast<LoopLikeOpInterface>(op);
               loop && loop.getLoopRegions().size() == 1)
        done = runLoop(loop, used);
      else
        return op.emitOpError(
            "expected slots to be used in loops with one body "
            "and in scf.if only");
      if (failed(done))
        return failure();
    }
    return success();
  }

private:
  unsigned getNumber(PipelineEndOpInterface op) {
    return llvm::find(ends, op.getEnd()) - ends.begin();
  }

  SmallVector<unsigned> getEndsUsedIn(Operation *op) {
    llvm::SetVector<unsigned> used;
    op->walk(
        [&](PipelineEndOpInterface inner) { used.insert(getNumber(inner)); });
    return used.takeVector();
  }

  /// Stage and phase of each end in `used`, as a list. A ring of one slot stays
  /// at stage 0.
  SmallVector<Value> gather(ArrayRef<unsigned> used) {
    SmallVector<Value> values;
    for (unsigned number : used) {
      if (hasStages(number))
        values.push_back(positions[number].stage);
      values.push_back(positions[number].phase);
    }
    return values;
  }

  void scatter(ArrayRef<unsigned> used, ValueRange values) {
    unsigned next = 0;
    for (unsigned number : used) {
      if (hasStages(number))
        positions[number].stage = values[next++];
      positions[number].phase = values[next++];
    }
  }

  bool hasStages(unsigned number) {
    return cast<PipelineType>(ends[number].pipeline.getType()).getDepth() > 1;
  }

  LogicalResult runLoop(LoopLikeOpInterface loop, ArrayRef<unsigned> used) {
    SmallVector<Value> inits = gather(used);
    FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
        rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
        // Yields the arguments themselves until the body has been walked.
        [](OpBuilder &, Location, ArrayRef<BlockArgument> args) {
          return SmallVector<Value>(args.begin(), args.end());
        });
    if (failed(replaced))
      return loop->emitOpError("expected a loop that can carry more values");
    Block::BlockArgListType args = replaced->getRegionIterArgs();
    scatter(used, ValueRange(args.take_back(inits.size())));
    Block &body = replaced->getLoopRegions().front()->front();
    if (failed(run(body)))
      return failure();
    SmallVector<Value> yields = gather(used);
    MutableArrayRef<OpOperand> yielded = *replaced->getYieldedValuesMutable();
    for (auto [operand, value] :
         llvm::zip_equal(yielded.take_back(yields.size()), yields))
      operand.set(value);
    scatter(used, replaced->getLoopResults()->take_back(inits.size()));
    return success();
  }

  LogicalResult runBranch(scf::IfOp branch, ArrayRef<unsigned> used) {
    SmallVector<RingPosition> before = positions;
    SmallVector<Type> types(branch.getResultTypes());
    for (Value value : gather(used))
      types.push_back(value.getType());
    rewriter.setInsertionPoint(branch);
    auto replaced = scf::IfOp::create(rewriter, branch.getLoc(), types,
                                      branch.getCondition(),
                                      /*addThenBlock=*/false,
                                      /*addElseBlock=*/false);
    replaced.getThenRegion().takeBody(branch.getThenRegion());
    replaced.getElseRegion().takeBody(branch.getElseRegion());
    if (replaced.getElseRegion().empty()) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.createBlock(&replaced.getElseRegion());
      scf::YieldOp::create(rewriter, branch.getLoc());
    }
    for (Region *region :
         {&replaced.getThenRegion(), &replaced.getElseRegion()}) {
      positions = before;
      if (failed(run(region->front())))
        return failure();
      Operation *yield = region->front().getTerminator();
      yield->insertOperands(yield->getNumOperands(), gather(used));
    }
    rewriter.replaceOp(
        branch, replaced.getResults().take_front(branch.getNumResults()));
    positions = before;
    scatter(used, replaced.getResults().take_back(gather(used).size()));
    return success();
  }

  IRRewriter rewriter;
  SmallVector<PipelineEnd> ends;
  SmallVector<RingPosition> positions;
};

struct MaterializeStages
    : nvfp4::warpspec::impl::MaterializeStagesPassBase<MaterializeStages> {
  void runOnOperation() override {
    if (failed(forEachKernel(getOperation(), materialize)))
      signalPassFailure();
  }

  static LogicalResult materialize(KernelOp kernel) {
    RolesOp roles = kernel.getRoles();
    if (!roles)
      return success();
    for (Region &role : roles.getBodies()) {
      WalkResult walk = role.walk([](PipelineEndOpInterface op) {
        if (!op.hasPosition())
          return WalkResult::advance();
        op->emitOpError("expected no stage yet");
        return WalkResult::interrupt();
      });
      if (walk.wasInterrupted() || failed(Threader(role).run(role.front())))
        return failure();
    }
    return success();
  }
};
} // namespace

LogicalResult nvfp4::warpspec::verifyStages(RolesOp roles) {
  WalkResult walk = roles.walk([](PipelineEndOpInterface op) {
    // Bulk groups are waited for without a barrier.
    bool isOfGroups = isa<DrainAllOp>(op) &&
                      op.getPipeline().getType().getConsumer() == Agent::Tma;
    if (op.hasPosition() || isOfGroups)
      return WalkResult::advance();
    op->emitOpError("expected a stage and a phase; run "
                    "warpspec-materialize-stages first");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}
