//===- EpilogueRole.h - Accumulators in tensor memory to results ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads accumulators for the common epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_EPILOGUEROLE_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_EPILOGUEROLE_H

#include "../Common/Epilogue.h"
#include "Kernel.h"

namespace nvfp4::gsg::tcgen05 {

/// What is read of one accumulator.
struct AccumulatorView {
  mlir::Value columns;
  /// i32, the tile's column at which `columns` begin; null if that is 0.
  mlir::Value firstColumn;
  /// Split-K: an index, where the thread's sums of the first part begin, to
  /// which these are added; null if there are none.
  mlir::Value firstSums;
};

/// Builds the role of the epilogue.
class EpilogueRole : public kernels::Epilogue {
public:
  EpilogueRole(const Kernel &kernel)
      : Epilogue(kernel, kernel.plan.resultColumns), kernel(kernel),
        plan(kernel.plan) {}

  void build();

private:
  using TileState = kernels::TileState;
  using TileRow = kernels::TileRow;
  using DrainFn = llvm::function_ref<Value(const AccumulatorView &view,
                                           Value chunk, Value amax)>;

  /// Stores all rows in one box, or the thread's alone.
  void storeRows(const TileRow &row, Value y, Value column, Value isInside,
                 Value isColumn) override;
  bool roundsToE2M1() const override { return true; }

  /// A tile; with split-K its sums are those of all parts, of which the first
  /// begin at `firstSums`.
  void buildTile(const TileState &tile, Value thread, Value firstSums);
  TileRow getTileRow(const TileState &tile);
  /// Rows of the result on lanes: a chunk of columns after the other.
  void buildRows(const TileState &tile, Value thread, Value firstSums);
  /// Rows of the result on columns of the accumulator (swap-AB): they are
  /// transposed in shared memory, so that a lane of each warp has one, and the
  /// warp 32 columns of it.
  void buildTransposedRows(const TileState &tile, Value thread,
                           Value firstSums);
  /// The chunk of them from `chunk` on, between the threads of the role.
  /// `token` is the drain of the accumulator to release when it has been read.
  Value buildTransposedChunk(TileRow row, const AccumulatorView &view,
                             Value chunk, Value thread, Value amax,
                             Value token);
  /// The first of the transposed columns that a warp finishes, where its
  /// quarter begins at `column`. Of runs of pairs that is the first column of
  /// its 16 pairs, or its quarter where they are finished by 32: then warps
  /// with second columns have nothing to do.
  Value getWarpColumn(Value column);
  /// Columns of the accumulator that are read at a time.
  int64_t getChunkColumns() { return plan.swap ? 32 : getVectorColumns(); }
  /// Runs `body` for 0, 32, ... below `end`; it returns another `amax`.
  Value forEachChunk(int64_t end, Value amax,
                     llvm::function_ref<Value(Value chunk, Value amax)> body);
  /// The same for all chunks of the tile's accumulator, which it waits for and
  /// releases: columns that the one after it shares come first.
  Value drainAccumulator(const TileState &tile, Value firstSums, DrainFn body);
  Value loadColumns(const AccumulatorView &view, Value offset, int64_t columns);

  // Split-K (SplitK.cpp).
  /// Leaves the sums of this part to the last one of its tile, which runs
  /// `buildLast` on the sums of all.
  void buildPart(const TileState &tile, Value thread,
                 llvm::function_ref<void(Value firstSums)> buildLast);
  /// Stores `sums` of the columns from `offset` on, for the last part; the
  /// thread's sums of this part begin at `first`.
  void storePart(Value sums, Value first, Value offset);
  /// Those of the other parts, in ascending order, and then `sums`.
  Value addParts(Value sums, Value firstSums, Value offset);
  /// Element `j` of four columns each, from `offset` on, of a part's sums that
  /// begin at `first`.
  Value placeInPart(Value first, Value offset, int64_t j);

  const Kernel &kernel;
  const Plan &plan;
};

} // namespace nvfp4::gsg::tcgen05

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_EPILOGUEROLE_H
