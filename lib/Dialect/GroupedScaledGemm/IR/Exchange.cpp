//===- Exchange.cpp - Operations across ranks -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generated classes of exchange_rows, return_rows, expert_parallel and
// yield_rows, and their verifiers.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/Exchange.h"

#include "Verification.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::gsg;

#define GET_OP_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/ExchangeOps.cpp.inc"

SmallVector<SmallVector<int64_t>>
nvfp4::gsg::getRanksOfExperts(ArrayAttr table, int64_t experts, int64_t ranks) {
  SmallVector<SmallVector<int64_t>> found;
  if (table) {
    for (auto entry : table.getAsRange<ArrayAttr>()) {
      found.emplace_back();
      for (auto rank : entry.getAsRange<IntegerAttr>())
        found.back().push_back(rank.getInt());
    }
    return found;
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    found.append(experts / ranks + (rank < experts % ranks), {rank});
  return found;
}

/// ranks_c1, ranks_c2: the number of ranks, and an array of one array of
/// integers for each expert.
static LogicalResult verifyRanks(Operation *op, int64_t ranks, int64_t experts,
                                 ArrayAttr table) {
  // ranks_c1
  if (ShapedType::isDynamic(ranks) || ShapedType::isDynamic(experts))
    return op->emitOpError("expected known numbers of ranks and experts, the "
                           "extents of tokens and ends, but got ")
           << formatShape({ranks}) << " and " << formatShape({experts});
  if (ranks < 1 || ranks > experts)
    return op->emitOpError("expected from 1 to ")
           << experts << " ranks, the number of experts, but got " << ranks;
  if (!table)
    return success();
  // ranks_c2
  if (static_cast<int64_t>(table.size()) != experts)
    return op->emitOpError("expected a table of ")
           << experts << " entries, one for each expert, but got "
           << table.size();
  auto isRank = [](Attribute each) {
    auto number = dyn_cast<IntegerAttr>(each);
    return number && number.getType().isSignlessInteger(64);
  };
  for (auto [expert, entry] : llvm::enumerate(table)) {
    auto list = dyn_cast<ArrayAttr>(entry);
    if (!list || list.empty() || !llvm::all_of(list, isRank))
      return op->emitOpError("expected a list of ranks of i64 for expert ")
             << expert << ", but got " << entry;
  }
  return success();
}

/// ranks_c3, ranks_c4: the ranks that the table names.
static LogicalResult verifyTable(Operation *op, int64_t ranks, int64_t experts,
                                 ArrayAttr table) {
  llvm::SmallSet<int64_t, 16> used;
  auto lists = getRanksOfExperts(table, experts, ranks);
  for (auto [expert, list] : llvm::enumerate(lists)) {
    llvm::SmallSet<int64_t, 16> seen;
    for (int64_t rank : list) {
      // ranks_c3
      if (rank < 0 || rank >= ranks)
        return op->emitOpError("expected ranks in [0, ")
               << ranks << ") for expert " << expert << ", but got " << rank;
      if (!seen.insert(rank).second)
        return op->emitOpError("expected each rank once for expert ")
               << expert << ", but got " << rank << " again";
      used.insert(rank);
    }
  }
  // ranks_c4
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (!used.contains(rank))
      return op->emitOpError("expected an expert on each rank, but got none on "
                             "rank ")
             << rank;
  return success();
}

/// ranks_c1 to ranks_c6: the constraints that the three operations share.
static LogicalResult verifyExchange(Operation *op, Value experts, Value tokens,
                                    int64_t numExperts, ArrayAttr table,
                                    std::optional<int64_t> capacity) {
  // ranks_c5
  if (getShapeOf(experts.getType()).size() != 2 ||
      getShapeOf(tokens.getType()).size() != 1)
    return op->emitOpError("expected experts [T, k] and tokens [R], but got ")
           << experts.getType() << " and " << tokens.getType();
  int64_t ranks = getShapeOf(tokens.getType())[0];
  if (failed(verifyRanks(op, ranks, numExperts, table)) ||
      failed(verifyTable(op, ranks, numExperts, table)))
    return failure();
  // ranks_c6
  if (capacity && *capacity < 1)
    return op->emitOpError("expected a capacity >= 1, but got ") << *capacity;
  return success();
}

/// A matrix whose rows are the tokens that `experts` has entries for.
static LogicalResult verifyTokens(Operation *op, const Twine &name, Type type,
                                  Value experts) {
  if (getShapeOf(type).size() != 2)
    return op->emitOpError("expected ")
           << name << " as a matrix, but got " << type;
  return verifyShape(
      op, name, type,
      {{{getShapeOf(experts.getType())[0], getShapeOf(type)[1]}, "[T, ...]"}});
}

/// T k; dynamic if unknown or too large.
static int64_t getSlots(Value experts) {
  ArrayRef<int64_t> shape = getShapeOf(experts.getType());
  int64_t slots;
  bool isKnown = !ShapedType::isDynamic(shape[0]) &&
                 !ShapedType::isDynamic(shape[1]) &&
                 !llvm::MulOverflow(shape[0], shape[1], slots);
  return isKnown ? slots : ShapedType::kDynamic;
}

LogicalResult ExchangeRowsOp::verify() {
  // exchange_rows_c1
  if (getShapeOf(getEnds().getType()).size() != 1)
    return emitOpError("expected ends [E], but got ") << getEnds().getType();
  if (failed(verifyExchange(*this, getExperts(), getTokens(),
                            getShapeOf(getEnds().getType())[0], getTableAttr(),
                            getCapacity())) ||
      // exchange_rows_c2
      failed(
          verifyTokens(*this, "the input", getInput().getType(), getExperts())))
    return failure();
  // exchange_rows_c3
  int64_t width = getShapeOf(getInput().getType())[1];
  if (failed(verifyShape(*this, "rows", getRows().getType(),
                         {{{getSlots(getExperts()), width}, "[T * k, K]"}})) ||
      failed(verifyShape(
          *this, "row_of_slot", getRowOfSlot().getType(),
          {{SmallVector<int64_t, 3>(getShapeOf(getExperts().getType())),
            "[T, k]"}})))
    return failure();
  Type from = getElementTypeOrSelf(getInput().getType());
  Type to = getElementTypeOrSelf(getRows().getType());
  if (from != to)
    return emitOpError("expected rows of the element type of the input, ")
           << from << ", but got " << to;
  return success();
}

LogicalResult ReturnRowsOp::verify() {
  // return_rows_c1
  if (getShapeOf(getEnds().getType()).size() != 1)
    return emitOpError("expected ends [E], but got ") << getEnds().getType();
  if (failed(verifyExchange(*this, getExperts(), getTokens(),
                            getShapeOf(getEnds().getType())[0], getTableAttr(),
                            std::nullopt)))
    return failure();
  NamedShape slots{SmallVector<int64_t, 3>(getShapeOf(getExperts().getType())),
                   "[T, k]"};
  // return_rows_c2
  if (failed(
          verifyShape(*this, "row_of_slot", getRowOfSlot().getType(), slots)) ||
      failed(verifyShape(*this, "weights", getWeights().getType(), slots)))
    return failure();
  // return_rows_c3
  if (getShapeOf(getInput().getType()).size() != 2)
    return emitOpError("expected the input as a matrix, but got ")
           << getInput().getType();
  return verifyShape(
      *this, "the result", getResult().getType(),
      {{{slots.extents[0], getShapeOf(getInput().getType())[1]}, "[T, N]"}});
}

LogicalResult ExpertParallelOp::verify() {
  Block &block = getBody().front();
  auto isMatrixOf = [&](Type type, Type element) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 2 && tensor.isDynamicDim(0) &&
           (!element || tensor.getElementType() == element);
  };
  Type element = getElementTypeOrSelf(getInput().getType());
  auto ends = block.getNumArguments() == 2
                  ? dyn_cast<RankedTensorType>(block.getArgument(1).getType())
                  : RankedTensorType();
  // expert_parallel_c1
  if (!ends || ends.getRank() != 1 || !ends.getElementType().isInteger(32) ||
      !isMatrixOf(block.getArgument(0).getType(), element))
    return emitOpError("expected a body of rows [?, K] of ")
           << element << " and ends [E] of i32, but got arguments of "
           << block.getArgumentTypes();
  if (failed(verifyExchange(*this, getExperts(), getTokens(),
                            ends.getDimSize(0), getTableAttr(),
                            getCapacity())) ||
      // expert_parallel_c2
      failed(verifyTokens(*this, "the input", getInput().getType(),
                          getExperts())) ||
      failed(verifyShape(
          *this, "weights", getWeights().getType(),
          {{SmallVector<int64_t, 3>(getShapeOf(getExperts().getType())),
            "[T, k]"}})) ||
      failed(verifyTokens(*this, "the result", getResult().getType(),
                          getExperts())))
    return failure();
  int64_t width = getShapeOf(getInput().getType())[1];
  if (failed(verifyShape(*this, "rows of the body",
                         block.getArgument(0).getType(),
                         {{{ShapedType::kDynamic, width}, "[?, K]"}})))
    return failure();
  auto yield = dyn_cast<YieldRowsOp>(block.back());
  // expert_parallel_c3
  if (!yield)
    return emitOpError("expected a body that ends in yield_rows");
  if (!isMatrixOf(yield.getRows().getType(), Type()))
    return emitOpError("expected a body that yields rows [?, N], but got ")
           << yield.getRows().getType();
  return verifyShape(
      *this, "yielded rows", yield.getRows().getType(),
      {{{ShapedType::kDynamic, getShapeOf(getResult().getType())[1]},
        "[?, N]"}});
}
