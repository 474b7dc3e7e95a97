//===- ConvertLinalgToGpu.cpp - The pass convert-linalg-to-gpu --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bodies are looked at before anything is changed: whatever a kernel cannot
// hold is named in the IR that came in.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/LinalgToGpu/LinalgToGpu.h"

#include "StructuredLaunch.h"
#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/WarpSpec/IR/MemoryUses.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace nvfp4 {
#define GEN_PASS_DEF_CONVERTLINALGTOGPUPASS
#include "nvfp4/Conversion/LinalgToGpu/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;
using namespace nvfp4;

/// Whether `inner` takes an element of a tensor on the device, of another one
/// than `op` writes.
static bool isGather(linalg::LinalgOp op, Operation &inner) {
  auto load = dyn_cast<memref::LoadOp>(inner);
  if (!load || !isDeviceMemory(load.getMemRef().getType()))
    return false;
  Value root = warpspec::getRoot(load.getMemRef());
  return llvm::none_of(op.getDpsInits(), [&](Value init) {
    return warpspec::getRoot(init) == root;
  });
}

static LogicalResult verifyBody(linalg::LinalgOp op) {
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!isa<linalg::IndexOp>(inner) && !gsg::runsInKernels(inner) &&
        !isGather(op, inner))
      return inner.emitOpError("expected an operation that kernels have: ")
             << gsg::kOperationsOfKernels;
  return success();
}

namespace {
struct ConvertLinalgToGpu
    : nvfp4::impl::ConvertLinalgToGpuPassBase<ConvertLinalgToGpu> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (llvm::any_of(op->getOperandTypes(), isDeviceMemory))
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      if (failed(verifyBody(op)))
        return signalPassFailure();
    for (linalg::LinalgOp op : ops) {
      OpBuilder builder(op);
      launchStructured(builder, op);
      op.erase();
    }
    getOperation().walk([](gpu::LaunchOp launch) { sinkLoads(launch); });
  }
};
} // namespace
