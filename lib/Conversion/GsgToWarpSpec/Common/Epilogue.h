//===- Epilogue.h - From the sums of a row to results -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread has one row of a tile and takes its columns in chunks. The files
// of the epilogue share this builder; where a row lies and how its sums are
// read is the target's.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_EPILOGUE_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_EPILOGUE_H

#include "TileLoop.h"
#include "nvfp4/Conversion/GsgArithmetic/EpilogueRegion.h"

namespace nvfp4::gsg::arithmetic {
struct BlockQuantizer;
struct QuantizeInputs;
} // namespace nvfp4::gsg::arithmetic

namespace nvfp4::gsg::kernels {

/// One thread's row of a tile.
struct TileRow {
  using Value = mlir::Value;
  ProblemExtents extents;
  ResultPlace result;
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
  /// f32, null where the product has none: of the columns that come first and
  /// second of a pair, or of all.
  Value alpha, secondAlpha, rowScale, beta, prob, globalScale;
  /// f32, null where a copy has none.
  llvm::SmallVector<Value> copyGlobalScales;
  /// f32, the operands of these clauses.
  llvm::SmallVector<Value> activationParams, rowNumbers, groupNumbers;
};

/// The sigmoid of a vector of f32 where the program leaves its accuracy to the
/// target.
mlir::Value emitFastSigmoid(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value x);

/// Builds the epilogue of one kernel. No member changes while it does.
class Epilogue : protected KernelMath {
public:
  using Values = llvm::SmallVector<Value>;
  /// `columns` sums from column `offset` of the tile on, of the thread's row.
  using LoadFn = llvm::function_ref<Value(Value offset, int64_t columns)>;

  /// A thread finishes `resultColumns` results of a row at a time.
  Epilogue(const KernelContext &context, int64_t resultColumns)
      : KernelMath(context), context(context), parameters(context.parameters),
        resultColumns(resultColumns), op(context.getOp()) {}
  virtual ~Epilogue() = default;

  /// Columns of the product that a thread has in a vector: those of one side
  /// where runs of pairs are as long.
  int64_t getVectorColumns();
  /// Loads what the row and its group are multiplied by.
  void loadGroupNumbers(TileRow &tile);
  /// Finishes and stores a chunk of the row. `amax` is what the thread has seen
  /// so far, or null if nobody asks; the result is what it has seen then.
  Value buildChunk(const TileRow &tile, LoadFn load, Value chunk, Value amax);
  /// What a thread has seen before: 0, or null if nobody asks.
  Value getNoAmax() { return parameters.amax ? i32(0) : Value(); }
  void storeAmax(const TileRow &tile, Value thread, Value amax);
  /// What `body` returns, under a condition; else `otherwise`.
  Values buildIf(Value condition, mlir::ValueRange otherwise,
                 llvm::function_ref<Values()> body);

protected:
  // What targets do otherwise.
  /// Stores y: the thread's row alone.
  virtual void storeRows(const TileRow &tile, Value y, Value column,
                         Value isInside, Value isColumn);
  /// Whether the target has the instruction from f32 to E2M1.
  virtual bool roundsToE2M1() const { return false; }

  const KernelContext &context;
  const KernelParameters &parameters;

private:
  /// What `body` returns, which `finishTile` does for a tile of `width` columns
  /// from `column` on; stores it. Returns `amax`.
  Value buildStored(const TileRow &tile, Value isInside, Value isColumn,
                    int64_t width, Value column, Value amax,
                    llvm::function_ref<Values()> body);
  /// The loads and stores of the epilogue region, of a vector of columns.
  class ChunkLanes;
  mlir::Block &getRegion() { return op.getEpilogue().front(); }
  /// Which columns of the vector `acc` the product has; null if all.
  Value getProductMask(const TileRow &tile, Value acc, Value column);
  /// The results of a vector that is no half of pairs, and stores those of
  /// other clauses: y, unless it is stored in codes, and `amax` if there is
  /// one.
  Values finishColumns(const TileRow &tile, Value acc, Value column,
                       Value outColumn, Value amax);
  /// The pre-activation of the columns from `column` on, which are the second
  /// half of wide pairs if `isSecond`.
  Value finishProduct(const TileRow &tile, Value acc, Value column,
                      bool isSecond);
  /// As finishColumns, of the columns that come first and second of pairs.
  Values finishPairs(const TileRow &tile, Value first, Value second,
                     Value outColumn, Value amax);
  // Columns in another gate layout (EpilogueOuterGate.cpp).
  /// Runs of the 32 columns from `column` on, which are the second of wide
  /// pairs if `isSecond`, that are runs in memory as well.
  struct OuterRun {
    /// Its column in memory; its first pair and the number of pairs in all, for
    /// what lies behind the last.
    Value column, pair, pairs;
    /// Where it is within the vector of first columns followed by second ones,
    /// and its length.
    int64_t place, width;
  };
  llvm::SmallVector<OuterRun> getOuterRuns(const TileRow &tile, Value column,
                                           bool isSecond);
  /// The number of pairs if it is known, and whether they fill all vectors.
  std::pair<std::optional<int64_t>, bool> getKnownPairs();
  /// 32 columns of `memref`, as the accumulator has them.
  Value loadOuter(const TileRow &tile, Value memref, Value column,
                  bool isSecond);
  void storeOuter(const TileRow &tile, Value z, Value memref, Value column,
                  bool isSecond);
  /// The layout of columns in memory, or null if the accumulator has it.
  GateAttr getOuterGate();

  /// Alpha of a vector of columns; a scalar if it is that of all.
  Value getAlpha(const TileRow &tile, bool isSecond);
  /// Blocks of `y`, which starts at one, as codes and scales.
  void storeQuantized(const TileRow &tile, Value y, Value column);
  /// The bytes and the scale of one block.
  std::pair<Value, Value>
  quantizeBlock(const arithmetic::BlockQuantizer &quantizer,
                const arithmetic::QuantizeInputs &inputs, Value x);
  /// Where the scale of block `block` of the thread's row is stored.
  Value getScaleOffset(const TileRow &tile, ScaledType type, Value block);
  /// The same in 128x4 tiles of `blocks` scales a row, of which `firstTile` is
  /// the first.
  Value getTiledOffset(Value firstTile, Value row, Value blocks, Value block);
  // Transposed copies (EpilogueCopies.cpp), by all lanes of a warp.
  /// Whether y is needed after its row has been stored.
  bool keepsResult() { return !op.getQuantizer() || op.getCopies(); }
  /// `value`, 32 bits, of another lane: number `operand`, or this one xor it.
  Value shuffleLanes(Value value, Value operand, bool isXor);
  /// Element i of lane j becomes element j of lane i, among as many lanes as
  /// `x` has elements.
  Value transposeLanes(Value x, Value lane);
  /// `count` values at most of a block of a copy, at byte `at` of lines that
  /// are `stride` bytes apart.
  void storeBlock(const CopyParameters &copy, Value bytes, Value at,
                  Value stride, Value count);
  /// A block of columns of the warp's rows, from `column` on.
  void storeSquare(const TileRow &tile, const CopyParameters &copy,
                   Value globalScale, Value x, Value column, Value lane);
  void storeCopies(const TileRow &tile, Value y, Value column);
  /// The larger of `amax` and the magnitudes of `y`, as bits of f32.
  Value foldAmax(const TileRow &tile, Value amax, Value y, Value column);
  /// A matrix of results: its columns, the elements from row to row, and the
  /// number of columns if it is known.
  struct Destination {
    Value memref, columns, stride;
    std::optional<int64_t> known;
  };
  void storeVector(const TileRow &tile, Value y, Value column,
                   const Destination &to);
  /// `columns` elements from `at` on as f32, zero where `mask` is false.
  /// `known` is the length of a row, if it is known.
  Value loadVector(Value memref, Value at, int64_t columns, Value mask,
                   std::optional<int64_t> known);
  /// Which of `columns` columns from `column` on are below `limit`; null if it
  /// is known that they all are where the first is.
  Value maskOf(Value column, int64_t columns, Value limit,
               std::optional<int64_t> known);

  const int64_t resultColumns;
  MatmulOp op;
};

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_EPILOGUE_H
