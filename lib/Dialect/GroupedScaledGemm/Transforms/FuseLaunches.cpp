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
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <functional>

namespace nvfp4::gsg {
#define GEN_PASS_DEF_FUSELAUNCHESPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

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

static bool doOverlap(Value memory, ArrayRef<Value> others) {
  return llvm::any_of(others, [&](Value other) {
    return getMemRefOverlap(memory, other) != Overlap::None;
  });
}

/// Whether `ops`, which stand before `op`, may as well stand after it.
static bool canPass(Operation &op, ArrayRef<Operation *> ops) {
  if (isMemoryEffectFree(&op))
    return true;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return false;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::all_of(effects, [&](const MemoryEffects::EffectInstance &each) {
    if (isa<MemoryEffects::Allocate>(each.getEffect()))
      return true;
    Value memory = each.getValue();
    if (!memory || !isa<MemRefType>(memory.getType()))
      return false;
    return llvm::none_of(ops, [&](Operation *moved) {
      return doOverlap(memory, getMemory(moved, /*isWritten=*/true)) ||
             (!isa<MemoryEffects::Read>(each.getEffect()) &&
              doOverlap(memory, getMemory(moved, /*isWritten=*/false)));
    });
  });
}

/// The operation that keeps `last` apart from `ops`, or null; `last` stands
/// after the last one of them in its block.
static Operation *findBarrier(ArrayRef<Operation *> ops, Operation *last) {
  for (Operation *op = ops.back()->getNextNode(); op != last;
       op = op->getNextNode())
    if (!canPass(*op, ops))
      return op;
  return nullptr;
}

/// Whether an operation of `ops` may write what another one reads or writes,
/// but for the results that they hand on.
static bool mayConflict(ArrayRef<Operation *> ops) {
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
        if (doOverlap(written, touched))
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

/// The reason why `ops`, which follow one another, cannot be one launch where
/// the last one is; else empty.
static std::string findReasonApart(ArrayRef<Operation *> ops) {
  for (size_t i = 1; i < ops.size(); ++i)
    if (Operation *barrier = findBarrier(ops.take_front(i), ops[i]))
      return ("'" + barrier->getName().getStringRef() + "' stands before " +
              ops[i]->getName().stripDialect())
          .str();
  if (!mayConflict(ops))
    return "";
  return ("memory of " + ops.back()->getName().stripDialect() +
          " may be that of another operation")
      .str();
}

/// Extents of models where only the launch knows them.
static constexpr int64_t kGuessedColumns = 4096, kGuessedSlots = 4,
                         kGuessedExperts = 128;

static int64_t getDimOr(Value memref, int64_t d, int64_t guess) {
  auto type = cast<MemRefType>(memref.getType());
  return type.isDynamicDim(d) ? guess : type.getDimSize(d);
}

static int64_t getRowBytes(Value rows) {
  auto type = cast<MemRefType>(rows.getType());
  int64_t columns = type.isDynamicDim(1) ? kGuessedColumns : type.getDimSize(1);
  return columns * type.getElementTypeBitWidth() / 8;
}

/// Rows of a token, if `tokenOfRow` is the order of a sort_tokens.
static int64_t countSlotsOf(Value tokenOfRow) {
  for (Operation *user : tokenOfRow.getUsers())
    if (auto sort = dyn_cast<SortTokensOp>(user);
        sort && sort.getTokenOfRowOut() == tokenOfRow &&
        !cast<MemRefType>(sort.getExperts().getType()).isDynamicDim(1))
      return getDimOr(sort.getExperts(), 1, kGuessedSlots);
  return kGuessedSlots;
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

  /// Without a permute that shares its launch with another operation.
  static RoutedChain find(RouteOp route,
                          const llvm::SmallPtrSetImpl<Operation *> &shared) {
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
    if (!permute || shared.contains(permute))
      chain.reason = "no permute of its block reads the order";
    else if (!hasNoGaps(permute))
      chain.reason = "memory of permute has gaps";
    else if (chain.canJoin({chain.sort, permute}))
      chain.permute = permute;
    return chain;
  }

  SmallVector<Operation *> getOps() {
    SmallVector<Operation *> ops{route};
    if (sort)
      ops.push_back(sort);
    if (permute)
      ops.push_back(permute);
    return ops;
  }
  std::string getNames() {
    return permute ? "route, sort_tokens and permute" : "route and sort_tokens";
  }

  strategy::TokenMoves getMoves() {
    int64_t bytes = permute ? getRowBytes(permute.getOut()) : 0;
    return {getDimOr(route.getLogits(), 1, kGuessedExperts),
            getDimOr(route.getWeightsOut(), 1, kGuessedSlots), bytes};
  }

  double predictTogether(int64_t tokens) {
    return getMoves().predictOneLaunch(tokens, bool(permute));
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
    SmallVector<Operation *> ops{route};
    ops.append(others.begin(), others.end());
    reason = findReasonApart(ops);
    return reason.empty();
  }
};

/// permute and the quantize that alone reads its rows.
struct QuantizedRows {
  QuantizeOp quantize;
  PermuteOp permute = {};
  std::string reason = {};

  static QuantizedRows find(QuantizeOp quantize) {
    QuantizedRows rows{quantize};
    auto alloc = quantize.getInput().getDefiningOp<memref::AllocOp>();
    if (!alloc)
      return rows;
    Operation *other = nullptr;
    PermuteOp permute;
    for (Operation *user : alloc->getUsers())
      if (auto writer = dyn_cast<PermuteOp>(user);
          writer && writer.getOut() == alloc.getResult() && !permute)
        permute = writer;
      else if (user != quantize && !isa<memref::DeallocOp, memref::DimOp>(user))
        other = user;
    if (!permute)
      return rows;
    if (other)
      rows.reason = ("'" + other->getName().getStringRef() +
                     "' has the memory of its rows, too")
                        .str();
    else if (permute->getBlock() != quantize->getBlock())
      rows.reason = "permute stands in another block";
    else if (!permute->isBeforeInBlock(quantize))
      rows.reason = "quantize stands before permute";
    else if (quantize.getTransposed() || quantize.getQuantizer().getTwoD() ||
             !quantize.getScaledResultType().isKMajor())
      rows.reason = "blocks do not lie in one row";
    else
      rows.reason = findReasonApart({permute, quantize});
    if (rows.reason.empty())
      rows.permute = permute;
    return rows;
  }

  /// Whether the bytes of a row depend on nothing but the token.
  bool canQuantizeTokens() {
    Value scale = quantize.getGlobalScale();
    bool isOneScale = !scale || isa<FloatType>(scale.getType()) ||
                      (!quantize.getGroups() && !quantize.getPerRow());
    ScaledType type = quantize.getScaledResultType();
    return isOneScale && !quantize.getSeed() && !type.isDynamicDim(1) &&
           hasNoGaps(permute);
  }

  strategy::QuantizedMoves getMoves() {
    ScaledType type = quantize.getScaledResultType();
    int64_t columns =
        type.isDynamicDim(1) ? kGuessedColumns : type.getDimSize(1);
    int64_t codes = llvm::divideCeil(columns * type.getElementBits(), 8);
    return {columns, permute ? countSlotsOf(permute.getTokenOfRow()) : 1,
            permute ? getRowBytes(permute.getInput()) : 0,
            codes + int64_t(llvm::divideCeil(columns, type.getBlockSize()))};
  }

  /// From so many tokens on they are better quantised once each; 0 for none.
  int64_t findLeastTokens() {
    constexpr int64_t most = 1 << 17;
    strategy::QuantizedMoves moves = getMoves();
    if (!canQuantizeTokens() || moves.slots < 2)
      return 0;
    int64_t tokens = 1;
    while (tokens < most &&
           moves.predictOncePerToken(tokens) >= moves.predictOneLaunch(tokens))
      tokens += 1 + tokens / 16;
    return tokens < most ? tokens : 0;
  }

  /// Quantises the tokens and then moves their rows.
  void quantizeTokens(OpBuilder &b) {
    Location loc = quantize.getLoc();
    ScaledType type = quantize.getScaledResultType();
    Value input = permute.getInput();
    auto inputType = cast<MemRefType>(input.getType());
    int64_t known = inputType.getDimSize(0);
    SmallVector<Value> sizes;
    if (inputType.isDynamicDim(0))
      sizes.push_back(memref::DimOp::create(b, loc, input, 0));
    auto allocate = [&](Value like, int64_t columns) -> Value {
      Type element = cast<MemRefType>(like.getType()).getElementType();
      return memref::AllocOp::create(
          b, loc, MemRefType::get({known, columns}, element), sizes);
    };
    int64_t columns = type.getDimSize(1);
    Value codes = allocate(quantize.getOut(),
                           llvm::divideCeil(columns, type.isFP4() ? 2 : 1));
    Value scales = allocate(quantize.getOutScales(),
                            llvm::divideCeil(columns, type.getBlockSize()));
    auto rowType = TypeAttr::get(
        ScaledType::get(b.getContext(), {known, columns}, type.getFormat()));
    auto tokens = cast<QuantizeOp>(b.clone(*quantize));
    tokens.getInputMutable().assign(input);
    tokens.getGroupsMutable().clear();
    tokens.removeGroupingAttr();
    tokens.getOutMutable().assign(codes);
    tokens.getOutScalesMutable().assign(scales);
    tokens.setOutTypesAttr(b.getArrayAttr(rowType));
    launch(b, codes, scales, rowType);
    memref::DeallocOp::create(b, loc, codes);
    memref::DeallocOp::create(b, loc, scales);
  }

  /// One launch, of quantised tokens if they are given.
  void launch(OpBuilder &b, Value codes = {}, Value scales = {},
              TypeAttr type = {}) {
    OpBuilder::InsertionGuard guard(b);
    auto launch = OneLaunchOp::create(b, quantize.getLoc(), IntegerAttr(),
                                      codes, scales, type);
    b.createBlock(&launch.getLaunched());
    b.clone(*permute);
    b.clone(*quantize);
  }
};

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

struct FuseLaunches : nvfp4::gsg::impl::FuseLaunchesPassBase<FuseLaunches> {
  using FuseLaunchesPassBase::FuseLaunchesPassBase;

  void runOnOperation() override {
    if (explain)
      getOperation()->walk([](FunctionOpInterface function) {
        LaunchTable(function).print(function);
      });
    SmallVector<QuantizeOp> quantizers;
    getOperation()->walk([&](QuantizeOp op) {
      if (isa<MemRefType>(op.getInput().getType()) &&
          !isa<OneLaunchOp>(op->getParentOp()))
        quantizers.push_back(op);
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
