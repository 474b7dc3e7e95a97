//===- EpilogueChunk.cpp - some columns of an accumulator -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs, and where results go. A row is stored by its thread, or with the
// block's others in one box if they all belong to the group.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::warpspec;

/// Gate and up of 16 pairs: runs of `q` columns take turns.
static std::pair<Value, Value> splitPairs(OpBuilder &b, Location loc, Value z,
                                          int64_t q) {
  SmallVector<int64_t> first, second;
  for (int64_t i = 0; i < 32; ++i)
    (i / q % 2 ? second : first).push_back(i);
  return {vector::ShuffleOp::create(b, loc, z, z, first),
          vector::ShuffleOp::create(b, loc, z, z, second)};
}

Epilogue::Values Epilogue::buildIf(Value condition, ValueRange otherwise,
                                   llvm::function_ref<Values()> body) {
  auto branch = scf::IfOp::create(b, loc, TypeRange(otherwise), condition,
                                  /*withElseRegion=*/!otherwise.empty());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Values inside = body();
  if (otherwise.empty())
    return {};
  scf::YieldOp::create(b, loc, inside);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise);
  return Values(branch.getResults());
}

void Epilogue::storeRows(const TileRow &tile, Value y, Value column,
                         Value isInside, Value /*isColumn*/) {
  buildIf(isInside, {}, [&]() -> Values {
    storeVector(tile, y, column,
                {tile.result.memref, tile.extents.outColumns,
                 tile.result.stride, parameters.knownOutColumns});
    return {};
  });
}

Value Epilogue::buildStored(const TileRow &tile, Value isInside, Value isColumn,
                            int64_t width, Value column, Value amax,
                            llvm::function_ref<Values()> body) {
  Values otherwise;
  auto type = VectorType::get({width}, b.getF32Type());
  if (keepsResult())
    otherwise.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  if (amax)
    otherwise.push_back(amax);
  Values results = buildIf(isInside, otherwise, body);
  if (!op.getQuantizer())
    storeRows(tile, results.front(), column, isInside, isColumn);
  if (op.getCopies())
    storeCopies(tile, results.front(), column);
  return amax ? results.back() : Value();
}

int64_t Epilogue::getVectorColumns() {
  GateAttr gate = op.getActivationOrIdentity().getGate();
  return gate && gate.getGranularity() >= 32 ? resultColumns : 32;
}

Value Epilogue::buildChunk(const TileRow &tile, LoadFn load, Value chunk,
                           Value amax) {
  GateAttr gate = op.getActivationOrIdentity().getGate();
  int64_t q = gate ? gate.getGranularity() : 0;
  Value column = add(tile.column, chunk);
  Value isColumn = less(column, tile.extents.columns);
  Value isInside = arith::AndIOp::create(b, loc, tile.isRow, isColumn);
  // A chunk of 32 accumulator columns gives 32 results, or 16 of pairs.
  int64_t width = getVectorColumns();
  Value first = load(chunk, width);
  if (q < 32) {
    Value outColumn = add(tile.outColumn, q ? div(chunk, 2) : chunk);
    return buildStored(
        tile, isInside, isColumn, q ? 16 : 32, outColumn, amax, [&] {
          if (!q)
            return finishColumns(tile, first, column, outColumn, amax);
          Value z = finishProduct(tile, first, column, /*isSecond=*/false);
          auto [a, c] = splitPairs(b, loc, z, q);
          return finishPairs(tile, a, c, outColumn, amax);
        });
  }
  // Columns [0, q) of every 2q are the first of their pair; the chunk that is
  // does both.
  Value inPair = arith::RemUIOp::create(b, loc, chunk, i32(2 * q));
  Values otherwise;
  if (amax)
    otherwise.push_back(amax);
  Values results = buildIf(less(inPair, i32(q)), otherwise, [&]() -> Values {
    Value second = load(add(chunk, i32(q)), width);
    Value pair = div(chunk, 2 * q);
    Value outColumn = add(tile.outColumn, add(mul(pair, q), inPair));
    Value seen =
        buildStored(tile, isInside, isColumn, width, outColumn, amax, [&] {
          Value a = finishProduct(tile, first, column, /*isSecond=*/false);
          Value c = finishProduct(tile, second, add(column, i32(q)),
                                  /*isSecond=*/true);
          return finishPairs(tile, a, c, outColumn, amax);
        });
    return seen ? Values{seen} : Values{};
  });
  return amax ? results.front() : Value();
}
