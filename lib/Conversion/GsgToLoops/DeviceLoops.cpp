//===- DeviceLoops.cpp - Parallel loops as launches -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One dimension of blocks: CUDA allows 2^31 - 1 of them.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToLoops/DeviceLoops.h"

#include "nvfp4/Dialect/DeviceMemory.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::loops;

static constexpr int64_t kThreads = 128;

Location loops::getLaunchLoc(Operation *op) {
  return NameLoc::get(
      StringAttr::get(op->getContext(), op->getName().getStringRef()),
      op->getLoc());
}

void loops::nameKernel(gpu::LaunchOp launch, StringRef name) {
  MLIRContext *context = launch.getContext();
  launch.setModuleAttr(FlatSymbolRefAttr::get(context, kKernelModule));
  launch.setFunctionAttr(
      FlatSymbolRefAttr::get(context, ("nvfp4_" + name).str()));
}

void loops::beginKernel(LoopBuilder &b) {
  for (auto kind : {NVVM::GridDepActionKind::wait,
                    NVVM::GridDepActionKind::launch_dependents})
    NVVM::GriddepcontrolOp::create(b.builder, b.loc, kind);
}

DeviceLoopBuilder::DeviceLoopBuilder(OpBuilder &builder, Operation *op,
                                     StringRef name)
    : LoopBuilder(builder, getLaunchLoc(op)),
      name(name.empty() ? op->getName().stripDialect() : name) {}

void DeviceLoopBuilder::parallel(Value size, Body body) {
  Value one = index(1), threads = index(kThreads);
  Value blocks = arith::CeilDivUIOp::create(builder, loc, size, threads);
  auto launch =
      gpu::LaunchOp::create(builder, loc, blocks, one, one, threads, one, one);
  nameKernel(launch, name);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&launch.getBody().front());
  beginKernel(*this);
  Value number =
      add(mul(launch.getBlockIds().x, threads), launch.getThreadIds().x);
  ifThen(cmp(IntPredicate::ult, number, size), [&] { body(number); });
  gpu::TerminatorOp::create(builder, loc);
}

std::unique_ptr<LoopBuilder>
loops::makeLoopBuilder(OpBuilder &builder, Operation *op, Value memref) {
  if (isDeviceMemory(memref.getType()))
    return std::make_unique<DeviceLoopBuilder>(builder, op);
  return std::make_unique<LoopBuilder>(builder, op->getLoc());
}
