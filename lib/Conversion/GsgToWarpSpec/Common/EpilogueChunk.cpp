//===- EpilogueChunk.cpp - some columns of an accumulator -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs, activations, and where results go. A row is stored by its thread, or
// with the block's others in one box if they all belong to the group.
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

/// Applies `function` to four lanes at a time: those of f64 take a multiple of
/// the registers of their argument.
static Value
inPieces(OpBuilder &b, Location loc, ArrayRef<Value> in,
         llvm::function_ref<Value(ArrayRef<Value> piece)> function) {
  constexpr int64_t lanes = 4;
  auto type = cast<VectorType>(in.front().getType());
  Value all = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  for (int64_t at = 0; at < type.getNumElements(); at += lanes) {
    auto piece = llvm::map_to_vector(in, [&](Value whole) -> Value {
      return vector::ExtractStridedSliceOp::create(
          b, loc, whole, ArrayRef<int64_t>{at}, ArrayRef<int64_t>{lanes},
          ArrayRef<int64_t>{1});
    });
    all = vector::InsertStridedSliceOp::create(b, loc, function(piece), all,
                                               ArrayRef<int64_t>{at},
                                               ArrayRef<int64_t>{1});
  }
  return all;
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
  if (!op.getQuantizer())
    otherwise.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  if (amax)
    otherwise.push_back(amax);
  Values results = buildIf(isInside, otherwise, body);
  if (!op.getQuantizer())
    storeRows(tile, results.front(), column, isInside, isColumn);
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
          Value z = finishProduct(tile, first, column, /*isSecond=*/false);
          if (!q)
            return finishTile(tile, z, outColumn, amax);
          auto [a, c] = splitPairs(b, loc, z, q);
          return finishTile(tile, {a, c}, outColumn, amax);
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
          return finishTile(tile, {a, c}, outColumn, amax);
        });
    return seen ? Values{seen} : Values{};
  });
  return amax ? results.front() : Value();
}

Epilogue::Values Epilogue::finishTile(const TileRow &tile, ArrayRef<Value> z,
                                      Value column, Value amax) {
  ActivationAttr activation = op.getActivationOrIdentity();
  SmallVector<Value> inputs(z);
  if (GateAttr gate = activation.getGate();
      gate && gate.getOrder() == GateOrder::UpFirst)
    std::swap(inputs[0], inputs[1]);
  Value y = finishActivation(tile, inputs, column);
  Values results;
  if (op.getQuantizer())
    storeQuantized(tile, y, column);
  else
    results.push_back(y);
  if (amax)
    results.push_back(foldAmax(tile, amax, y, column));
  return results;
}

Value Epilogue::activate(const TileRow &tile, ArrayRef<Value> z) {
  ActivationAttr activation = op.getActivationOrIdentity();
  ActivationKind kind = activation.getKind();
  bool isFast =
      op.getMath() == MathMode::Fast && !activation.getRoundBf16() &&
      (kind == ActivationKind::SiLU || kind == ActivationKind::SwiGLU);
  if (isFast)
    return applyFastActivation(tile, z);
  return inPieces(b, loc, z, [&](ArrayRef<Value> piece) {
    return arithmetic::emitActivation(b, loc, activation, tile.params, piece);
  });
}
