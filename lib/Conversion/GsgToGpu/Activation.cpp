//===- Activation.cpp - Activations and hadamard as kernels -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In f32, by the arithmetic that products have in their epilogues. A thread of
// hadamard has one transform of sixteen values.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Conversion/GsgArithmetic/Activation.h"
#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"
#include "nvfp4/Conversion/GsgToLoops/RowGroups.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::loops;
using namespace nvfp4::gsg::togpu;

namespace {
/// How many neighbours of the result of an activation a thread has; vectors do
/// not cross runs of gate and up.
int64_t countLanesOf(ActivationAttr activation, ValueRange matrices,
                     Value result) {
  auto type = cast<MemRefType>(result.getType());
  int64_t lanes = countLanes(matrices, type.getDimSize(1));
  int64_t run =
      activation.isPaired() ? activation.getGate().getGranularity() : 0;
  while (run > 0 && run % lanes)
    lanes /= 2;
  return lanes;
}

/// Where z of `column` of the result is, or gate and up.
SmallVector<Value> getArgumentColumns(LoopBuilder &b, ActivationAttr activation,
                                      Value column, Value columns) {
  if (!activation.isPaired())
    return {column};
  GateAttr gate = activation.getGate();
  SmallVector<Value> pair{column, b.add(column, columns)};
  if (int64_t run = gate.getGranularity()) {
    Value length = b.index(run);
    // Each run before this one has another one beside it.
    Value before =
        b.mul(arith::DivUIOp::create(b.builder, b.loc, column, length), length);
    pair[0] = b.add(column, before);
    pair[1] = b.add(pair[0], length);
  }
  if (gate.getOrder() == GateOrder::UpFirst)
    std::swap(pair[0], pair[1]);
  return pair;
}

struct LowerGlu : LowerToLaunch<GluOp> {
  using LowerToLaunch::LowerToLaunch;
  static constexpr int64_t kThreads = 128;

  void lower(GluOp op, LoopBuilder &b) const override {
    Value input = getMatrix(b, op.getInput()), out = getMatrix(b, op.getOut());
    ActivationAttr activation = op.getActivation();
    Type element = cast<MemRefType>(out.getType()).getElementType();
    int64_t lanes = countLanesOf(activation, {input, out}, out);
    auto lowerPiece = [&](Value row, Value column) {
      SmallVector<Value> z;
      for (Value at : getArgumentColumns(b, activation, column, b.dim(out, 1)))
        z.push_back(b.toF32(loadLanes(b, input, row, at, lanes)));
      ActivationParams params =
          emitActivationParams(b.builder, b.loc, activation);
      Value y = emitActivation(b.builder, b.loc, activation, params, z);
      storeLanes(b, b.fromF32(y, element), out, row, column);
    };
    // A block has a row, however long: blocks with little work cost their
    // start.
    launchBlocks(
        b, "glu", b.dim(out, 0), kThreads, {}, [&](const BlockCode &code) {
          Value first = b.mul(code.thread, b.index(lanes));
          auto loop = scf::ForOp::create(b.builder, b.loc, first, b.dim(out, 1),
                                         b.index(kThreads * lanes));
          OpBuilder::InsertionGuard guard(b.builder);
          b.builder.setInsertionPointToStart(loop.getBody());
          lowerPiece(code.block, loop.getInductionVar());
        });
  }
};

/// A warp has a row, for the sum over which its threads work together.
struct LowerGluBackward : LowerToLaunch<GluBackwardOp> {
  using LowerToLaunch::LowerToLaunch;
  static constexpr int64_t kWarp = 32, kRows = 4;

  void lower(GluBackwardOp op, LoopBuilder &b) const override {
    std::optional<RowGroups> groups;
    if (op.getGroups())
      groups.emplace(b, MemRefParts::get(b, op.getInput()), *op.getGrouping(),
                     op.getGroups(), getChecked(op));
    Value input = getMatrix(b, op.getInput()), out = getMatrix(b, op.getOut());
    Value gradient = getMatrix(b, op.getGradient());
    ActivationAttr activation = op.getActivation();
    int64_t lanes = countLanesOf(activation, {input, gradient, out}, gradient);
    Value rows = b.dim(gradient, 0);
    Value blocks =
        arith::CeilDivUIOp::create(b.builder, b.loc, rows, b.index(kRows));
    Value prob = getVector(b, op.getProb()),
          sums = getVector(b, op.getProbOut());
    launchBlocks(
        b, "glu_backward", blocks, kRows * kWarp, {},
        [&](const BlockCode &code) {
          Value warp = b.index(kWarp);
          Value inBlock =
              arith::DivUIOp::create(b.builder, b.loc, code.thread, warp);
          Value lane =
              arith::RemUIOp::create(b.builder, b.loc, code.thread, warp);
          Value row = b.add(b.mul(code.block, b.index(kRows)), inBlock);
          Value isRow = b.cmp(arith::CmpIPredicate::ult, row, rows);
          auto lowerPlace = [&] {
            Row place{input, gradient, out, row, lanes};
            if (prob)
              place.factor = b.load(prob, getIndex(prob, row));
            Value sum = lowerRow(b, op, place, lane);
            if (!sums)
              return;
            Value total = b.narrow(addOverWarp(b, sum));
            b.ifThen(b.cmp(arith::CmpIPredicate::eq, lane, b.index(0)),
                     [&] { b.store(total, sums, getIndex(sums, row)); });
          };
          b.ifThen(isRow, [&] {
            if (!groups)
              return lowerPlace();
            if (groups->checksCounts())
              checkCount(b, *groups, b.toI64(row), b.toI64(lane),
                         b.toI64(b.dim(op.getInput(), 1)));
            b.ifThen(groups->contains(b.toI64(row)), lowerPlace);
          });
        });
    if (groups)
      groups->free();
  }

private:
  /// Checks the count of rows of a matrix, in a thread of its first row.
  static void checkCount(LoopBuilder &b, RowGroups &groups, Value row,
                         Value lane, Value rowsOfGroup) {
    Value isFirst = b.cmp(arith::CmpIPredicate::eq,
                          b.add(b.rem(row, rowsOfGroup), lane), 0);
    b.ifThen(isFirst, [&] { groups.checkCount(b.div(row, rowsOfGroup)); });
  }

  struct Row {
    Value input, gradient, out, row;
    int64_t lanes;
    Value factor = {};
  };

  /// Numbers of rows as one dimension, or none.
  static Value getVector(LoopBuilder &b, Value memref) {
    if (!memref || cast<MemRefType>(memref.getType()).getRank() < 2)
      return memref;
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(
        all.front(),
        llvm::seq<int64_t>(cast<MemRefType>(memref.getType()).getRank()));
    return memref::CollapseShapeOp::create(b.builder, b.loc, memref, all);
  }
  static SmallVector<Value> getIndex(Value vector, Value row) {
    if (cast<MemRefType>(vector.getType()).getRank() == 0)
      return {};
    return {row};
  }

  /// The thread's columns of a row; returns its part of the sum, in f64.
  static Value lowerRow(LoopBuilder &b, GluBackwardOp op, const Row &place,
                        Value lane) {
    auto [input, gradient, out, row, lanes, factor] = place;
    ActivationAttr activation = op.getActivation();
    Type element = cast<MemRefType>(out.getType()).getElementType();
    Value columns = b.dim(gradient, 1);
    ActivationParams params =
        emitActivationParams(b.builder, b.loc, activation);
    SmallVector<Value> zeros;
    if (op.getProbOut())
      zeros.push_back(b.widen(b.constantF32(b.f32, 0.0f)));
    auto loop =
        scf::ForOp::create(b.builder, b.loc, b.mul(lane, b.index(lanes)),
                           columns, b.index(kWarp * lanes), zeros);
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(loop.getBody());
    Value column = loop.getInductionVar();
    SmallVector<Value> places =
        getArgumentColumns(b, activation, column, columns);
    SmallVector<Value> z;
    for (Value at : places)
      z.push_back(b.toF32(loadLanes(b, input, row, at, lanes)));
    Value d = b.toF32(loadLanes(b, gradient, row, column, lanes));
    Value t = factor ? b.mulF(d, b.spread(factor, d)) : d;
    SmallVector<Value> dz =
        emitActivationGradient(b.builder, b.loc, activation, params, z, t);
    for (auto [value, at] : llvm::zip_equal(dz, places))
      storeLanes(b, b.fromF32(value, element), out, row, at);
    if (zeros.empty())
      return Value();
    Value y = emitActivation(b.builder, b.loc, activation, params, z);
    Value wide = b.widen(d);
    Value terms = b.mulF(wide, b.widen(y));
    Value sum = loop.getRegionIterArg(0);
    for (int64_t i = 0; i < lanes; ++i)
      sum = b.addF(sum, lanes == 1 ? terms
                                   : vector::ExtractOp::create(b.builder, b.loc,
                                                               terms, i)
                                         .getResult());
    scf::YieldOp::create(b.builder, b.loc, sum);
    return loop.getResult(0);
  }
};

struct LowerHadamard : LowerToLaunch<HadamardOp> {
  using LowerToLaunch::LowerToLaunch;
  static constexpr int64_t kValues = 16;

  void lower(HadamardOp op, LoopBuilder &b) const override {
    Value input = getMatrix(b, op.getInput()), out = getMatrix(b, op.getOut());
    auto type = cast<MemRefType>(out.getType());
    int64_t lanes = countLanes({input, out}, type.getDimSize(1));
    launchRows(b, "hadamard", out, kValues, [&](Value row, Value column) {
      auto at = [&](int64_t i) -> Value { return b.add(column, b.index(i)); };
      SmallVector<Value> x;
      for (int64_t i = 0; i < kValues; i += lanes) {
        Value part = b.toF32(loadLanes(b, input, row, at(i), lanes));
        for (int64_t j = 0; j < lanes; ++j)
          x.push_back(lanes == 1
                          ? part
                          : vector::ExtractOp::create(b.builder, b.loc, part, j)
                                .getResult());
      }
      emitHadamard(b, x, op.getNormalized(), op.getSignMask());
      for (int64_t i = 0; i < kValues; i += lanes) {
        Value part = x[i];
        if (lanes > 1)
          part = vector::FromElementsOp::create(b.builder, b.loc,
                                                getLaneType(b.f32, lanes),
                                                ArrayRef(x).slice(i, lanes));
        storeLanes(b, b.fromF32(part, type.getElementType()), out, row, at(i));
      }
    });
  }
};
} // namespace

void togpu::populateActivationPatterns(RewritePatternSet &patterns,
                                       bool checksData) {
  patterns.add<LowerGlu, LowerGluBackward, LowerHadamard>(patterns.getContext(),
                                                          checksData);
}
