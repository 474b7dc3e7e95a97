//===- SinkLoads.cpp - Scalars in memory of a device ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host cannot read what kernels before may still write. A kernel can; if
// the memory changes before it ends, a kernel of one thread saves the scalar.
//
//===----------------------------------------------------------------------===//

#include "StructuredLaunch.h"

#include "nvfp4/Conversion/GsgToLoops/DeviceLoops.h"
#include "nvfp4/Dialect/DeviceLoad.h"
#include "nvfp4/Dialect/WarpSpec/IR/MemoryUses.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace nvfp4;

/// Has a kernel save what `load` reads, for `launch` and before it; returns
/// where it is.
static Value save(memref::LoadOp load, gpu::LaunchOp launch) {
  OpBuilder b(load->getContext());
  b.setInsertionPointAfter(load);
  auto type = MemRefType::get({}, load.getType(), MemRefLayoutAttrInterface(),
                              load.getMemRefType().getMemorySpace());
  Value copy = gpu::AllocOp::create(b, load.getLoc(), type,
                                    /*asyncToken=*/Type(),
                                    /*asyncDependencies=*/ValueRange(),
                                    /*dynamicSizes=*/ValueRange(),
                                    /*symbolOperands=*/ValueRange())
                   .getMemref();
  gsg::loops::DeviceLoopBuilder threads(b, load);
  threads.parallel(threads.index(1), [&](Value) {
    threads.store(b.clone(*load)->getResult(0), copy, ValueRange());
  });
  b.setInsertionPointAfter(load->getBlock()->findAncestorOpInBlock(*launch));
  gpu::DeallocOp::create(b, load.getLoc(), /*asyncToken=*/Type(),
                         /*asyncDependencies=*/ValueRange(), copy);
  return copy;
}

/// `value` computed at `b`, in `launch`.
static Value recompute(OpBuilder &b, gpu::LaunchOp launch, Value value,
                       IRMapping &mapping) {
  if (mapping.contains(value) || !dependsOnDeviceLoad(value))
    return mapping.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  auto load = dyn_cast<memref::LoadOp>(op);
  if (load && warpspec::mayChange(load.getMemref(), load, launch)) {
    Value again = memref::LoadOp::create(b, load.getLoc(), save(load, launch));
    mapping.map(value, again);
    return again;
  }
  for (Value operand : op->getOperands())
    recompute(b, launch, operand, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

void nvfp4::sinkLoads(gpu::LaunchOp launch) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(launch.getBody(), used);
  OpBuilder b = OpBuilder::atBlockBegin(&launch.getBody().front());
  // Not before the kernel has waited for those that write the memory.
  for (auto control : launch.getBody().front().getOps<NVVM::GriddepcontrolOp>())
    b.setInsertionPointAfter(control);
  IRMapping mapping;
  for (Value value : used)
    if (dependsOnDeviceLoad(value))
      replaceAllUsesInRegionWith(value, recompute(b, launch, value, mapping),
                                 launch.getBody());
}
