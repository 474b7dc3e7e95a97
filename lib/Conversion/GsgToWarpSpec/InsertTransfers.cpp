//===- InsertTransfers.cpp - gsg-insert-transfers ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand in the wrong memory is replaced by a copy in the other. Copies
// stand outside of the branches that run-time checks put around an operation,
// so that those between two operations are next to each other.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/DeviceLoops.h"
#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"
#include "nvfp4/Dialect/DeviceLoad.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/WarpSpec/IR/MemoryUses.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_INSERTTRANSFERSPASS
#include "nvfp4/Conversion/GsgToWarpSpec/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

/// How `op` uses `value`.
static std::pair<bool, bool> getAccess(MemoryEffectOpInterface op,
                                       Value value) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  op.getEffectsOnValue(value, effects);
  bool reads = false, writes = false;
  for (const MemoryEffects::EffectInstance &effect : effects) {
    reads |= isa<MemoryEffects::Read>(effect.getEffect());
    writes |= isa<MemoryEffects::Write>(effect.getEffect());
  }
  return {reads, writes};
}

/// The branch around `op` outside of which copies of `value` may stand, or
/// `op`: one that does nothing if it is not taken, and in which nobody else
/// changes the value, or sees what `op` does to it.
static Operation *getAnchor(Operation *op, Value value, bool writes) {
  Operation *anchor = op;
  while (auto branch = dyn_cast<scf::IfOp>(anchor->getParentOp())) {
    if (branch.getNumResults() || branch.elseBlock() ||
        branch->isAncestor(value.getParentRegion()->getParentOp()))
      break;
    bool isInTheWay = llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (user == op || !branch->isAncestor(user))
        return false;
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      return writes || !effects || getAccess(effects, value).second;
    });
    if (isInTheWay)
      break;
    anchor = branch;
  }
  return anchor;
}

/// Operations that prepare operands of kernels.
static bool isStaging(Operation *op) {
  return isa<warpspec::StageOddValuesOp, warpspec::StagePaddedScalesOp,
             warpspec::StageRowsOp, warpspec::StageScalesOp,
             warpspec::StageValuesOp, warpspec::StageWeightsOp>(op);
}

/// Why there is no kernel for `op`, as the text of an error; empty if there is.
static std::string explainNoKernel(Operation *op) {
  return isStaging(op) ? std::string() : explainNoDeviceCode(op);
}

static SmallVector<Value> getDynamicSizes(OpBuilder &b, Location loc,
                                          Value memref) {
  SmallVector<Value> sizes;
  auto type = cast<MemRefType>(memref.getType());
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(memref::DimOp::create(b, loc, memref, d));
  return sizes;
}

/// `value` itself if its elements follow each other, else a copy of the host.
static Value makeDense(OpBuilder &b, Location loc, Value value) {
  auto type = cast<MemRefType>(value.getType());
  if (type.getLayout().isIdentity())
    return value;
  return memref::AllocOp::create(b, loc, getDenseMemory(type, false),
                                 getDynamicSizes(b, loc, value));
}

/// `value` in memory of the device, where it comes from: the element of one
/// that it is, or the work of one thread.
static Value placeScalar(Operation *op, Value value) {
  Operation *launch = op->getParentOfType<OneLaunchOp>();
  Operation *anchor = launch ? launch : op;
  OpBuilder b(anchor);
  Location loc = op->getLoc();
  Attribute space = getDeviceSpace(op->getContext());
  auto type =
      MemRefType::get({}, value.getType(), MemRefLayoutAttrInterface(), space);
  auto load = value.getDefiningOp<memref::LoadOp>();
  if (load && load.getMemRefType().hasStaticShape() &&
      load.getMemRefType().getNumElements() == 1 &&
      load.getMemRefType().getLayout().isIdentity() &&
      !warpspec::mayChange(load.getMemref(), load, op))
    return memref::CollapseShapeOp::create(b, loc, type, load.getMemref(),
                                           ArrayRef<ReassociationIndices>());
  Value memref = gpu::AllocOp::create(b, loc, type, /*asyncToken=*/Type(),
                                      /*asyncDependencies=*/ValueRange(),
                                      /*dynamicSizes=*/ValueRange(),
                                      /*symbolOperands=*/ValueRange())
                     .getMemref();
  loops::DeviceLoopBuilder threads(b, op);
  threads.parallel(threads.index(1),
                   [&](Value) { threads.store(value, memref, ValueRange()); });
  b.setInsertionPointAfter(anchor);
  gpu::DeallocOp::create(b, loc, /*asyncToken=*/Type(),
                         /*asyncDependencies=*/ValueRange(), memref);
  return memref;
}

/// Replaces the uses of `value` in `op` by a copy in the memory of the device,
/// or of the host.
static void transfer(Operation *op, Value value, bool toDevice) {
  auto [reads, writes] = getAccess(cast<MemoryEffectOpInterface>(op), value);
  Operation *anchor = getAnchor(op, value, writes);
  OpBuilder b(anchor);
  Location loc = op->getLoc();
  Value dense = makeDense(b, loc, value);
  MemRefType type = getDenseMemory(cast<MemRefType>(value.getType()), toDevice);
  SmallVector<Value> sizes = getDynamicSizes(b, loc, value);
  Value copy =
      toDevice ? gpu::AllocOp::create(b, loc, type, /*asyncToken=*/Type(),
                                      /*asyncDependencies=*/ValueRange(), sizes,
                                      /*symbolOperands=*/ValueRange())
                     .getMemref()
               : Value(memref::AllocOp::create(b, loc, type, sizes));
  auto copyTo = [&](Value target, Value source) {
    gpu::MemcpyOp::create(b, loc, /*asyncToken=*/Type(),
                          /*asyncDependencies=*/ValueRange(), target, source);
  };
  if (reads) {
    if (dense != value)
      memref::CopyOp::create(b, loc, value, dense);
    copyTo(copy, dense);
  }
  op->replaceUsesOfWith(value, copy);
  b.setInsertionPointAfter(anchor);
  if (writes) {
    copyTo(dense, copy);
    if (dense != value)
      memref::CopyOp::create(b, loc, dense, value);
  }
  if (toDevice)
    gpu::DeallocOp::create(b, loc, /*asyncToken=*/Type(),
                           /*asyncDependencies=*/ValueRange(), copy);
  else
    memref::DeallocOp::create(b, loc, copy);
  if (dense != value)
    memref::DeallocOp::create(b, loc, dense);
}

namespace {
struct InsertTransfers
    : nvfp4::gsg::impl::InsertTransfersPassBase<InsertTransfers> {
  using InsertTransfersPassBase::InsertTransfersPassBase;

  void runOnOperation() override {
    if (memory != "host" && memory != "device") {
      getOperation()->emitError("expected memory host or device, but got '")
          << memory << "'";
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isStaging(op) ||
          (isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect()) &&
           isa<MemoryEffectOpInterface>(op)))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(place(op)))
        return signalPassFailure();
  }

  /// Makes all memory of `op` that of where it runs.
  LogicalResult place(Operation *op) {
    // Copies to the device pay for products only.
    std::string reason = explainNoKernel(op);
    bool onDevice = reason.empty() &&
                    (memory == "device" || isa<MatmulOp, MatmulListOp>(op));
    llvm::SetVector<Value> values;
    for (Value value : op->getOperands())
      if (onDevice ? isHostMemory(value.getType())
                   : isDeviceMemory(value.getType()))
        values.insert(value);
    if (onDevice && memory == "device")
      for (OpOperand &operand : op->getOpOperands())
        if (operand.get().getType().isF32() &&
            dependsOnDeviceLoad(operand.get()))
          operand.set(placeScalar(op, operand.get()));
    if (values.empty())
      return success();
    if (memory == "device") {
      if (onDevice)
        return op->emitOpError("expected memory of the device, but got ")
               << values.front().getType();
      return op->emitOpError()
             << reason << "; compile with memory = host to run it on the host";
    }
    for (Value value : values)
      transfer(op, value, onDevice);
    return success();
  }
};
} // namespace
