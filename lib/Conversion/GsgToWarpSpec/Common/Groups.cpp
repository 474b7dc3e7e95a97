//===- Groups.cpp - Where groups lie in their operands ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One case for each form of grouping.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

/// Entry `at` of the group offsets, from 0 to the extent that they cut.
static Value loadOffset(const KernelContext &c, Value at) {
  OpBuilder &b = c.b;
  Location loc = c.loc;
  Value offset =
      memref::LoadOp::create(b, loc, c.parameters.offsets, c.toIndex(at));
  // Nothing outside the operand is touched, whatever the offsets are.
  Value extent =
      c.parameters.depth ? c.parameters.depth : c.parameters.extents.rows;
  if (offset.getType().isInteger(64)) {
    Value most = arith::ExtSIOp::create(b, loc, b.getI64Type(), extent);
    Value zero = arith::ConstantIntOp::create(b, loc, 0, 64);
    offset = arith::MaxSIOp::create(b, loc, zero, offset);
    offset = arith::MinSIOp::create(b, loc, offset, most);
    return arith::TruncIOp::create(b, loc, b.getI32Type(), offset);
  }
  return c.clamp(offset, c.i32(0), extent);
}

/// Where a ragged group begins, and its size.
static std::pair<Value, Value> getRange(const KernelContext &c, Value g) {
  OpBuilder &b = c.b;
  Location loc = c.loc;
  GroupingAttr grouping = c.getOp().getGrouping();
  Value begin, end;
  if (hasStarts(grouping)) {
    begin = loadOffset(c, g);
    end = loadOffset(c, c.add(g, c.i32(1)));
  } else {
    // The end of the group before, rounded up.
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, g, c.i32(0));
    Value before =
        loadOffset(c, arith::SelectOp::create(b, loc, isFirst, c.i32(0),
                                              c.sub(g, c.i32(1))));
    Value start =
        c.mul(c.ceilDiv(before, grouping.getAlign()), grouping.getAlign());
    begin = arith::SelectOp::create(b, loc, isFirst, c.i32(0), start);
    end = loadOffset(c, g);
  }
  return {begin, arith::MaxSIOp::create(b, loc, c.sub(end, begin), c.i32(0))};
}

GroupPlace kernels::getGroup(const KernelContext &c,
                             const ProblemExtents &extents, Value g) {
  GroupPlace place;
  const GroupingForm &form = getForm(c.getOp().getGrouping());
  if (form.stacksRows) {
    place.start = c.mul(g, extents.rows);
    place.rows = form.hasCounts() ? loadOffset(c, g) : extents.rows;
    place.scaleAtom = c.mul(g, c.ceilDiv(extents.rows, 128));
    return place;
  }
  // One group.
  if (form.cut == GroupCut::None)
    return {c.i32(0), extents.rows, c.i32(0), {}, {}, extents.tileRows};
  auto [begin, size] = getRange(c, g);
  if (form.cutsK()) {
    // Groups begin at stages of their own (see LaunchStaging.cpp).
    place.start = c.mul(g, extents.rows);
    place.rows = extents.rows;
    place.firstStep = c.add(c.div(begin, c.groupStage), g);
    place.steps = c.ceilDiv(size, c.groupStage);
    return place;
  }
  place.start = begin;
  place.rows = size;
  Value room = place.start;
  if (c.parameters.startsByGroup)
    room = c.add(room, c.mul(g, 127));
  place.scaleAtom = c.div(room, 128);
  return place;
}
