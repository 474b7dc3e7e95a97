//===- SplitKernels.cpp - Kernels in modules of their own -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are joined by the definitions that they refer to, so that no two
// modules define the same name.
//
//===----------------------------------------------------------------------===//

#include "SplitKernels.h"

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nvfp4::target;

bool nvfp4::target::isKernel(Operation *op) {
  return op->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
}

/// True if code may repeat `op` in several modules: a declaration.
static bool isDeclaration(Operation *op) {
  if (auto global = dyn_cast<LLVM::GlobalOp>(op))
    return !global.getValueAttr() && !global.getInitializerBlock();
  auto function = dyn_cast<FunctionOpInterface>(op);
  return function && function.isExternal();
}

/// `op` and what it refers to, directly or not.
static SetVector<Operation *> getReached(Operation *op, SymbolTable &symbols) {
  SetVector<Operation *> reached;
  reached.insert(op);
  for (size_t next = 0; next < reached.size(); ++next) {
    auto uses = SymbolTable::getSymbolUses(reached[next]);
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses)
      if (Operation *used =
              symbols.lookup(use.getSymbolRef().getLeafReference()))
        reached.insert(used);
  }
  return reached;
}

SmallVector<OwningOpRef<ModuleOp>>
nvfp4::target::splitKernels(gpu::GPUModuleOp module) {
  SymbolTable symbols(module);
  SmallVector<Operation *> members;
  for (Operation &op : *module.getBody())
    if (!isa<nvfp4::warpspec::KernelInfoOp>(op))
      members.push_back(&op);

  llvm::EquivalenceClasses<Operation *> classes;
  DenseMap<Operation *, SmallVector<Operation *>> declared;
  Operation *first = nullptr;
  for (Operation *op : members) {
    if (!isKernel(op))
      continue;
    first = first ? first : op;
    classes.insert(op);
    for (Operation *used : getReached(op, symbols)) {
      if (isDeclaration(used))
        declared[used].push_back(op);
      else
        classes.unionSets(op, used);
    }
  }
  // Definitions that no kernel reaches go with the first one.
  for (Operation *op : members) {
    if (!first || isDeclaration(op) || classes.contains(op))
      continue;
    classes.unionSets(first, op);
    for (Operation *used : getReached(op, symbols)) {
      if (isDeclaration(used))
        declared[used].push_back(first);
      else
        classes.unionSets(first, used);
    }
  }
  // The kernels of a class in the order of the first of them.
  llvm::MapVector<Operation *, SmallVector<Operation *>> parts;
  for (Operation *op : members)
    if (isKernel(op))
      parts[classes.getLeaderValue(op)];
  for (Operation *op : members) {
    SmallVector<Operation *> leaders;
    if (isDeclaration(op)) {
      for (Operation *kernel : declared[op])
        leaders.push_back(classes.getLeaderValue(kernel));
    } else if (classes.contains(op)) {
      leaders.push_back(classes.getLeaderValue(op));
    }
    if (leaders.empty())
      leaders.push_back(first ? classes.getLeaderValue(first) : nullptr);
    for (Operation *leader : leaders) {
      SmallVector<Operation *> &part = parts[leader];
      if (part.empty() || part.back() != op)
        part.push_back(op);
    }
  }

  if (parts.empty())
    parts[nullptr];
  SmallVector<OwningOpRef<ModuleOp>> copies;
  for (const auto &[leader, part] : parts) {
    OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
    for (Operation *op : part)
      builder.clone(*op);
    copies.push_back(std::move(copy));
  }
  return copies;
}
