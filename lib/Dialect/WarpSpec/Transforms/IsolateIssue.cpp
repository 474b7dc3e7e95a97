//===- IsolateIssue.cpp - Branches on the elected thread --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one thread issues goes into `scf.if`, in the longest runs that need no
// other thread: loops without collective operations go in whole.
//
//===----------------------------------------------------------------------===//

#include "RoleLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
enum class Kind {
  /// May be run by any number of threads, to the same effect.
  Neutral,
  /// One thread issues it.
  Issue,
  /// Every thread must take part.
  All,
};

Kind classify(Operation *op) {
  if (auto agent = dyn_cast<AgentOpInterface>(op))
    return agent.isIssuedByOneThread() ? Kind::Issue : Kind::All;
  // The thread that fills a slot orders its writes itself.
  if (isa<FenceOp>(op) && isa_and_present<AcquireOp>(op->getPrevNode()) &&
      classify(op->getPrevNode()) == Kind::Issue &&
      cast<FenceOp>(op).getKind() == FenceKind::ProxyAsync)
    return Kind::Issue;
  if (auto fence = dyn_cast<FenceOp>(op))
    return fence.getKind() == FenceKind::Tcgen05After ? Kind::Neutral
                                                      : Kind::All;
  if (isa<ForEachTileOp, RoleBarrierOp, TmemWaitOp>(op))
    return Kind::All;
  if (op->getNumRegions() == 0) {
    if (isPure(op) || op->hasTrait<OpTrait::IsTerminator>() ||
        hasSingleEffect<MemoryEffects::Read>(op) || isa<TensorMapOp>(op))
      return Kind::Neutral;
    return Kind::All;
  }
  Kind kind = Kind::Neutral;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        kind = std::max(kind, classify(&inner));
  return kind;
}

/// True if a hand-over stands before `op` in the run: reads stay behind it.
bool followsOpening(ArrayRef<Operation *> run, Operation *op) {
  for (Operation *before : run) {
    if (before == op)
      return false;
    WalkResult walk = before->walk([](Operation *inner) {
      return isa<AcquireOp, WaitOp>(inner) ? WalkResult::interrupt()
                                           : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return true;
  }
  return false;
}

/// Operations of `run` that do not depend on what one thread issues are moved
/// before it, so that every thread has their values; the others go to `left`.
void hoistNeutral(ArrayRef<Operation *> run,
                  SmallVectorImpl<Operation *> &left) {
  llvm::SmallPtrSet<Operation *, 16> kept;
  for (Operation *op : run) {
    bool depends = classify(op) != Kind::Neutral || isa<FenceOp>(op) ||
                   (!isPure(op) && followsOpening(run, op));
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          depends |= kept.contains(def);
    });
    if (depends) {
      kept.insert(op);
      left.push_back(op);
    } else {
      op->moveBefore(run.front());
    }
  }
}

/// What loops and branches make of `use`: their results, and the arguments of
/// their regions. None if it is a condition or a bound.
SmallVector<Value> getPassedOn(OpOperand &use) {
  Operation *user = use.getOwner();
  bool isYield = user->hasTrait<OpTrait::IsTerminator>();
  Operation *parent = isYield ? user->getParentOp() : user;
  SmallVector<Value> values;
  if (auto loop = dyn_cast<LoopLikeOpInterface>(parent)) {
    for (BlockArgument arg : loop.getRegionIterArgs())
      if (&use == (isYield ? loop.getTiedLoopYieldedValue(arg)
                           : loop.getTiedLoopInit(arg))) {
        values.push_back(arg);
        if (OpResult result = loop.getTiedLoopResult(arg))
          values.push_back(result);
      }
  } else if (isYield && isa<scf::IfOp>(parent)) {
    values.push_back(parent->getResult(use.getOperandNumber()));
  } else if (isYield) {
    llvm::append_range(values, parent->getResults());
  }
  return values;
}

/// The operation by which every thread would use `value`, which only one has;
/// null if there is none.
Operation *findUseByAll(Value value) {
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      SmallVector<Value> passedOn = getPassedOn(use);
      // What they carry on is state of the issuing thread.
      if (!passedOn.empty()) {
        work.append(passedOn);
        continue;
      }
      // A region that yields something else decides for its operation.
      bool decides = user->hasTrait<OpTrait::IsTerminator>();
      Kind kind = classify(decides ? user->getParentOp() : user);
      if (kind == Kind::All)
        return user;
      if (kind == Kind::Neutral && !decides)
        llvm::append_range(work, user->getResults());
    }
  }
  return nullptr;
}

/// Moves `run` into a branch on `elected`.
LogicalResult wrap(RewriterBase &rewriter, ArrayRef<Operation *> run,
                   Value elected) {
  SmallVector<Operation *> body;
  hoistNeutral(run, body);
  llvm::SmallPtrSet<Operation *, 16> inside(body.begin(), body.end());
  Operation *last = body.back();
  auto isOutside = [&](Operation *user) {
    return !inside.contains(last->getBlock()->findAncestorOpInBlock(*user));
  };
  SmallVector<Value> exported;
  for (Operation *op : body)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), isOutside)) {
        if (Operation *user = findUseByAll(result)) {
          InFlightDiagnostic diag = op->emitOpError(
              "expected no use of its result by all threads of the role: one "
              "thread issues it");
          diag.attachNote(user->getLoc()) << "used here";
          return diag;
        }
        exported.push_back(result);
      }
  rewriter.setInsertionPointAfter(last);
  Location loc = body.front()->getLoc();
  auto branch =
      scf::IfOp::create(rewriter, loc, TypeRange(ValueRange(exported)), elected,
                        /*addThenBlock=*/true,
                        /*addElseBlock=*/!exported.empty());
  Block *then = branch.thenBlock();
  for (Operation *op : body)
    op->moveBefore(then, then->end());
  for (auto [value, result] : llvm::zip_equal(exported, branch.getResults()))
    rewriter.replaceUsesWithIf(value, result, [&](OpOperand &use) {
      return !branch->isProperAncestor(use.getOwner());
    });
  rewriter.setInsertionPointToEnd(then);
  scf::YieldOp::create(rewriter, loc, exported);
  if (exported.empty())
    return success();
  rewriter.setInsertionPointToEnd(branch.elseBlock());
  SmallVector<Value> poison;
  for (Value value : exported)
    poison.push_back(ub::PoisonOp::create(rewriter, loc, value.getType()));
  scf::YieldOp::create(rewriter, loc, poison);
  return success();
}
} // namespace

LogicalResult nvfp4::warpspec::isolateIssue(RewriterBase &rewriter,
                                            Block &block, Value elected) {
  SmallVector<SmallVector<Operation *>> runs(1);
  for (Operation &op : block.without_terminator()) {
    if (classify(&op) == Kind::All) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(isolateIssue(rewriter, inner, elected)))
            return failure();
      runs.emplace_back();
      continue;
    }
    runs.back().push_back(&op);
  }
  for (SmallVector<Operation *> &run : runs) {
    auto isIssue = [](Operation *op) { return classify(op) == Kind::Issue; };
    auto first = llvm::find_if(run, isIssue);
    if (first == run.end())
      continue;
    auto last = std::find_if(run.rbegin(), run.rend(), isIssue).base();
    // A fence belongs to the hand-over before it.
    while (last != run.end() && isa<FenceOp>(*last))
      ++last;
    if (failed(wrap(rewriter, ArrayRef<Operation *>(&*first, last - first),
                    elected)))
      return failure();
  }
  return success();
}
