//===- LowerRoles.cpp - Roles to a dispatch on the warp index ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns sibling regions into branches on the warps that the layout gives them.
//
//===----------------------------------------------------------------------===//

#include "EachKernel.h"
#include "KernelFrame.h"
#include "RoleLayout.h"
#include "RoleLowering.h"
#include "ScheduleChecks.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace nvfp4::warpspec {
#define GEN_PASS_DEF_LOWERROLESPASS
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h.inc"
} // namespace nvfp4::warpspec

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// Barriers of a block but that of all its threads.
constexpr int kNamedBarriers = 15;

struct LowerRoles : nvfp4::warpspec::impl::LowerRolesPassBase<LowerRoles> {
  void runOnOperation() override {
    if (failed(forEachKernel(getOperation(),
                             [&](KernelOp op) { return lower(op); })))
      signalPassFailure();
  }

  LogicalResult lower(KernelOp op) {
    kernel = op;
    roles = kernel.getRoles();
    if (!roles)
      return success();
    if (failed(verifyPlanned(kernel)) || failed(verifyStages(roles)) ||
        failed(verifyResources(kernel)) || failed(verifyPlaces(kernel)) ||
        failed(verifyPair(kernel)) || failed(verifyRing(roles)) ||
        failed(numberBarriers()))
      return failure();
    IRRewriter rewriter(&getContext());
    RoleLayout layout(roles);
    rewriter.setInsertionPointToStart(&kernel.getBody().front());
    KernelFrame frame(rewriter, kernel, layout);
    frame.enter();
    thread = frame.getThread();
    warp = frame.getWarp();
    rewriter.setInsertionPoint(roles);
    // Before the loops whose extents it copies are gone.
    scf::IfOp finder = createFinder(rewriter, layout);
    for (unsigned i = 0; i < roles.getBodies().size(); ++i)
      if (failed(lowerRole(rewriter, layout, i)))
        return failure();
    rewriter.setInsertionPoint(roles);
    dispatch(rewriter, layout, finder);
    rewriter.setInsertionPoint(roles);
    frame.leave();
    kernel.setThreads(layout.warps * 32);
    rewriter.eraseOp(roles);
    return success();
  }

  /// Named barriers of the roles whose warps meet. Barrier 0 is that of the
  /// whole block.
  LogicalResult numberBarriers() {
    int count = 0;
    barriers.assign(roles.getBodies().size(), 0);
    for (auto [role, warps, barrier] :
         llvm::zip_equal(roles.getBodies(), roles.getWarps(), barriers)) {
      WalkResult meets =
          role.walk([](RoleBarrierOp) { return WalkResult::interrupt(); });
      if (warps > 1 && meets.wasInterrupted())
        barrier = ++count;
      // One for each warpgroup, for all fragments of the role.
      int first = count + 1;
      bool stages = false;
      role.walk([&](StageFragmentOp op) {
        op.setBarrier(first);
        stages = true;
      });
      if (stages)
        count += std::max(warps / 4, 1);
    }
    if (count > kNamedBarriers)
      return roles.emitOpError("V6: expected at most ")
             << kNamedBarriers
             << " roles of several warps that meet at a barrier, but got "
             << count;
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Tiles through a ring
  //===--------------------------------------------------------------------===//

  /// The branch of the warp that finds tiles, or null.
  scf::IfOp createFinder(RewriterBase &rewriter, const RoleLayout &layout) {
    if (layout.finder < 0)
      return {};
    scf::IfOp branch = createBranch(rewriter, layout.finder, 1, false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(branch.thenYield());
    buildTileFinder(rewriter, getRingLoops(roles).front(),
                    kernel.getCluster().value_or(1));
    return branch;
  }

  //===--------------------------------------------------------------------===//
  // Roles
  //===--------------------------------------------------------------------===//

  LogicalResult lowerRole(RewriterBase &rewriter, const RoleLayout &layout,
                          unsigned number) {
    Region &role = roles.getBodies()[number];
    Location loc = roles.getLoc();
    int warps = roles.getWarps()[number], first = layout.first[number];
    rewriter.setInsertionPointToStart(&role.front());
    Value elected =
        NVVM::ElectSyncOp::create(rewriter, loc, rewriter.getI1Type(), Value());
    if (warps > 1) {
      Value firstWarp = createI32(rewriter, loc, first);
      Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                       warp, firstWarp);
      elected = arith::AndIOp::create(rewriter, loc, is, elected);
    }
    role.walk([&](AcquireOp acquire) {
      PipelineType type = acquire.getPipeline().getType();
      if (getHandOver(type.getProducer(), type.getConsumer())->empty ==
          Signal::BulkGroup)
        acquire.getIssuerMutable().assign(elected);
    });
    WalkResult misplaced = role.walk([&](AgentOpInterface op) {
      if (first == 0 || !op.isOfFirstWarpgroups())
        return WalkResult::advance();
      op.emitOpError("expected to be in the first role of whole warpgroups, "
                     "whose threads it numbers from 0");
      return WalkResult::interrupt();
    });
    if (misplaced.wasInterrupted())
      return failure();
    if (failed(isolateIssue(rewriter, role.front(), elected)))
      return failure();
    SmallVector<ForEachTileOp> loops;
    role.walk([&](ForEachTileOp loop) { loops.push_back(loop); });
    for (ForEachTileOp loop : loops) {
      if (llvm::any_of(loop.getInitArgs().getTypes(),
                       llvm::IsaPred<FillType, DrainType>))
        return loop.emitOpError(
            "expected no fill or drain among iter_args: close each within the "
            "tile that opens it");
      if (loop.getRing())
        lowerRingLoop(rewriter, loop);
      else
        lowerTileLoop(rewriter, loop, kernel.getCluster().value_or(1));
    }
    role.walk([&](Operation *op) {
      rewriter.setInsertionPoint(op);
      if (isa<ThreadIndexOp>(op))
        rewriter.replaceOpWithNewOp<arith::SubIOp>(
            op, thread, createI32(rewriter, op->getLoc(), first * 32));
      else if (isa<RoleBarrierOp>(op) && warps == 1)
        rewriter.replaceOpWithNewOp<NVVM::SyncWarpOp>(
            op, createI32(rewriter, op->getLoc(), -1));
      else if (isa<RoleBarrierOp>(op))
        rewriter.replaceOpWithNewOp<NVVM::BarrierOp>(
            op, Type(), createI32(rewriter, op->getLoc(), barriers[number]),
            createI32(rewriter, op->getLoc(), warps * 32),
            NVVM::BarrierReductionAttr(), Value());
    });
    return success();
  }

  /// Gives the warpgroups from `first` on, all of them in this branch, their
  /// registers. Within the branch, or ptxas could not tell which code has how
  /// many.
  void setRegisters(RewriterBase &rewriter, const RoleLayout &layout,
                    int first) {
    int registers = layout.ofWarpgroup[first / kWarpgroup];
    NVVM::SetMaxRegisterOp::create(rewriter, roles.getLoc(), registers,
                                   registers > layout.registers
                                       ? NVVM::SetMaxRegisterAction::increase
                                       : NVVM::SetMaxRegisterAction::decrease);
  }

  /// A branch on first <= warp < first + count, in one unsigned comparison;
  /// `leads` adds the even block of a pair.
  scf::IfOp createBranch(RewriterBase &rewriter, int first, int count,
                         bool leads) {
    Location loc = roles.getLoc();
    Value offset = arith::SubIOp::create(rewriter, loc, warp,
                                         createI32(rewriter, loc, first));
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                     offset, createI32(rewriter, loc, count));
    if (leads) {
      Value rank =
          NVVM::ClusterId::create(rewriter, loc, rewriter.getI32Type());
      Value odd = arith::AndIOp::create(rewriter, loc, rank,
                                        createI32(rewriter, loc, 1));
      Value even =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, odd,
                                createI32(rewriter, loc, 0));
      is = arith::AndIOp::create(rewriter, loc, is, even);
    }
    return scf::IfOp::create(rewriter, loc, is, false);
  }

  void dispatch(RewriterBase &rewriter, const RoleLayout &layout,
                scf::IfOp finder) {
    auto build = [&](unsigned i) {
      Region &role = roles.getBodies()[i];
      int warps = roles.getWarps()[i];
      auto branch = createBranch(rewriter, layout.first[i], warps,
                                 kernel.getPair() && isLeading(role));
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(branch.thenYield());
      if (layout.reallocates && warps % kWarpgroup == 0)
        setRegisters(rewriter, layout, layout.first[i]);
      rewriter.eraseOp(role.front().getTerminator());
      rewriter.inlineBlockBefore(&role.front(), branch.thenYield());
    };
    // Roles of whole warpgroups have these to themselves; the others share.
    int firstShared = 0;
    for (auto [first, warps] : llvm::zip_equal(layout.first, roles.getWarps()))
      if (warps % kWarpgroup == 0)
        firstShared = std::max(firstShared, first + warps);
    scf::IfOp shared;
    OpBuilder::InsertionGuard guard(rewriter);
    for (int first = firstShared; layout.reallocates && first < layout.warps;
         first += kWarpgroup) {
      auto branch = createBranch(rewriter, first, kWarpgroup, false);
      OpBuilder::InsertionGuard inner(rewriter);
      rewriter.setInsertionPoint(branch.thenYield());
      setRegisters(rewriter, layout, first);
      // With one warpgroup to share, its roles go into the same branch.
      if (layout.warps - firstShared == kWarpgroup)
        shared = branch;
    }
    for (unsigned i = 0; i < roles.getBodies().size(); ++i) {
      OpBuilder::InsertionGuard inner(rewriter);
      if (shared && roles.getWarps()[i] % kWarpgroup != 0)
        rewriter.setInsertionPoint(shared.thenYield());
      build(i);
    }
    if (finder && shared)
      finder->moveBefore(shared.thenYield());
    else if (finder)
      finder->moveBefore(roles);
  }

  KernelOp kernel;
  RolesOp roles;
  Value thread, warp;
  /// The named barrier of each role, 0 for none.
  SmallVector<int> barriers;
};
} // namespace
