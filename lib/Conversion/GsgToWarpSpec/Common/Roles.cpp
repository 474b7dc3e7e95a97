//===- Roles.cpp - Buffers, pipelines and roles of a kernel -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation of warpspec for each.
//
//===----------------------------------------------------------------------===//

#include "Roles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::warpspec;

Value kernels::allocateShared(const KernelContext &c, ArrayRef<int64_t> shape,
                              Type element, unsigned swizzle) {
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(),
                              SmemAttr::get(c.b.getContext(), swizzle));
  return SmemAllocOp::create(c.b, c.loc, type, IntegerAttr());
}

Value kernels::makePipeline(const KernelContext &c, ValueRange buffers,
                            int64_t depth, Agent producer, Agent consumer) {
  return PipelineOp::create(c.b, c.loc, buffers, depth, producer, consumer,
                            IntegerAttr());
}

void kernels::buildRoles(const KernelContext &c, ArrayRef<Role> roles) {
  OpBuilder &b = c.b;
  Location loc = c.loc;
  SmallVector<StringRef> names;
  SmallVector<int32_t> warps, registers;
  for (const Role &role : roles) {
    names.push_back(role.name);
    warps.push_back(static_cast<int32_t>(role.warps));
    registers.push_back(static_cast<int32_t>(role.registers));
  }
  // A launch that overlaps the one before waits here, after its barriers and
  // tensor memory are there, and lets the next begin. Others have nothing to
  // wait for.
  for (auto kind : {NVVM::GridDepActionKind::wait,
                    NVVM::GridDepActionKind::launch_dependents})
    NVVM::GriddepcontrolOp::create(b, loc, kind);
  auto built = RolesOp::create(b, loc, b.getStrArrayAttr(names), warps,
                               registers, static_cast<unsigned>(roles.size()));
  OpBuilder::InsertionGuard guard(b);
  for (auto [role, region] : llvm::zip_equal(roles, built.getBodies())) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    RolesOp::ensureTerminator(region, b, loc);
    b.setInsertionPoint(region.front().getTerminator());
    role.build();
  }
}

void kernels::fillStages(const KernelContext &c, Value input, Value from,
                         Value to,
                         function_ref<void(Value k, AcquireOp fill)> body) {
  OpBuilder &b = c.b;
  auto loop = scf::ForOp::create(b, c.loc, from, to, c.i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto fill = open<AcquireOp>(c, input);
  body(loop.getInductionVar(), fill);
  CommitOp::create(b, c.loc, fill.getToken());
}
