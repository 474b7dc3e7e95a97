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

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELPARAMETERS_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELPARAMETERS_H

#include "Launch.h"

namespace nvfp4::gsg::sm100 {

/// Words of a row of a table of problems, in the order of their places. The
/// pointer to the result is two.
enum class ProblemWord : int64_t {
  Rows,
  Columns,
  Steps,
  OutStride,
  OutLow,
  OutHigh
};

/// Values in the kernel; null for operands that the product does not have.
/// Matrices of all groups are one matrix of their rows.
struct KernelParameters {
  mlir::Value aMap, bMap, aScaleMap, bScaleMap;
  /// Boxes of the result that are stored in one piece; null if none are.
  mlir::Value outMap;
  /// i32: number of groups, rows of one matrix of A (of all groups where they
  /// are ragged), columns of the product and of the result, stages along K.
  mlir::Value groups, rows, columns, outColumns, steps;
  /// i32: K, if groups lie along it.
  mlir::Value depth;
  /// i32: elements from one row of the result to the next, whole 16 bytes.
  mlir::Value outStride;
  /// Columns where they are known while compiling.
  std::optional<int64_t> knownColumns, knownOutColumns;
  /// Pointers.
  mlir::Value offsets, alpha, bias, prob, beta, addend, activationParams,
      globalScale, preact;
  /// The result: elements, or bytes of codes and of scales.
  mlir::Value out, outScales;
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
  /// Of problems with extents of their own: for each a row of ProblemWords, and
  /// maps in the order of those above. What it holds is null here but in a
  /// group.
  std::optional<Launch::Table> problems;
  /// Ragged scales start as upper_bound; else where their rows do.
  bool startsByGroup = false;
};

/// Gives the kernel of `op` its parameters. `blocks` becomes a bound of the
/// number of tiles.
KernelParameters addParameters(Launch &launch, const KernelPlan &plan,
                               MatmulOp op, HostNumber &blocks);

/// The same of all problems of a list. `op` is its first problem, with the
/// factors of all.
KernelParameters addListParameters(Launch &launch, const KernelPlan &plan,
                                   MatmulListOp list, MatmulOp op,
                                   HostNumber &blocks);

/// The first four maps of one problem with these operands, whose groups may lie
/// along K.
struct OperandMaps {
  mlir::Value a, b, aScales, bScales;
};
OperandMaps addOperandMaps(Launch &launch, const KernelPlan &plan, HostNumber k,
                           bool isAlongK = false);

/// alpha, beta and the scale of codes.
void addFactors(Launch &launch, MatmulOp op, KernelParameters &p);

/// Numbers and operands of the epilogue: those that do not depend on how the
/// product is multiplied. `steps` is the number of stages along K.
void addCommonParameters(Launch &launch, const KernelPlan &plan, MatmulOp op,
                         HostNumber steps, KernelParameters &p);

/// Rows of one matrix of A, columns of the product, groups.
struct ProductExtents {
  HostNumber rows, columns, groups;
  static ProductExtents get(HostMath &math, MatmulOp op);
};

/// A bound of the number of tiles of so many rows and columns.
HostNumber countTiles(HostMath &math, MatmulOp op, int64_t rows,
                      int64_t columns);

/// Memory for the sums of parts of so many tiles, if K is cut. Returns a bound
/// of the number of blocks.
HostNumber addPartials(Launch &launch, const KernelPlan &plan, HostNumber tiles,
                       KernelParameters &p);

/// K of the product of `a` and `b`, which run along it. FP4 has an odd K in its
/// type alone; where that leaves it open, the other side may have it.
HostNumber countK(HostMath &math, const ScaledOperand &a,
                  const ScaledOperand &b);

/// The product of the leading extents of a memref, all but `last`.
HostNumber countRows(HostMath &math, mlir::Value memref, int64_t last);

} // namespace nvfp4::gsg::sm100

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_KERNELPARAMETERS_H
