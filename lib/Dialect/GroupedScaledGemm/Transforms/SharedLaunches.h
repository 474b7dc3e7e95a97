//===- SharedLaunches.h - Operations of one launch --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations beside products that may share a launch, with their predicted
// times: what gsg-fuse-launches joins, and what it prints.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_SHAREDLAUNCHES_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_SHAREDLAUNCHES_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"
#include "nvfp4/KernelTarget/LaunchCosts.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <string>

namespace nvfp4::gsg {

/// route and what follows it in one kernel.
struct RoutedChain {
  RouteOp route;
  SortTokensOp sort = {};
  PermuteOp permute = {};
  /// Why it is shorter than it could be.
  std::string reason = {};

  /// Without a permute that shares its launch with another operation.
  static RoutedChain
  find(RouteOp route, const llvm::SmallPtrSetImpl<mlir::Operation *> &shared);

  llvm::SmallVector<mlir::Operation *> getOps();
  std::string getNames();

  strategy::TokenMoves getMoves();
  /// In us, as one launch or as one of each operation.
  double predictTogether(int64_t tokens);
  double predictApart(int64_t tokens);

  /// Up to so many tokens one launch is predicted to be faster.
  int64_t findMostTokens();

private:
  bool canJoin(llvm::ArrayRef<mlir::Operation *> others);
};

/// permute and the quantize that alone reads its rows.
struct QuantizedRows {
  QuantizeOp quantize;
  PermuteOp permute = {};
  std::string reason = {};

  static QuantizedRows find(QuantizeOp quantize);

  /// Whether the bytes of a row depend on nothing but the token.
  bool canQuantizeTokens();

  strategy::QuantizedMoves getMoves();

  /// From so many tokens on they are better quantised once each; 0 for none.
  int64_t findLeastTokens();

  /// Quantises the tokens and then moves their rows.
  void quantizeTokens(mlir::OpBuilder &b);

  /// One launch, of quantised tokens if they are given.
  void launch(mlir::OpBuilder &b, mlir::Value codes = {},
              mlir::Value scales = {}, mlir::TypeAttr type = {});
};

/// Two `quantize` of one matrix: of its rows, and of the transposed one.
struct BothDirections {
  QuantizeOp rows = {}, columns = {};
  std::string reason = {};

  /// The pair that `columns`, which is transposed, is in; without `rows` if it
  /// is in none.
  static BothDirections find(QuantizeOp columns);

  mlir::Operation *getLast();
  double predictTogether(int64_t tokens);
  double predictApart(int64_t tokens);

  /// One launch, where the last one stands.
  void launch();

private:
  int64_t getNumColumns();
};

/// Extents of models where only the launch knows them.
inline constexpr int64_t kGuessedColumns = 4096, kGuessedSlots = 4,
                         kGuessedExperts = 128;

/// Extent `d` of a memref, or `guess` where it is unknown.
int64_t getDimOr(mlir::Value memref, int64_t d, int64_t guess);

/// Bytes of a row of a matrix in memory.
int64_t getRowBytes(mlir::Value rows);

/// Rows of a token, if `tokenOfRow` is the order of a sort_tokens.
int64_t countSlotsOf(mlir::Value tokenOfRow);

/// Remarks on `function` the predicted times of its launches beside products,
/// before any is fused.
void remarkLaunches(mlir::FunctionOpInterface function);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_TRANSFORMS_SHAREDLAUNCHES_H
