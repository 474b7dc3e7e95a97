//===- ConvertGsgToWarpSpec.cpp - The pass convert-gsg-to-warpspec --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One product after the other: plan, parameters, roles, launch.
//
//===----------------------------------------------------------------------===//

#include "Common/ProductChecks.h"
#include "Tcgen05/Kernel.h"
#include "Wgmma/Kernel.h"
#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"
#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/ListProblem.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_CONVERTGSGTOWARPSPECPASS
#include "nvfp4/Conversion/GsgToWarpSpec/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

/// The kernel and its launch, by the functions beside `Plan`.
template <typename Plan, typename Target>
static LogicalResult lowerByPlan(ModuleOp module, MatmulOp op,
                                 const Target &target, bool checksData) {
  FailureOr<Plan> plan = Plan::get(op, target);
  if (failed(plan))
    return failure();
  Launch launch(module, op);
  HostNumber blocks;
  auto parameters = addParameters(launch, *plan, op, blocks);
  if (checksData)
    addDataChecks(launch, op, parameters.common);
  buildKernel(launch, *plan, parameters, op);
  launch.shareEqualKernel();
  launch.run(blocks);
  op.erase();
  return success();
}

static LogicalResult lowerMatmul(ModuleOp module, MatmulOp op,
                                 const KernelTarget &target, bool checksData) {
  if (!llvm::all_of(op->getOperandTypes(), [](Type type) {
        return isa<MemRefType>(type) || type.isIntOrFloat();
      }))
    return op.emitOpError("expected memrefs in storage form; run "
                          "gsg-decompose-scaled and one-shot-bufferize first");
  if (op.getRhs().size() > 1)
    return op.emitOpError("expected weights in one operand, but got ")
           << op.getRhs().size() << "; run gsg-stack-weights first";
  switch (target.getFamily()) {
  case strategy::KernelFamily::Wgmma:
    return lowerByPlan<wgmma::Plan>(
        module, op, cast<strategy::WgmmaTarget>(target), checksData);
  case strategy::KernelFamily::Tcgen05:
    return lowerByPlan<tcgen05::Plan>(
        module, op, cast<strategy::Tcgen05Target>(target), checksData);
  }
  llvm_unreachable("a family that is none");
}

/// One kernel for all problems.
template <typename Plan, typename Target>
static LogicalResult lowerListByPlan(ModuleOp module, MatmulListOp list,
                                     const Target &target) {
  OpBuilder b(list);
  MatmulOp first = createProblem(b, list, 0, list.getAlpha(), list.getBeta());
  FailureOr<Plan> plan = Plan::get(list, first, target);
  if (failed(plan)) {
    first.erase();
    return failure();
  }
  Launch launch(module, list);
  HostNumber blocks;
  auto parameters = addListParameters(launch, *plan, list, first, blocks);
  buildKernel(launch, *plan, parameters, first);
  launch.shareEqualKernel();
  launch.run(blocks);
  first.erase();
  list.erase();
  return success();
}

static LogicalResult lowerList(ModuleOp module, MatmulListOp list,
                               const KernelTarget &target) {
  switch (target.getFamily()) {
  case strategy::KernelFamily::Wgmma:
    return lowerListByPlan<wgmma::Plan>(module, list,
                                        cast<strategy::WgmmaTarget>(target));
  case strategy::KernelFamily::Tcgen05:
    return lowerListByPlan<tcgen05::Plan>(
        module, list, cast<strategy::Tcgen05Target>(target));
  }
  llvm_unreachable("a family that is none");
}

static LogicalResult verifyDeviceMemory(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (isa<BaseMemRefType>(type) && !isDeviceMemory(type))
      return op->emitOpError("expected memory of the device, but got ")
             << type << "; run gsg-insert-transfers first";
  return success();
}

namespace {
struct ConvertGsgToWarpSpec
    : nvfp4::gsg::impl::ConvertGsgToWarpSpecPassBase<ConvertGsgToWarpSpec> {
  using ConvertGsgToWarpSpecPassBase::ConvertGsgToWarpSpecPassBase;

  void runOnOperation() override {
    FailureOr<const KernelTarget *> kernels =
        getKernelTarget(getOperation(), target);
    if (failed(kernels))
      return signalPassFailure();
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<MatmulOp, MatmulListOp>(op))
        products.push_back(op);
    });
    for (Operation *op : products) {
      if (failed(verifyDeviceMemory(op)) || failed(verifyExpanded(op)))
        return signalPassFailure();
      auto matmul = dyn_cast<MatmulOp>(op);
      if (auto list = dyn_cast<MatmulListOp>(op)) {
        if (!isStored(list)) {
          op->emitOpError("expected storage form on memrefs; run "
                          "gsg-decompose-scaled and one-shot-bufferize first");
          return signalPassFailure();
        }
        if (!hasOneKernel(list)) {
          refuseKernel(op, **kernels,
                       "this matmul_list; run gsg-split-list first");
          return signalPassFailure();
        }
        if (failed(lowerList(getOperation(), list, **kernels)))
          return signalPassFailure();
        continue;
      }
      if (failed(lowerMatmul(getOperation(), matmul, **kernels, dataChecks)))
        return signalPassFailure();
    }
  }
};
} // namespace
