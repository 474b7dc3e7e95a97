//===- SharedLaunches.cpp - Operations of one launch ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds operations that may share a launch, and moves or clones them into one.
//
//===----------------------------------------------------------------------===//

#include "SharedLaunches.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/MemRefOverlap.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

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

int64_t gsg::getDimOr(Value memref, int64_t d, int64_t guess) {
  auto type = cast<MemRefType>(memref.getType());
  return type.isDynamicDim(d) ? guess : type.getDimSize(d);
}

int64_t gsg::getRowBytes(Value rows) {
  auto type = cast<MemRefType>(rows.getType());
  int64_t columns = type.isDynamicDim(1) ? kGuessedColumns : type.getDimSize(1);
  return columns * type.getElementTypeBitWidth() / 8;
}

int64_t gsg::countSlotsOf(Value tokenOfRow) {
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

//===----------------------------------------------------------------------===//
// RoutedChain
//===----------------------------------------------------------------------===//

RoutedChain
RoutedChain::find(RouteOp route,
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

SmallVector<Operation *> RoutedChain::getOps() {
  SmallVector<Operation *> ops{route};
  if (sort)
    ops.push_back(sort);
  if (permute)
    ops.push_back(permute);
  return ops;
}

std::string RoutedChain::getNames() {
  return permute ? "route, sort_tokens and permute" : "route and sort_tokens";
}

strategy::TokenMoves RoutedChain::getMoves() {
  int64_t bytes = permute ? getRowBytes(permute.getOut()) : 0;
  return {getDimOr(route.getLogits(), 1, kGuessedExperts),
          getDimOr(route.getWeightsOut(), 1, kGuessedSlots), bytes};
}

double RoutedChain::predictTogether(int64_t tokens) {
  return getMoves().predictOneLaunch(tokens, bool(permute));
}

double RoutedChain::predictApart(int64_t tokens) {
  return getMoves().predictApart(tokens, bool(permute));
}

int64_t RoutedChain::findMostTokens() {
  int64_t most = 0;
  while (most < OneLaunchOp::kMostTokens &&
         predictTogether(most + 1) < predictApart(most + 1))
    ++most;
  return most;
}

bool RoutedChain::canJoin(ArrayRef<Operation *> others) {
  SmallVector<Operation *> ops{route};
  ops.append(others.begin(), others.end());
  reason = findReasonApart(ops);
  return reason.empty();
}

//===----------------------------------------------------------------------===//
// QuantizedRows
//===----------------------------------------------------------------------===//

QuantizedRows QuantizedRows::find(QuantizeOp quantize) {
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

bool QuantizedRows::canQuantizeTokens() {
  Value scale = quantize.getGlobalScale();
  bool isOneScale = !scale || isa<FloatType>(scale.getType()) ||
                    (!quantize.getGroups() && !quantize.getPerRow());
  ScaledType type = quantize.getScaledResultType();
  return isOneScale && !quantize.getSeed() && !type.isDynamicDim(1) &&
         hasNoGaps(permute);
}

strategy::QuantizedMoves QuantizedRows::getMoves() {
  ScaledType type = quantize.getScaledResultType();
  int64_t columns = type.isDynamicDim(1) ? kGuessedColumns : type.getDimSize(1);
  int64_t codes = llvm::divideCeil(columns * type.getElementBits(), 8);
  return {columns, permute ? countSlotsOf(permute.getTokenOfRow()) : 1,
          permute ? getRowBytes(permute.getInput()) : 0,
          codes + int64_t(llvm::divideCeil(columns, type.getBlockSize()))};
}

int64_t QuantizedRows::findLeastTokens() {
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

void QuantizedRows::quantizeTokens(OpBuilder &b) {
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

void QuantizedRows::launch(OpBuilder &b, Value codes, Value scales,
                           TypeAttr type) {
  OpBuilder::InsertionGuard guard(b);
  auto launch = OneLaunchOp::create(b, quantize.getLoc(), IntegerAttr(), codes,
                                    scales, type);
  b.createBlock(&launch.getLaunched());
  b.clone(*permute);
  b.clone(*quantize);
}

//===----------------------------------------------------------------------===//
// BothDirections
//===----------------------------------------------------------------------===//

BothDirections BothDirections::find(QuantizeOp columns) {
  BothDirections pair{{}, columns};
  if (columns->getNumResults() || !columns.getTransposed())
    return pair;
  for (Operation *user : columns.getInput().getUsers()) {
    auto rows = dyn_cast<QuantizeOp>(user);
    if (!rows || rows.getTransposed() ||
        rows->getBlock() != columns->getBlock())
      continue;
    pair.reason = explainNoPair(rows, columns);
    if (pair.reason.empty()) {
      bool isFirst = rows->isBeforeInBlock(columns);
      pair.reason = isFirst ? findReasonApart({rows, columns})
                            : findReasonApart({columns, rows});
    }
    if (pair.reason.empty()) {
      pair.rows = rows;
      return pair;
    }
  }
  return pair;
}

Operation *BothDirections::getLast() {
  return rows->isBeforeInBlock(columns) ? columns : rows;
}

int64_t BothDirections::getNumColumns() {
  return rows.getScaledResultType().getDimSize(1);
}

double BothDirections::predictTogether(int64_t tokens) {
  return strategy::predictBothDirections(tokens, getNumColumns());
}

double BothDirections::predictApart(int64_t tokens) {
  return 2 * strategy::QuantizedMoves{getNumColumns(), 1, 0, 0}.predictQuantize(
                 tokens);
}

void BothDirections::launch() {
  OpBuilder b(getLast());
  auto launch = OneLaunchOp::create(b, columns.getLoc(), IntegerAttr(), Value(),
                                    Value(), TypeAttr());
  Block *block = b.createBlock(&launch.getLaunched());
  rows->moveBefore(block, block->end());
  columns->moveBefore(block, block->end());
}
