//===- ProductRoles.cpp - Roles that load and multiply ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops along K: TMA fills stages, the tensor core drains them.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;
using namespace nvfp4::warpspec;

void KernelBody::buildLoadRole() {
  forEachTile([&](Value g, Value m, Value n) {
    OperandPlace place = getOperands(g);
    Value aMap = getMap(parameters.aMap, g, 0);
    Value bMap = getMap(parameters.bMap, g, 1);
    Value aScaleMap = getMap(parameters.aScaleMap, g, 2);
    Value bScaleMap = getMap(parameters.bScaleMap, g, 3);
    Value rowInGroup = mul(m, plan.getTileRows());
    Value column = mul(n, plan.getTileColumns());
    Value row = add(place.row, addOwn(rowInGroup, plan.getOwnRows()));
    Value weightRow =
        add(place.weightRow, addOwn(column, plan.getOwnColumns()));
    // Blocks of a pair share what lies on N, so each has all of its scales.
    Value ownRow = plan.swap ? rowInGroup : addOwn(rowInGroup, kTmemLanes);
    Value ownColumn = plan.swap ? addOwn(column, kTmemLanes) : column;
    Value rowAtom = add(place.rowAtom, div(ownRow, 128));
    Value columnAtom = add(place.weightAtom, div(ownColumn, 128));
    // Rows are read again for every tile of columns. Weights on M come by
    // once, if the rows of a group are one tile.
    auto rowHint = CacheHintAttr::get(b.getContext(), CacheHint::EvictLast);
    auto weightHint =
        plan.swap ? CacheHintAttr::get(b.getContext(), CacheHint::EvictFirst)
                  : CacheHintAttr();
    unsigned rowSlot = plan.swap, columnSlot = !plan.swap;
    fillStages(place.steps, [&](Value k, AcquireOp fill) {
      if (place.step)
        k = add(place.step, k);
      auto load = [&](Value map, ArrayRef<Value> at, unsigned slot,
                      CacheHintAttr cache) {
        TmaLoadOp::create(b, loc, map, at, fill.getSlot()[slot],
                          fill.getToken(), cache);
      };
      auto rowOffset = [&](Value map) {
        return mul(k, cast<TensorMapType>(map.getType()).getShape().back());
      };
      Value atom = mul(k, plan.scaleAtoms), zero = i32(0);
      load(aMap, {row, rowOffset(aMap)}, rowSlot, rowHint);
      load(bMap, {weightRow, rowOffset(bMap)}, columnSlot, weightHint);
      load(aScaleMap, {atom, rowAtom, zero}, 2 + rowSlot, rowHint);
      load(bScaleMap, {atom, columnAtom, zero}, 2 + columnSlot, weightHint);
    });
  });
}

void KernelBody::buildMmaRole() {
  auto open = [&]<typename OpTy>(Value pipeline, OpTy *) {
    return OpTy::create(b, loc, pipeline, Value(), Value(), Value(), Value());
  };
  forEachTile([&](Value g, Value m, Value n) {
    // Where N of the tile begins within an atom of 128 rows.
    Value start = mul(plan.swap ? m : n, plan.n);
    Value inAtom = arith::AndIOp::create(b, loc, start, i32(127));
    Value inLanes;
    if (plan.isNarrow())
      inLanes = arith::AndIOp::create(b, loc, start, i32(31));
    auto fill = open(accumulators, (AcquireOp *)nullptr);
    Value acc = fill.getSlot()[0];
    AcquireOp shared;
    if (sharedColumns) {
      shared = open(sharedColumns, (AcquireOp *)nullptr);
      auto type = MemRefType::get({kTmemLanes, plan.n}, b.getF32Type(),
                                  MemRefLayoutAttrInterface(),
                                  TmemAttr::get(b.getContext()));
      acc = TmemJoinOp::create(b, loc, type, acc, shared.getSlot()[0]);
    }
    Value zero = i32(0), one = i32(1);
    auto loop = scf::ForOp::create(b, loc, zero, getSteps(g), one);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      auto drain = open(input, (WaitOp *)nullptr);
      Value sa = mScales, sb = nScales;
      auto copy = [&](unsigned slot, Value to, Value row) {
        CopyScalesOp::create(b, loc, drain.getSlot()[slot], to, row);
      };
      WaitOp scales;
      if (scaleColumns) {
        auto copied = open(scaleColumns, (AcquireOp *)nullptr);
        copy(2, copied.getSlot()[0], Value());
        copy(3, copied.getSlot()[1], inLanes);
        CommitOp::create(b, loc, copied.getToken());
        scales = open(scaleColumns, (WaitOp *)nullptr);
        sa = scales.getSlot()[0];
        sb = scales.getSlot()[1];
      } else {
        copy(2, sa, Value());
        copy(3, sb, inLanes);
      }
      if (plan.n % 128 != 0) {
        // A tile that begins in the middle of an atom: at one of its columns.
        auto type = cast<MemRefType>(sb.getType());
        int64_t last = plan.n % 64 == 0 ? 2 : 3;
        auto shorter = MemRefType::get(
            {kTmemLanes, type.getDimSize(1) - last}, type.getElementType(),
            MemRefLayoutAttrInterface(), type.getMemorySpace());
        sb = TmemSliceOp::create(b, loc, shorter, sb, div(inAtom, 32));
      }
      Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                         loop.getInductionVar(), zero);
      MmaScaledOp::create(b, loc, plan.kind, acc, drain.getSlot()[0], sa,
                          drain.getSlot()[1], sb, more, plan.ue8m0);
      if (scales)
        ReleaseOp::create(b, loc, scales.getToken());
      ReleaseOp::create(b, loc, drain.getToken());
    }
    CommitOp::create(b, loc, fill.getToken());
    if (shared)
      CommitOp::create(b, loc, shared.getToken());
  });
}
