//===- VerifyTarget.cpp - Can a target execute the module? ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the dialect can say and a machine cannot do. Verifiers know no machine,
// so such constraints are here; comments name those of docs/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/HostMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/CodedWeights.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_VERIFYTARGETPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

namespace {
/// Weights that are coded for one target are of no use to the others.
LogicalResult verifyUncodedWeights(Operation *op, const KernelTarget *target) {
  // target_c8
  if (std::string reason = explainCodedWeights(op, target); !reason.empty())
    return op->emitOpError(reason);
  return success();
}

/// Kernels count in 32 bits: the columns of an operand, and its rows together.
LogicalResult verifyExtents(Operation *op) {
  if (!isa<MatmulOp, MatmulListOp>(op))
    return success();
  for (Type type : op->getOperandTypes()) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (auto scaled = dyn_cast<ScaledType>(type))
      shaped = RankedTensorType::get(scaled.getShape(),
                                     IntegerType::get(op->getContext(), 8));
    if (!shaped || !shaped.hasRank() || shaped.getRank() < 2)
      continue;
    int64_t rows = 1;
    for (int64_t extent : shaped.getShape().drop_back())
      if (ShapedType::isStatic(extent) && llvm::MulOverflow(rows, extent, rows))
        rows = std::numeric_limits<int64_t>::max();
    int64_t columns = shaped.getShape().back();
    // target_c9
    for (int64_t count : {rows, columns})
      if (count > std::numeric_limits<int32_t>::max())
        return op->emitOpError("expected extents and numbers of rows below "
                               "2147483648 on a GPU, but got ")
               << count << " in " << type;
  }
  return success();
}

struct VerifyTarget : nvfp4::gsg::impl::VerifyTargetPassBase<VerifyTarget> {
  using VerifyTargetPassBase::VerifyTargetPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    // None for the CPU.
    const KernelTarget *kernels = strategy::findKernelTarget(target);
    // target_c1
    if (!kernels && target != "cpu") {
      getOperation()->emitError("expected target ")
          << strategy::listGpus("cpu") << ", but got '" << target << "'";
      return signalPassFailure();
    }
    bool failedAny = false;
    getOperation()->walk([&](Operation *op) {
      if (!isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect()))
        return;
      failedAny |= failed(verifyHostMemory(op)) ||
                   (kernels && failed(verifyExtents(op))) ||
                   failed(verifyUncodedWeights(op, kernels));
    });
    if (failedAny)
      signalPassFailure();
  }
};
} // namespace
