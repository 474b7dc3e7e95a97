//===- RoleLowering.h - Steps of warpspec-lower-roles -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLELOWERING_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLELOWERING_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include "mlir/IR/PatternMatch.h"

namespace nvfp4::warpspec {

/// Replaces a tile loop by a search for the group and loops of `scf`. `cluster`
/// is the number of blocks that work on one tile.
void lowerTileLoop(mlir::RewriterBase &rewriter, ForEachTileOp loop,
                   int64_t cluster);

/// What is done with a tile, group, m, n, the range of steps and the number of
/// parts before, by values that are carried from one to the next.
using TileFn = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    llvm::ArrayRef<mlir::Value> tile, mlir::ValueRange carried)>;

/// Builds `body` for this worker's tiles of `loop`, whose steps are cut if that
/// pays. Only for at most 32 groups. Returns what is carried in the end.
llvm::SmallVector<mlir::Value>
lowerCutTiles(mlir::RewriterBase &rewriter, ForEachTileOp loop, int64_t cluster,
              mlir::ValueRange inits, TileFn body);

/// Replaces a tile loop with a ring by one that takes tiles from it.
void lowerRingLoop(mlir::RewriterBase &rewriter, ForEachTileOp loop);

/// What the warp does that finds the tiles of loops like `loop`: builds at the
/// insertion point.
void buildTileFinder(mlir::RewriterBase &rewriter, ForEachTileOp loop,
                     int64_t cluster);

/// Puts what one thread issues, in the longest runs possible, into branches on
/// `elected`. Values that only one thread has are poison for the others.
/// Fails if all threads would need one of them.
mlir::LogicalResult isolateIssue(mlir::RewriterBase &rewriter,
                                 mlir::Block &block, mlir::Value elected);

/// i32 constant.
mlir::Value createI32(mlir::OpBuilder &builder, mlir::Location loc,
                      int64_t value);

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_ROLELOWERING_H
