//===- Exchange.h - Operations across ranks ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exchange_rows, return_rows and expert_parallel, and the ranks that they send
// slots to.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EXCHANGE_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EXCHANGE_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#define GET_OP_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/ExchangeOps.h.inc"

namespace nvfp4::gsg {

/// The ranks that keep each expert: those of `table`, an array of arrays of
/// integers, or without it `experts` neighbours spread over `ranks`, the first
/// of which have one more where they do not divide.
llvm::SmallVector<llvm::SmallVector<int64_t>>
getRanksOfExperts(mlir::ArrayAttr table, int64_t experts, int64_t ranks);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EXCHANGE_H
