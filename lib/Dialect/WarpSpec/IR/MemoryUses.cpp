//===- MemoryUses.cpp - Who uses the memory of a memref ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/WarpSpec/IR/MemoryUses.h"

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace nvfp4;

Value warpspec::getRoot(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

bool warpspec::isName(Operation *op) {
  return isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>();
}

void warpspec::collectUses(Value memref, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : memref.getUses()) {
    Operation *user = use.getOwner();
    uses.push_back(&use);
    // Kernels that read the table read what its addresses name.
    if (auto write = dyn_cast<WriteTableOp>(user);
        write && write.getTable() != memref)
      collectUses(write.getTable(), uses);
    if (isName(user) && !isa<memref::DimOp>(user))
      for (Value result : user->getResults())
        collectUses(result, uses);
  }
}

/// Whether the user may write or free the memory of `root`.
static bool mayWrite(OpOperand &use, Value root) {
  Operation *user = use.getOwner();
  if (warpspec::isName(user) || isa<warpspec::WriteTableOp>(user))
    return false;
  // A kernel may store by a tensor map or an address; what it does to its
  // parameters is known.
  bool isLaunch = isa<warpspec::LaunchOp>(user);
  if (isLaunch && warpspec::getRoot(use.get()) != root)
    return true;
  auto interface = dyn_cast<MemoryEffectOpInterface>(user);
  if (!interface)
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::any_of(effects, [&](MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write, MemoryEffects::Free>(effect.getEffect()) &&
           (effect.getValue() ? effect.getValue() == use.get() : !isLaunch);
  });
}

bool warpspec::mayChange(Value memref, Operation *from, Operation *to) {
  Block *block = from->getBlock();
  Operation *end = block->findAncestorOpInBlock(*to);
  if (!end)
    return true;
  SmallVector<OpOperand *> uses;
  Value root = getRoot(memref);
  collectUses(root, uses);
  return llvm::any_of(uses, [&](OpOperand *use) {
    Operation *here = block->findAncestorOpInBlock(*use->getOwner());
    bool isBetween =
        here && from->isBeforeInBlock(here) && !end->isBeforeInBlock(here);
    return isBetween && mayWrite(*use, root);
  });
}
