//===- InlineAllocaScopes.cpp - Bodies of parallel loops --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// convert-scf-to-openmp wraps the bodies of parallel loops in alloca scopes,
// which hold one block only, so nothing inside may become control flow.
// Canonicalization inlines a scope only if every operation in it tells its
// memory effects, which LLVM's masked loads and stores do not; here stack
// allocations are found by name.
//
//===----------------------------------------------------------------------===//

#include "InlineAllocaScopes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
struct InlineAllocaScopesPass
    : PassWrapper<InlineAllocaScopesPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InlineAllocaScopesPass)

  StringRef getName() const override { return "InlineAllocaScopes"; }

  void runOnOperation() override {
    SmallVector<memref::AllocaScopeOp> scopes;
    getOperation()->walk([&](memref::AllocaScopeOp scope) {
      WalkResult found = scope.getBodyRegion().walk([](Operation *op) {
        return isa<memref::AllocaOp, LLVM::AllocaOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (!found.wasInterrupted())
        scopes.push_back(scope);
    });
    IRRewriter rewriter(&getContext());
    for (memref::AllocaScopeOp scope : scopes) {
      Block *body = &scope.getBodyRegion().front();
      Operation *terminator = body->getTerminator();
      SmallVector<Value> results(terminator->getOperands());
      rewriter.inlineBlockBefore(body, scope);
      rewriter.eraseOp(terminator);
      rewriter.replaceOp(scope, results);
    }
  }
};
} // namespace

std::unique_ptr<Pass> nvfp4::createInlineAllocaScopesPass() {
  return std::make_unique<InlineAllocaScopesPass>();
}
