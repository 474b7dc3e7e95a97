//===- VerifyReady.cpp - V2: waits that a try has done ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A try answers for the next slot of its end of the pipeline and for no other.
// Answers are followed through loops and branches to the acquire or wait that
// they are given to; nothing may open a slot of that end in between.
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// What a value of i1 says.
struct Answer {
  /// The end whose next slot it is about; none, for the constant false.
  PipelineEnd end;
  /// What has opened a slot of the end since, or null.
  Operation *opened = nullptr;

  bool operator==(const Answer &other) const {
    return end == other.end && opened == other.opened;
  }
};

using Answers = llvm::DenseMap<Value, Answer>;

std::optional<Answer> lookUp(const Answers &answers, Value value) {
  if (auto found = answers.find(value); found != answers.end())
    return found->second;
  if (matchPattern(value, m_Zero()))
    return Answer();
  return std::nullopt;
}

/// What holds on both of two paths.
std::optional<Answer> join(std::optional<Answer> a, std::optional<Answer> b) {
  if (!a || !b)
    return std::nullopt;
  if (!a->end.pipeline)
    return b;
  if (!b->end.pipeline)
    return a;
  if (!(a->end == b->end))
    return std::nullopt;
  return Answer{a->end, a->opened ? a->opened : b->opened};
}

Answers join(const Answers &a, const Answers &b) {
  Answers both;
  for (auto [value, answer] : a)
    if (std::optional<Answer> joined = join(answer, lookUp(b, value)))
      both[value] = *joined;
  return both;
}

void assign(Answers &answers, Value value, std::optional<Answer> answer) {
  if (answer)
    answers[value] = *answer;
  else
    answers.erase(value);
}

class ReadyChecker {
public:
  /// Runs `block` from what `answers` holds before it; with `diagnoses`, what
  /// is given to an acquire or wait must hold.
  LogicalResult run(Block &block, Answers &answers, bool diagnoses) {
    for (Operation &op : block) {
      LogicalResult done = success();
      if (auto acquire = dyn_cast<AcquireOp>(op))
        done = open<TryAcquireOp>(acquire, answers, diagnoses);
      else if (auto wait = dyn_cast<WaitOp>(op))
        done = open<TryWaitOp>(wait, answers, diagnoses);
      else if (auto loop = dyn_cast<SlotLoopOpInterface>(op))
        outdate(loop.getEnd(), loop, answers);
      else if (isa<TryAcquireOp, TryWaitOp>(op))
        answers[op.getResult(0)] = {cast<PipelineEndOpInterface>(op).getEnd()};
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        done = runBranch(branch, answers, diagnoses);
      else if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
        done = runLoop(loop, answers, diagnoses);
      else
        done = runRegions(op, answers, diagnoses);
      if (failed(done))
        return failure();
    }
    return success();
  }

private:
  static void outdate(const PipelineEnd &end, Operation *op, Answers &answers) {
    for (auto &entry : answers)
      if (entry.second.end == end && !entry.second.opened)
        entry.second.opened = op;
  }

  template <typename TryOp, typename OpenOp>
  static LogicalResult open(OpenOp op, Answers &answers, bool diagnoses) {
    PipelineEnd end = cast<PipelineEndOpInterface>(*op).getEnd();
    if (Value ready = op.getReady(); ready && diagnoses) {
      std::optional<Answer> answer = lookUp(answers, ready);
      bool isFalse = answer && !answer->end.pipeline;
      if (!answer || (!isFalse && !(answer->end == end)))
        return op->emitOpError("V2: expected ready to be a result of ")
               << TryOp::getOperationName()
               << " of the same pipeline, or false";
      if (answer->opened) {
        InFlightDiagnostic diag =
            op->emitOpError("V2: expected ready of a try for this slot, but "
                            "one of the pipeline has been opened since; use ")
            << TryOp::getOperationName() << " again";
        diag.attachNote(answer->opened->getLoc()) << "opened here";
        return diag;
      }
    }
    outdate(end, op, answers);
    return success();
  }

  LogicalResult runBranch(scf::IfOp branch, Answers &answers, bool diagnoses) {
    Answers then = answers, other = answers;
    if (failed(run(*branch.thenBlock(), then, diagnoses)))
      return failure();
    if (Block *block = branch.elseBlock();
        block && failed(run(*block, other, diagnoses)))
      return failure();
    answers = join(then, other);
    for (OpResult result : branch->getResults()) {
      unsigned number = result.getResultNumber();
      assign(answers, result,
             join(lookUp(then, branch.thenYield().getOperand(number)),
                  lookUp(other, branch.elseYield().getOperand(number))));
    }
    return success();
  }

  LogicalResult runLoop(LoopLikeOpInterface loop, Answers &answers,
                        bool diagnoses) {
    Block &body = loop.getLoopRegions().back()->front();
    Answers entry = answers;
    for (BlockArgument arg : loop.getRegionIterArgs())
      if (OpOperand *init = loop.getTiedLoopInit(arg))
        assign(entry, arg, lookUp(answers, init->get()));
    // Until nothing changes from one iteration to the next: an answer can only
    // become one that is outdated, and that one unknown.
    for (Answers before; before != entry;) {
      before = entry;
      Answers after = entry;
      if (failed(run(body, after, /*diagnoses=*/false)))
        return failure();
      Answers next = join(entry, after);
      for (BlockArgument arg : loop.getRegionIterArgs())
        if (OpOperand *yielded = loop.getTiedLoopYieldedValue(arg))
          assign(next, arg,
                 join(lookUp(entry, arg), lookUp(after, yielded->get())));
      entry = next;
    }
    Answers once = entry;
    if (diagnoses && failed(run(body, once, /*diagnoses=*/true)))
      return failure();
    for (BlockArgument arg : loop.getRegionIterArgs())
      if (OpResult result = loop.getTiedLoopResult(arg))
        assign(entry, result, lookUp(entry, arg));
    answers = entry;
    return success();
  }

  /// Regions that may run or not.
  LogicalResult runRegions(Operation &op, Answers &answers, bool diagnoses) {
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        Answers after = answers;
        if (failed(run(block, after, diagnoses)))
          return failure();
        answers = join(answers, after);
      }
    return success();
  }
};
} // namespace

LogicalResult nvfp4::warpspec::verifyReady(RolesOp roles) {
  for (Region &role : roles.getBodies()) {
    Answers answers;
    if (failed(ReadyChecker().run(role.front(), answers, /*diagnoses=*/true)))
      return failure();
  }
  return success();
}
