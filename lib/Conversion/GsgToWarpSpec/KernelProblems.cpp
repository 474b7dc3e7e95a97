//===- KernelProblems.cpp - What differs by problem of a list -------------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel for several problems reads their extents, maps and results from a
// table. The roles are built as for one product, whose parameters are replaced
// within each group.
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::sm100;

/// Entries of a row: one of numbers, and its maps.
static int64_t getEntries(const Launch::Table &table) {
  return static_cast<int64_t>(table.maps.size()) + 1;
}

mlir::Value KernelBody::loadWord(Value g, ProblemWord word) {
  const Launch::Table &table = *parameters.problems;
  Value row = mul(g, getEntries(table) * Launch::Table::kEntryWords);
  Value at = add(row, i32(static_cast<int64_t>(word)));
  return memref::LoadOp::create(b, loc, table.words, toIndex(at));
}

void KernelBody::enterProblem(Value g) {
  if (!parameters.problems)
    return;
  parameters.rows = loadWord(g, ProblemWord::Rows);
  parameters.columns = loadWord(g, ProblemWord::Columns);
  parameters.outColumns = parameters.columns;
  parameters.steps = loadWord(g, ProblemWord::Steps);
}

mlir::Value KernelBody::getMap(Value map, Value g, unsigned i) {
  if (!parameters.problems)
    return map;
  const Launch::Table &table = *parameters.problems;
  Value row = mul(g, getEntries(table));
  return warpspec::TensorMapOp::create(b, loc, table.maps[i], table.entries,
                                       add(row, i32(i + 1)));
}

void KernelBody::enterResult(Value g) {
  if (!parameters.problems)
    return;
  parameters.outStride = loadWord(g, ProblemWord::OutStride);
  // The pointer, as a distance from that of the first problem.
  Type i64 = b.getI64Type();
  auto load = [&](ProblemWord word) -> Value {
    return arith::ExtUIOp::create(b, loc, i64, loadWord(g, word));
  };
  Value low = load(ProblemWord::OutLow), high = load(ProblemWord::OutHigh);
  Value shift = arith::ConstantIntOp::create(b, loc, 32, 64);
  high = arith::ShLIOp::create(b, loc, high, shift);
  Value address = arith::OrIOp::create(b, loc, high, low);
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, firstResult);
  Value distance = arith::SubIOp::create(b, loc, toIndex(address), base);
  auto type = cast<MemRefType>(firstResult.getType());
  Value offset = arith::DivSIOp::create(
      b, loc, distance, index(type.getElementTypeBitWidth() / 8));
  constexpr int64_t kDynamic = ShapedType::kDynamic;
  auto placed =
      MemRefType::get({kDynamic}, type.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), kDynamic, {1}),
                      type.getMemorySpace());
  Value size = index(std::numeric_limits<int64_t>::max());
  parameters.out = memref::ReinterpretCastOp::create(
      b, loc, placed, firstResult, OpFoldResult(offset),
      ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  if (plan.staged)
    parameters.outMap = getMap(Value(), g, 4);
}
