//===- StorageDestinations.h - Destinations of scaled results ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scaled result has no destination in value form and two in storage form.
// Here they are made, as large as the shape and the groups may need.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_STORAGEDESTINATIONS_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_STORAGEDESTINATIONS_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg {

/// Tensors that a scaled result is written to.
struct StorageDestinations {
  mlir::Value values;
  mlir::Value scales;
  ScaledType type;
};

/// Creates destinations for a result of `op` of type `type`, which is of the
/// transposed matrices with `transposed`. `segments` are the operand segments
/// of the op in storage form; they give the dynamic extents. Elements that the
/// op may leave unwritten are zero (values) and finite (scales).
StorageDestinations createStorageDestinations(
    mlir::OpBuilder &builder, mlir::Operation *op, ScaledType type,
    llvm::ArrayRef<llvm::SmallVector<mlir::Value>> segments,
    bool transposed = false);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_STORAGEDESTINATIONS_H
