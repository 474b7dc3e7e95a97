//===- KernelParameters.h - What a product's kernel is given ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operand of the product, as the kernel sees it.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELPARAMETERS_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELPARAMETERS_H

#include "Launch.h"
#include "nvfp4/Conversion/GsgToLoops/DataChecks.h"

namespace nvfp4::gsg::kernels {

/// Extents of a problem, i32: rows of one matrix of A (of all groups where they
/// are ragged), columns of the product and of the result, stages along K; and
/// rows of a tile, null where the kernel chooses them.
struct ProblemExtents {
  mlir::Value rows, columns, outColumns, steps, tileRows;
};

/// Where a problem's results go: elements, or bytes of codes; boxes of it that
/// are stored in one piece, null if none are; and i32, elements from one row to
/// the next, whole 16 bytes.
struct ResultPlace {
  mlir::Value memref, map, stride;
};

/// Scales of groups that do not start as `whole`.
struct CheckedScales {
  /// The operand of the check.
  std::string what;
  bool isUpperBound;
  /// Groups start at multiples of `tile` rows, or blocks of `block` positions
  /// along a row if that is not 0.
  int64_t tile, block;
  /// How many there are, i32.
  mlir::Value have;
};

/// The checks of a kernel: of group offsets, and of the members below.
struct CheckedData {
  loops::DataChecks checks;
  llvm::SmallVector<CheckedScales, 2> scales;
  /// The one number of the global scale.
  bool hasGlobalScale = false;
  /// Factors of packed weights of `format`, f32, and how many, i32.
  std::optional<BlockFormat> format;
  mlir::Value factors, numFactors;
};

/// A transposed copy of the result: bytes of its values and scales; its global
/// scale, in memory or f32, and seed (i64), null where it has none.
struct CopyParameters {
  CopyAttr attr;
  ScaledType type;
  mlir::Value values, scales, globalScale, globalScaleValue, seed;
  /// The operand of the product.
  mlir::Value globalScaleOperand;
};

/// Values in the kernel; null for operands that the product does not have.
/// Matrices of all groups are one matrix of their rows.
struct KernelParameters {
  /// i32: number of groups.
  mlir::Value groups;
  /// Of every group; null where problems have extents and results of their own,
  /// but for the result of the first.
  ProblemExtents extents;
  ResultPlace result;
  /// i32: K, if groups lie along it.
  mlir::Value depth;
  /// Columns where they are known while compiling.
  std::optional<int64_t> knownColumns, knownOutColumns;
  /// Pointers.
  mlir::Value offsets, alpha, rowScale, bias, prob, beta, addend,
      activationParams, globalScale, preact;
  /// Bytes of the result's scales.
  mlir::Value outScales;
  llvm::SmallVector<CopyParameters> copies;
  /// Sums of parts of K, f32, and for each thread of a part an i32 that is 0
  /// until it has stored its own. For sm_90a of each block one part.
  mlir::Value partials, published;
  /// i32, the bits of f32: the largest magnitude of each group.
  mlir::Value amax;
  /// Pointers of the operands of an epilogue region.
  llvm::SmallVector<mlir::Value> row, column, group;
  /// f32.
  mlir::Value alphaValue, betaValue, globalScaleValue;
  /// i64, of stochastic rounding.
  mlir::Value seed;
  /// Of problems with extents of their own (ProblemTable.h).
  std::optional<Launch::Table> problems;
  std::optional<CheckedData> checked;
  /// The host has chosen the rows of their tiles.
  bool hasTileRows = false;
  /// Ragged scales start as upper_bound; else where their rows do.
  bool startsByGroup = false;
};

/// alpha, beta and the scale of codes.
void addFactors(Launch &launch, MatmulOp op, KernelParameters &p);

/// Numbers and operands of the epilogue: those that do not depend on how the
/// product is multiplied. `steps` is the number of stages along K. Boxes of
/// `boxColumns` columns of the result are stored in one piece, none if it is 0.
void addCommonParameters(Launch &launch, MatmulOp op, HostNumber steps,
                         int64_t boxColumns, KernelParameters &p);

/// Rows of one matrix of A, columns of the product, groups.
struct HostExtents {
  HostNumber rows, columns, groups;
  static HostExtents get(HostMath &math, MatmulOp op);
};

/// A bound of the number of tiles of so many rows and columns.
HostNumber countTiles(HostMath &math, MatmulOp op, int64_t rows,
                      int64_t columns);

/// K of the product of `a` and `b`, which run along it. FP4 has an odd K in its
/// type alone; where that leaves it open, the other side may have it.
HostNumber countK(HostMath &math, const ScaledOperand &a,
                  const ScaledOperand &b);

/// The product of the leading extents of a memref, all but `last`.
HostNumber countRows(HostMath &math, mlir::Value memref, int64_t last);

/// Elements and scales of weights that kernels decode.
warpspec::WeightCode getWeightCode(ScaledType weights);

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_KERNELPARAMETERS_H
