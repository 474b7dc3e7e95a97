//===- Kernel.h - The roles of a kernel for wgmma ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two roles: a warp loads stages; warpgroups decode weights, multiply 64
// columns of the product each, and finish them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_KERNEL_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_KERNEL_H

#include "../Common/Epilogue.h"
#include "../Common/Roles.h"
#include "Parameters.h"

namespace nvfp4::gsg::wgmma {

/// Buffers of shared memory and pipelines.
struct Buffers {
  /// Stages; sums on their way to the epilogue; tiles on theirs to roles.
  mlir::Value input, staged, ring;
};

/// A tile's rows within its group, i32: the first, how many it has, and how
/// many are multiplied.
struct TileRows {
  mlir::Value first, count, width;
};

/// A kernel whose buffers exist.
struct Kernel : kernels::KernelContext {
  Kernel(const KernelContext &context, const Plan &plan, const Parameters &own,
         const Buffers &buffers)
      : KernelContext(context), plan(plan), own(own), buffers(buffers) {}

  /// Runs `body` for this block's tiles.
  void forEachTile(
      llvm::function_ref<void(const kernels::TileState &tile)> body) const;
  /// Rows of tile `m` of the group: all tiles of one group have nearly the same
  /// width, as small as it can be.
  TileRows getRows(const kernels::GroupPlace &group, mlir::Value m) const;

  /// Whether problems have their own extents, operands and results.
  bool isList() const { return parameters.problems.has_value(); }

  const Plan &plan;
  /// Those that no other target has.
  const Parameters &own;
  const Buffers buffers;
};

/// Builds the roles of a kernel whose parameters exist.
void buildKernel(kernels::Launch &launch, const Plan &plan,
                 const Parameters &parameters, MatmulOp op);

/// Each role, at the insertion point.
void buildLoadRole(const Kernel &kernel);
void buildMathRole(const Kernel &kernel);

/// What a warpgroup has of a tile's product.
struct TileProduct {
  kernels::GroupPlace group;
  kernels::ResultPlace result;
  TileRows rows;
  /// The sums, of warpgroup number `warpgroup` of the block (i32).
  mlir::Value fragment, warpgroup;
};

/// Finishes and stores them.
void buildResults(const Kernel &kernel, const kernels::TileState &tile,
                  const TileProduct &product);

} // namespace nvfp4::gsg::wgmma

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_KERNEL_H
