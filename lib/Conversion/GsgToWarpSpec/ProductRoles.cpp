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
    GroupPlace group = getGroup(g);
    Value row = add(group.start, mul(m, plan.m));
    Value column = mul(n, plan.n);
    Value weightRow = add(mul(g, parameters.columns), column);
    Value aAtom = add(group.scaleAtom, m);
    Value bAtom =
        add(mul(g, ceilDiv(parameters.columns, 128)), div(column, 128));
    Value zero = i32(0), one = i32(1);
    auto loop = scf::ForOp::create(b, loc, zero, parameters.steps, one);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    auto fill =
        AcquireOp::create(b, loc, input, Value(), Value(), Value(), Value());
    auto load = [&](Value map, ArrayRef<Value> at, unsigned slot) {
      TmaLoadOp::create(b, loc, map, at, fill.getSlot()[slot], fill.getToken(),
                        Value(), CacheHintAttr());
    };
    auto rowOffset = [&](Value map) {
      return mul(k, cast<TensorMapType>(map.getType()).getShape().back());
    };
    Value atom = mul(k, plan.scaleAtoms);
    load(parameters.aMap, {row, rowOffset(parameters.aMap)}, 0);
    load(parameters.bMap, {weightRow, rowOffset(parameters.bMap)}, 1);
    load(parameters.aScaleMap, {atom, aAtom, zero}, 2);
    load(parameters.bScaleMap, {atom, bAtom, zero}, 3);
    CommitOp::create(b, loc, fill.getToken());
  });
}

void KernelBody::buildMmaRole() {
  auto open = [&]<typename OpTy>(Value pipeline, OpTy *) {
    return OpTy::create(b, loc, pipeline, Value(), Value(), Value(), Value());
  };
  forEachTile([&](Value, Value, Value n) {
    auto fill = open(accumulators, (AcquireOp *)nullptr);
    Value zero = i32(0), one = i32(1);
    auto loop = scf::ForOp::create(b, loc, zero, parameters.steps, one);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      auto drain = open(input, (WaitOp *)nullptr);
      Value sa = aScales, sb = bScales;
      WaitOp scales;
      if (scaleColumns) {
        auto copied = open(scaleColumns, (AcquireOp *)nullptr);
        CopyScalesOp::create(b, loc, drain.getSlot()[2], copied.getSlot()[0]);
        CopyScalesOp::create(b, loc, drain.getSlot()[3], copied.getSlot()[1]);
        CommitOp::create(b, loc, copied.getToken());
        scales = open(scaleColumns, (WaitOp *)nullptr);
        sa = scales.getSlot()[0];
        sb = scales.getSlot()[1];
      } else {
        CopyScalesOp::create(b, loc, drain.getSlot()[2], sa);
        CopyScalesOp::create(b, loc, drain.getSlot()[3], sb);
      }
      if (plan.n % 128 != 0) {
        // A tile that begins in the middle of an atom of 128 columns.
        auto type = cast<MemRefType>(sb.getType());
        Value middle = arith::AndIOp::create(b, loc, mul(n, plan.n), i32(127));
        auto shorter = MemRefType::get(
            {kTmemLanes, type.getDimSize(1) - 2}, type.getElementType(),
            MemRefLayoutAttrInterface(), type.getMemorySpace());
        sb = TmemSliceOp::create(b, loc, shorter, sb, div(middle, 32));
      }
      Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                         loop.getInductionVar(), zero);
      MmaScaledOp::create(b, loc, plan.kind, fill.getSlot()[0],
                          drain.getSlot()[0], sa, drain.getSlot()[1], sb, more,
                          Value(), plan.ue8m0);
      if (scales)
        ReleaseOp::create(b, loc, scales.getToken());
      ReleaseOp::create(b, loc, drain.getToken());
    }
    CommitOp::create(b, loc, fill.getToken());
  });
}
