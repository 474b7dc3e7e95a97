//===- EpilogueColumns.h - Which values columns change ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An expanded epilogue with pairs works on columns of the product before
// pair_columns and on columns of the result after it. Values that are the same
// in all columns of a row are used in both parts.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EPILOGUECOLUMNS_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EPILOGUECOLUMNS_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "llvm/ADT/SetVector.h"

namespace nvfp4::gsg {

/// Whether the values of a clause differ from column to column.
bool belongsToColumn(EpilogueClause clause);

/// The operations before pair_columns with results that are the same in all
/// columns, in their order: constants, loads of such clauses, and what is
/// computed from these alone.
llvm::SetVector<mlir::Operation *> getColumnFree(mlir::Block &epilogue);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_EPILOGUECOLUMNS_H
