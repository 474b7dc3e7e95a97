//===- KernelBody.h - The roles of a product's kernel -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The builder that the files of the roles share.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELBODY_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELBODY_H

#include "KernelParameters.h"

namespace nvfp4::gsg::arithmetic {
struct BlockQuantizer;
struct QuantizeInputs;
} // namespace nvfp4::gsg::arithmetic

namespace nvfp4::gsg::sm100 {

/// Where a group lies, i32.
struct GroupPlace {
  /// Its first row in the operand, and how many it has.
  mlir::Value start, rows;
  /// The first atom of its scales of rows.
  mlir::Value scaleAtom;
  /// Where groups lie along K: the first of its stages, and how many.
  mlir::Value firstStep, steps;
};

/// Where the operands of a group lie, i32.
struct OperandPlace {
  /// Its first row in A and in the weights, and their first atoms of scales.
  mlir::Value row, weightRow, rowAtom, weightAtom;
  /// Its first stage along K, null if that is the operands' first, and how
  /// many there are.
  mlir::Value step, steps;
};

/// Floats of a row of turned accumulators: 128, and 16 bytes so that the rows
/// that threads of a warp read lie in different banks.
inline constexpr int64_t kTurnedRow = 132;

/// Builds the roles of a kernel whose parameters exist.
class KernelBody {
public:
  KernelBody(Launch &launch, const KernelPlan &plan,
             KernelParameters parameters, MatmulOp op);
  virtual ~KernelBody() = default;

  void build();

protected:
  using Value = mlir::Value;
  using TileFn = llvm::function_ref<void(Value g, Value m, Value n)>;

  void buildLoadRole();
  void buildMmaRole();
  void buildEpilogueRole();

  Value allocateShared(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                       unsigned swizzle);
  Value makePipeline(mlir::ValueRange buffers, int64_t depth,
                     warpspec::Agent producer, warpspec::Agent consumer);
  struct Role {
    llvm::StringRef name;
    /// Registers of a thread: 0 leaves the choice to the compiler.
    int64_t warps, registers;
    llvm::function_ref<void()> build;
  };
  /// The roles, after the launch before this one.
  void buildRoles(llvm::ArrayRef<Role> roles);

  /// Runs `body` for this block's tiles, or parts of them along K (split-K):
  /// `part` is which. With `isEpilogue`, so are `turn` and `number` where they
  /// are needed.
  void forEachTile(TileFn body, bool isEpilogue = false);
  /// The same of tiles of so many rows and columns of the product, handed to
  /// roles through `ring`, the pipeline of a tile scheduler; each role finds
  /// its own where it is null. With `steps` along K, tiles may be shared by
  /// blocks (stream-K): `cut` says how.
  void forEachTile(int64_t rows, int64_t columns, Value ring, TileFn body,
                   bool isEpilogue = false, Value steps = {},
                   bool inParts = false);
  /// What a tile of the group costs, where tiles go through a ring.
  virtual Value getTileCost(const GroupPlace &) { return i32(1); }
  /// Fills so many stages of the input: `body` gets the number and the stage.
  void
  fillStages(Value steps,
             llvm::function_ref<void(Value k, warpspec::AcquireOp fill)> body);
  void
  fillStages(Value from, Value to,
             llvm::function_ref<void(Value k, warpspec::AcquireOp fill)> body);
  /// Two accumulators with columns in common.
  void buildSharedAccumulators();
  /// Where this block's part of a tile begins: `extent` further in the second
  /// block of a pair.
  Value addOwn(Value start, int64_t extent);
  GroupPlace getGroup(Value g);
  OperandPlace getOperands(Value g);

  // A list of problems (KernelProblems.cpp).
  /// Loads the extents of problem `g` into `parameters`; nothing if all groups
  /// have the same.
  void enterProblem(Value g);
  /// The same of where its results go.
  void enterResult(Value g);
  /// Map number `i` of problem `g`, or `map` if all have the same.
  Value getMap(Value map, Value g, unsigned i);
  /// A word of its row of the table.
  Value loadWord(Value g, ProblemWord word);

  /// Stages along K of a group, or of its part, at least one.
  Value getSteps(Value g);
  /// The first stage of the part among `steps`, and how many it has: at least
  /// one, which may lie behind the last.
  std::pair<Value, Value> getPartSteps(Value steps);
  /// Entry `at` of the group offsets, cut to what there is.
  Value loadOffset(Value at);
  /// Where a ragged group begins, and its size, cut likewise.
  std::pair<Value, Value> getRange(Value g);

  // Epilogue (EpilogueRole.cpp, EpilogueMath.cpp).
  struct TilePlace;
  /// Columns of the accumulator that are read at a time.
  int64_t getChunkColumns();
  /// Columns of the product that a thread has in a vector: those of one side
  /// where runs of pairs are as long.
  int64_t getVectorColumns();
  /// A chunk of the accumulator. `amax` is what the thread has seen so far, or
  /// null if nobody asks; the result is what it has seen then.
  Value buildChunk(const TilePlace &tile, Value acc, Value chunk, Value amax);
  using Values = llvm::SmallVector<Value>;
  /// What `body` returns, under a condition; else `otherwise`.
  Values buildIf(Value condition, mlir::ValueRange otherwise,
                 llvm::function_ref<Values()> body);
  /// The same of `body`, which returns what `finishTile` does for a tile of
  /// `width` columns from `column` on, and then stores it. Returns `amax`.
  Value buildStored(const TilePlace &tile, Value isInside, Value isColumn,
                    int64_t width, Value column, Value amax,
                    llvm::function_ref<Values()> body);
  /// Stores y: all rows in one box, or the thread's alone.
  void storeRows(const TilePlace &tile, Value y, Value column, Value isInside,
                 Value isColumn);
  void loadGroupNumbers(TilePlace &tile);
  /// Rows of the result on lanes: a chunk of columns after the other.
  void buildRows(Value g, Value m, Value n, Value thread);
  /// Rows of the result on columns of the accumulator (swap-AB): they are
  /// turned in shared memory, so that a lane of each warp has one, and the warp
  /// 32 columns of it.
  void buildTurnedRows(Value g, Value m, Value n, Value thread);
  /// The chunk of them from `chunk` on, between the threads of the role.
  /// `token` is the drain of the accumulator to release when it has been read.
  Value buildTurnedChunk(TilePlace tile, Value acc, Value chunk, Value thread,
                         Value amax, Value token);
  /// The first of the turned columns that a warp finishes, where its quarter
  /// begins at `column`. Of runs of pairs that is the first column of its 16
  /// pairs, or its quarter where they are finished by 32: then warps with
  /// second columns have nothing to do.
  Value getWarpColumn(Value column);
  /// Runs `body` for 0, 32, ... below `end`; it returns another `amax`.
  Value forEachChunk(int64_t end, Value amax,
                     llvm::function_ref<Value(Value chunk, Value amax)> body);
  /// The same for all chunks of the next accumulator, which it waits for and
  /// releases: columns that the one after it shares come first.
  Value drainAccumulator(
      TilePlace &tile,
      llvm::function_ref<Value(Value acc, Value chunk, Value amax)> body);
  // Parts of K, split-K and stream-K (EpilogueParts.cpp).
  /// Leaves the sums of this part to the last one of its tile, which runs
  /// `buildLast` on the sums of all.
  void buildParts(Value thread, llvm::function_ref<void()> buildLast);
  /// Stores `sums` of the columns from `offset` on, for the last part.
  void storePart(Value sums, Value offset);
  /// Those of the other parts, in ascending order, and then `sums`.
  Value addParts(Value sums, Value offset);
  /// Element `j` of four columns each, from `offset` on, of a part's sums that
  /// begin at `first`.
  Value placeInPart(Value first, Value offset, int64_t j);
  /// What a thread has seen before: 0, or null if nobody asks.
  Value getNoAmax() { return parameters.amax ? i32(0) : Value(); }
  TilePlace getTilePlace(Value g, Value m, Value n);
  /// `columns` columns from `offset` on of the thread's row, of all parts of K.
  virtual Value loadColumns(const TilePlace &tile, Value acc, Value offset,
                            int64_t columns);
  /// Steps 2 to 6: the pre-activation of the 32 columns from `column` on, which
  /// are the second half of wide pairs if `isSecond`.
  Value finishProduct(const TilePlace &tile, Value acc, Value column,
                      bool isSecond);
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
  llvm::SmallVector<OuterRun> getOuterRuns(Value column, bool isSecond);
  /// The number of pairs if it is known, and whether they fill all vectors.
  std::pair<std::optional<int64_t>, bool> getKnownPairs();
  /// 32 columns of `memref`, as the accumulator has them.
  Value loadOuter(const TilePlace &tile, Value memref, Value column,
                  bool isSecond);
  void storeOuter(const TilePlace &tile, Value z, Value memref, Value column,
                  bool isSecond);
  /// The layout of columns in memory, or null if the accumulator has it.
  GateAttr getOuterGate();

  Value spreadAlpha(const TilePlace &tile, Value z, bool isSecond,
                    int64_t granularity);
  /// Steps 8 to 12: activation of one vector or of a pair of them, to the
  /// columns of the result from `column` on. Returns y, unless it is stored in
  /// codes, and `amax` if there is one.
  Values finishTile(const TilePlace &tile, llvm::ArrayRef<Value> z,
                    Value column, Value amax);
  /// Blocks of `y`, which starts at one, as codes and scales.
  void storeQuantized(const TilePlace &tile, Value y, Value column);
  /// The bytes and the scale of one block.
  std::pair<Value, Value>
  quantizeBlock(const arithmetic::BlockQuantizer &quantizer,
                const arithmetic::QuantizeInputs &inputs, Value x);
  /// Whether the target has the instruction from f32 to E2M1.
  virtual bool roundsToE2M1() const { return true; }
  /// Where the scale of block `block` of the thread's row is stored.
  Value getScaleOffset(const TilePlace &tile, ScaledType type, Value block);
  /// `silu` or `swiglu` where the op leaves their accuracy to the target.
  Value applyFastActivation(const TilePlace &tile, llvm::ArrayRef<Value> z);
  /// y of an epilogue region.
  Value applyRegion(const TilePlace &tile, llvm::ArrayRef<Value> z,
                    Value column);
  /// The larger of `amax` and the magnitudes of `y`, as bits of f32.
  Value foldAmax(Value amax, Value y, Value column);
  void storeAmax(const TilePlace &tile, Value thread, Value amax);
  /// A matrix of results: its columns, the elements from row to row, and the
  /// number of columns if it is known.
  struct Destination {
    Value memref, columns, stride;
    std::optional<int64_t> known;
  };
  void storeVector(const TilePlace &tile, Value y, Value column,
                   const Destination &to);
  /// `columns` elements from `at` on as f32, zero where `mask` is false.
  /// `known` is the length of a row, if it is known.
  Value loadVector(Value memref, Value at, int64_t columns, Value mask,
                   std::optional<int64_t> known);
  /// Which of `columns` columns from `column` on are below `limit`; null if it
  /// is known that they all are where the first is.
  Value maskOf(Value column, int64_t columns, Value limit,
               std::optional<int64_t> known);

  // Building.
  Value i32(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b) { return mul(a, i32(b)); }
  Value div(Value a, int64_t b);
  Value ceilDiv(Value a, int64_t b);
  Value clamp(Value a, Value low, Value high);
  Value less(Value a, Value b);
  Value toIndex(Value i32Value);
  Value index(int64_t value);
  /// row * stride + column, in 64 bits.
  Value flatten(Value row, Value stride, Value column);
  Value broadcast(Value scalar, Value like);

  const KernelPlan &plan;
  /// Of the group that is being built, where they differ by group.
  KernelParameters parameters;
  MatmulOp op;
  warpspec::KernelOp kernel;
  mlir::OpBuilder &b;
  mlir::Location loc;
  /// The result of the first problem.
  Value firstResult;
  Value input, accumulators, scaleColumns, mScales, nScales, transposed,
      staging, sharedColumns;
  /// Which of two accumulators a tile of the epilogue has, and which tile it is
  /// of all that are counted, from 0.
  Value turn, number;
  /// Which part of K a tile is; null if it is all of it.
  Value part;
  /// The steps along K that this block takes of a tile, from the first to the
  /// second, where tiles are cut, and how many parts of it are before, which
  /// other blocks take at the same time: null if they do not.
  std::pair<Value, Value> cut;
  Value partsBefore;
  /// Where the thread's sums of the first part begin, and this part's: indices,
  /// the first null but in the last part.
  Value firstSums, ownSums;
  /// Which block of a pair this is; null without pairs.
  Value rank;
};

} // namespace nvfp4::gsg::sm100

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELBODY_H
