//===- TileLoop.h - The tiles of a block ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every role of a kernel visits the same tiles in the same order. What a role
// knows of one of them is a value that it passes on.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_TILELOOP_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_TILELOOP_H

#include "Groups.h"

namespace nvfp4::gsg::kernels {

/// One tile, as a role has it. i32; null where the loop does not have it.
struct TileState {
  mlir::Value group;
  /// Which tile it is along the rows of its group, and along the columns.
  mlir::Value m, n;
  /// Extents of the group's problem, and in an epilogue where its results go.
  ProblemExtents extents;
  ResultPlace result;
  /// Split-K: which part of K, null if the tile has all of it, and which part
  /// of a tile it is of all that are counted, from 0.
  mlir::Value part, number;
  /// Which of two accumulators with common columns it has.
  mlir::Value parity;
  /// Stream-K: the steps along K that this block takes of it, from the first to
  /// the second, and how many parts of it are before, which other blocks take
  /// at the same time: null if they do not.
  mlir::Value from, to, partsBefore;
};

/// How a product is cut into tiles, and what is counted.
struct TileLoop {
  /// Rows and columns of the product.
  int64_t rows, columns;
  /// Parts of K of a tile, which follow each other.
  int64_t splitK = 1;
  /// Blocks that compute a tile together.
  int64_t ctas = 1;
  /// `parity` and `number` are needed.
  bool hasParity = false, isCounted = false;
  /// The pipeline of a tile scheduler, which hands tiles to roles; each role
  /// finds its own where it is null.
  mlir::Value ring = {};
  /// What a tile of a group costs, asked where tiles go through a ring.
  llvm::function_ref<mlir::Value(const ProblemExtents &extents,
                                 const GroupPlace &group)>
      cost = nullptr;
  /// Stream-K: steps along K, so that tiles may be shared by blocks, and
  /// whether several may take parts of one at the same time.
  mlir::Value steps = {};
  bool inParts = false;
};

/// Runs `body` for this block's tiles.
void forEachTile(const KernelContext &context, const TileLoop &tiles,
                 llvm::function_ref<void(const TileState &tile)> body);

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_TILELOOP_H
