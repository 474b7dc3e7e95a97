//===- TileSearch.h - Which tile of which group -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowerings of for_each_tile build alike: each lane of a warp has a
// group, and lanes ask each other.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_TILESEARCH_H
#define NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_TILESEARCH_H

#include "RoleLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace nvfp4::warpspec {

/// Builds i32 values for the tiles of `loop`, at the insertion point.
class TileSearch {
public:
  TileSearch(mlir::RewriterBase &rewriter, ForEachTileOp loop, int64_t cluster)
      : rewriter(rewriter), loop(loop), loc(loop.getLoc()), cluster(cluster),
        i32(rewriter.getI32Type()) {}

  /// True if there are no more groups than lanes.
  mlir::Value areFew();

protected:
  using Value = mlir::Value;

  Value constant(int64_t value) { return createI32(rewriter, loc, value); }
  Value add(Value a, Value b) {
    return mlir::arith::AddIOp::create(rewriter, loc, a, b);
  }
  Value subtract(Value a, Value b) {
    return mlir::arith::SubIOp::create(rewriter, loc, a, b);
  }
  Value multiply(Value a, Value b) {
    return mlir::arith::MulIOp::create(rewriter, loc, a, b);
  }
  Value divide(Value a, Value b) {
    return mlir::arith::DivUIOp::create(rewriter, loc, a, b);
  }
  Value less(Value a, Value b) {
    return mlir::arith::CmpIOp::create(rewriter, loc,
                                       mlir::arith::CmpIPredicate::slt, a, b);
  }
  Value shuffle(mlir::NVVM::ShflKind kind, Value value, Value lane,
                int64_t clamp);
  /// What `lane` has.
  Value pick(Value value, Value lane) {
    return shuffle(mlir::NVVM::ShflKind::idx, value, lane, 31);
  }

  /// Sets `worker` and `workers`.
  void setWorkers();
  /// True if extents say what a tile costs.
  bool isBalanced();
  /// Numbers of tiles (m, n) of `group` and, if balanced, what each costs, by a
  /// copy of the region.
  llvm::SmallVector<Value> getExtents(Value group);
  /// Indices (m, n) of the tile at `place` in a group of m by n tiles.
  std::pair<Value, Value> locate(Value place, Value m, Value n);
  /// The sum of the lanes up to this one.
  Value addUp(Value lane, Value count);
  /// The first lane for which `condition` holds, 32 if there is none.
  Value findFirst(Value condition);
  /// The lane whose group has this lane's place in the order of falling cost,
  /// for no more groups than lanes. Each lane counts those before its own, then
  /// looks for the one whose place it is.
  Value rankByCost(Value lane, Value cost);

  mlir::RewriterBase &rewriter;
  ForEachTileOp loop;
  mlir::Location loc;
  int64_t cluster;
  mlir::Type i32;
  Value worker, workers;
};

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_TRANSFORMS_TILESEARCH_H
