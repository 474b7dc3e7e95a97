//===- DecomposeExchange.cpp - gsg-decompose-exchange -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations across ranks have one meaning for every number of ranks, which
// for one of them is a sort by expert and a sum over slots, or one for each
// rank over the slots that would be there.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/Exchange.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_DECOMPOSEEXCHANGEPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4::gsg;

/// A tensor of `type` without content; `extents` are those that it leaves open.
static Value makeEmpty(OpBuilder &b, Location loc, Type type,
                       ArrayRef<Value> extents) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<Value> open;
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (tensor.isDynamicDim(static_cast<unsigned>(dim)))
      open.push_back(extent);
  return tensor::EmptyOp::create(b, loc, tensor, open);
}

/// Exchange, body and return.
static void split(RewriterBase &rewriter, ExpertParallelOp op) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  auto exchange = ExchangeRowsOp::create(
      rewriter, loc, body.getArgument(0).getType(),
      body.getArgument(1).getType(), op.getExperts().getType(), op.getInput(),
      op.getExperts(), op.getTokens(), op.getCapacityAttr(), op.getTableAttr());
  auto yield = cast<YieldRowsOp>(body.back());
  Value rows = yield.getRows();
  rewriter.inlineBlockBefore(&body, op,
                             {exchange.getRows(), exchange.getEnds()});
  // The rows that the body yields may have been its argument.
  if (auto moved = dyn_cast<YieldRowsOp>(op->getPrevNode())) {
    rows = moved.getRows();
    rewriter.eraseOp(moved);
  }
  rewriter.setInsertionPoint(op);
  rewriter.replaceOpWithNewOp<ReturnRowsOp>(
      op, op.getResult().getType(), rows, exchange.getRowOfSlot(),
      op.getWeights(), op.getExperts(), exchange.getEnds(), op.getTokens(),
      op.getTableAttr(), op.getRankGroupedAttr());
}

static void decompose(RewriterBase &b, ExchangeRowsOp op) {
  Location loc = op.getLoc();
  auto dim = [&](Value tensor, int64_t index) -> Value {
    return tensor::DimOp::create(b, loc, tensor, index);
  };
  Value count = dim(op.getExperts(), 0), k = dim(op.getExperts(), 1);
  Value slots = arith::MulIOp::create(b, loc, count, k);
  auto rowsType = cast<RankedTensorType>(op.getRows().getType());
  Type order = RankedTensorType::get(rowsType.getDimSize(0), b.getI32Type());
  SmallVector<Type> types{op.getEnds().getType(), order,
                          op.getRowOfSlot().getType()};
  Value ends = makeEmpty(b, loc, types[0], {});
  Value sorted = makeEmpty(b, loc, order, {slots});
  Value rowOfSlot = makeEmpty(b, loc, types[2], {count, k});
  auto sort = SortTokensOp::create(b, loc, types, op.getExperts(), /*align=*/1,
                                   ends, sorted, rowOfSlot);
  Value init = makeEmpty(b, loc, rowsType, {slots, dim(op.getInput(), 1)});
  auto rows = PermuteOp::create(b, loc, rowsType, op.getInput(),
                                sort.getResult(1), init);
  b.replaceOp(op, {rows.getResult(), sort.getResult(0), sort.getResult(2)});
}

/// A tensor of i32 constants.
static Value makeConstant(OpBuilder &b, Location loc, ArrayRef<int64_t> shape,
                          ArrayRef<int32_t> values) {
  auto type = RankedTensorType::get(shape, b.getI32Type());
  return arith::ConstantOp::create(b, loc,
                                   DenseElementsAttr::get(type, values));
}

/// A tensor like `type`, each element of which `body` makes of those of the
/// inputs, tensors of its shape.
static Value
makeEach(OpBuilder &b, Location loc, RankedTensorType type, ValueRange inputs,
         ArrayRef<Value> extents,
         llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<AffineMap> maps(inputs.size() + 1, b.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  Value init = makeEmpty(b, loc, type, extents);
  return linalg::GenericOp::create(
             b, loc, type, inputs, init, maps, loops,
             [&](OpBuilder &nested, Location at, ValueRange elements) {
               linalg::YieldOp::create(nested, at, body(nested, at, elements));
             })
      .getResult(0);
}

/// The rank of an expert, an index, where experts are neighbours: `experts` on
/// `ranks` ranks, the first of which have one more.
static Value makeNeighbourRank(OpBuilder &b, Location loc, Value expert,
                               int64_t experts, int64_t ranks) {
  int64_t least = experts / ranks, more = experts % ranks;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value first = number(more * (least + 1));
  Value isOfMore =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, expert, first);
  Value early = arith::DivSIOp::create(b, loc, expert, number(least + 1));
  Value late = arith::DivSIOp::create(
      b, loc, arith::SubIOp::create(b, loc, expert, first), number(least));
  late = arith::AddIOp::create(b, loc, late, number(more));
  return arith::SelectOp::create(b, loc, isOfMore, early, late);
}

/// The rank of each slot, -1 where it is not used, of experts `[T, k]`.
static Value makeRankOfSlot(OpBuilder &b, ReturnRowsOp op,
                            ArrayRef<Value> extents) {
  Location loc = op.getLoc();
  int64_t ranks = cast<ShapedType>(op.getTokens().getType()).getDimSize(0);
  int64_t experts = cast<ShapedType>(op.getEnds().getType()).getDimSize(0);
  auto type = cast<RankedTensorType>(op.getExperts().getType());
  auto i32 = b.getI32Type();
  if (!op.getTable()) {
    // Without constant tensors, which have no place in device memory.
    auto divide = [&](OpBuilder &n, Location at, ValueRange elements) -> Value {
      Value expert =
          arith::IndexCastOp::create(n, at, n.getIndexType(), elements[0]);
      Value none = arith::ConstantIntOp::create(n, at, i32, -1);
      Value isUsed = arith::CmpIOp::create(n, at, arith::CmpIPredicate::sgt,
                                           elements[0], none);
      Value rank = arith::IndexCastOp::create(
          n, at, i32, makeNeighbourRank(n, at, expert, experts, ranks));
      return arith::SelectOp::create(n, at, isUsed, rank, none);
    };
    return makeEach(b, loc, type, op.getExperts(), extents, divide);
  }
  auto lists = getRanksOfExperts(op.getTableAttr(), experts, ranks);
  size_t most = 0;
  for (ArrayRef<int64_t> list : lists)
    most = std::max(most, list.size());
  // The choice of a slot by expert, rank of the token, and turn.
  SmallVector<int32_t> choices, counts;
  for (ArrayRef<int64_t> list : lists) {
    counts.push_back(static_cast<int32_t>(list.size()));
    for (int64_t home = 0; home < ranks; ++home)
      for (size_t turn = 0; turn < most; ++turn)
        choices.push_back(static_cast<int32_t>(
            llvm::is_contained(list, home) ? home : list[turn % list.size()]));
  }
  Value table = makeConstant(
      b, loc, {experts, ranks, static_cast<int64_t>(most)}, choices);
  Value count = makeConstant(b, loc, {experts}, counts);
  auto pick = [&](OpBuilder &n, Location at, ValueRange elements) -> Value {
    auto index = [&](Value value) -> Value {
      return arith::IndexCastOp::create(n, at, n.getIndexType(), value);
    };
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(n, at, value);
    };
    Value token = linalg::IndexOp::create(n, at, 0);
    // The rank of the token is the number of ranks whose tokens end before it.
    Value home = number(0), start = number(0);
    for (int64_t rank = 0; rank + 1 < ranks; ++rank) {
      Value end =
          index(tensor::ExtractOp::create(n, at, op.getTokens(), number(rank)));
      Value isBehind =
          arith::CmpIOp::create(n, at, arith::CmpIPredicate::sge, token, end);
      home = arith::SelectOp::create(n, at, isBehind, number(rank + 1), home);
      start = arith::SelectOp::create(n, at, isBehind, end, start);
    }
    Value given = index(elements[0]);
    Value expert = arith::MinSIOp::create(
        n, at, arith::MaxSIOp::create(n, at, given, number(0)),
        number(experts - 1));
    Value turn = arith::AddIOp::create(
        n, at, arith::SubIOp::create(n, at, token, start), home);
    turn = arith::RemUIOp::create(
        n, at, turn,
        index(tensor::ExtractOp::create(n, at, count, ValueRange(expert))));
    Value rank =
        tensor::ExtractOp::create(n, at, table, ValueRange{expert, home, turn});
    Value isUsed = arith::CmpIOp::create(n, at, arith::CmpIPredicate::sge,
                                         given, number(0));
    Value none = arith::ConstantIntOp::create(n, at, i32, -1);
    return arith::SelectOp::create(n, at, isUsed, rank, none);
  };
  return makeEach(b, loc, type, op.getExperts(), extents, pick);
}

/// The sums of each rank, added up.
static Value sumByRank(OpBuilder &b, ReturnRowsOp op, ArrayRef<Value> slots,
                       ArrayRef<Value> extents) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto wide = type.clone(b.getF32Type());
  auto places = cast<RankedTensorType>(op.getRowOfSlot().getType());
  Value rankOfSlot = makeRankOfSlot(b, op, slots), total;
  int64_t ranks = cast<ShapedType>(op.getTokens().getType()).getDimSize(0);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto keep = [&](OpBuilder &n, Location at, ValueRange elements) -> Value {
      auto number = [&](int64_t value) -> Value {
        return arith::ConstantIntOp::create(n, at, n.getI32Type(), value);
      };
      Value isHere = arith::CmpIOp::create(n, at, arith::CmpIPredicate::eq,
                                           elements[0], number(rank));
      return arith::SelectOp::create(n, at, isHere, elements[1], number(-1));
    };
    Value own =
        makeEach(b, loc, places, {rankOfSlot, op.getRowOfSlot()}, slots, keep);
    Value sum =
        CombineOp::create(b, loc, wide, op.getInput(), own, op.getWeights(),
                          makeEmpty(b, loc, wide, extents))
            .getResult();
    // A rank without a slot adds 0, which changes at most the sign of a zero.
    auto add = [](OpBuilder &n, Location at, ValueRange elements) -> Value {
      return arith::AddFOp::create(n, at, elements[0], elements[1]);
    };
    total = total ? makeEach(b, loc, wide, {total, sum}, extents, add) : sum;
  }
  if (type == wide)
    return total;
  auto narrow = [&](OpBuilder &n, Location at, ValueRange elements) -> Value {
    return arith::TruncFOp::create(n, at, type.getElementType(), elements[0]);
  };
  return makeEach(b, loc, type, total, extents, narrow);
}

static void decompose(RewriterBase &b, ReturnRowsOp op) {
  Location loc = op.getLoc();
  auto dim = [&](Value tensor, int64_t index) -> Value {
    return tensor::DimOp::create(b, loc, tensor, index);
  };
  SmallVector<Value> slots{dim(op.getRowOfSlot(), 0),
                           dim(op.getRowOfSlot(), 1)};
  SmallVector<Value> extents{slots[0], dim(op.getInput(), 1)};
  if (op.getRankGrouped())
    return b.replaceOp(op, sumByRank(b, op, slots, extents));
  Value init = makeEmpty(b, loc, op.getResult().getType(), extents);
  b.replaceOpWithNewOp<CombineOp>(op, op.getResult().getType(), op.getInput(),
                                  op.getRowOfSlot(), op.getWeights(), init);
}

namespace {
struct DecomposeExchange
    : nvfp4::gsg::impl::DecomposeExchangePassBase<DecomposeExchange> {
  using DecomposeExchangePassBase::DecomposeExchangePassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](ExpertParallelOp op) {
      rewriter.setInsertionPoint(op);
      split(rewriter, op);
    });
    getOperation()->walk([&](ExchangeRowsOp op) {
      rewriter.setInsertionPoint(op);
      decompose(rewriter, op);
    });
    getOperation()->walk([&](ReturnRowsOp op) {
      rewriter.setInsertionPoint(op);
      decompose(rewriter, op);
    });
  }
};
} // namespace
