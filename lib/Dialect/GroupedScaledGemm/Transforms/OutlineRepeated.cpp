//===- OutlineRepeated.cpp - gsg-outline-repeated ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists of problems and experts with weights of their own repeat an operation
// hundreds of times. Its code is hundreds of lines, a call is one.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_OUTLINEREPEATEDPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// Whether a function of its own can hold `op`, which then is the same code:
/// all that it works on are its operands.
static bool canBeOutlined(Operation *op) {
  // A product is functions of its own already.
  return isa_and_nonnull<GroupedScaledGemmDialect>(op->getDialect()) &&
         !isInEpilogue(op) && !isa<MatmulOp>(op) && op->getNumResults() == 0 &&
         llvm::all_of(op->getOperandTypes(), [](Type type) {
           return isa<MemRefType>(type) || type.isIntOrIndexOrFloat();
         });
}

namespace {
/// Operations with equal keys do the same to their operands.
struct EqualOperations : DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::ignoreHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getTombstoneKey() || a == getEmptyKey() ||
        b == getTombstoneKey() || b == getEmptyKey())
      return false;
    auto *first = const_cast<Operation *>(a);
    auto *second = const_cast<Operation *>(b);
    return llvm::equal(first->getOperandTypes(), second->getOperandTypes()) &&
           OperationEquivalence::isEquivalentTo(
               first, second, OperationEquivalence::ignoreValueEquivalence,
               /*markEquivalent=*/nullptr,
               OperationEquivalence::IgnoreLocations);
  }
};

struct OutlineRepeated
    : nvfp4::gsg::impl::OutlineRepeatedPassBase<OutlineRepeated> {
  using OutlineRepeatedPassBase::OutlineRepeatedPassBase;

  void runOnOperation() override {
    llvm::MapVector<Operation *, SmallVector<Operation *>,
                    llvm::DenseMap<Operation *, unsigned, EqualOperations>>
        equal;
    getOperation().walk([&](Operation *op) {
      if (canBeOutlined(op))
        equal[op].push_back(op);
    });
    SymbolTable symbols(getOperation());
    for (auto &[first, ops] : equal)
      if (ops.size() >= least)
        outline(ops, symbols);
  }

private:
  static void outline(ArrayRef<Operation *> ops, SymbolTable &symbols) {
    Operation *first = ops.front();
    OpBuilder b(first->getContext());
    auto type = b.getFunctionType(first->getOperandTypes(), TypeRange());
    auto function = func::FuncOp::create(first->getLoc(),
                                         first->getName().stripDialect(), type);
    function.setPrivate();
    // Inlined as often as it is called, it would be what it was.
    function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
    symbols.insert(function);
    b.setInsertionPointToStart(function.addEntryBlock());
    IRMapping operands;
    operands.map(first->getOperands(), function.getArguments());
    b.clone(*first, operands);
    func::ReturnOp::create(b, first->getLoc());
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      func::CallOp::create(b, op->getLoc(), function, op->getOperands());
      op->erase();
    }
  }
};
} // namespace
