//===- VerifyPair.cpp - Roles of a pair of blocks ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a pair, roles of the tensor core run in the even block for both. What
// other agents do belongs to each block, so no role may do both. Tiles from a
// ring are handed over in each block.
//
//===----------------------------------------------------------------------===//

#include "RoleLayout.h"
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
    for (ForEachTileOp loop : getRingLoops(roles))
      if (role.isAncestor(loop->getParentRegion()))
        return loop.emitOpError("V4: expected no ring in role @")
               << roles.getRoleName(role.getRegionNumber())
               << ", which does not run in the odd block of a pair, where the "
                  "ring would wait for it; leave out 'through'";
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
