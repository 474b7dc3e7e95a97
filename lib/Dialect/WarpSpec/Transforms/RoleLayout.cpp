//===- RoleLayout.cpp - Where roles run, with how many registers -*- C++ -*-==//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers are given to whole warpgroups, out of what the block got at launch.
//
//===----------------------------------------------------------------------===//

#include "RoleLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// Registers of a multiprocessor.
static constexpr int kRegisters = 65536;
/// A thread addresses 255 registers; they are given in units of 8.
static constexpr int kMostRegisters = 248;
static constexpr int kLeastRegisters = 24;

SmallVector<ForEachTileOp> nvfp4::warpspec::getRingLoops(RolesOp roles) {
  SmallVector<ForEachTileOp> loops;
  roles.walk([&](ForEachTileOp loop) {
    if (loop.getRing())
      loops.push_back(loop);
  });
  return loops;
}

RoleLayout::RoleLayout(RolesOp roles) : first(roles.getBodies().size()) {
  for (bool whole : {true, false})
    for (unsigned i = 0; i < first.size(); ++i)
      if ((roles.getWarps()[i] % kWarpgroup == 0) == whole) {
        first[i] = warps;
        warps += roles.getWarps()[i];
      }
  if (!getRingLoops(roles).empty())
    finder = warps++;
  int padded = llvm::alignTo(warps, kWarpgroup);
  registers = std::min(kMostRegisters, kRegisters / (padded * 32) / 8 * 8);
  reallocates = *llvm::max_element(roles.getRegisters()) > registers;
  if (reallocates)
    warps = padded;
  for (int begin = 0; begin < padded; begin += kWarpgroup) {
    int most = kLeastRegisters;
    for (auto [start, count, asked] :
         llvm::zip_equal(first, roles.getWarps(), roles.getRegisters()))
      if (start < begin + kWarpgroup && begin < start + count)
        most = std::max(most, asked ? asked : registers);
    ofWarpgroup.push_back(most);
  }
}

int RoleLayout::getAvailable() const {
  return static_cast<int>(ofWarpgroup.size()) * kWarpgroup * 32 * registers;
}

int RoleLayout::getNeeded() const {
  if (!reallocates)
    return getAvailable();
  int sum = 0;
  for (int each : ofWarpgroup)
    sum += each * kWarpgroup * 32;
  return sum;
}
