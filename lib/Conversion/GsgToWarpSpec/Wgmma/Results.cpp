//===- Results.cpp - Sums of warpgroups to results --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragments pass through shared memory, a few rows of them at a time, so that a
// thread has columns of one row.
//
//===----------------------------------------------------------------------===//

#include "../Common/ProblemTable.h"
#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::wgmma;
using namespace nvfp4::warpspec;

/// f32: what mma_decoded leaves out of the product of the group: a power of two
/// rounds nothing.
static Value getFactor(const Kernel &k, Value group) {
  if (!k.own.factors)
    return arith::ConstantOp::create(k.b, k.loc, k.b.getF32FloatAttr(128));
  Value matrix = k.parameters.depth ? k.i32(0) : group;
  if (k.isList()) {
    Value bytes = getDistance(k, group, ProblemWord::Factors, k.own.factors);
    Value size = arith::ConstantIntOp::create(k.b, k.loc, 4, 64);
    matrix = arith::DivSIOp::create(k.b, k.loc, bytes, size);
  }
  return memref::LoadOp::create(k.b, k.loc, k.own.factors, k.toIndex(matrix));
}

namespace {
class Results : public Epilogue {
public:
  Results(const Kernel &kernel, const TileState &tile,
          const TileProduct &product)
      : Epilogue(kernel, /*resultColumns=*/32), kernel(kernel),
        plan(kernel.plan), tile(tile), product(product),
        thread(ThreadIndexOp::create(b, loc, b.getI32Type())) {}

  void build();
  /// The same for results that are nothing but products times factors, in 16
  /// bits: whole rows of 64 columns without the general epilogue.
  void buildPlain();

private:
  Value bits(Value value, int64_t mask) {
    return arith::AndIOp::create(b, loc, value, i32(mask));
  }

  const Kernel &kernel;
  const Plan &plan;
  const TileState &tile;
  const TileProduct &product;
  const Value thread;
};
} // namespace

void wgmma::buildResults(const Kernel &kernel, const TileState &tile,
                         const TileProduct &product) {
  Results results(kernel, tile, product);
  if (kernel.plan.isPlain)
    results.buildPlain();
  else
    results.build();
}

void Results::buildPlain() {
  const TileRows &rows = product.rows;
  Value staged = kernel.buffers.staged;
  TileRow row;
  row.group = tile.group;
  row.groupStart = product.group.start;
  row.row = row.firstRow = add(product.group.start, rows.first);
  row.isRow = arith::ConstantIntOp::create(b, loc, 1, 1);
  loadGroupNumbers(row);
  Value fragment = product.fragment;
  auto scale = [&](Value factor) {
    fragment =
        arith::MulFOp::create(b, loc, fragment, broadcast(factor, fragment));
  };
  scale(getFactor(kernel, tile.group));
  if (row.alpha)
    scale(row.alpha);
  // A thread takes 8 columns of every 16th row.
  Value column =
      add(mul(add(mul(tile.n, plan.warpgroups), product.warpgroup), 64),
          mul(bits(thread, 7), 8));
  Value inWarpgroup = div(bits(thread, 127), 8);
  Value hasColumns = less(column, tile.extents.columns);
  auto loop = scf::ForOp::create(b, loc, i32(0), rows.count, i32(Plan::kChunk));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value chunk = loop.getInductionVar();
  StageFragmentOp::create(b, loc, fragment, chunk, staged, IntegerAttr());
  Type element = cast<MemRefType>(staged.getType()).getElementType();
  for (int64_t i = 0; i < Plan::kChunk; i += 16) {
    OpBuilder::InsertionGuard inner(b);
    Value rowInChunk = add(inWarpgroup, i32(i));
    Value rowInTile = add(chunk, rowInChunk);
    Value is =
        arith::AndIOp::create(b, loc, less(rowInTile, rows.count), hasColumns);
    auto branch = scf::IfOp::create(b, loc, is, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    Value loaded = SmemLoadOp::create(
        b, loc, VectorType::get({8}, element), staged,
        ValueRange{product.warpgroup, rowInChunk, mul(bits(thread, 7), 8)});
    Value at = flatten(add(row.row, rowInTile), product.result.stride, column);
    vector::StoreOp::create(b, loc, loaded, product.result.memref,
                            ValueRange(at), false, llvm::Align(16));
  }
}

void Results::build() {
  const TileRows &rows = product.rows;
  Value staged = kernel.buffers.staged;
  ActivationAttr activation = kernel.getOp().getActivationOrIdentity();
  Value strip = add(mul(tile.n, plan.warpgroups), product.warpgroup);
  SmallVector<Value> carried;
  if (parameters.amax)
    carried.push_back(i32(0));
  auto loop = scf::ForOp::create(b, loc, i32(0), rows.count, i32(Plan::kChunk),
                                 carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value chunk = loop.getInductionVar();
    StageFragmentOp::create(b, loc, product.fragment, chunk, staged,
                            IntegerAttr());
    // Each warp of a warpgroup takes some of the 64 columns, or the first two
    // do.
    Value inWarpgroup = bits(thread, 127);
    Value stagedRow = bits(thread, 31);
    Value part = mul(div(inWarpgroup, 32), 32);
    Value rowInTile = add(chunk, stagedRow);
    TileRow row;
    row.extents = tile.extents;
    row.result = product.result;
    row.group = tile.group;
    row.rowInGroup = add(rows.first, rowInTile);
    row.firstRow = add(product.group.start, rows.first);
    row.row = add(product.group.start, row.rowInGroup);
    row.isRow = less(rowInTile, rows.count);
    row.groupStart = product.group.start;
    row.groupRows = product.group.rows;
    row.thread = thread;
    row.column = mul(strip, 64);
    row.outColumn = activation.isPaired() ? mul(strip, 32) : row.column;
    // Lanes without a row take part in shuffles; LLVM may load for them, too.
    Value ownRow = stagedRow;
    if (!parameters.copies.empty())
      ownRow = arith::SelectOp::create(b, loc, row.isRow, stagedRow, i32(0));
    auto load = [&](Value offset, int64_t columns) -> Value {
      auto type = VectorType::get({columns}, b.getF32Type());
      Value loaded = SmemLoadOp::create(
          b, loc, type, staged, ValueRange{product.warpgroup, ownRow, offset});
      return arith::MulFOp::create(
          b, loc, loaded, broadcast(getFactor(kernel, tile.group), loaded));
    };
    Value hasColumns = less(part, i32(64));
    Value amax = parameters.amax ? loop.getRegionIterArg(0) : Value();
    Values otherwise;
    if (amax)
      otherwise.push_back(amax);
    Values seen = buildIf(hasColumns, otherwise, [&]() -> Values {
      loadGroupNumbers(row);
      Value inside = buildChunk(row, load, part, amax);
      return inside ? Values{inside} : Values{};
    });
    if (amax)
      scf::YieldOp::create(b, loc, seen.front());
  }
  if (parameters.amax) {
    TileRow last;
    last.group = tile.group;
    storeAmax(last, thread, loop.getResult(0));
  }
}
