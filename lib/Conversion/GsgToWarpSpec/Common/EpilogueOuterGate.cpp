//===- EpilogueOuterGate.cpp - Columns in another gate layout -------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights and bias are moved so that the two columns of a pair are in one
// thread's row. An addend and a stored pre-activation keep their layout: the
// pairs that follow each other in a tile are two runs of columns there, or
// several where its own runs are short.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

GateAttr Epilogue::getOuterGate() { return op.getOuterGateAttr(); }

SmallVector<Epilogue::OuterRun>
Epilogue::getOuterRuns(const TileRow &tile, Value column, bool isSecond) {
  int64_t inner = op.getActivationOrIdentity().getGate().getGranularity();
  int64_t outer = getOuterGate().getGranularity();
  Value pairs = div(tile.extents.columns, 2);
  // Pairs of the vector: 32 with one side of each, or 16 with both.
  bool isWide = inner >= 32;
  int64_t count = isWide ? 32 : 16;
  Value first = isWide ? mul(div(column, 64), 32) : div(column, 2);
  // With halves a side is one run.
  int64_t width = outer ? std::gcd(outer, count) : count;
  SmallVector<OuterRun> runs;
  for (int64_t side = 0; side < (isWide ? 1 : 2); ++side) {
    bool onSecond = isWide ? isSecond : side == 1;
    for (int64_t i = 0; i < count; i += width) {
      Value pair = add(first, i32(i));
      Value at = pair;
      if (outer)
        at = add(pair, mul(div(pair, outer), outer));
      if (onSecond)
        at = add(at, outer ? i32(outer) : pairs);
      runs.push_back({at, pair, pairs, side * count + i, width});
    }
  }
  return runs;
}

/// The order of columns in which pairs take turns by runs of `q`, as places in
/// the vector of all first columns and then all second ones, or the inverse.
static SmallVector<int64_t> getTurns(int64_t q, bool isInverse) {
  SmallVector<int64_t> order(32);
  for (int64_t i = 0; i < 32; ++i) {
    int64_t place = (i / q % 2) * 16 + i / (2 * q) * q + i % q;
    order[isInverse ? place : i] = isInverse ? i : place;
  }
  return order;
}

std::pair<std::optional<int64_t>, bool> Epilogue::getKnownPairs() {
  if (!parameters.knownColumns)
    return {std::nullopt, false};
  int64_t pairs = *parameters.knownColumns / 2;
  int64_t inner = op.getActivationOrIdentity().getGate().getGranularity();
  return {pairs, pairs % (inner >= 32 ? 32 : 16) == 0};
}

mlir::Value Epilogue::loadOuter(const TileRow &tile, Value memref, Value column,
                                bool isSecond) {
  auto type = VectorType::get({32}, b.getF32Type());
  Value all = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  auto [pairs, isWhole] = getKnownPairs();
  for (const OuterRun &run : getOuterRuns(tile, column, isSecond)) {
    Value at = flatten(tile.row, tile.extents.columns, run.column);
    Value mask =
        maskOf(run.pair, run.width, run.pairs, isWhole ? pairs : std::nullopt);
    std::optional<int64_t> aligned;
    if (pairs)
      aligned = std::gcd(*pairs, run.width);
    Value part = loadVector(memref, at, run.width, mask, aligned);
    all = vector::InsertStridedSliceOp::create(
        b, loc, part, all, ArrayRef<int64_t>{run.place}, ArrayRef<int64_t>{1});
  }
  int64_t q = op.getActivationOrIdentity().getGate().getGranularity();
  if (q >= 32)
    return all;
  return vector::ShuffleOp::create(b, loc, all, all, getTurns(q, false));
}

void Epilogue::storeOuter(const TileRow &tile, Value z, Value memref,
                          Value column, bool isSecond) {
  int64_t q = op.getActivationOrIdentity().getGate().getGranularity();
  if (q < 32)
    z = vector::ShuffleOp::create(b, loc, z, z, getTurns(q, true));
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (!element.isF32())
    z = arith::TruncFOp::create(b, loc, VectorType::get({32}, element), z);
  auto [pairs, isWhole] = getKnownPairs();
  for (const OuterRun &run : getOuterRuns(tile, column, isSecond)) {
    Value part = vector::ExtractStridedSliceOp::create(
        b, loc, z, ArrayRef<int64_t>{run.place}, ArrayRef<int64_t>{run.width},
        ArrayRef<int64_t>{1});
    Value at = flatten(tile.row, tile.extents.columns, run.column);
    if (Value mask = maskOf(run.pair, run.width, run.pairs,
                            isWhole ? pairs : std::nullopt)) {
      vector::MaskedStoreOp::create(b, loc, memref, at, mask, part);
      continue;
    }
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    int64_t aligned =
        std::gcd(std::gcd(*pairs, run.width) * bytes, int64_t(16));
    vector::StoreOp::create(b, loc, part, memref, ValueRange(at), false,
                            llvm::Align(aligned));
  }
}
