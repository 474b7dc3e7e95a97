//===- VerifyPair.cpp - Roles of a pair of blocks ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a pair, roles of the tensor core run in the even block for both. What
// other agents do belongs to each block, so no role may do both.
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

using namespace mlir;
using namespace nvfp4::warpspec;

bool nvfp4::warpspec::isLeading(Region &role) {
  WalkResult walk = role.walk([](AgentOpInterface op) {
    return op.getAgent() == Agent::TensorCore ? WalkResult::interrupt()
                                              : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

LogicalResult nvfp4::warpspec::verifyPair(KernelOp kernel) {
  RolesOp roles = kernel.getRoles();
  if (!roles || !kernel.getPair())
    return success();
  for (Region &role : roles.getBodies()) {
    if (!isLeading(role))
      continue;
    WalkResult walk = role.walk([&](AgentOpInterface op) {
      if (op.getAgent() == Agent::TensorCore)
        return WalkResult::advance();
      op->emitOpError("V3: expected only operations of tensor_core in role @")
          << roles.getRoleName(role.getRegionNumber())
          << ", which runs in the even block of a pair, but got one of "
          << stringifyAgent(op.getAgent());
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}
