//===- DecomposeExchange.cpp - gsg-decompose-exchange -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations across ranks have one meaning for every number of ranks, which
// for one of them is a sort by expert and a sum over slots.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/Exchange.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
  auto sort = SortTokensOp::create(b, loc, types, op.getExperts(), /*align=*/1,
                                   makeEmpty(b, loc, types[0], {}),
                                   makeEmpty(b, loc, order, {slots}),
                                   makeEmpty(b, loc, types[2], {count, k}));
  Value init = makeEmpty(b, loc, rowsType, {slots, dim(op.getInput(), 1)});
  auto rows = PermuteOp::create(b, loc, rowsType, op.getInput(),
                                sort.getResult(1), init);
  b.replaceOp(op, {rows.getResult(), sort.getResult(0), sort.getResult(2)});
}

static LogicalResult decompose(RewriterBase &b, ReturnRowsOp op) {
  int64_t ranks = cast<ShapedType>(op.getTokens().getType()).getDimSize(0);
  if (op.getRankGrouped() && ranks != 1)
    return op.emitOpError("expected sums in the order of slots for a program "
                          "of one rank, but got rank_grouped on ")
           << ranks << " ranks";
  Location loc = op.getLoc();
  SmallVector<Value> extents{
      tensor::DimOp::create(b, loc, op.getRowOfSlot(), 0),
      tensor::DimOp::create(b, loc, op.getInput(), 1)};
  Value init = makeEmpty(b, loc, op.getResult().getType(), extents);
  b.replaceOpWithNewOp<CombineOp>(op, op.getResult().getType(), op.getInput(),
                                  op.getRowOfSlot(), op.getWeights(), init);
  return success();
}

namespace {
struct DecomposeExchange
    : nvfp4::gsg::impl::DecomposeExchangePassBase<DecomposeExchange> {
  using DecomposeExchangePassBase::DecomposeExchangePassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    auto each = [&](auto lower) {
      return getOperation()->walk(lower).wasInterrupted();
    };
    bool hasFailed = each([&](ExpertParallelOp op) {
                       rewriter.setInsertionPoint(op);
                       split(rewriter, op);
                       return WalkResult::advance();
                     }) ||
                     each([&](ExchangeRowsOp op) {
                       rewriter.setInsertionPoint(op);
                       decompose(rewriter, op);
                       return WalkResult::advance();
                     }) ||
                     each([&](ReturnRowsOp op) {
                       rewriter.setInsertionPoint(op);
                       return failed(decompose(rewriter, op))
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     });
    if (hasFailed)
      signalPassFailure();
  }
};
} // namespace
