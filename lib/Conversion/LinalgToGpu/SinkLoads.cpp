//===- SinkLoads.cpp - Scalars in memory of a device ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host cannot read what kernels before may still write. A kernel can.
//
//===----------------------------------------------------------------------===//

#include "StructuredLaunch.h"

#include "nvfp4/Dialect/DeviceLoad.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace nvfp4;

/// Whether what `load` reads is the same when `launch` runs.
static LogicalResult verifyUnchanged(memref::LoadOp load,
                                     gpu::LaunchOp launch) {
  for (Operation *user : load.getMemref().getUsers()) {
    Operation *outer = load->getBlock()->findAncestorOpInBlock(*user);
    Operation *end = load->getBlock()->findAncestorOpInBlock(*launch);
    bool isBetween = outer && end && load->isBeforeInBlock(outer) &&
                     outer->isBeforeInBlock(end);
    if (isBetween && !isa<memref::LoadOp, memref::DimOp>(user))
      return load->emitError(
          "expected memory of the device that does not change between this "
          "load and the kernel that uses it; move the load behind the change");
  }
  return success();
}

/// `value` computed at `b`, in `launch`.
static FailureOr<Value> recompute(OpBuilder &b, gpu::LaunchOp launch,
                                  Value value, IRMapping &mapping) {
  if (mapping.contains(value) || !dependsOnDeviceLoad(value))
    return mapping.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast<memref::LoadOp>(op))
    if (failed(verifyUnchanged(load, launch)))
      return failure();
  for (Value operand : op->getOperands())
    if (failed(recompute(b, launch, operand, mapping)))
      return failure();
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

LogicalResult nvfp4::sinkLoads(gpu::LaunchOp launch) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(launch.getBody(), used);
  OpBuilder b = OpBuilder::atBlockBegin(&launch.getBody().front());
  // Not before the kernel has waited for those that write the memory.
  for (auto control : launch.getBody().front().getOps<NVVM::GriddepcontrolOp>())
    b.setInsertionPointAfter(control);
  IRMapping mapping;
  for (Value value : used) {
    if (!dependsOnDeviceLoad(value))
      continue;
    FailureOr<Value> inside = recompute(b, launch, value, mapping);
    if (failed(inside))
      return failure();
    replaceAllUsesInRegionWith(value, *inside, launch.getBody());
  }
  return success();
}
