//===- UseDeviceMemory.cpp - nvfp4-use-device-memory ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory space is written into every type first; then operations that
// upstream has for memory of the device take the place of those for the host's.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Transforms/Passes.h"

#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"

namespace nvfp4 {
#define GEN_PASS_DEF_USEDEVICEMEMORYPASS
#include "nvfp4/Transforms/Passes.h.inc"
} // namespace nvfp4

using namespace mlir;
using namespace nvfp4;

static void writeMemorySpaces(func::FuncOp function) {
  Attribute space = getDeviceSpace(function.getContext());
  AttrTypeReplacer replacer;
  replacer.addReplacement([=](MemRefType type) -> std::optional<Type> {
    if (type.getMemorySpace())
      return std::nullopt;
    return MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout(), space);
  });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

static void replaceOperation(IRRewriter &b, Operation *op) {
  b.setInsertionPoint(op);
  Type none;
  ValueRange no;
  if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
    auto made = gpu::AllocOp::create(b, op->getLoc(), alloc.getType(), none, no,
                                     alloc.getDynamicSizes(),
                                     alloc.getSymbolOperands());
    b.replaceOp(op, made.getMemref());
  } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
    gpu::DeallocOp::create(b, op->getLoc(), none, no, dealloc.getMemref());
    b.eraseOp(op);
  } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    gpu::MemcpyOp::create(b, op->getLoc(), none, no, copy.getTarget(),
                          copy.getSource());
    b.eraseOp(op);
  } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    Value value = fill.getInputs()[0];
    if (!matchPattern(value, m_Zero()) &&
        !matchPattern(value, m_PosZeroFloat()))
      return;
    gpu::MemsetOp::create(b, op->getLoc(), none, no, fill.getOutputs()[0],
                          value);
    b.eraseOp(op);
  }
}

/// Lets the memory that `function` returns be the caller's.
static void returnCallersMemory(IRRewriter &b, func::FuncOp function) {
  Type none;
  ValueRange no;
  function.walk([&](func::ReturnOp op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      auto type = dyn_cast<MemRefType>(value.getType());
      if (!type)
        continue;
      auto number =
          b.getI32IntegerAttr(static_cast<int32_t>(operand.getOperandNumber()));
      Location loc = op.getLoc();
      auto alloc = value.getDefiningOp<gpu::AllocOp>();
      bool isOnlyReturned =
          alloc && llvm::count_if(value.getUses(), [](OpOperand &use) {
                     return isa<func::ReturnOp>(use.getOwner());
                   }) == 1;
      if (isOnlyReturned) {
        b.setInsertionPoint(alloc);
        auto result = warpspec::ResultOp::create(
            b, alloc.getLoc(), type, number, alloc.getDynamicSizes());
        b.replaceOp(alloc, result.getMemref());
        continue;
      }
      b.setInsertionPoint(op);
      SmallVector<Value> sizes;
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (type.isDynamicDim(d))
          sizes.push_back(memref::DimOp::create(b, loc, value, d));
      auto result = warpspec::ResultOp::create(b, loc, type, number, sizes);
      gpu::MemcpyOp::create(b, loc, none, no, result.getMemref(), value);
      // The caller would have freed it.
      gpu::DeallocOp::create(b, loc, none, no, value);
      operand.set(result.getMemref());
    }
  });
}

namespace {
struct UseDeviceMemory : nvfp4::impl::UseDeviceMemoryPassBase<UseDeviceMemory> {
  LogicalResult verify(func::FuncOp function, SymbolTableCollection &symbols) {
    WalkResult result = function.walk([&](Operation *op) {
      if (auto constant = dyn_cast<memref::GetGlobalOp>(op)) {
        op->emitOpError("expected no constant tensor in a function on device "
                        "memory; make it an argument");
        return WalkResult::interrupt();
      }
      auto call = dyn_cast<func::CallOp>(op);
      auto callee = call ? symbols.lookupNearestSymbolFrom<func::FuncOp>(
                               op, call.getCalleeAttr())
                         : func::FuncOp();
      if (callee && callee.isPublic() && !callee.isExternal()) {
        op->emitOpError("expected a call of a private function on device "
                        "memory, but got ")
            << call.getCalleeAttr();
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  void runOnOperation() override {
    SymbolTableCollection symbols;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(verify(function, symbols)))
        return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (func::FuncOp function : functions) {
      writeMemorySpaces(function);
      SmallVector<Operation *> ops;
      function.walk([&](Operation *op) {
        if (isa<memref::AllocOp, memref::DeallocOp, memref::CopyOp,
                linalg::FillOp>(op))
          ops.push_back(op);
      });
      for (Operation *op : ops)
        replaceOperation(rewriter, op);
      if (function.isPublic())
        returnCallersMemory(rewriter, function);
    }
  }
};
} // namespace
