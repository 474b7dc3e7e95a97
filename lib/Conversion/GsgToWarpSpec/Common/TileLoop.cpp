//===- TileLoop.cpp - The tiles of a block ----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warpspec.for_each_tile, and what it carries from tile to tile.
//
//===----------------------------------------------------------------------===//

#include "TileLoop.h"
#include "ProblemTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::warpspec;

void kernels::forEachTile(const KernelContext &c, const TileLoop &tiles,
                          function_ref<void(const TileState &tile)> body) {
  OpBuilder &b = c.b;
  Location loc = c.loc;
  OpBuilder::InsertionGuard guard(b);
  Type i32Type = b.getI32Type();
  SmallVector<Value> inits;
  if (tiles.hasParity)
    inits.push_back(c.i32(0));
  Value workers;
  if (tiles.isCounted) {
    // Worker w of W has the tiles w, w + W, ...
    inits.push_back(
        c.div(NVVM::BlockIdXOp::create(b, loc, i32Type), tiles.ctas));
    workers = c.div(NVVM::GridDimXOp::create(b, loc, i32Type), tiles.ctas);
  }
  auto loop = ForEachTileOp::create(
      b, loc, TypeRange(ValueRange(inits)), TileOrder::MFastest,
      c.parameters.groups, tiles.ring, tiles.steps, tiles.inParts, inits);
  Block &extents = loop.getExtents().emplaceBlock();
  b.setInsertionPointToStart(&extents);
  Value g = extents.addArgument(i32Type, loc);
  ProblemExtents problem = getExtents(c, g);
  GroupPlace group = getGroup(c, problem, g);
  // Parts of a tile follow each other.
  SmallVector<Value> yielded{
      c.mul(c.ceilDiv(group.rows, tiles.rows), tiles.splitK),
      c.ceilDiv(problem.columns, tiles.columns)};
  if (tiles.ring)
    yielded.push_back(tiles.cost(problem, group));
  warpspec::YieldOp::create(b, loc, yielded);
  Block &block = loop.getBody().emplaceBlock();
  SmallVector<Type> types(loop.getNumTileArguments() + inits.size(), i32Type);
  block.addArguments(types, SmallVector<Location>(types.size(), loc));
  b.setInsertionPointToStart(&block);
  TileState tile;
  tile.group = block.getArgument(0);
  tile.extents = getExtents(c, tile.group);
  if (tiles.hasParity)
    tile.parity = block.getArgument(3);
  if (tiles.isCounted)
    tile.number = block.getArguments().back();
  if (tiles.steps) {
    tile.from = block.getArgument(3);
    tile.to = block.getArgument(4);
  }
  if (tiles.inParts)
    tile.partsBefore = block.getArgument(5);
  tile.m = block.getArgument(1);
  tile.n = block.getArgument(2);
  if (tiles.splitK > 1) {
    tile.part = arith::RemUIOp::create(b, loc, tile.m, c.i32(tiles.splitK));
    tile.m = c.div(tile.m, tiles.splitK);
  }
  body(tile);
  SmallVector<Value> next;
  if (tiles.hasParity)
    next.push_back(arith::XOrIOp::create(b, loc, tile.parity, c.i32(1)));
  if (tiles.isCounted)
    next.push_back(c.add(tile.number, workers));
  warpspec::YieldOp::create(b, loc, next);
}
