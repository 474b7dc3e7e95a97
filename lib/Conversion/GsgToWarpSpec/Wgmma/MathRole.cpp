//===- MathRole.cpp - Warpgroups that multiply ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each takes 64 columns of the product. A tile that blocks share along K passes
// its sums from one to the next.
//
//===----------------------------------------------------------------------===//

#include "../Common/ProblemTable.h"
#include "Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;
using namespace nvfp4::gsg::wgmma;
using namespace nvfp4::warpspec;

/// This thread's flag among those of block `number`.
static Value getFlag(const Kernel &k, Value number) {
  return k.toIndex(k.add(k.mul(number, k.plan.getThreads()),
                         ThreadIndexOp::create(k.b, k.loc, k.b.getI32Type())));
}

/// Waits for the sums that block `number` has left for this thread.
static void awaitSums(const Kernel &k, Value number) {
  Value flag = getFlag(k, number);
  AwaitOp::create(k.b, k.loc, k.parameters.published, flag);
  // As it was, for another launch with the same memory.
  memref::StoreOp::create(k.b, k.loc, k.i32(0), k.parameters.published, flag);
}

/// Runs `finish` on the sums of all of the tile's K, in the block that has the
/// last part of it; others leave theirs to it. `multiply` gives the sums of
/// some steps, to which those of block `slot` are added if `isAfter`.
static void buildCutTile(
    const Kernel &k, const TileState &tile, Type fragment, Value width,
    function_ref<Value(Value from, Value to, Value slot, Value isAfter)>
        multiply,
    function_ref<void(Value product)> finish) {
  OpBuilder &b = k.b;
  Location loc = k.loc;
  const KernelParameters &parameters = k.parameters;
  OpBuilder::InsertionGuard guard(b);
  auto isEqual = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  };
  Value block = NVVM::BlockIdXOp::create(b, loc, b.getI32Type());
  Value before = k.sub(block, k.i32(1));
  Value isAfter = k.less(k.i32(0), tile.from);
  if (tile.partsBefore)
    isAfter = arith::AndIOp::create(b, loc, isAfter,
                                    isEqual(tile.partsBefore, k.i32(0)));
  auto wait = scf::IfOp::create(b, loc, isAfter, /*withElseRegion=*/false);
  b.setInsertionPointToStart(wait.thenBlock());
  awaitSums(k, before);
  b.setInsertionPointAfter(wait);
  Value product = multiply(tile.from, tile.to, before, isAfter);
  auto branch = scf::IfOp::create(b, loc, isEqual(tile.to, tile.extents.steps),
                                  /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  StoreFragmentOp::create(b, loc, product, width, parameters.partials, block);
  PublishOp::create(b, loc, parameters.published, getFlag(k, block));
  b.setInsertionPointToStart(branch.thenBlock());
  if (tile.partsBefore) {
    Value first = k.sub(block, tile.partsBefore);
    auto loop = scf::ForOp::create(b, loc, first, block, k.i32(1));
    b.setInsertionPointToStart(loop.getBody());
    awaitSums(k, loop.getInductionVar());
    b.setInsertionPointAfter(loop);
    product =
        AddFragmentsOp::create(b, loc, fragment, product, width,
                               tile.partsBefore, parameters.partials, first);
  }
  finish(product);
}

void wgmma::buildMathRole(const Kernel &kernel) {
  OpBuilder &b = kernel.b;
  Location loc = kernel.loc;
  const Plan &plan = kernel.plan;
  Value thread = ThreadIndexOp::create(b, loc, b.getI32Type());
  Value warpgroup = kernel.div(thread, 128);
  kernel.forEachTile([&](const TileState &tile) {
    TileProduct product;
    product.warpgroup = warpgroup;
    product.result = getResult(kernel, tile.group, /*hasMap=*/false, 0);
    product.group = getGroup(kernel, tile.extents, tile.group);
    product.rows = kernel.getRows(product.group, tile.m);
    auto fragment = VectorType::get({plan.width / 2}, b.getF32Type());
    auto multiply = [&](Value from, Value to, Value slot,
                        Value isAfter) -> Value {
      return MmaDecodedOp::create(b, loc, fragment, b.getI32Type(),
                                  b.getI32Type(), kernel.buffers.input, from,
                                  to, product.rows.width, plan.widthStep,
                                  plan.code,
                                  slot ? kernel.parameters.partials : Value(),
                                  slot, isAfter, Value(), Value())
          .getResult();
    };
    auto finish = [&](Value sums) {
      product.fragment = sums;
      buildResults(kernel, tile, product);
    };
    if (plan.isCut)
      return buildCutTile(kernel, tile, fragment, product.rows.width, multiply,
                          finish);
    Value steps =
        product.group.steps ? product.group.steps : tile.extents.steps;
    finish(multiply(kernel.i32(0), steps, Value(), Value()));
  });
}
