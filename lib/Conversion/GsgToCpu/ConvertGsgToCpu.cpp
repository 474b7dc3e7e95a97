//===- ConvertGsgToCpu.cpp - convert-gsg-to-cpu -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass: a walk that takes products apart, one that lowers everything, then
// every operation that is left is an error.
//
//===----------------------------------------------------------------------===//

#include "Product/ProductOperands.h"
#include "nvfp4/Conversion/GsgToCpu/GsgToCpu.h"
#include "nvfp4/Conversion/GsgToCpu/Lower/OpLowerings.h"
#include "nvfp4/Conversion/GsgToLoops/Patterns.h"
#include "nvfp4/Conversion/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/HostMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace nvfp4 {
#define GEN_PASS_DEF_CONVERTGSGTOCPUPASS
#include "nvfp4/Conversion/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

/// The fastest of this machine that no process has to ask for.
static Isa findAutoIsa() { return findFastestUntiled(detectHostIsa()); }

namespace {
struct ConvertGsgToCpu : nvfp4::impl::ConvertGsgToCpuPassBase<ConvertGsgToCpu> {
  using ConvertGsgToCpuPassBase::ConvertGsgToCpuPassBase;

  /// Before any pass of a pipeline has run, and with no operation to print.
  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &name : isas)
      if (name != "auto" && !parseIsa(name))
        return emitError(UnknownLoc::get(context),
                         "expected isa to be auto, generic, avx2, "
                         "avx512vnni, avx512bf16 or amx, but got '")
               << name << "'";
    return success();
  }

  void runOnOperation() override {
    SmallVector<Isa> chosen;
    for (const std::string &name : isas)
      chosen.push_back(name == "auto" ? findAutoIsa() : *parseIsa(name));
    if (chosen.empty())
      chosen.push_back(findAutoIsa());
    // Tensors that gsg-verify-target saw may have become buffers of any space.
    WalkResult inHostMemory = getOperation().walk([](Operation *op) {
      return isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect())
                 ? WalkResult(verifyHostMemory(op))
                 : WalkResult::advance();
    });
    if (inHostMemory.wasInterrupted())
      return signalPassFailure();
    WalkResult areExpanded = getOperation().walk(
        [](Operation *op) { return WalkResult(verifyExpanded(op)); });
    if (areExpanded.wasInterrupted())
      return signalPassFailure();
    // A walk does not visit what its patterns add.
    RewritePatternSet separation(&getContext());
    populateSeparateMatmulPatterns(separation);
    walkAndApplyPatterns(getOperation(), std::move(separation));
    RewritePatternSet patterns(&getContext());
    populateGsgToCpuPatterns(patterns, chosen);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    getOperation().walk([&](Operation *op) {
      if (!isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect()) ||
          isInEpilogue(op))
        return;
      std::string reason = explainUnsupported(op);
      op->emitOpError(reason.empty()
                          ? "expected an operation with a lowering to CPUs"
                          : reason);
      signalPassFailure();
    });
  }
};
} // namespace

void cpu::populateGsgToCpuPatterns(RewritePatternSet &patterns,
                                   ArrayRef<Isa> isas) {
  populateMatmulToCpuPatterns(patterns, isas);
  populateMatmulListToCpuPatterns(patterns, isas);
  populatePermutationToCpuPatterns(patterns);
  loops::populateQuantizationPatterns(patterns, /*onDevice=*/false);
  loops::populateRelayoutPatterns(patterns, /*onDevice=*/false);
  populateRelayoutWeightsToCpuPatterns(patterns);
  populateActivationToCpuPatterns(patterns);
  populateSumRowsToCpuPatterns(patterns);
  populateAmaxToCpuPatterns(patterns);
  populateRoutingToCpuPatterns(patterns);
}
