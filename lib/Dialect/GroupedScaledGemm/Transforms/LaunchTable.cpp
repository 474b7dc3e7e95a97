//===- LaunchTable.cpp - Launches with their predicted times ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The remark of gsg-fuse-launches on each function.
//
//===----------------------------------------------------------------------===//

#include "SharedLaunches.h"

#include "llvm/Support/FormatVariadic.h"

#include <functional>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

namespace {
/// The launches of a function beside its products, with their predicted times.
class LaunchTable {
public:
  using Predict = std::function<double(int64_t tokens)>;

  /// The table of all operations in `function`, before any is fused.
  explicit LaunchTable(FunctionOpInterface function) {
    // Operations that share the launch of one that comes later.
    llvm::SmallPtrSet<Operation *, 8> shared;
    function.walk([&](QuantizeOp op) {
      if (QuantizedRows rows = QuantizedRows::find(op); rows.permute)
        shared.insert(rows.permute);
      if (BothDirections pair = BothDirections::find(op); pair.rows)
        shared.insert(pair.rows);
    });
    function.walk([&](Operation *op) {
      if (op->getNumResults() || shared.contains(op))
        return;
      if (auto route = dyn_cast<RouteOp>(op)) {
        RoutedChain chain = RoutedChain::find(route, shared);
        addRoute(chain);
        for (Operation *other : chain.getOps())
          shared.insert(other);
      } else if (auto sort = dyn_cast<SortTokensOp>(op)) {
        strategy::TokenMoves moves{
            getDimOr(sort.getEndsOut(), 0, kGuessedExperts),
            getDimOr(sort.getExperts(), 1, kGuessedSlots), 0};
        add("sort_tokens", [=](int64_t n) { return moves.predictSort(n); });
      } else if (auto permute = dyn_cast<PermuteOp>(op)) {
        strategy::TokenMoves moves{0, countSlotsOf(permute.getTokenOfRow()),
                                   getRowBytes(permute.getOut())};
        add("permute", [=](int64_t n) { return moves.predictPermute(n); });
      } else if (auto combine = dyn_cast<CombineOp>(op)) {
        strategy::TokenMoves moves{
            0, getDimOr(combine.getRowOfSlot(), 1, kGuessedSlots),
            getRowBytes(combine.getOut())};
        add("combine", [=](int64_t n) { return moves.predictCombine(n); });
      } else if (auto quantize = dyn_cast<QuantizeOp>(op)) {
        BothDirections pair = BothDirections::find(quantize);
        if (pair.rows)
          add("quantize of rows and columns", [=](int64_t n) {
            return BothDirections(pair).predictTogether(n);
          });
        else
          addQuantize(QuantizedRows::find(quantize));
      }
    });
  }

  void print(FunctionOpInterface function) const {
    if (lines.empty())
      return;
    std::string text = "launches beside products, in us by the model for 1, 64 "
                       "and 1024 tokens:";
    for (const auto &[name, predict] : lines)
      text += llvm::formatv("\n{0}: {1:F1}, {2:F1}, {3:F1}", name, predict(1),
                            predict(64), predict(1024))
                  .str();
    function->emitRemark() << text;
  }

private:
  SmallVector<std::pair<std::string, Predict>> lines;

  void add(std::string name, Predict predict) {
    lines.emplace_back(std::move(name), std::move(predict));
  }

  void addRoute(RoutedChain chain) {
    int64_t most = chain.sort ? chain.findMostTokens() : 0;
    strategy::TokenMoves moves = chain.getMoves();
    if (!chain.sort)
      return add("route", [=](int64_t n) { return moves.predictRoute(n); });
    std::string note =
        most ? " (one launch up to " + std::to_string(most) + " tokens)"
             : " (a launch of each)";
    add(chain.getNames() + note, [=](int64_t n) {
      RoutedChain own(chain);
      return n <= most ? own.predictTogether(n) : own.predictApart(n);
    });
  }

  void addQuantize(QuantizedRows rows) {
    strategy::QuantizedMoves moves = rows.getMoves();
    if (!rows.permute)
      return add("quantize",
                 [=](int64_t n) { return moves.predictQuantize(n); });
    int64_t least = rows.findLeastTokens();
    std::string note = least ? " (each token once from " +
                                   std::to_string(least) + " tokens on)"
                             : "";
    add("permute and quantize" + note, [=](int64_t n) {
      return least && n >= least ? moves.predictOncePerToken(n)
                                 : moves.predictOneLaunch(n);
    });
  }
};
} // namespace

void gsg::remarkLaunches(FunctionOpInterface function) {
  LaunchTable(function).print(function);
}
