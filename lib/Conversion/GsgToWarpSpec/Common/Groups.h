//===- Groups.h - Where groups lie in their operands ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By the group offsets of the product, cut to what there is: whatever they
// hold, nothing outside an operand is touched.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_GROUPS_H
#define NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_GROUPS_H

#include "KernelContext.h"

namespace nvfp4::gsg::kernels {

/// Where a group lies, i32.
struct GroupPlace {
  /// Its first row in the operand, and how many it has.
  mlir::Value start, rows;
  /// The first row of scale tiles of its rows.
  mlir::Value scaleAtom;
  /// Where groups lie along K: the first of its stages, and how many.
  mlir::Value firstStep, steps;
  /// Rows of a tile, null where the kernel chooses them.
  mlir::Value tileRows;
};

/// Group `g` of a product whose problem has these extents.
GroupPlace getGroup(const KernelContext &context, const ProblemExtents &extents,
                    mlir::Value g);

} // namespace nvfp4::gsg::kernels

#endif // NVFP4_LIB_CONVERSION_GSGTOWARPSPEC_COMMON_GROUPS_H
