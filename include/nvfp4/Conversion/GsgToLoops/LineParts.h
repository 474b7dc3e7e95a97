//===- LineParts.h - Loops over the lines of groups -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the lines of a scaled tensor under any grouping form, in parallel, and
// says which part of each line belongs to which group and where the scales of
// that part start. Offsets that decrease or lie outside the tensor are clamped,
// and parts for whose scales there is no room are left out, so no input makes
// the loops leave their buffers.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_LINEPARTS_H
#define NVFP4_CONVERSION_GSGTOLOOPS_LINEPARTS_H

#include "nvfp4/Conversion/GsgToLoops/GroupedLines.h"

namespace nvfp4::gsg::loops {

/// The part of one line that belongs to one group.
struct LinePart {
  mlir::Value group;
  /// Batch, line and first position of the part.
  Position begin;
  /// Positions along the line.
  mlir::Value size;
  /// For each tensor of scales, the scale of the first block.
  llvm::SmallVector<Position, 2> scales;
  /// The number of the line among those of its group, and how many those are.
  mlir::Value lineInGroup, linesOfGroup;
  /// On a device, the number of the only block that the thread has; else null.
  mlir::Value block;

  /// Calls `body(number, count)` for the blocks of `size` elements of the part
  /// that the thread has; count is null for blocks that are full.
  void
  forEachBlock(MathBuilder &mb, int64_t size,
               llvm::function_ref<void(mlir::Value, mlir::Value)> body) const;
};

/// Calls `body` for every part of `lines` that is not empty: on the host once,
/// in a thread for each line; on a device in one for each block. One thread
/// runs the two lines that share the bytes of a transposed FP4 tensor.
void forEachPart(LoopBuilder &mb, const GroupedLines &lines,
                 llvm::function_ref<void(const LinePart &)> body);

/// In the launch of one kernel: the parts of `rows` and of `columns`, the lines
/// of one matrix and of its transposed one, each as forEachPart has them. The
/// threads of a warp have blocks of both in one tile of the matrix. Both have
/// blocks of one size, of which a row has a whole number, and no batches.
void forEachPartOfBoth(LoopBuilder &mb, const GroupedLines &rows,
                       llvm::function_ref<void(const LinePart &)> ofRow,
                       const GroupedLines &columns,
                       llvm::function_ref<void(const LinePart &)> ofColumn);

/// In a kernel: checks the global scale of a group, if `lines.checks` has it,
/// in one thread of the group.
void checkGlobalScale(LoopBuilder &mb, const GroupedLines &lines,
                      const LinePart &part, mlir::Value globalScale);

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_LINEPARTS_H
