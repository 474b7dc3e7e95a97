//===- VerifySpans.cpp - V2: accessed while open ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

using namespace mlir;
using namespace nvfp4::warpspec;

Operation *nvfp4::warpspec::getAllocation(Value buffer) {
  Operation *op = getOrigin(buffer).getDefiningOp();
  return isa_and_nonnull<SmemAllocOp, TmemAllocOp>(op) ? op : nullptr;
}

namespace {
/// True if `first` comes before `second` in the block where their ancestors
/// meet.
bool isBefore(Operation *first, Operation *second) {
  for (Operation *a = first; a; a = a->getParentOp())
    if (Operation *b = a->getBlock()->findAncestorOpInBlock(*second))
      return a != b && a->isBeforeInBlock(b);
  return false;
}

class SpanChecker {
public:
  explicit SpanChecker(RolesOp roles) : roles(roles) {
    for (auto pipeline :
         roles->getParentOfType<KernelOp>().getOps<PipelineOp>())
      for (Value buffer : pipeline.getBuffers())
        covers.insert({getAllocation(buffer), pipeline});
  }

  LogicalResult check(AgentOpInterface op) {
    SmallVector<BufferAccess> accesses;
    op.getAccesses(accesses);
    for (const BufferAccess &access : accesses)
      if (failed(checkAccess(op, access, access.buffer->get())))
        return failure();
    if (Value fill = op.getCountedFill())
      for (const BufferAccess &access : accesses)
        if (access.writes &&
            getSlotOpener(access.buffer->get()) != getOpener(fill))
          return op->emitOpError("V2: expected a buffer of the slot whose fill "
                                 "counts the bytes");
    return success();
  }

private:
  LogicalResult checkAccess(AgentOpInterface op, const BufferAccess &access,
                            Value buffer) {
    while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
      buffer = view.getViewSource();
    Operation *origin = buffer.getDefiningOp();
    if (auto join = dyn_cast_or_null<TmemJoinOp>(origin))
      return success(succeeded(checkAccess(op, access, join.getFirst())) &&
                     succeeded(checkAccess(op, access, join.getSecond())));
    if (isa_and_nonnull<AcquireOp, WaitOp>(origin))
      return checkSlot(op, access, origin);
    if (isa_and_nonnull<SmemAllocOp, TmemAllocOp>(origin))
      return checkPrivate(op, origin);
    // Which slot it is, and whether it is open, would depend on the path.
    InFlightDiagnostic diag = op->emitOpError(
        "V2: expected a buffer of an acquire or wait in sight, or of an "
        "allocation, but got one that ");
    if (origin)
      diag << "comes from " << origin->getName();
    else
      diag << "a block is given";
    return diag;
  }

  LogicalResult checkSlot(AgentOpInterface op, const BufferAccess &access,
                          Operation *opener) {
    Agent agent = cast<AgentOpInterface>(opener).getAgent();
    if (op.getAgent() != agent) {
      InFlightDiagnostic diag =
          op->emitOpError("V2: expected access by the agent that opened the "
                          "slot, ")
          << stringifyAgent(agent) << ", but got "
          << stringifyAgent(op.getAgent());
      diag.attachNote(opener->getLoc()) << "opened here";
      return diag;
    }
    if (access.writes && isa<WaitOp>(opener) && agent != Agent::Threads) {
      InFlightDiagnostic diag =
          op->emitOpError("V2: expected a slot to be written by its producer; ")
          << "it is being drained";
      diag.attachNote(opener->getLoc()) << "opened here";
      return diag;
    }
    Value token = opener->getResult(0);
    for (Operation *user : token.getUsers()) {
      if (isa<LoopLikeOpInterface>(user) && user->isAncestor(op)) {
        InFlightDiagnostic diag = op->emitOpError(
            "V2: expected access while the slot is open, but its token is one "
            "that a loop around carries on and may close");
        diag.attachNote(user->getLoc()) << "given to this loop";
        return diag;
      }
      bool ends = isa<CommitOp, ReleaseOp, LoopLikeOpInterface>(user);
      if (!ends || !isBefore(user, op))
        continue;
      InFlightDiagnostic diag = op->emitOpError(
          "V2: expected access while the slot is open, but it has been closed");
      diag.attachNote(user->getLoc()) << "closed here";
      return diag;
    }
    return success();
  }

  /// A buffer that no pipeline covers belongs to one agent of one role.
  LogicalResult checkPrivate(AgentOpInterface op, Operation *allocation) {
    if (auto found = covers.find(allocation); found != covers.end()) {
      InFlightDiagnostic diag = op->emitOpError(
          "V2: expected access through acquire or wait of the pipeline that "
          "covers the buffer");
      diag.attachNote(found->second->getLoc()) << "the pipeline";
      return diag;
    }
    std::pair<int, Agent> owner{roles.getRoleNumber(op), op.getAgent()};
    auto [entry, isNew] = owners.try_emplace(allocation, owner);
    if (isNew || entry->second == owner)
      return success();
    return op->emitOpError(
               "V2: expected a buffer without a pipeline to be used "
               "by one agent of one role, but it is used by ")
           << stringifyAgent(entry->second.second) << " in @"
           << roles.getRoleName(entry->second.first) << " and "
           << stringifyAgent(owner.second) << " in @"
           << roles.getRoleName(owner.first);
  }

  RolesOp roles;
  llvm::DenseMap<Operation *, PipelineOp> covers;
  llvm::DenseMap<Operation *, std::pair<int, Agent>> owners;
};
} // namespace

/// Only what this dialect knows touches buffers in shared and tensor memory:
/// of other operations, nothing would check who accesses what.
static LogicalResult checkForeign(Operation *op) {
  if (isa<WarpSpecDialect>(op->getDialect()) ||
      op->hasTrait<OpTrait::IsTerminator>() || isa<LoopLikeOpInterface>(op))
    return success();
  for (Type type : op->getOperandTypes())
    if (isSmem(type) || isTmem(type))
      return op->emitOpError("V2: expected access by an operation of "
                             "warpspec, such as ")
             << (isSmem(type) ? SmemLoadOp::getOperationName()
                              : TmemLoadOp::getOperationName())
             << ", to a buffer of " << type;
  return success();
}

LogicalResult nvfp4::warpspec::verifySpans(RolesOp roles) {
  SpanChecker checker(roles);
  WalkResult walk = roles.walk([&](Operation *op) {
    auto agent = dyn_cast<AgentOpInterface>(op);
    return failed(agent ? checker.check(agent) : checkForeign(op))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
