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

#include "KernelBody.h"
#include "WgmmaBody.h"
#include "nvfp4/Conversion/GsgToWarpSpec/GsgToWarpSpec.h"

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
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;

static LogicalResult lowerMatmul(ModuleOp module, MatmulOp op,
                                 StringRef target) {
  if (!llvm::all_of(op->getOperandTypes(), [](Type type) {
        return isa<MemRefType>(type) || type.isIntOrFloat();
      }))
    return op.emitOpError("expected memrefs in storage form; run "
                          "gsg-decompose-scaled and one-shot-bufferize first");
  HostNumber blocks;
  if (target == "sm_90a") {
    FailureOr<WgmmaPlan> plan = WgmmaPlan::get(op);
    if (failed(plan))
      return failure();
    Launch launch(module, op);
    WgmmaParameters parameters = addParameters(launch, *plan, op, blocks);
    WgmmaBody(launch, *plan, parameters, op).build();
    launch.run(blocks);
    op.erase();
    return success();
  }
  FailureOr<KernelPlan> plan = KernelPlan::get(op);
  if (failed(plan))
    return failure();
  Launch launch(module, op);
  KernelParameters parameters = addParameters(launch, *plan, op, blocks);
  KernelBody(launch, *plan, parameters, op).build();
  launch.run(blocks);
  op.erase();
  return success();
}

namespace {
struct ConvertGsgToWarpSpec
    : nvfp4::gsg::impl::ConvertGsgToWarpSpecPassBase<ConvertGsgToWarpSpec> {
  using ConvertGsgToWarpSpecPassBase::ConvertGsgToWarpSpecPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isa<MatmulOp, MatmulListOp>(op))
        products.push_back(op);
    });
    for (Operation *op : products) {
      auto matmul = dyn_cast<MatmulOp>(op);
      if (!matmul) {
        op->emitOpError("kernels for ")
            << target
            << " do not support matmul_list; run gsg-split-list first";
        return signalPassFailure();
      }
      if (failed(lowerMatmul(getOperation(), matmul, target)))
        return signalPassFailure();
    }
  }
};
} // namespace
