//===- InsertFences.cpp - Fences, from agents and accesses ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each fence stands for one edge: a hand-over between two agents, and the
// accesses of one side that the hand-over alone does not order.
//
//===----------------------------------------------------------------------===//

#include "EachKernel.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace nvfp4::warpspec {
#define GEN_PASS_DEF_INSERTFENCESPASS
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h.inc"
} // namespace nvfp4::warpspec

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
bool hasSlotIn(PipelineOp pipeline, bool (*space)(Type)) {
  return llvm::any_of(pipeline.getType().getSlots(), space);
}

/// True if an access of `role` by threads writes a buffer in `space`.
bool threadsWrite(Region &role, bool (*space)(Type)) {
  WalkResult walk = role.walk([&](AgentOpInterface op) {
    if (op.getAgent() != Agent::Threads)
      return WalkResult::advance();
    SmallVector<BufferAccess> accesses;
    op.getAccesses(accesses);
    for (const BufferAccess &access : accesses)
      if (access.writes && space(access.buffer->get().getType()))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// What threads of `role` read of memory that is no buffer, by its origin, with
/// one operation that does.
using Reads = llvm::SmallMapVector<Value, Operation *, 8>;
Reads findReads(Region &role) {
  Reads reads;
  role.walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (isa<MemoryEffects::Read>(effect.getEffect()) && effect.getValue())
        reads.insert({getOrigin(effect.getValue()), op});
  });
  return reads;
}

/// True if its slots are released without a fence.
bool isReadByLoop(PipelineOp pipeline) {
  return llvm::any_of(pipeline->getUsers(), llvm::IsaPred<SlotLoopOpInterface>);
}

class FenceInserter {
public:
  explicit FenceInserter(Region &role)
      : builder(role.getContext()), writesTmem(threadsWrite(role, isTmem)),
        writesSmem(threadsWrite(role, isSmem)), role(role) {
    Reads reads = findReads(role);
    role.walk([&](AgentOpInterface op) {
      Value memory = op.getWrittenMemory();
      if (!memory || !reads.contains(getOrigin(memory)))
        return;
      SmallVector<BufferAccess> accesses;
      op.getAccesses(accesses);
      for (const BufferAccess &access : accesses)
        if (Operation *opener = getSlotOpener(access.buffer->get()))
          overwriting.insert(getPipelineOp(opener->getOperand(0)));
    });
  }

  void run() {
    visit(role.front());
    drainStores();
  }

private:
  void visit(Block &block) {
    SmallVector<Value> arriving;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto load = dyn_cast<TmemLoadOp>(op)) {
        arriving.push_back(load.getResult());
        continue;
      }
      if (!arriving.empty() && mustHaveArrived(&op, arriving))
        waitForLoads(&op, arriving);
      if (isa<AcquireOp, WaitOp>(op))
        afterOpening(cast<AgentOpInterface>(op),
                     getPipelineOp(op.getOperand(0)));
      else if (isa<CommitOp, ReleaseOp>(op))
        beforeClosing(cast<AgentOpInterface>(op),
                      getPipelineOf(op.getOperand(0)));
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
    }
  }

  /// Values of loads are used by `op`, or their tensor memory is handed over,
  /// by `op` itself or within its regions; or `op` ends the basic block.
  bool mustHaveArrived(Operation *op, ArrayRef<Value> arriving) {
    // Waits are loops: registers that are live behind them may be copied before
    // they have arrived.
    if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumRegions() != 0 ||
        isa<AcquireOp, WaitOp>(op))
      return true;
    WalkResult handsOver = op->walk([](Operation *inner) {
      return isa<CommitOp, ReleaseOp>(inner) ? WalkResult::interrupt()
                                             : WalkResult::advance();
    });
    if (handsOver.wasInterrupted())
      return true;
    for (Value value : arriving)
      for (Operation *user : value.getUsers())
        if (op->isAncestor(user))
          return true;
    return false;
  }

  void waitForLoads(Operation *before, SmallVectorImpl<Value> &arriving) {
    builder.setInsertionPoint(before);
    auto wait = TmemWaitOp::create(builder, before->getLoc(),
                                   TypeRange(ValueRange(arriving)), arriving);
    for (auto [value, arrived] : llvm::zip_equal(arriving, wait.getResults()))
      value.replaceAllUsesExcept(arrived, wait);
    arriving.clear();
  }

  void fence(Location loc, FenceKind kind) {
    FenceOp::create(builder, loc, kind);
  }

  /// The proxy fence before `op`, unless one stands there already and no access
  /// by threads has come since.
  void proxyFence(Operation *op) {
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode()) {
      auto earlier = dyn_cast<FenceOp>(before);
      if (earlier && earlier.getKind() == FenceKind::ProxyAsync)
        return;
      auto agent = dyn_cast<AgentOpInterface>(before);
      SmallVector<BufferAccess> accesses;
      if (agent)
        agent.getAccesses(accesses);
      if (before->getNumRegions() != 0 || !accesses.empty())
        break;
    }
    fence(op->getLoc(), FenceKind::ProxyAsync);
  }

  void afterOpening(AgentOpInterface op, PipelineOp pipeline) {
    builder.setInsertionPointAfter(op);
    // The other side's accesses of tensor memory come before ours. Only the
    // tensor pipe orders its own by itself.
    if (hasSlotIn(pipeline, isTmem) &&
        (pipeline.getProducer() != Agent::TensorCore ||
         pipeline.getConsumer() != Agent::TensorCore))
      fence(op.getLoc(), FenceKind::Tcgen05After);
    // The loop has read what is overwritten, and releases slots without a
    // fence: one here costs less than one of every warp that read.
    if (isa<AcquireOp>(op) && isReadByLoop(pipeline))
      fence(op.getLoc(), FenceKind::ProxyAsync);
    // One thread has waited for the reads of the bulk group.
    if (isa<AcquireOp>(op) && isStaging(pipeline))
      RoleBarrierOp::create(builder, op.getLoc());
  }

  void beforeClosing(AgentOpInterface op, PipelineOp pipeline) {
    if (op.getAgent() != Agent::Threads)
      return;
    builder.setInsertionPoint(op);
    if (hasSlotIn(pipeline, isTmem)) {
      if (writesTmem)
        fence(op.getLoc(), FenceKind::TmemStores);
      fence(op.getLoc(), FenceKind::Tcgen05Before);
    }
    if (isa<CommitOp>(op) && pipeline.getConsumer() != Agent::Threads &&
        hasSlotIn(pipeline, isSmem) && writesSmem)
      proxyFence(op);
    // The text orders no asynchronous write after reads of threads either.
    if (isa<ReleaseOp>(op) && pipeline.getProducer() == Agent::Tma &&
        hasSlotIn(pipeline, isSmem))
      proxyFence(op);
    // Nor may a copy to global memory overtake the reads of what it overwrites:
    // operations of two proxies are in no causality order without a fence (PTX
    // ISA 8.9.5), whichever of them writes.
    if (isa<CommitOp>(op) && overwriting.contains(pipeline))
      fence(op.getLoc(), FenceKind::ProxyAsyncGlobal);
    // One thread will store what all have written.
    if (isa<CommitOp>(op) && isStaging(pipeline))
      RoleBarrierOp::create(builder, op.getLoc());
  }

  static bool isStaging(PipelineOp pipeline) {
    return getHandOver(pipeline.getProducer(), pipeline.getConsumer())->empty ==
           Signal::BulkGroup;
  }

  /// Stores read shared memory, which must outlive them.
  void drainStores() {
    SmallVector<PipelineOp> staging;
    role.walk([&](AcquireOp acquire) {
      PipelineOp pipeline = getPipelineOp(acquire.getPipeline());
      if (isStaging(pipeline) && !llvm::is_contained(staging, pipeline))
        staging.push_back(pipeline);
    });
    role.walk([&](DrainAllOp drain) {
      llvm::erase(staging, getPipelineOp(drain.getPipeline()));
    });
    builder.setInsertionPoint(role.front().getTerminator());
    for (PipelineOp pipeline : staging)
      DrainAllOp::create(builder, pipeline.getLoc(), pipeline.getResult(),
                         Value(), Value());
  }

  OpBuilder builder;
  bool writesTmem, writesSmem;
  /// Pipelines whose slots are copied to memory that threads of the role read.
  llvm::SmallDenseSet<Operation *> overwriting;
  Region &role;
};

/// Fences are put between a role's own reads and copies; those of two roles
/// would have to be handed over.
LogicalResult verifyReads(RolesOp roles) {
  for (Region &reading : roles.getBodies()) {
    Reads reads = findReads(reading);
    WalkResult walk = roles.walk([&](AgentOpInterface op) {
      Value memory = op.getWrittenMemory();
      Operation *read = memory ? reads.lookup(getOrigin(memory)) : nullptr;
      if (!read || reading.isAncestor(op->getParentRegion()))
        return WalkResult::advance();
      InFlightDiagnostic diag = op.emitOpError(
          "expected no other role to read the memory that it writes");
      diag.attachNote(read->getLoc()) << "read here";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

struct InsertFences
    : nvfp4::warpspec::impl::InsertFencesPassBase<InsertFences> {
  void runOnOperation() override {
    if (failed(forEachKernel(getOperation(), insert)))
      signalPassFailure();
  }

  static LogicalResult insert(KernelOp kernel) {
    WalkResult walk = kernel.walk([](Operation *op) {
      if (!isa<FenceOp, TmemWaitOp, RoleBarrierOp>(op))
        return WalkResult::advance();
      op->emitOpError("expected no fence before warpspec-insert-fences");
      return WalkResult::interrupt();
    });
    RolesOp roles = kernel.getRoles();
    if (walk.wasInterrupted() || (roles && failed(verifyReads(roles))))
      return failure();
    if (roles)
      for (Region &role : roles.getBodies())
        FenceInserter(role).run();
    return success();
  }
};
} // namespace
