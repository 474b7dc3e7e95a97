//===- VerifyRing.cpp - V3: tiles that one warp finds for all ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warp that fills a ring knows one loop over tiles, and waits for the warps
// of all loops: so these are the same loop, and each takes every slot once.
//
//===----------------------------------------------------------------------===//

#include "RoleLayout.h"
#include "RoleProgram.h"
#include "ScheduleChecks.h"

using namespace mlir;
using namespace nvfp4::warpspec;

LogicalResult nvfp4::warpspec::verifyRing(RolesOp roles) {
  SmallVector<ForEachTileOp> loops = getRingLoops(roles);
  if (loops.empty())
    return success();
  llvm::SmallPtrSet<Region *, 4> seen;
  for (ForEachTileOp loop : loops) {
    if (loop->getParentOp() != roles)
      return loop.emitOpError("V3: expected a loop with a ring in no other "
                              "loop or branch, but got one in ")
             << loop->getParentOp()->getName();
    if (!seen.insert(loop->getParentRegion()).second)
      return loop.emitOpError("V3: expected one loop with a ring in role @")
             << roles.getRoleName(loop->getParentRegion()->getRegionNumber())
             << ", but got another: the ring has each tile once";
    if (loop.getRing() != loops.front().getRing() ||
        getLoopKey(loop) != getLoopKey(loops.front())) {
      InFlightDiagnostic diag =
          loop.emitOpError("V3: expected the same ring, groups, extents, costs "
                           "and cuts in all loops with a ring");
      diag.attachNote(loops.front().getLoc()) << "other loop";
      return diag;
    }
  }
  for (Operation *user : loops.front().getRing().getUsers())
    if (!isa<ForEachTileOp>(user))
      return user->emitOpError("V3: expected a ring of tiles to be used by "
                               "for_each_tile only");
  return success();
}
