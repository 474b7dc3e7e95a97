//===- FuseLaunches.cpp - gsg-fuse-launches ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operations beside products are one launch, by predicted times.
//
//===----------------------------------------------------------------------===//

#include "SharedLaunches.h"

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_FUSELAUNCHESPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

namespace {
struct FuseLaunches : nvfp4::gsg::impl::FuseLaunchesPassBase<FuseLaunches> {
  using FuseLaunchesPassBase::FuseLaunchesPassBase;

  void runOnOperation() override {
    if (explain)
      getOperation()->walk(
          [](FunctionOpInterface function) { remarkLaunches(function); });
    SmallVector<QuantizeOp> quantizers;
    getOperation()->walk([&](QuantizeOp op) {
      if (isa<MemRefType>(op.getInput().getType()) &&
          !isa<OneLaunchOp>(op->getParentOp()))
        quantizers.push_back(op);
    });
    for (QuantizeOp quantize : quantizers)
      fuseDirections(quantize);
    llvm::erase_if(quantizers, [](QuantizeOp op) {
      return isa<OneLaunchOp>(op->getParentOp());
    });
    for (QuantizeOp quantize : quantizers)
      fuseQuantize(quantize);
    SmallVector<RouteOp> routes;
    getOperation()->walk([&](RouteOp op) {
      if (isa<MemRefType>(op.getWeightsOut().getType()) &&
          !isa<OneLaunchOp>(op->getParentOp()))
        routes.push_back(op);
    });
    for (RouteOp route : routes)
      fuseRoute(route);
  }

  void fuseDirections(QuantizeOp columns) {
    BothDirections pair = BothDirections::find(columns);
    if (explain && !pair.rows && !pair.reason.empty())
      columns.emitRemark("a launch of its own after that of rows: ")
          << pair.reason;
    if (!pair.rows)
      return;
    if (explain)
      columns.emitRemark(
          llvm::formatv("quantize of rows and columns: one launch, {0:F1} us "
                        "instead of {1:F1} us for 4096 rows",
                        pair.predictTogether(4096), pair.predictApart(4096))
              .str());
    pair.launch();
  }

  void fuseQuantize(QuantizeOp quantize) {
    QuantizedRows rows = QuantizedRows::find(quantize);
    if (explain && !rows.permute && !rows.reason.empty())
      quantize.emitRemark("a launch of its own after that of permute: ")
          << rows.reason;
    if (!rows.permute)
      return;
    int64_t least = rows.findLeastTokens();
    strategy::QuantizedMoves moves = rows.getMoves();
    if (explain)
      remark(rows, least);
    OpBuilder b(quantize);
    Location loc = quantize.getLoc();
    int64_t tokens = getNumRows(rows.permute.getInput());
    int64_t count = getNumRows(rows.permute.getOut());
    // Rows that are not quantised where each token is quantised once.
    int64_t saved = least * (moves.slots - 1);
    if (least == 0) {
      rows.launch(b);
    } else if (!ShapedType::isDynamic(tokens) &&
               !ShapedType::isDynamic(count)) {
      count > tokens + saved ? rows.quantizeTokens(b) : rows.launch(b);
    } else {
      Value more = arith::AddIOp::create(
          b, loc, memref::DimOp::create(b, loc, rows.permute.getInput(), 0),
          arith::ConstantIndexOp::create(b, loc, saved));
      Value isMany = arith::CmpIOp::create(
          b, loc, arith::CmpIPredicate::ugt,
          memref::DimOp::create(b, loc, rows.permute.getTokenOfRow(), 0), more);
      auto branch = scf::IfOp::create(b, loc, isMany, /*withElseRegion=*/true);
      OpBuilder once = branch.getThenBodyBuilder();
      rows.quantizeTokens(once);
      OpBuilder together = branch.getElseBodyBuilder();
      rows.launch(together);
    }
    rows.permute.erase();
    quantize.erase();
  }

  static int64_t getNumRows(Value memref) {
    return cast<MemRefType>(memref.getType()).getDimSize(0);
  }

  static void remark(QuantizedRows &rows, int64_t least) {
    strategy::QuantizedMoves moves = rows.getMoves();
    std::string text =
        llvm::formatv("permute and quantize: one launch, {0:F1} us instead of "
                      "{1:F1} us for 1 token(s) of {2} rows",
                      moves.predictOneLaunch(1), moves.predictApart(1),
                      moves.slots)
            .str();
    if (least)
      text += llvm::formatv("; from {0} tokens on each is quantised once, "
                            "{1:F1} us instead of {2:F1} us for 4096",
                            least, moves.predictOncePerToken(4096),
                            moves.predictOneLaunch(4096))
                  .str();
    else if (!rows.canQuantizeTokens())
      text += "; the bytes of a row depend on more than its token";
    rows.quantize->emitRemark() << text;
  }

  void fuseRoute(RouteOp route) {
    RoutedChain chain =
        RoutedChain::find(route, llvm::SmallPtrSet<Operation *, 1>());
    if (!chain.sort) {
      if (explain && !chain.reason.empty())
        route.emitRemark("a launch of its own: ") << chain.reason;
      return;
    }
    int64_t most = chain.findMostTokens();
    int64_t tokens =
        cast<MemRefType>(route.getLogits().getType()).getDimSize(0);
    bool isKnown = !ShapedType::isDynamic(tokens);
    if (explain)
      remark(chain, most, isKnown ? tokens : 1);
    if (most == 0 || (isKnown && tokens > most))
      return;
    SmallVector<Operation *> ops = chain.getOps();
    OpBuilder b(ops.back());
    Location loc = route.getLoc();
    if (isKnown)
      return join(b, loc, ops, std::max<int64_t>(tokens, 1));
    Value limit = arith::ConstantIndexOp::create(b, loc, most);
    Value count = memref::DimOp::create(b, loc, route.getLogits(), 0);
    Value isFew =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, count, limit);
    auto branch = scf::IfOp::create(b, loc, isFew, /*withElseRegion=*/true);
    OpBuilder apart = branch.getElseBodyBuilder();
    for (Operation *op : ops)
      apart.clone(*op);
    OpBuilder together = branch.getThenBodyBuilder();
    join(together, loc, ops, most);
  }

  /// Moves `ops` into one launch.
  static void join(OpBuilder &b, Location loc, ArrayRef<Operation *> ops,
                   int64_t most) {
    auto launch = OneLaunchOp::create(b, loc, b.getI64IntegerAttr(most),
                                      Value(), Value(), TypeAttr());
    Block *block = b.createBlock(&launch.getLaunched());
    for (Operation *op : ops)
      op->moveBefore(block, block->end());
  }

  static void remark(RoutedChain &chain, int64_t most, int64_t tokens) {
    std::string limit =
        most == 0 ? "separate launches"
        : most == OneLaunchOp::kMostTokens
            ? "one launch up to " + std::to_string(most) +
                  " tokens, as many as it has room for"
            : "one launch up to " + std::to_string(most) +
                  " tokens, beyond which it is predicted to be slower";
    InFlightDiagnostic remark =
        chain.route->emitRemark(chain.getNames())
        << ": " << limit
        << llvm::formatv("; {0} token(s): {1:F1} us instead of {2:F1} us",
                         tokens, chain.predictTogether(tokens),
                         chain.predictApart(tokens))
               .str();
    if (!chain.reason.empty())
      remark << "; without permute: " << chain.reason;
  }
};
} // namespace
