//===- Budget.h - what a tile takes of the memories -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory and tensor memory of one CTA. These are not estimates: a
// lowering places its buffers by the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_STRATEGY_TCGEN05_BUDGET_H
#define NVFP4_STRATEGY_TCGEN05_BUDGET_H

#include "nvfp4/KernelTarget/Problem.h"
#include "nvfp4/KernelTarget/Tile.h"
#include "nvfp4/Strategy/Tcgen05/Machine.h"

#include <optional>

namespace nvfp4::strategy {

/// Atoms of 128 rows x 4 scales (512 bytes) along the rows that a tile of
/// `rows` rows touches, wherever a multiple of `rows` it starts. The
/// instruction can start in the middle of an atom, at row 64; scales of tiles
/// whose rows are no multiple of 64 are gathered into atoms of their own, and
/// these count.
int64_t scaleAtoms(int64_t rows);

/// True if rows of f16 are multiplied as two bf16 each, as f16 does not hold
/// weights with UE8M0 scales.
bool splitsRows(const Problem &problem);

/// Bytes of one pipeline stage in the shared memory of one CTA. A and B are the
/// operands of the instruction: with `swapAB` A holds weights.
struct StageBytes {
  int64_t a;
  int64_t b;
  int64_t scalesA;
  int64_t scalesB;
  int64_t getTotal() const { return a + b + scalesA + scalesB; }
};

/// Where n is less than 32 an atom more of its scales is loaded, which a copy
/// that begins in the middle of an atom reads. Each part is a multiple of 512
/// bytes, and a and b are multiples of 1024. The CTAs of a pair hold half of
/// the rows of A and B, the scales of their own rows of A, and the scales of
/// all rows of B. Beside unscaled rows A has codes of weights as they are
/// stored.
StageBytes stageBytes(const Tile &tile, const Problem &problem);

/// Bytes that the loads of one stage report to the mbarrier on which they
/// complete: of both CTAs for a pair. FP4 values next to FP8 take a byte each
/// in shared memory, but are counted packed.
int64_t transactionBytes(const Tile &tile, const Problem &problem);

/// Shared memory of one CTA.
struct SharedMemoryPlan {
  int64_t stages;
  int64_t stageBytes;
  /// Two buffers through which `epilogueN` columns of results pass; with
  /// `swapAB` one, in which up to 32 rows of f32 are turned.
  int64_t epilogueBytes;
  /// Barriers, the tensor memory address, alignment of the base to 1024; and
  /// the part of a stage of split rows that is multiplied.
  int64_t otherBytes;
  int64_t getTotal() const {
    return stages * stageBytes + epilogueBytes + otherBytes;
  }
};

/// The plan of a tile whose `stages` and `epilogueN` are set.
SharedMemoryPlan planSharedMemory(const Tile &tile, const Problem &problem);

/// Stages of `stageBytes` that fit beside `otherBytes`; may be 0.
int64_t stagesThatFit(int64_t capacity, int64_t stageBytes, int64_t otherBytes);

/// Columns of tensor memory of one CTA, relative to its allocation.
struct TensorMemoryPlan {
  /// Accumulator i starts at column i * accumulatorStride. If the stride is
  /// smaller than n, both share columns: the epilogue drains those first, and
  /// the other accumulator may be written once they are.
  int64_t accumulatorStages;
  int64_t accumulatorStride;
  /// Scales of buffer i start at `scales + i * scaleStride`: those of A, then
  /// those of B `scalesB` columns later. Beside unscaled rows these are buffers
  /// of decoded weights, and B has none.
  int64_t scaleStages;
  int64_t scales;
  int64_t scalesB;
  int64_t scaleStride;
  /// Columns in use and columns to allocate, a power of two.
  int64_t used;
  int64_t allocated;
  bool overlapped;
};

/// The plan of a tile whose `accumulatorStages` and `scaleStages` are set, or
/// nothing if it does not fit.
std::optional<TensorMemoryPlan> planTensorMemory(const Tile &tile,
                                                 const Problem &problem,
                                                 const Machine &machine);

/// Fills in what `tile` leaves open: epilogue columns, accumulators (two where
/// they fit), scale buffers (two where they fit beside accumulators that do not
/// overlap) and as many stages as fit. Of what fits nowhere it chooses the
/// least, which the verification then refuses.
Tile complete(Tile tile, const Problem &problem, const Machine &machine);

} // namespace nvfp4::strategy

#endif // NVFP4_STRATEGY_TCGEN05_BUDGET_H
