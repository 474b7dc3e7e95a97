//===- ProblemTable.cpp - A kernel for several problems ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads from the table where a group is entered.
//
//===----------------------------------------------------------------------===//

#include "ProblemTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

/// Entries of a row: one of numbers, and its maps.
static int64_t getEntries(const Launch::Table &table) {
  return static_cast<int64_t>(table.maps.size()) + 1;
}

/// A word of the row of problem `g`.
static Value loadWord(const KernelContext &c, Value g, ProblemWord word,
                      int64_t offset = 0) {
  const Launch::Table &table = *c.parameters.problems;
  Value row = c.mul(g, getEntries(table) * Launch::Table::kEntryWords);
  Value at = c.add(row, c.i32(static_cast<int64_t>(word) + offset));
  return memref::LoadOp::create(c.b, c.loc, table.words, c.toIndex(at));
}

Buffer kernels::beginProblem(Launch &launch, MatmulListOp list, int64_t number,
                             HostNumber columns, HostNumber steps) {
  HostMath &math = launch.math;
  Value out = list.getOuts()[number];
  Type element = cast<MemRefType>(out.getType()).getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  HostNumber rows = math.dim(list.getLhs()[number], 0);
  HostNumber rowBytes = math.mul(columns, bytes);
  Buffer result =
      launch.addBuffer(out, rows, rowBytes, 16, Launch::Read | Launch::Write);
  launch.beginTableRow();
  // In the order of ProblemWord.
  launch.addTableNumber(rows);
  launch.addTableNumber(columns);
  // With K = 0 there is one step, of zeros.
  launch.addTableNumber(math.atLeastOne(steps));
  launch.addTableNumber(math.mul(math.ceilDiv(rowBytes, 16), 16 / bytes));
  launch.addTablePointer(result.memory);
  return result;
}

void kernels::endProblems(Launch &launch, MatmulListOp list, MatmulOp op,
                          const Buffer &firstResult, KernelParameters &p) {
  Type element = cast<MemRefType>(op.getOut().getType()).getElementType();
  p.problems = launch.endTable();
  p.groups = launch.addNumber(
      launch.math.constant(static_cast<int64_t>(list.getOuts().size())));
  p.result.memref = launch.addPointerTo(firstResult, element, Launch::Write);
  addFactors(launch, op, p);
}

ProblemExtents kernels::getExtents(const KernelContext &c, Value g) {
  if (!c.parameters.problems)
    return c.parameters.extents;
  ProblemExtents extents;
  extents.rows = loadWord(c, g, ProblemWord::Rows);
  extents.columns = loadWord(c, g, ProblemWord::Columns);
  extents.outColumns = extents.columns;
  extents.steps = loadWord(c, g, ProblemWord::Steps);
  if (c.parameters.hasTileRows)
    extents.tileRows = loadWord(c, g, ProblemWord::Width);
  return extents;
}

Value kernels::getMap(const KernelContext &c, Value map, Value g, unsigned i) {
  if (!c.parameters.problems)
    return map;
  const Launch::Table &table = *c.parameters.problems;
  Value row = c.mul(g, getEntries(table));
  return warpspec::TensorMapOp::create(c.b, c.loc, table.maps[i], table.entries,
                                       c.add(row, c.i32(i + 1)));
}

Value kernels::getDistance(const KernelContext &c, Value g, ProblemWord pointer,
                           Value first) {
  OpBuilder &b = c.b;
  Location loc = c.loc;
  Type i64 = b.getI64Type();
  auto load = [&](int64_t offset) -> Value {
    return arith::ExtUIOp::create(b, loc, i64, loadWord(c, g, pointer, offset));
  };
  Value low = load(0), high = load(1);
  Value shift = arith::ConstantIntOp::create(b, loc, 32, 64);
  high = arith::ShLIOp::create(b, loc, high, shift);
  Value address = arith::OrIOp::create(b, loc, high, low);
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, first);
  base = arith::IndexCastOp::create(b, loc, i64, base);
  return arith::SubIOp::create(b, loc, address, base);
}

ResultPlace kernels::getResult(const KernelContext &c, Value g, bool hasMap,
                               unsigned map) {
  if (!c.parameters.problems)
    return c.parameters.result;
  OpBuilder &b = c.b;
  Location loc = c.loc;
  Value firstResult = c.parameters.result.memref;
  ResultPlace result;
  result.stride = loadWord(c, g, ProblemWord::OutStride);
  Value distance = c.toIndex(getDistance(c, g, ProblemWord::Out, firstResult));
  auto type = cast<MemRefType>(firstResult.getType());
  Value offset = arith::DivSIOp::create(
      b, loc, distance, c.index(type.getElementTypeBitWidth() / 8));
  constexpr int64_t kDynamic = ShapedType::kDynamic;
  auto placed =
      MemRefType::get({kDynamic}, type.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), kDynamic, {1}),
                      type.getMemorySpace());
  Value size = c.index(std::numeric_limits<int64_t>::max());
  result.memref = memref::ReinterpretCastOp::create(
      b, loc, placed, firstResult, OpFoldResult(offset),
      ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  if (hasMap)
    result.map = getMap(c, Value(), g, map);
  return result;
}
