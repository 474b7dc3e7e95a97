//===- ProblemTable.h - A kernel for several problems -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Problems of a list have extents of their own. A table in global memory has a
// row of entries for each: its words, and then its tensor maps.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_PROBLEMTABLE_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_PROBLEMTABLE_H

#include "KernelContext.h"

namespace nvfp4::gsg::kernels {

/// Words of a row of the table, in the order of their places. A pointer is two,
/// of which the first has an even place.
enum class ProblemWord : int64_t {
  Rows,
  Columns,
  Steps,
  OutStride,
  Out,
  /// Rows of a tile. From here on, of kernels for wgmma alone.
  Width = 6,
  Weights = 8,
  Factors = 10
};

/// On the host: begins the row of problem `number` of `list` with the words
/// that all kernels read. Returns the problem's result, whose rows are of whole
/// 16 bytes.
Buffer beginProblem(Launch &launch, MatmulListOp list, int64_t number,
                    HostNumber columns, HostNumber steps);

/// Ends the table of `list`, of which `op` is the first problem and
/// `firstResult` its result, and gives the kernel what all problems share.
void endProblems(Launch &launch, MatmulListOp list, MatmulOp op,
                 const Buffer &firstResult, KernelParameters &p);

/// The extents of problem `g`, which are loaded where problems have their own.
ProblemExtents getExtents(const KernelContext &context, mlir::Value g);

/// Where the results of problem `g` go. With `hasMap` boxes of them have the
/// map number `map`.
ResultPlace getResult(const KernelContext &context, mlir::Value g, bool hasMap,
                      unsigned map);

/// Bytes from `first`, the pointer of the first problem, to the same pointer of
/// problem `g`, i64.
mlir::Value getDistance(const KernelContext &context, mlir::Value g,
                        ProblemWord pointer, mlir::Value first);

/// Map number `i` of problem `g`, or `map` if all have the same.
mlir::Value getMap(const KernelContext &context, mlir::Value map, mlir::Value g,
                   unsigned i);

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_PROBLEMTABLE_H
