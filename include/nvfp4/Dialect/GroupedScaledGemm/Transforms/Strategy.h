//===- Strategy.h - products for the cost model -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between the dialect and nvfp4/Strategy, which knows no IR. A lowering turns
// the attribute into a tile and asks Budget.h for its memory plans.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_STRATEGY_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_STRATEGY_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/KernelTarget/KernelTarget.h"

namespace nvfp4::gsg {

/// What is assumed of extents that are dynamic and not hinted at.
struct AssumedExtents {
  int64_t rowsPerGroup = 128;
  int64_t groups = 8;
  int64_t n = 4096;
  int64_t k = 4096;
};

/// The tile that a verified attribute describes, and the attribute of a tile.
strategy::Tile getTile(StrategyAttr attr);
StrategyAttr getStrategyAttr(mlir::MLIRContext *context,
                             const strategy::Tile &tile);

/// A product of which a kernel is to be made: only tiles that have one are
/// legal.
strategy::Problem forKernels(strategy::Problem problem);

/// What a refusal says of a tile that breaks a rule, and the nearest legal one:
/// "the strategy T: expected X, but got Y; the nearest one is N".
std::string explainIllegalTile(const strategy::Tile &tile,
                               const strategy::Violation &violation,
                               const strategy::Problem &problem,
                               const strategy::KernelTarget &target);

/// Results of a row that a thread of a kernel for sm_100a finishes at a time:
/// 32, or 16 of pairs that take turns within 32 columns. Also 16 of others
/// whose activation is exact, as that is most of the code of a kernel, or with
/// `isSwapped`, where the four warps share the 64 pairs of a row.
int64_t getResultColumns(MatmulOp op, bool isSwapped = false);

/// The product of a verified op, in value or in storage form, whose weights
/// have scales; where rows have none, the format of rows says nothing.
/// `expectedRows` (0: none) is the number of rows of all groups where the op
/// has no `expected_rows` and its groups are read on the device or its rows are
/// dynamic. Rows that are expected in all are spread over the groups at random.
strategy::Problem describe(MatmulOp op, int64_t expectedRows = 0,
                           const AssumedExtents &assumed = {});

/// The same for a list of products, each a group.
strategy::Problem describe(MatmulListOp op, const AssumedExtents &assumed = {});

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_STRATEGY_H
