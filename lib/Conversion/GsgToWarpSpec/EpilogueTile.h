//===- EpilogueTile.h - What the epilogue knows of a row of a tile --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the files of the epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_EPILOGUETILE_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_EPILOGUETILE_H

#include "KernelBody.h"
#include "nvfp4/Conversion/GsgArithmetic/Activation.h"

namespace nvfp4::gsg::sm100 {

/// One thread's row of a tile.
struct KernelBody::TilePlace {
  /// i32: the group, its first row and how many it has, the thread's row and
  /// the tile's first one among the rows of all groups, the thread's within its
  /// group, the tile's first column of the product and of the result.
  Value group, groupStart, groupRows, row, firstRow, rowInGroup, column,
      outColumn;
  /// The row belongs to the group.
  Value isRow;
  /// i32: the number of the thread, the first of the block's rows.
  Value thread, blockRow;
  /// All of the block's rows belong to the group.
  Value isWhole;
  /// i32, the tile's column at which the part of the accumulator begins that is
  /// read; null if all of it is.
  Value firstAccumulated;
  /// i32, the row of turned accumulators that the thread has; null if its row
  /// is its lane of tensor memory.
  Value turnedRow;
  /// f32, null where the product has none: of the columns that come first and
  /// second of a pair, or of all.
  Value alpha, secondAlpha, beta, prob, globalScale;
  arithmetic::ActivationParams params;
  /// f32, of an epilogue region.
  llvm::SmallVector<Value> rowNumbers, groupNumbers;
};

} // namespace nvfp4::gsg::sm100

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_EPILOGUETILE_H
