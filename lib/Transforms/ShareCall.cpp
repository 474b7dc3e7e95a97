//===- ShareCall.cpp - nvfp4-share-call -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime identifies the call of a thread by the thread. Threads that
// OpenMP starts have to be told their call.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace nvfp4 {
#define GEN_PASS_DEF_SHARECALLPASS
#include "nvfp4/Transforms/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;

/// Functions of the runtime that find the call by the thread.
static bool asksForCall(StringRef callee) {
  constexpr StringLiteral prefixes[] = {
      "mgpu",          "nvfp4_check_",    "nvfp4_kernel_",
      "nvfp4_memory_", "nvfp4_relayout_", "nvfp4_stage_"};
  return llvm::any_of(prefixes, [&](StringLiteral prefix) {
    return callee.starts_with(prefix);
  });
}

namespace {
struct ShareCall : nvfp4::impl::ShareCallPassBase<ShareCall> {
  void runOnOperation() override {
    findFunctions();
    SmallVector<omp::ParallelOp> regions;
    getOperation().walk([&](omp::ParallelOp parallel) {
      if (mayAsk(parallel))
        regions.push_back(parallel);
    });
    for (omp::ParallelOp parallel : regions)
      share(parallel);
  }

private:
  /// Functions of the module from which the runtime may be asked.
  llvm::StringSet<> asking;

  bool mayAsk(Operation *root) {
    WalkResult found = root->walk([&](CallOpInterface call) {
      auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
      // An indirect call may lead anywhere.
      return !symbol || asksForCall(symbol.getLeafReference()) ||
                     asking.contains(symbol.getLeafReference())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return found.wasInterrupted();
  }

  void findFunctions() {
    asking.clear();
    for (bool changed = true; changed;) {
      changed = false;
      for (auto function : getOperation().getOps<FunctionOpInterface>())
        if (!asking.contains(function.getName()) && mayAsk(function))
          changed = asking.insert(function.getName()).second;
    }
  }

  LLVM::LLVMFuncOp declare(StringRef name, ArrayRef<Type> arguments) {
    if (auto known = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    return LLVM::LLVMFuncOp::create(
        builder, getOperation().getLoc(), name,
        LLVM::LLVMFunctionType::get(pointer, arguments));
  }

  void share(omp::ParallelOp parallel) {
    Location loc = parallel.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    LLVM::LLVMFuncOp current = declare("nvfp4_call_current", {});
    LLVM::LLVMFuncOp enter = declare("nvfp4_call_enter", {pointer});
    OpBuilder builder(parallel);
    Value call =
        LLVM::CallOp::create(builder, loc, current, ValueRange()).getResult();
    builder.setInsertionPointToStart(&parallel.getRegion().front());
    Value before = LLVM::CallOp::create(builder, loc, enter, call).getResult();
    for (Block &block : parallel.getRegion()) {
      auto end = dyn_cast<omp::TerminatorOp>(block.getTerminator());
      if (!end)
        continue;
      builder.setInsertionPoint(end);
      LLVM::CallOp::create(builder, loc, enter, before);
    }
  }
};
} // namespace
