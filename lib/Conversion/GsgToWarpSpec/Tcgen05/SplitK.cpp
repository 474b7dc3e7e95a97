//===- SplitK.cpp - Tiles whose K is cut into parts ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All parts of a tile but the last leave their sums in global memory. The last
// one waits for them, adds them in ascending order and then its own, so the
// bits do not depend on who was first. A thread adds what the same thread of
// the other blocks has stored: it waits for nobody else.
//
//===----------------------------------------------------------------------===//

#include "EpilogueRole.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::tcgen05;
using namespace nvfp4::warpspec;

/// Columns that a thread stores at a time: 16 bytes, beside those of the next
/// thread.
static constexpr int64_t kPiece = 4;

void EpilogueRole::buildPart(const TileState &tile, Value thread,
                             function_ref<void(Value firstSums)> buildLast) {
  // Offsets that go back make more tiles of ragged rows than there are slots
  // (countTiles): of those that have none nothing is stored.
  Value hasSlot;
  if (getForm(kernel.getOp().getGrouping()).cutsRows()) {
    Value rowTiles =
        add(ceilDiv(tile.extents.rows, plan.getTileRows()), parameters.groups);
    Value tiles = arith::MulIOp::create(
        b, loc, rowTiles, ceilDiv(tile.extents.columns, plan.getTileColumns()));
    hasSlot = less(tile.number, mul(tiles, plan.splitK));
  }
  // Slots of sums and of flags are those of (tile, part, block of the pair).
  int64_t others = plan.splitK - 1;
  auto multiply = [&](Value a, int64_t factor) -> Value {
    return arith::MulIOp::create(b, loc, a, index(factor));
  };
  auto plus = [&](Value a, Value c) -> Value {
    return arith::AddIOp::create(b, loc, a, c);
  };
  Value first =
      multiply(toIndex(div(tile.number, plan.splitK)), others * plan.ctas);
  if (kernel.rank)
    first = plus(first, toIndex(kernel.rank));
  Value own = plus(first, multiply(toIndex(tile.part), plan.ctas));
  auto flagOf = [&](Value slot) {
    return plus(multiply(slot, kTmemLanes), toIndex(thread));
  };
  auto ifKept = [&](llvm::function_ref<void()> body) {
    if (!hasSlot)
      return body();
    auto branch = scf::IfOp::create(b, loc, hasSlot, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  };
  auto sumsOf = [&](Value slot) {
    return plus(multiply(slot, kTmemLanes * plan.n),
                multiply(toIndex(thread), kPiece));
  };
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       tile.part, i32(others));
  if (hasSlot)
    isLast = arith::AndIOp::create(b, loc, isLast, hasSlot);
  auto branch = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  Value ownSums = sumsOf(own);
  drainAccumulator(tile, /*firstSums=*/Value(),
                   [&](const AccumulatorView &view, Value chunk, Value amax) {
                     Value sums = loadColumns(
                         view, chunk, std::min(plan.n, getChunkColumns()));
                     ifKept([&] { storePart(sums, ownSums, chunk); });
                     return amax;
                   });
  ifKept([&] { PublishOp::create(b, loc, parameters.published, flagOf(own)); });

  b.setInsertionPointToStart(branch.thenBlock());
  auto loop = scf::ForOp::create(b, loc, index(0), index(others * plan.ctas),
                                 index(plan.ctas));
  b.setInsertionPointToStart(loop.getBody());
  AwaitOp::create(b, loc, parameters.published,
                  flagOf(plus(first, loop.getInductionVar())));
  b.setInsertionPointAfter(loop);
  buildLast(sumsOf(first));
}

Value EpilogueRole::placeInPart(Value first, Value offset, int64_t j) {
  Value column =
      arith::MulIOp::create(b, loc, toIndex(offset), index(kTmemLanes));
  column =
      arith::AddIOp::create(b, loc, column, index(j * kPiece * kTmemLanes));
  return arith::AddIOp::create(b, loc, first, column);
}

static Value getPiece(OpBuilder &b, Location loc, Value sums, int64_t j) {
  return vector::ExtractStridedSliceOp::create(
      b, loc, sums, ArrayRef<int64_t>{j * kPiece}, ArrayRef<int64_t>{kPiece},
      ArrayRef<int64_t>{1});
}

static int64_t countPieces(Value sums) {
  return cast<VectorType>(sums.getType()).getNumElements() / kPiece;
}

void EpilogueRole::storePart(Value sums, Value first, Value offset) {
  for (int64_t j = 0, e = countPieces(sums); j < e; ++j)
    vector::StoreOp::create(
        b, loc, getPiece(b, loc, sums, j), parameters.partials,
        ValueRange(placeInPart(first, offset, j)), false, llvm::Align(16));
}

Value EpilogueRole::addParts(Value sums, Value firstSums, Value offset) {
  int64_t pieces = countPieces(sums);
  auto type = VectorType::get({kPiece}, b.getF32Type());
  auto load = [&](Value first) {
    Values loaded;
    for (int64_t j = 0; j < pieces; ++j)
      loaded.push_back(vector::LoadOp::create(
          b, loc, type, parameters.partials,
          ValueRange(placeInPart(first, offset, j)), false, llvm::Align(16)));
    return loaded;
  };
  auto plus = [&](ValueRange a, ValueRange c) {
    return llvm::map_to_vector(llvm::zip_equal(a, c), [&](auto pair) -> Value {
      return arith::AddFOp::create(b, loc, std::get<0>(pair),
                                   std::get<1>(pair));
    });
  };
  Values all = load(firstSums);
  if (plan.splitK > 2) {
    int64_t stride = plan.ctas * kTmemLanes * plan.n;
    auto loop = scf::ForOp::create(b, loc, index(stride),
                                   index((plan.splitK - 1) * stride),
                                   index(stride), all);
    // Loads of all parts at once would take the registers of all parts.
    auto disable = LLVM::LoopUnrollAttr::get(b.getContext(),
                                             /*disable=*/b.getBoolAttr(true),
                                             {}, {}, {}, {}, {}, {});
    loop->setAttr("llvm.loop_annotation",
                  LLVM::LoopAnnotationAttr::get(
                      b.getContext(), {}, {}, {}, /*unroll=*/disable, {}, {},
                      {}, {}, {}, {}, {}, {}, {}, {}, {}));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value first =
        arith::AddIOp::create(b, loc, firstSums, loop.getInductionVar());
    scf::YieldOp::create(b, loc, plus(loop.getRegionIterArgs(), load(first)));
    all = Values(loop.getResults());
  }
  Values own;
  for (int64_t j = 0; j < pieces; ++j)
    own.push_back(getPiece(b, loc, sums, j));
  for (auto [j, piece] : llvm::enumerate(plus(all, own)))
    sums = vector::InsertStridedSliceOp::create(
        b, loc, piece, sums,
        ArrayRef<int64_t>{static_cast<int64_t>(j) * kPiece},
        ArrayRef<int64_t>{1});
  return sums;
}
