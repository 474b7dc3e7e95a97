//===- TileSearch.cpp - Which tile of which group ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counting and sorting across the lanes of a warp.
//
//===----------------------------------------------------------------------===//

#include "TileSearch.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace nvfp4::warpspec;

static constexpr int64_t kLanes = 32;

Value nvfp4::warpspec::createI32(OpBuilder &builder, Location loc,
                                 int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

void TileSearch::setWorkers() {
  worker = NVVM::BlockIdXOp::create(rewriter, loc, i32);
  workers = NVVM::GridDimXOp::create(rewriter, loc, i32);
  if (cluster > 1) {
    worker = divide(worker, constant(cluster));
    workers = divide(workers, constant(cluster));
  }
}

Value TileSearch::areFew() {
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sle,
                               loop.getGroups(), constant(kLanes));
}

Value TileSearch::shuffle(NVVM::ShflKind kind, Value value, Value lane,
                          int64_t clamp) {
  return NVVM::ShflOp::create(rewriter, loc, i32, constant(-1), value, lane,
                              constant(clamp), kind, UnitAttr());
}

bool TileSearch::isBalanced() {
  return loop.getExtents().front().getTerminator()->getNumOperands() == 3;
}

SmallVector<Value> TileSearch::getExtents(Value group) {
  IRMapping mapping;
  Block &block = loop.getExtents().front();
  mapping.map(block.getArgument(0), group);
  for (Operation &op : block.without_terminator())
    rewriter.clone(op, mapping);
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

std::pair<Value, Value> TileSearch::locate(Value place, Value m, Value n) {
  bool mFastest = loop.getOrder() == TileOrder::MFastest;
  Value size = mFastest ? m : n;
  Value slow = divide(place, size);
  Value fast = subtract(place, multiply(slow, size));
  return mFastest ? std::pair(fast, slow) : std::pair(slow, fast);
}

Value TileSearch::addUp(Value lane, Value count) {
  Value sum = count;
  for (int64_t distance = 1; distance < kLanes; distance *= 2) {
    Value other = shuffle(NVVM::ShflKind::up, sum, constant(distance), 0);
    Value has = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge,
                                      lane, constant(distance));
    sum = add(sum,
              arith::SelectOp::create(rewriter, loc, has, other, constant(0)));
  }
  return sum;
}

Value TileSearch::findFirst(Value condition) {
  Value lanes = NVVM::VoteSyncOp::create(rewriter, loc, i32, constant(-1),
                                         condition, NVVM::VoteSyncKind::ballot);
  return LLVM::CountTrailingZerosOp::create(rewriter, loc, i32, lanes,
                                            /*is_zero_poison=*/false);
}

Value TileSearch::rankByCost(Value lane, Value cost) {
  auto forEachGroup = [&](Value init, auto body) -> Value {
    auto groups = scf::ForOp::create(rewriter, loc, constant(0),
                                     loop.getGroups(), constant(1), init);
    OpBuilder::InsertionGuard inner(rewriter);
    rewriter.setInsertionPointToStart(groups.getBody());
    scf::YieldOp::create(
        rewriter, loc,
        body(groups.getInductionVar(), groups.getRegionIterArg(0)));
    return groups.getResult(0);
  };
  Value place = forEachGroup(constant(0), [&](Value i, Value before) {
    Value other = pick(cost, i);
    Value isSame = arith::CmpIOp::create(rewriter, loc,
                                         arith::CmpIPredicate::eq, other, cost);
    Value comes = arith::OrIOp::create(
        rewriter, loc, less(cost, other),
        arith::AndIOp::create(rewriter, loc, isSame, less(i, lane)));
    return add(before, arith::ExtUIOp::create(rewriter, loc, i32, comes));
  });
  return forEachGroup(lane, [&](Value i, Value found) -> Value {
    Value isHere = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, pick(place, i), lane);
    return arith::SelectOp::create(rewriter, loc, isHere, i, found);
  });
}
