//===- LowerRoles.cpp - Roles to a dispatch on the warp index ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays warps out, derives arrival counts, and turns sibling regions into
// branches.
//
//===----------------------------------------------------------------------===//

#include "EachKernel.h"
#include "RoleLayout.h"
#include "RoleLowering.h"
#include "RoleProgram.h"
#include "ScheduleChecks.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

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
        failed(verifyPair(kernel)) || failed(numberBarriers()) ||
        failed(checkRing()))
      return failure();
    IRRewriter rewriter(&getContext());
    RoleLayout layout(roles);
    Location loc = kernel.getLoc();
    rewriter.setInsertionPointToStart(&kernel.getBody().front());
    createPrologue(rewriter, layout);
    rewriter.setInsertionPoint(roles);
    // Before the loops whose extents it copies are gone.
    scf::IfOp finder = createFinder(rewriter, layout);
    for (unsigned i = 0; i < roles.getBodies().size(); ++i)
      if (failed(lowerRole(rewriter, layout, i)))
        return failure();
    rewriter.setInsertionPoint(roles);
    dispatch(rewriter, layout, finder);
    rewriter.setInsertionPoint(roles);
    releaseTmem(rewriter, loc);
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
  // Prologue and epilogue
  //===--------------------------------------------------------------------===//

  int64_t getTmemSlot() { return *kernel.getSharedBytes() - 8; }

  void createPrologue(RewriterBase &rewriter, const RoleLayout &layout) {
    Location loc = kernel.getLoc();
    Type i32 = rewriter.getI32Type();
    thread = NVVM::ThreadIdXOp::create(rewriter, loc, i32);
    Value five = createI32(rewriter, loc, 5);
    Value raw = arith::ShRUIOp::create(rewriter, loc, thread, five);
    // From one lane, so that branches on it are uniform.
    warp = NVVM::ShflOp::create(
        rewriter, loc, i32, createI32(rewriter, loc, -1), raw,
        createI32(rewriter, loc, 0), createI32(rewriter, loc, 31),
        NVVM::ShflKind::idx, UnitAttr());
    inWarp(rewriter, loc, 0, [&] {
      Value elected = NVVM::ElectSyncOp::create(rewriter, loc,
                                                rewriter.getI1Type(), Value());
      auto branch = scf::IfOp::create(rewriter, loc, elected, false);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      for (auto pipeline : kernel.getOps<PipelineOp>())
        initBarriers(rewriter, pipeline);
      NVVM::FenceMbarrierInitOp::create(rewriter, loc);
    });
    int64_t columns = *kernel.getTmemColumns();
    if (columns) {
      inWarp(rewriter, loc, layout.warps - 1, [&] {
        ReserveTmemOp::create(rewriter, loc, columns, getTmemSlot());
      });
      tmemWarp = layout.warps - 1;
      FenceOp::create(rewriter, loc, FenceKind::Tcgen05Before);
    }
    meet(rewriter, loc);
    if (columns)
      FenceOp::create(rewriter, loc, FenceKind::Tcgen05After);
  }

  void inWarp(RewriterBase &rewriter, Location loc, int number,
              function_ref<void()> build) {
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                     warp, createI32(rewriter, loc, number));
    auto branch = scf::IfOp::create(rewriter, loc, is, false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    build();
  }

  /// Arrivals that complete a phase of one side, from the roles on that side.
  int64_t countArrivals(PipelineOp pipeline, Signal signal, bool producers) {
    // Tiles come from one warp.
    if (int ringWarps = countRingWarps(pipeline))
      return producers ? 1 : ringWarps;
    int64_t count = 0;
    for (Region &role : roles.getBodies()) {
      WalkResult walk = role.walk([&](Operation *op) {
        bool onSide =
            producers ? isa<AcquireOp>(op) : isa<WaitOp, MmaDecodedOp>(op);
        return onSide && getPipelineOp(op->getOperand(0)) == pipeline
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (!walk.wasInterrupted())
        continue;
      count += signal == Signal::WarpArrival
                   ? roles.getWarps()[role.getRegionNumber()]
                   : 1;
    }
    return count;
  }

  void initBarriers(RewriterBase &rewriter, PipelineOp pipeline) {
    HandOver handOver =
        *getHandOver(pipeline.getProducer(), pipeline.getConsumer());
    auto init = [&](Signal signal, bool producers, int64_t offset) {
      if (signal == Signal::None || signal == Signal::BulkGroup)
        return;
      int64_t count = countArrivals(pipeline, signal, producers);
      // Both blocks of a pair signal what the even one waits for.
      if (kernel.getPair() && isSignalledByBoth(pipeline, producers))
        count *= 2;
      // A side that no role plays signals nothing.
      if (count)
        InitBarriersOp::create(rewriter, pipeline.getLoc(), offset,
                               pipeline.getDepth(), count);
    };
    int64_t offset = pipeline.getBarriers().value_or(0);
    init(handOver.full, true, offset);
    init(handOver.empty, false, offset + 8 * pipeline.getDepth());
  }

  /// In a pair the even block's tensor core works for both: operands become
  /// full, and accumulators empty, when both blocks say so.
  static bool isSignalledByBoth(PipelineOp pipeline, bool producers) {
    Agent waiting = producers ? pipeline.getConsumer() : pipeline.getProducer();
    return waiting == Agent::TensorCore &&
           pipeline.getProducer() != pipeline.getConsumer();
  }

  /// All threads of the block, or of the cluster, meet.
  void meet(RewriterBase &rewriter, Location loc) {
    if (kernel.getCluster().value_or(1) > 1) {
      NVVM::ClusterArriveOp::create(rewriter, loc, rewriter.getUnitAttr());
      NVVM::ClusterWaitOp::create(rewriter, loc, rewriter.getUnitAttr());
    } else {
      NVVM::BarrierOp::create(rewriter, loc);
    }
  }

  void releaseTmem(RewriterBase &rewriter, Location loc) {
    int64_t columns = *kernel.getTmemColumns();
    // A block that has gone cannot be signalled.
    if (!columns && kernel.getCluster().value_or(1) > 1)
      return meet(rewriter, loc);
    if (!columns)
      return;
    FenceOp::create(rewriter, loc, FenceKind::Tcgen05Before);
    meet(rewriter, loc);
    FenceOp::create(rewriter, loc, FenceKind::Tcgen05After);
    inWarp(rewriter, loc, tmemWarp, [&] {
      ReleaseTmemOp::create(rewriter, loc, columns, getTmemSlot());
    });
  }

  //===--------------------------------------------------------------------===//
  // Tiles through a ring
  //===--------------------------------------------------------------------===//

  /// One ring, over the same tiles for all.
  LogicalResult checkRing() {
    SmallVector<ForEachTileOp> loops = getRingLoops(roles);
    for (ForEachTileOp loop : loops) {
      if (loop->getParentOp() != roles)
        return loop.emitOpError("expected a loop with a ring in no other loop");
      if (loop.getRing() != loops.front().getRing() ||
          getLoopKey(loop) != getLoopKey(loops.front())) {
        InFlightDiagnostic diag = loop.emitOpError(
            "expected the same ring, groups and extents in all roles");
        diag.attachNote(loops.front().getLoc()) << "other loop";
        return diag;
      }
    }
    return success();
  }

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

  /// Warps that wait for tiles from `pipeline`.
  int countRingWarps(PipelineOp pipeline) {
    int warps = 0;
    for (ForEachTileOp loop : getRingLoops(roles))
      if (getPipelineOp(loop.getRing()) == pipeline)
        warps += roles.getWarps()[roles.getRoleNumber(loop)];
    return warps;
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
    WalkResult misplaced = role.walk([&](Operation *op) {
      if (first == 0 ||
          !isa<MmaDecodedOp, StageFragmentOp, StoreFragmentOp, AddFragmentsOp>(
              op))
        return WalkResult::advance();
      op->emitOpError("expected to be in the first role of whole warpgroups, "
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
  int tmemWarp = 0;
};
} // namespace
