//===- RoleLayout.h - Where roles run, with how many registers --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One answer to which warps run a role and how many registers they have: V6
// checks it, and warpspec-lower-roles dispatches by it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLELAYOUT_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLELAYOUT_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::warpspec {

/// Warps of one warpgroup, among whose threads registers are reallocated.
inline constexpr int kWarpgroup = 4;

/// Warps and registers of the roles of a kernel. Roles of whole warpgroups come
/// first, so that they begin at one.
struct RoleLayout {
  /// `roles` has at most 32 warps (V6).
  explicit RoleLayout(RolesOp roles);

  /// The first warp of each role.
  llvm::SmallVector<int> first;
  /// The warp that finds tiles for all roles, or -1.
  int finder = -1;
  /// Warps of the block; whole warpgroups where registers are reallocated.
  int warps = 0;
  /// Registers of each thread at launch: an even share, a multiple of 8.
  int registers = 0;
  /// Some role asks for more than its share.
  bool reallocates = false;
  /// Registers of each thread of each warpgroup: the most that one of its roles
  /// asks for, where a role that asks for none has its share.
  llvm::SmallVector<int> ofWarpgroup;

  /// Registers of the block at launch.
  int getAvailable() const;
  /// Registers of the block after reallocation.
  int getNeeded() const;
};

/// The tile loops of the kernel that take their tiles from a ring.
llvm::SmallVector<ForEachTileOp> getRingLoops(RolesOp roles);

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLELAYOUT_H
