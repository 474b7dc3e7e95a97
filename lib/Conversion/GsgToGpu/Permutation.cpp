//===- Permutation.cpp - permute and combine as kernels ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that an entry names are read where it names one; others are zero, or
// left out. Each sum is one thread's, in the order of the slots.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::togpu;

Value togpu::isRow(LoopBuilder &b, Value entry, Value count) {
  return b.cmp(arith::CmpIPredicate::ult, entry, count);
}

/// Whether `entry`, which names no row, is none that means so.
static Value isBadEntry(LoopBuilder &b, Value entry) {
  return b.cmp(arith::CmpIPredicate::ne, entry, b.index(-1));
}

/// Reports an entry that `isBad`, by one of the threads that have a row.
static void reportEntry(LoopBuilder &b, const loops::DataChecks &checks,
                        Value isBad, Value entry, Value count, Value column,
                        Value row, Value slot = {}) {
  isBad = b.bitAnd(isBad, b.cmp(arith::CmpIPredicate::eq, column, b.index(0)));
  loops::DataChecks::Finding finding;
  finding.row = b.toI64(row);
  if (slot)
    finding.column = b.toI64(slot);
  finding.seen = b.toI64(entry);
  finding.limit = b.toI64(count);
  checks.report(b, 0, isBad, finding);
}

loops::DataChecks::Check togpu::getPermuteCheck(MLIRContext *context) {
  return loops::DataChecks::getIndex(context, "permute_c4", "token_of_row");
}

Value togpu::loadToken(LoopBuilder &b, PermuteOp op, Value token, Value row,
                       Value column, int64_t lanes,
                       const loops::DataChecks &checks) {
  Value input = op.getInput(), count = b.dim(input, 0);
  auto type = cast<MemRefType>(input.getType());
  Type lane = getLaneType(type.getElementType(), lanes);
  return b.branch(
      isRow(b, token, count),
      [&] { return loadLanes(b, input, token, column, lanes); },
      [&]() -> Value {
        if (checks)
          reportEntry(b, checks, isBadEntry(b, token), token, count, column,
                      row);
        return arith::ConstantOp::create(
            b.builder, b.loc, lane,
            cast<TypedAttr>(b.builder.getZeroAttr(lane)));
      });
}

namespace {
struct LowerPermute : LowerToLaunch<PermuteOp> {
  using LowerToLaunch::LowerToLaunch;

  void lower(PermuteOp op, LoopBuilder &b) const override {
    Value out = op.getOut();
    int64_t columns = cast<MemRefType>(out.getType()).getDimSize(1);
    int64_t lanes = countLanes({op.getInput(), out}, columns);
    loops::DataChecks checks =
        makeChecks(b, op, getPermuteCheck(op.getContext()));
    launchRows(
        b, "permute", out, lanes,
        [&](Value row, Value column) {
          Value token = b.toIndex(b.load(op.getTokenOfRow(), {row}));
          storeLanes(b, loadToken(b, op, token, row, column, lanes, checks),
                     out, row, column);
        },
        /*startEarly=*/false);
  }
};

struct LowerCombine : LowerToLaunch<CombineOp> {
  using LowerToLaunch::LowerToLaunch;

  void lower(CombineOp op, LoopBuilder &b) const override {
    Value input = op.getInput(), out = op.getOut(), rows = op.getRowOfSlot();
    auto type = cast<MemRefType>(out.getType());
    int64_t lanes = countLanes({input, out}, type.getDimSize(1));
    Type lane = getLaneType(b.f32, lanes);
    loops::DataChecks checks =
        makeChecks(b, op,
                   loops::DataChecks::getIndex(op.getContext(), "combine_c4",
                                               "row_of_slot"));
    launchRows(b, "combine", out, lanes, [&](Value token, Value column) {
      Value zero = arith::ConstantOp::create(
          b.builder, b.loc, lane, cast<TypedAttr>(b.builder.getZeroAttr(lane)));
      auto add = [&](Value slot, ValueRange carried) -> SmallVector<Value> {
        Value row = b.toIndex(b.load(rows, {token, slot}));
        return branchValues(
            b, isRow(b, row, b.dim(input, 0)),
            [&]() -> SmallVector<Value> {
              Value value = b.toF32(loadLanes(b, input, row, column, lanes));
              Value weight = op.getWeights()
                                 ? b.load(op.getWeights(), {token, slot})
                                 : b.constantF32(b.f32, 1.0f);
              if (lanes > 1)
                weight =
                    vector::BroadcastOp::create(b.builder, b.loc, lane, weight);
              SmallVector<Value> next(carried);
              next[0] = LLVM::FMAOp::create(b.builder, b.loc, weight, value,
                                            carried[0]);
              return next;
            },
            [&]() -> SmallVector<Value> {
              SmallVector<Value> next(carried);
              if (checks)
                next[1] = b.select(isBadEntry(b, row), slot, carried[1]);
              return next;
            });
      };
      // The last bad slot is reported after the loop, whose turns stay short.
      Value none = b.index(-1);
      SmallVector<Value> init{zero};
      if (checks)
        init.push_back(none);
      SmallVector<Value> found = b.fold(b.dim(rows, 1), init, add);
      Value sum = found[0];
      if (checks) {
        Value slot = found[1];
        Value isBad = b.cmp(arith::CmpIPredicate::ne, slot, none);
        b.ifThen(isBad, [&] {
          Value row = b.toIndex(b.load(rows, {token, slot}));
          reportEntry(b, checks, isBad, row, b.dim(input, 0), column, token,
                      slot);
        });
      }
      storeLanes(b, b.fromF32(sum, type.getElementType()), out, token, column);
    });
  }
};
} // namespace

void togpu::populatePermutationPatterns(RewritePatternSet &patterns,
                                        bool checksData) {
  patterns.add<LowerPermute, LowerCombine>(patterns.getContext(), checksData);
}
