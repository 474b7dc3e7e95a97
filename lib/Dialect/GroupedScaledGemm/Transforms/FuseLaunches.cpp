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

#include "nvfp4/Dialect/GroupedScaledGemm/IR/MemRefOverlap.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/OneLaunch.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/KernelTarget/LaunchCosts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_FUSELAUNCHESPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

/// Whether `op` touches no memory that is there before it.
static bool isStill(Operation &op) {
  if (isMemoryEffectFree(&op))
    return true;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> found;
  effects.getEffects(found);
  return llvm::all_of(found, [](const MemoryEffects::EffectInstance &each) {
    return isa<MemoryEffects::Allocate>(each.getEffect());
  });
}

/// What stands between `first` and `last` of one block and keeps them apart, or
/// null.
static Operation *findBarrier(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (!isStill(*op))
      return op;
  return nullptr;
}

static SmallVector<Value> getMemory(Operation *op, bool isWritten) {
  SmallVector<MemoryEffects::EffectInstance> effects;
  cast<MemoryEffectOpInterface>(op).getEffects(effects);
  SmallVector<Value> found;
  for (const MemoryEffects::EffectInstance &each : effects)
    if (each.getValue() &&
        isWritten == isa<MemoryEffects::Write>(each.getEffect()))
      found.push_back(each.getValue());
  return found;
}

/// Whether an operation of `ops` may write what another one reads or writes,
/// but for the results that they hand on.
static bool doMeet(ArrayRef<Operation *> ops) {
  for (Operation *writer : ops)
    for (Value written : getMemory(writer, /*isWritten=*/true))
      for (Operation *other : ops) {
        if (other == writer)
          continue;
        SmallVector<Value> touched = getMemory(other, /*isWritten=*/true);
        if (other->isBeforeInBlock(writer))
          touched.append(getMemory(other, /*isWritten=*/false));
        else
          for (Value read : getMemory(other, /*isWritten=*/false))
            if (read != written)
              touched.push_back(read);
        if (llvm::any_of(touched, [&](Value each) {
              return getMemRefOverlap(written, each) != Overlap::None;
            }))
          return true;
      }
  return false;
}

/// The next operation of `OpTy` that has `memref` as its operand `number`.
template <typename OpTy>
static OpTy findReader(Operation *writer, Value memref, unsigned number) {
  for (Operation *op = writer->getNextNode(); op; op = op->getNextNode())
    if (auto reader = dyn_cast<OpTy>(op))
      if (reader->getOperand(number) == memref)
        return reader;
  return OpTy();
}

static bool hasNoGaps(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    return !memref || memref.getLayout().isIdentity();
  });
}

namespace {
/// route and what follows it in one kernel.
struct RoutedChain {
  RouteOp route;
  SortTokensOp sort = {};
  PermuteOp permute = {};
  /// Why it is shorter than it could be.
  std::string reason = {};

  static RoutedChain find(RouteOp route) {
    RoutedChain chain{route};
    if (!explainNoDeviceCode(route).empty())
      return chain;
    chain.sort = findReader<SortTokensOp>(route, route.getExpertsOut(), 0);
    if (!chain.sort) {
      chain.reason = "no sort_tokens of its block reads its experts";
      return chain;
    }
    if (!explainNoDeviceCode(chain.sort).empty() ||
        !chain.canJoin({chain.sort})) {
      chain.sort = {};
      return chain;
    }
    Value tokens = chain.sort.getTokenOfRowOut();
    auto permute = findReader<PermuteOp>(chain.sort, tokens, 1);
    if (!permute)
      chain.reason = "no permute of its block reads the order";
    else if (!hasNoGaps(permute))
      chain.reason = "memory of permute has gaps";
    else if (chain.canJoin({chain.sort, permute}))
      chain.permute = permute;
    return chain;
  }

  SmallVector<Operation *> getOps() {
    SmallVector<Operation *> ops{route, sort};
    if (permute)
      ops.push_back(permute);
    return ops;
  }
  std::string getNames() {
    return permute ? "route, sort_tokens and permute" : "route and sort_tokens";
  }

  strategy::TokenMoves getMoves() {
    auto getDim = [](Value memref, int64_t d) {
      return cast<MemRefType>(memref.getType()).getDimSize(d);
    };
    int64_t bytes = 0;
    if (permute) {
      auto type = cast<MemRefType>(permute.getOut().getType());
      // Extents that only the launch knows: as long as a model's.
      int64_t columns = type.isDynamicDim(1) ? 4096 : type.getDimSize(1);
      bytes = columns * type.getElementTypeBitWidth() / 8;
    }
    return {getDim(route.getLogits(), 1), getDim(route.getWeightsOut(), 1),
            bytes};
  }

  double predictTogether(int64_t tokens) {
    return getMoves().predictOneLaunch(
        tokens, OneLaunchOp::countWarps(route, OneLaunchOp::kMostTokens),
        bool(permute));
  }
  double predictApart(int64_t tokens) {
    return getMoves().predictApart(tokens, bool(permute));
  }

  /// Up to so many tokens one launch is predicted to be faster.
  int64_t findMostTokens() {
    int64_t most = 0;
    while (most < OneLaunchOp::kMostTokens &&
           predictTogether(most + 1) < predictApart(most + 1))
      ++most;
    return most;
  }

private:
  bool canJoin(ArrayRef<Operation *> others) {
    Operation *last = route;
    SmallVector<Operation *> ops{route};
    for (Operation *op : others) {
      if (Operation *barrier = findBarrier(last, op)) {
        reason = ("'" + barrier->getName().getStringRef() + "' stands before " +
                  op->getName().stripDialect())
                     .str();
        return false;
      }
      ops.push_back(last = op);
    }
    if (!doMeet(ops))
      return true;
    reason = ("memory of " + last->getName().stripDialect() +
              " may be that of another operation")
                 .str();
    return false;
  }
};

struct FuseLaunches : nvfp4::gsg::impl::FuseLaunchesPassBase<FuseLaunches> {
  using FuseLaunchesPassBase::FuseLaunchesPassBase;

  void runOnOperation() override {
    SmallVector<RouteOp> routes;
    getOperation()->walk([&](RouteOp op) {
      if (isa<MemRefType>(op.getWeightsOut().getType()) &&
          !isa<OneLaunchOp>(op->getParentOp()))
        routes.push_back(op);
    });
    for (RouteOp route : routes)
      fuseRoute(route);
  }

  void fuseRoute(RouteOp route) {
    RoutedChain chain = RoutedChain::find(route);
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
    auto launch = OneLaunchOp::create(b, loc, b.getI64IntegerAttr(most));
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
