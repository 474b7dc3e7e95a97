//===- WgmmaBody.h - A product's kernel for sm_90a --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are the rows of `wgmma`, decoded in registers; rows of the product,
// tokens, are its columns. What is decided, given and built.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMABODY_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMABODY_H

#include "KernelBody.h"

namespace nvfp4::gsg::sm100 {

/// The sizes of a product's kernel.
struct WgmmaPlan {
  /// Of 64 columns of the product each.
  int64_t warpgroups = 4;
  /// Most rows of the product in a tile, and steps of them beyond 64.
  int64_t width = 96, widthStep = 16;
  int64_t stages = 4;
  warpspec::WeightCode code = warpspec::WeightCode::E2M1_UE4M3;
  /// What both sides are multiplied in: bf16, or f16 if rows are.
  mlir::Type element;
  /// Bytes of 64 x 64 coded weights.
  int64_t blockBytes = 0;
  /// The results are stored as they are: hasPlainResults.
  bool isPlain = false;
  /// Stream-K: two blocks may share a tile along K, or more, each with sums of
  /// its own.
  bool isCut = false, inParts = false;
  /// Stages that are never in different hands: two where they are known to be
  /// even, for which the loop along K has less to ask.
  int64_t cutStages = 1;
  /// K of a stage, in blocks of 64.
  int64_t blocks = 2;
  /// Of each thread that multiplies, and of the others.
  int32_t registers = 112, otherRegisters = 32;
  ScaledOperand a;
  llvm::SmallVector<ScaledOperand> weights;

  /// K of the least stage, of which K is padded to whole ones.
  static constexpr int64_t kValues = 128;
  /// Rows of the product that are staged at a time, and words of a row.
  static constexpr int64_t kChunk = 32, kPitch = 68;
  /// Elements of a staged row of 16 bits each.
  static constexpr int64_t kNarrowPitch = 72;
  /// No device of the target has more SMs, and no tile more parts.
  static constexpr int64_t kMostBlocks = 132, kMostParts = 16;
  int64_t getColumns() const { return 64 * warpgroups; }
  int64_t getThreads() const { return 128 * warpgroups; }
  int64_t getStageValues() const { return 64 * blocks; }
  /// Bytes of a warpgroup's weights in a stage.
  int64_t getWeightBytes() const { return blockBytes * blocks; }
  int64_t getStageBytes() const {
    return warpgroups * getWeightBytes() + blocks * width * 128;
  }
  /// Stages that fit into shared memory beside what else is there.
  int64_t getMostStages() const;

  /// The plan of `op` in storage form on memrefs, with scales laid out by
  /// gsg-assign-scale-layout; failure after a diagnostic that says what sm_90a
  /// kernels do not support and what they do.
  static mlir::FailureOr<WgmmaPlan> get(MatmulOp op);
};

/// True if results are nothing but products times factors, in 16 bits and rows
/// of whole 16 bytes.
bool hasPlainResults(MatmulOp op);

/// What the kernel is given.
struct WgmmaParameters : KernelParameters {
  llvm::SmallVector<mlir::Value> tokenMaps;
  /// Bytes of coded weights; f32 by which the products of each matrix are to be
  /// multiplied, null if it is 128 for all.
  mlir::Value weights, factors;
};

WgmmaParameters addParameters(Launch &launch, const WgmmaPlan &plan,
                              MatmulOp op, HostNumber &blocks);

/// Builds the roles.
class WgmmaBody : public KernelBody {
public:
  WgmmaBody(Launch &launch, const WgmmaPlan &plan,
            const WgmmaParameters &parameters, MatmulOp op)
      : KernelBody(launch, general, parameters, op), plan(plan),
        parameters(parameters), isPlain(plan.isPlain) {
    general.k = WgmmaPlan::kValues;
  }

  void build();

private:
  /// A tile's rows within its group: the first, how many it has, and how many
  /// are multiplied.
  struct Rows {
    Value first, count, width;
  };

  void buildLoadRole();
  void buildMathRole();
  /// Waits for the sums that block `number` has left for this thread.
  void awaitSums(Value number);
  /// This thread's flag among those of block `number`.
  Value getFlag(Value number);
  void buildResults(Value g, const GroupPlace &group, const Rows &rows, Value n,
                    Value fragment);
  /// The same for results that are nothing but products times factors, in 16
  /// bits: whole rows of 64 columns without the general epilogue.
  void buildPlainResults(Value g, const GroupPlace &group, const Rows &rows,
                         Value n, Value fragment);
  /// f32: what the product of the group is to be multiplied by.
  Value getFactor(Value g);
  void forEachTile(TileFn body);
  bool roundsToE2M1() const override { return false; }
  Value getTileCost(const GroupPlace &group) override;
  /// Rows of tile m of the group.
  Rows getRows(const GroupPlace &group, Value m);
  Value loadColumns(const TilePlace &tile, Value acc, Value offset,
                    int64_t columns) override;

  /// What the epilogue and groups ask of a plan: nothing is staged for TMA.
  KernelPlan general;
  const WgmmaPlan &plan;
  const WgmmaParameters &parameters;
  const bool isPlain;
  Value staged;
  /// Through which tiles are handed to roles.
  Value ring;
  /// i32, of this thread: its warpgroup, and its row among those staged.
  Value warpgroup, stagedRow;
};

} // namespace nvfp4::gsg::sm100

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMABODY_H
