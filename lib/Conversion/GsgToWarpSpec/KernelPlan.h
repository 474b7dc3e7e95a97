//===- KernelPlan.h - Sizes of one product's kernel -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is decided before a kernel is built: instruction, tile, stages.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELPLAN_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELPLAN_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::gsg::sm100 {

/// One operand of the multiplication as TMA and the tensor core see it.
struct OperandPlan {
  ScaledOperand operand;
  /// All of them; weights may be one operand a group, all of one type.
  llvm::SmallVector<ScaledOperand> parts;
  /// Elements of the tile in shared memory.
  mlir::Type element;
  /// FP4 that TMA pads, 16 values to 16 bytes.
  bool isPadded = false;

  /// CUtensorMapDataType.
  int32_t getMapType() const { return isPadded ? 14 : 0; }
};

/// The sizes of a product's kernel and the instruction it uses. Bytes are of
/// shared memory.
struct KernelPlan {
  /// Rows and columns of a tile, and K elements of a pipeline stage.
  int64_t m = 128, n = 128, k = 256;
  int64_t stages = 0, accumulators = 2, scaleBuffers = 2;
  warpspec::ScaledKind kind = warpspec::ScaledKind::MXF4NVF4;
  bool ue8m0 = false;
  OperandPlan a, b;

  /// Bytes of a row of a stage: the span of the swizzle.
  static constexpr int64_t kRowBytes = 128;
  /// Values that stand in them.
  int64_t getRowValues() const { return k; }
  /// Scales of a row in a stage, in atoms of 4.
  int64_t scaleAtoms = 4;
  /// Atoms of 128 columns that the columns of a tile touch.
  int64_t getColumnAtoms() const { return (n + 127) / 128; }

  /// The plan of `op` in storage form on memrefs, with scales laid out by
  /// gsg-assign-scale-layout; failure after a diagnostic that says what
  /// sm_100a kernels do not support yet and what they do.
  static mlir::FailureOr<KernelPlan> get(MatmulOp op);
};

} // namespace nvfp4::gsg::sm100

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELPLAN_H
