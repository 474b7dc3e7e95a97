//===- VerifyResources.cpp - V6: warps, registers and memory ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleLayout.h"
#include "ScheduleChecks.h"

using namespace mlir;
using namespace nvfp4::warpspec;

static constexpr int64_t kMaxWarps = 32;

/// Lanes of tensor memory belong to the four warps of a warpgroup.
static LogicalResult verifyTmemRoles(RolesOp roles) {
  WalkResult walk = roles.walk([&](Operation *op) {
    if (!isa<TmemLoadOp, TmemStoreOp>(op))
      return WalkResult::advance();
    int role = roles.getRoleNumber(op);
    if (roles.getWarps()[role] % 4 == 0)
      return WalkResult::advance();
    op->emitOpError(
        "V6: expected a role of a multiple of 4 warps, which reach all "
        "lanes of tensor memory, but role @")
        << roles.getRoleName(role) << " has " << roles.getWarps()[role];
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult verifyRoles(RolesOp roles) {
  int64_t warps = getRingLoops(roles).empty() ? 0 : 1;
  for (int32_t count : roles.getWarps())
    warps += count;
  if (warps > kMaxWarps)
    return roles.emitOpError("V6: expected at most ")
           << kMaxWarps << " warps, but got " << warps;
  RoleLayout layout(roles);
  if (layout.getNeeded() > layout.getAvailable())
    return roles.emitOpError("V6: expected at most ")
           << layout.getAvailable() << " registers, "
           << layout.ofWarpgroup.size() << " warpgroups of 128 threads with "
           << layout.registers << " each at launch, but got "
           << layout.getNeeded();
  return verifyTmemRoles(roles);
}

LogicalResult nvfp4::warpspec::verifyResources(KernelOp kernel) {
  if (RolesOp roles = kernel.getRoles(); roles && failed(verifyRoles(roles)))
    return failure();
  int64_t shared = kernel.getSharedBytes().value_or(0);
  int64_t columns = kernel.getTmemColumns().value_or(0);
  int64_t sharedNeeded = 0, columnsNeeded = 0;
  for (auto alloc : kernel.getOps<SmemAllocOp>())
    sharedNeeded += alloc.getOffset() ? 0 : getSharedBytes(alloc.getType());
  for (auto alloc : kernel.getOps<TmemAllocOp>())
    columnsNeeded += alloc.getColumn() ? 0 : alloc.getNumColumns();
  if (std::max(shared, sharedNeeded) > kSharedBytesLimit)
    return kernel.emitOpError("V6: expected at most ")
           << kSharedBytesLimit << " bytes of shared memory, but got "
           << std::max(shared, sharedNeeded);
  if (std::max(columns, columnsNeeded) > kTmemColumns)
    return kernel.emitOpError("V6: expected at most ")
           << kTmemColumns << " columns of tensor memory, but got "
           << std::max(columns, columnsNeeded);
  return success();
}
