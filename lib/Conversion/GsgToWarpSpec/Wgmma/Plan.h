//===- Plan.h - Sizes of a product's kernel for wgmma -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are the rows of `wgmma`, decoded in registers; rows of the product,
// tokens, are its columns.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_PLAN_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_PLAN_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Strategy/Wgmma/Target.h"
#include "nvfp4/Strategy/Wgmma/WgmmaTiles.h"

#include <algorithm>

namespace nvfp4::gsg::wgmma {

/// The sizes of a product's kernel.
struct Plan {
  /// Of 64 columns of the product each.
  int64_t warpgroups = 4;
  /// Most rows of the product in a tile, and steps of them beyond 64.
  int64_t width = 96, widthStep = 16;
  /// Tiles begin at multiples of so many rows within their group.
  int64_t rowBlock = 1;
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
  ScaledOperand a, weights;

  /// K of the least stage, of which K is padded to whole ones.
  static constexpr int64_t kValues = 128;
  /// Rows of the product that are staged at a time, and words of a row.
  static constexpr int64_t kChunk = strategy::kWgmmaStagedRows;
  static constexpr int64_t kPitch = strategy::kWgmmaRowBytes / 4;
  /// Elements of a staged row of 16 bits each.
  static constexpr int64_t kNarrowPitch = strategy::kWgmmaNarrowRowBytes / 2;
  /// No device of the target has more SMs, and no tile more parts.
  static constexpr int64_t kMostBlocks = 132, kMostParts = 16;
  int64_t getColumns() const { return 64 * warpgroups; }
  int64_t getThreads() const { return 128 * warpgroups; }
  int64_t getStageValues() const { return 64 * blocks; }
  /// Bytes of a warpgroup's weights in a stage.
  int64_t getWeightBytes() const { return blockBytes * blocks; }
  strategy::Tile getTile() const {
    return {.m = width, .n = getColumns(), .k = getStageValues()};
  }
  int64_t getStageBytes() const {
    return strategy::getWgmmaStageBytes(getTile(), blockBytes);
  }
  /// Stages that fit into shared memory beside what else is there.
  int64_t getMostStages() const {
    return strategy::countWgmmaStages(getTile(), blockBytes, isPlain);
  }

  /// The plan of `op` in storage form on memrefs, with scales laid out by
  /// gsg-assign-scale-layout; failure after a diagnostic that says what
  /// kernels for `target` do not support and what they do.
  static mlir::FailureOr<Plan> get(MatmulOp op,
                                   const strategy::WgmmaTarget &target);
  /// The same for all problems of `list`, of which `first` is one.
  static mlir::FailureOr<Plan> get(MatmulListOp list, MatmulOp first,
                                   const strategy::WgmmaTarget &target);
};

/// Rows of the tiles of a group of `rows` rows: as few tiles as there can be,
/// all of nearly the same number of rows, and that as small as it can be. By
/// `math` of the host or of the kernel.
template <typename Math, typename Number>
Number chooseTileRows(Math &math, const Plan &plan, Number rows) {
  auto roundUp = [&](Number number, int64_t to) {
    return math.mul(math.ceilDiv(number, to), to);
  };
  // Extents are asked of groups without rows, too.
  Number tiles = math.atLeastOne(math.ceilDiv(rows, plan.width));
  Number each = math.ceilDiv(rows, tiles);
  Number narrow = roundUp(each, std::max<int64_t>(8, plan.rowBlock));
  Number wide = math.atMost(
      roundUp(each, std::max(plan.widthStep, plan.rowBlock)), plan.width);
  return math.choose(each, 64, narrow, wide);
}

/// True if results are nothing but products times factors, in 16 bits and rows
/// of whole 16 bytes.
bool hasPlainResults(MatmulOp op);

} // namespace nvfp4::gsg::wgmma

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_WGMMA_PLAN_H
