//===- Exchange.cpp - Experts on several ranks ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exchange_rows, return_rows and expert_parallel on R virtual ranks: each has
// an inbox of slots, sorts it by expert, and sends rows back by what it
// received.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/Exchange.h"

#include "Evaluator.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>
#include <vector>

namespace nvfp4::reference {
namespace {

/// A slot that a rank received.
struct Received {
  int64_t expert, slot;
};

/// Tokens, slots and ranks of an operation, as its operands say.
struct Ranks {
  int64_t numTokens = 0, k = 0, count = 0;
  /// The rank of each slot, -1 where it is not used.
  std::vector<int64_t> rankOfSlot;
  /// The slots of each rank, by expert and then in their order.
  std::vector<std::vector<Received>> inbox;
};

} // namespace

/// Sends each slot to its rank. ranks_c7 to ranks_c9.
static llvm::Expected<Ranks> send(mlir::Operation *op, const Tensor &experts,
                                  const Tensor &tokens, int64_t numExperts,
                                  mlir::ArrayAttr table,
                                  std::optional<int64_t> capacity) {
  Ranks ranks;
  ranks.numTokens = experts.dim(0);
  ranks.k = experts.dim(1);
  ranks.count = tokens.numElements();
  ranks.rankOfSlot.assign(static_cast<size_t>(experts.numElements()), -1);
  ranks.inbox.resize(static_cast<size_t>(ranks.count));
  auto ranksOf = gsg::getRanksOfExperts(table, numExperts, ranks.count);
  int64_t start = 0;
  for (int64_t source = 0; source < ranks.count; ++source) {
    int64_t end = tokens.integer(source);
    bool isLast = source + 1 == ranks.count;
    // ranks_c7
    if (end < start ||
        (isLast ? end != ranks.numTokens : end > ranks.numTokens))
      return errorAt(op, "expected tokens that do not decrease and end at " +
                             llvm::Twine(ranks.numTokens) + ", but got " +
                             llvm::Twine(end) + " for rank " +
                             llvm::Twine(source));
    // ranks_c8
    if (capacity && end - start > *capacity)
      return errorAt(op, "expected at most " + llvm::Twine(*capacity) +
                             " tokens on a rank, but got " +
                             llvm::Twine(end - start) + " on rank " +
                             llvm::Twine(source));
    for (int64_t slot = start * ranks.k; slot < end * ranks.k; ++slot) {
      int64_t expert = experts.integer(slot);
      if (expert == -1)
        continue;
      // ranks_c9
      if (expert < 0 || expert >= numExperts)
        return errorAt(op, "expected experts in [-1, " +
                               llvm::Twine(numExperts) + "), but got " +
                               llvm::Twine(expert) + " for token " +
                               llvm::Twine(slot / ranks.k) + ", slot " +
                               llvm::Twine(slot % ranks.k));
      const auto &choice = ranksOf[static_cast<size_t>(expert)];
      int64_t rank = source;
      if (!llvm::is_contained(choice, source)) {
        int64_t turn = slot / ranks.k - start + source;
        rank = choice[static_cast<size_t>(turn) % choice.size()];
      }
      ranks.rankOfSlot[static_cast<size_t>(slot)] = rank;
      ranks.inbox[static_cast<size_t>(rank)].push_back({expert, slot});
    }
    start = end;
  }
  for (std::vector<Received> &received : ranks.inbox)
    llvm::sort(received, [](const Received &a, const Received &b) {
      return std::pair(a.expert, a.slot) < std::pair(b.expert, b.slot);
    });
  return ranks;
}

/// Where the row of a slot is; null where there is none.
using RowOfSlot =
    llvm::function_ref<std::pair<const Tensor *, int64_t>(int64_t slot)>;

/// The sums of each token, `[T, N]`.
static Tensor sumSlots(const Ranks &ranks, bool isGrouped, Tensor out,
                       const Tensor &weights, RowOfSlot rowOf) {
  int64_t width = out.dim(1);
  // Sums by rank, or as if all slots were of one rank.
  int64_t sums = isGrouped ? ranks.count : 1;
  for (int64_t t = 0; t < ranks.numTokens; ++t)
    for (int64_t c = 0; c < width; ++c) {
      Real total;
      for (int64_t rank = 0; rank < sums; ++rank) {
        Real sum;
        bool hasSlot = false;
        for (int64_t slot = t * ranks.k; slot < (t + 1) * ranks.k; ++slot) {
          auto [rows, row] = rowOf(slot);
          if (!rows || (isGrouped &&
                        ranks.rankOfSlot[static_cast<size_t>(slot)] != rank))
            continue;
          hasSlot = true;
          sum = fusedMultiplyAdd(Element::F32, weights.real(slot),
                                 rows->real(row * width + c), sum);
        }
        if (hasSlot)
          total = isGrouped ? add(Element::F32, total, sum) : sum;
      }
      out.setReal(t * width + c, out.element() == Element::F32
                                     ? total
                                     : convert(out.element(), total));
    }
  return out;
}

llvm::Error Evaluator::evaluateExchangeRows(gsg::ExchangeRowsOp op) {
  const Tensor &input = tensor(op.getInput());
  const Tensor &experts = tensor(op.getExperts());
  auto endsType = mlir::cast<mlir::ShapedType>(op.getEnds().getType());
  int64_t numExperts = endsType.getDimSize(0);
  llvm::Expected<Ranks> ranks =
      send(op, experts, tensor(op.getTokens()), numExperts, op.getTableAttr(),
           op.getCapacity());
  if (!ranks)
    return ranks.takeError();
  // exchange_rows_c2
  if (input.dim(0) != ranks->numTokens)
    return errorAt(op, "expected an input of " + llvm::Twine(ranks->numTokens) +
                           " rows, but got " + input.describe());
  int64_t width = input.dim(1);
  llvm::Expected<Tensor> rows =
      allocate(input.element(), {experts.numElements(), width});
  if (!rows)
    return rows.takeError();
  *rows = Tensor::zeros(input.element(), {experts.numElements(), width});
  Tensor ends = Tensor::zeros(Element::I32, {numExperts});
  Tensor rowOfSlot = Tensor::ofIntegers(
      Element::I32, experts.shape(),
      std::vector<int64_t>(static_cast<size_t>(experts.numElements()), -1));
  // Each rank has its rows by expert; all of an expert, in the order of slots.
  int64_t row = 0;
  for (int64_t expert = 0; expert < numExperts; ++expert) {
    std::vector<int64_t> slots;
    for (const std::vector<Received> &received : ranks->inbox)
      for (const Received &each : received)
        if (each.expert == expert)
          slots.push_back(each.slot);
    llvm::sort(slots);
    for (int64_t slot : slots) {
      rows->copyElements(row * width, input, slot / ranks->k * width, width);
      rowOfSlot.set(slot, Scalar::ofInteger(Element::I32, row++));
    }
    ends.set(expert, Scalar::ofInteger(Element::I32, row));
  }
  setResults(op, {std::move(*rows), std::move(ends), std::move(rowOfSlot)});
  return llvm::Error::success();
}

llvm::Error Evaluator::evaluateReturnRows(gsg::ReturnRowsOp op) {
  const Tensor &input = tensor(op.getInput());
  const Tensor &places = tensor(op.getRowOfSlot());
  const Tensor &weights = tensor(op.getWeights());
  const Tensor &experts = tensor(op.getExperts());
  llvm::Expected<Ranks> ranks =
      send(op, experts, tensor(op.getTokens()),
           tensor(op.getEnds()).numElements(), op.getTableAttr(), std::nullopt);
  if (!ranks)
    return ranks.takeError();
  // return_rows_c2
  if (places.shape() != experts.shape() || weights.shape() != experts.shape())
    return errorAt(op, "expected row_of_slot and weights of the shape of "
                       "experts, but got " +
                           places.describe() + " and " + weights.describe());
  for (int64_t slot = 0; slot < places.numElements(); ++slot)
    // return_rows_c4
    if (places.integer(slot) < -1 || places.integer(slot) >= input.dim(0))
      return errorAt(op, "expected rows in [-1, " + llvm::Twine(input.dim(0)) +
                             "), but got " + llvm::Twine(places.integer(slot)) +
                             " for token " + llvm::Twine(slot / ranks->k) +
                             ", slot " + llvm::Twine(slot % ranks->k));
  Element element =
      *elementOf(mlir::getElementTypeOrSelf(op.getResult().getType()));
  llvm::Expected<Tensor> out =
      allocate(element, {ranks->numTokens, input.dim(1)});
  if (!out)
    return out.takeError();
  setResults(op, {sumSlots(*ranks, op.getRankGrouped(), std::move(*out),
                           weights, [&](int64_t slot) {
                             int64_t row = places.integer(slot);
                             return std::pair(row < 0 ? nullptr : &input, row);
                           })});
  return llvm::Error::success();
}

llvm::Expected<Tensor>
Evaluator::runRank(gsg::ExpertParallelOp op,
                   llvm::ArrayRef<std::pair<int64_t, int64_t>> slots) {
  mlir::Block &body = op.getBody().front();
  const Tensor &input = tensor(op.getInput());
  int64_t k = tensor(op.getExperts()).dim(1), width = input.dim(1);
  auto count = static_cast<int64_t>(slots.size());
  int64_t numExperts =
      mlir::cast<mlir::ShapedType>(body.getArgument(1).getType()).getDimSize(0);
  Tensor rows = Tensor::zeros(input.element(), {count, width});
  std::vector<int64_t> ends(static_cast<size_t>(numExperts));
  for (int64_t row = 0; row < count; ++row) {
    auto [expert, slot] = slots[static_cast<size_t>(row)];
    rows.copyElements(row * width, input, slot / k * width, width);
    for (int64_t e = expert; e < numExperts; ++e)
      ++ends[static_cast<size_t>(e)];
  }
  set(body.getArgument(0), std::move(rows));
  set(body.getArgument(1),
      Tensor::ofIntegers(Element::I32, {numExperts}, std::move(ends)));
  std::vector<Value> yielded;
  if (llvm::Error error = runBlock(body, yielded))
    return error;
  auto result = std::get<Tensor>(std::move(yielded.front()));
  // expert_parallel_c4
  if (result.dim(0) != count)
    return errorAt(op, "expected a body that yields as many rows as it gets, " +
                           llvm::Twine(count) + ", but got " +
                           result.describe());
  return result;
}

llvm::Error Evaluator::evaluateExpertParallel(gsg::ExpertParallelOp op) {
  const Tensor &experts = tensor(op.getExperts());
  const Tensor &weights = tensor(op.getWeights());
  auto endsType = mlir::cast<mlir::ShapedType>(
      op.getBody().front().getArgument(1).getType());
  llvm::Expected<Ranks> ranks =
      send(op, experts, tensor(op.getTokens()), endsType.getDimSize(0),
           op.getTableAttr(), op.getCapacity());
  if (!ranks)
    return ranks.takeError();
  // expert_parallel_c2
  if (tensor(op.getInput()).dim(0) != ranks->numTokens ||
      weights.shape() != experts.shape())
    return errorAt(op, "expected an input of " + llvm::Twine(ranks->numTokens) +
                           " rows and weights of the shape of experts, but "
                           "got " +
                           tensor(op.getInput()).describe() + " and " +
                           weights.describe());
  std::vector<Tensor> ofRanks;
  std::vector<int64_t> rowOfSlot(ranks->rankOfSlot.size(), -1);
  for (const std::vector<Received> &received : ranks->inbox) {
    llvm::SmallVector<std::pair<int64_t, int64_t>> slots;
    for (const Received &each : received) {
      rowOfSlot[static_cast<size_t>(each.slot)] =
          static_cast<int64_t>(slots.size());
      slots.emplace_back(each.expert, each.slot);
    }
    llvm::Expected<Tensor> rows = runRank(op, slots);
    if (!rows)
      return rows.takeError();
    ofRanks.push_back(std::move(*rows));
    if (ofRanks.back().dim(1) != ofRanks.front().dim(1))
      return errorAt(op, "expected rows of one width, but got " +
                             ofRanks.front().describe() + " and " +
                             ofRanks.back().describe());
  }
  Element element =
      *elementOf(mlir::getElementTypeOrSelf(op.getResult().getType()));
  llvm::Expected<Tensor> out =
      allocate(element, {ranks->numTokens, ofRanks.front().dim(1)});
  if (!out)
    return out.takeError();
  setResults(op, {sumSlots(*ranks, op.getRankGrouped(), std::move(*out),
                           tensor(op.getWeights()), [&](int64_t slot) {
                             auto at = static_cast<size_t>(slot);
                             int64_t rank = ranks->rankOfSlot[at];
                             const Tensor *rows =
                                 rank < 0 ? nullptr
                                          : &ofRanks[static_cast<size_t>(rank)];
                             return std::pair(rows, rowOfSlot[at]);
                           })});
  return llvm::Error::success();
}

} // namespace nvfp4::reference
