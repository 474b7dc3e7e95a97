//===- ListProblem.h - Problems of a list as products -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which lists have one kernel for all problems, and what a problem is alone.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_LISTPROBLEM_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_LISTPROBLEM_H

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"

namespace nvfp4::gsg {

/// The list is in storage form on memrefs.
bool isStored(MatmulListOp list);

/// One kernel has all problems of the list: it is stored and has several, with
/// results of one type.
bool hasOneKernel(MatmulListOp list);

/// Problem `i` of a list as a product of its own, before it. The factors are
/// those given.
MatmulOp createProblem(mlir::OpBuilder &builder, MatmulListOp list, int64_t i,
                       mlir::Value alpha, mlir::Value beta);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_LISTPROBLEM_H
