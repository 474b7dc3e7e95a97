//===- InlineAllocaScopes.cpp - nvfp4-inline-alloca-scopes ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonicalization asks each operation of a scope for its memory effects; here
// stack allocations are found by name, so that operations which do not tell
// their effects are no obstacle.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace nvfp4 {
#define GEN_PASS_DEF_INLINEALLOCASCOPESPASS
#include "nvfp4/Transforms/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;

namespace {
struct InlineAllocaScopes
    : nvfp4::impl::InlineAllocaScopesPassBase<InlineAllocaScopes> {
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
