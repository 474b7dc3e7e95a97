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

#include "RoleLayout.h"
#include "RoleLowering.h"
#include "ScheduleChecks.h"
#include "nvfp4/Dialect/WarpSpec/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
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
    kernel = getOperation();
    roles = kernel.getRoles();
    if (!roles)
      return;
    if (failed(verifyPlanned(kernel)) || failed(verifyResources(kernel)) ||
        failed(verifyPair(kernel)) || failed(numberBarriers()))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    RoleLayout layout(roles);
    Location loc = kernel.getLoc();
    rewriter.setInsertionPointToStart(&kernel.getBody().front());
    createPrologue(rewriter, layout);
    rewriter.setInsertionPoint(roles);
    for (unsigned i = 0; i < roles.getBodies().size(); ++i)
      if (failed(lowerRole(rewriter, layout, i)))
        return signalPassFailure();
    rewriter.setInsertionPoint(roles);
    dispatch(rewriter, layout);
    rewriter.setInsertionPoint(roles);
    releaseTmem(rewriter, loc);
    kernel.setThreads(layout.warps * 32);
    rewriter.eraseOp(roles);
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
    int64_t count = 0;
    for (Region &role : roles.getBodies()) {
      WalkResult walk = role.walk([&](Operation *op) {
        bool onSide = producers ? isa<AcquireOp>(op) : isa<WaitOp>(op);
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

  void dispatch(RewriterBase &rewriter, const RoleLayout &layout) {
    Location loc = roles.getLoc();
    if (layout.reallocates)
      for (int first = 0; first < layout.warps; first += kWarpgroup) {
        Value is = arith::CmpIOp::create(
            rewriter, loc, arith::CmpIPredicate::eq,
            arith::ShRUIOp::create(rewriter, loc, warp,
                                   createI32(rewriter, loc, 2)),
            createI32(rewriter, loc, first / kWarpgroup));
        auto branch = scf::IfOp::create(rewriter, loc, is, false);
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(branch.thenBlock());
        int registers = layout.ofWarpgroup[first / kWarpgroup];
        NVVM::SetMaxRegisterOp::create(
            rewriter, loc, registers,
            registers > layout.registers
                ? NVVM::SetMaxRegisterAction::increase
                : NVVM::SetMaxRegisterAction::decrease);
      }
    for (unsigned i = 0; i < roles.getBodies().size(); ++i) {
      int first = layout.first[i], warps = roles.getWarps()[i];
      // first <= warp < first + warps, in one unsigned comparison.
      Value offset = arith::SubIOp::create(rewriter, loc, warp,
                                           createI32(rewriter, loc, first));
      Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                       offset, createI32(rewriter, loc, warps));
      if (kernel.getPair() && isLeading(roles.getBodies()[i])) {
        Value rank =
            NVVM::ClusterId::create(rewriter, loc, rewriter.getI32Type());
        Value odd = arith::AndIOp::create(rewriter, loc, rank,
                                          createI32(rewriter, loc, 1));
        Value even =
            arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, odd,
                                  createI32(rewriter, loc, 0));
        is = arith::AndIOp::create(rewriter, loc, is, even);
      }
      auto branch = scf::IfOp::create(rewriter, loc, is, false);
      Block *body = &roles.getBodies()[i].front();
      rewriter.eraseOp(body->getTerminator());
      rewriter.inlineBlockBefore(body, branch.thenYield());
    }
  }

  KernelOp kernel;
  RolesOp roles;
  Value thread, warp;
  /// The named barrier of each role, 0 for none.
  SmallVector<int> barriers;
  int tmemWarp = 0;
};
} // namespace
