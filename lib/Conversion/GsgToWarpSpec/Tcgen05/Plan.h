//===- Plan.h - Sizes of one product's kernel -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decisions before a kernel is built: instruction, tile, stages.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_PLAN_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_PLAN_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"
#include "nvfp4/Strategy/Tcgen05/Target.h"

namespace nvfp4::gsg::tcgen05 {

/// One operand of the multiplication as TMA and the tensor core see it.
struct OperandPlan {
  ScaledOperand operand;
  /// Elements of the tile in shared memory.
  mlir::Type element;
  /// FP4 that TMA pads, 16 values to 16 bytes.
  bool isPadded = false;
  /// Bytes of a row of a stage, or of a K block of it: the span of the swizzle.
  int64_t rowBytes = 128;
};

/// The sizes of a product's kernel and the instruction it uses. Bytes are of
/// shared memory.
struct Plan {
  /// Extents of the instruction, and K elements of a pipeline stage.
  int64_t m = 128, n = 128, k = 256;
  /// Blocks that execute it, each on 128 lanes: 1, or 2 for a pair.
  int64_t ctas = 1;
  /// Split-K: parts of K of a tile, each of a block or pair of its own.
  int64_t splitK = 1;
  /// Swap-AB: weights lie on M and rows of the result on N.
  bool swap = false;
  /// Results of a row that are finished at a time.
  int64_t resultColumns = 32;
  /// They leave through shared memory where all rows of a block's tile are the
  /// group's.
  bool staged = false;
  int64_t stages = 0, accumulators = 2, scaleBuffers = 2;
  /// Columns that two accumulators have in common: the last ones of the first,
  /// the first ones of the second.
  int64_t sharedColumns = 0;
  warpspec::ScaledKind kind = warpspec::ScaledKind::MXF4NVF4;
  bool ue8m0 = false;
  OperandPlan a, b;
  /// The rows have no scales: threads decode weights to the rows' element, and
  /// `scaleBuffers` is how many buffers of decoded weights there are.
  bool decodes = false;
  /// Rows of f16 beside weights that f16 does not hold: threads split each
  /// number into two bf16. K is gone through twice, first with the lower terms,
  /// whose sums are at most 2^-8 of the others, and so is their rounding error:
  /// with the 10.5 u of a step (docs/Spec.md, 3) the total stays below 16 u.
  bool splits = false;
  warpspec::WeightCode code = warpspec::WeightCode::E2M1_UE4M3;

  /// Scales of a row in a stage, in atoms of 4.
  int64_t scaleAtoms = 4;
  /// Rows and columns of the result that a tile covers, and those of A and of
  /// the weights that each block loads.
  int64_t getTileRows() const { return swap ? n : m; }
  int64_t getTileColumns() const { return swap ? m : n; }
  int64_t getOwnRows() const { return getTileRows() / ctas; }
  int64_t getOwnColumns() const { return getTileColumns() / ctas; }
  /// Atoms of 128 rows that N of the instruction touches.
  int64_t getNAtoms() const { return (n + 127) / 128; }
  /// N is less than the 32 lanes of a row of atoms, so that a tile may begin at
  /// another lane; an atom more is loaded.
  bool isNarrow() const { return n < 32; }
  /// Atoms of a stage: of what lies on M, and on N.
  int64_t getMStageAtoms() const { return scaleAtoms; }
  int64_t getNStageAtoms() const {
    return scaleAtoms * getNAtoms() + (isNarrow() ? 1 : 0);
  }
  /// Rows of the result that pass through shared memory at a time if they lie
  /// on N: one a lane.
  int64_t getChunkRows() const { return n < 32 ? n : 32; }
  /// K blocks of a stage of unscaled rows, each of the span of the swizzle.
  static constexpr int64_t kBlockValues = 64;
  int64_t getRowBlocks() const { return k / kBlockValues; }
  /// Columns of tensor memory of a stage of decoded weights, two values in
  /// each.
  int64_t getDecodedColumns() const { return k / 2; }
  /// The type as which decoded weights and rows are multiplied.
  mlir::Type getMultiplicand() const {
    return splits ? mlir::BFloat16Type::get(a.element.getContext()) : a.element;
  }
  /// The operands on M and on N of the instruction.
  const OperandPlan &getMOperand() const { return swap ? b : a; }
  const OperandPlan &getNOperand() const { return swap ? a : b; }

  /// The plan of `op` in storage form on memrefs, with scales laid out by
  /// gsg-assign-scale-layout; failure after a diagnostic that says what
  /// kernels for `target` do not support and what they do.
  static mlir::FailureOr<Plan> get(MatmulOp op,
                                   const strategy::Tcgen05Target &target);
  /// The same for all problems of a list, of which `first` is the first;
  /// diagnostics are the list's.
  static mlir::FailureOr<Plan> get(MatmulListOp list, MatmulOp first,
                                   const strategy::Tcgen05Target &target);
};

} // namespace nvfp4::gsg::tcgen05

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_TCGEN05_PLAN_H
