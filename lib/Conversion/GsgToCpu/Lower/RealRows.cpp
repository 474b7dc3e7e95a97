//===- RealRows.cpp - Rows of real tensors, by vectors ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RealRows.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;
using namespace nvfp4::gsg::loops;

void cpu::forRows(LoopBuilder &mb, const MemRefParts &parts,
                  function_ref<void(Value)> body) {
  mb.parallel(mb.toIndex(parts.rows(mb)),
              [&](Value row) { body(mb.toI64(row)); });
}

std::optional<MemRefParts> cpu::getColumn(MathBuilder &mb, Value memref) {
  if (!memref)
    return std::nullopt;
  return MemRefParts::getColumn(mb, memref);
}

static Value getLane(MathBuilder &mb, Value vector, int64_t i) {
  return LLVM::ExtractElementOp::create(mb.builder, mb.loc, vector,
                                        mb.i64Constant(i));
}

Value Row::at(Value column) const {
  Value offset = mb.mul(column, parts.strides.empty() ? mb.i64Constant(1)
                                                      : parts.strides.back());
  return mb.ptrAdd(base, mb.mul(offset, parts.elementBytes));
}

Value Row::load(Value column, int64_t lanes) const {
  if (lanes == 1 || parts.isContiguous)
    return emitLoadReals(mb, parts.element, at(column), lanes);
  Value values = mb.constantF32(VectorType::get(lanes, mb.f32), 0.0f);
  for (int64_t i = 0; i < lanes; ++i)
    values = LLVM::InsertElementOp::create(
        mb.builder, mb.loc, values,
        getLane(mb, load(mb.add(column, i), /*lanes=*/1), 0),
        mb.i64Constant(i));
  return values;
}

void Row::store(Value values, Value column) const {
  int64_t lanes = cast<VectorType>(values.getType()).getNumElements();
  if (lanes == 1 || parts.isContiguous)
    return emitStoreReals(mb, parts.element, values, at(column));
  for (int64_t i = 0; i < lanes; ++i)
    store(mb.splat(getLane(mb, values, i), 1), mb.add(column, i));
}

bool cpu::hasVectorRuns(ActivationAttr activation) {
  if (!activation.isPaired())
    return true;
  int64_t run = activation.getGate().getGranularity();
  return run % kLanes == 0 || kLanes % run == 0;
}

/// Whether a vector of columns holds several runs.
static bool isInterleaved(GateAttr gate, int64_t lanes) {
  int64_t run = gate.getGranularity();
  return run > 0 && run < kLanes && lanes == kLanes;
}

/// Where the first and the second of the pair of column `c` lie.
static std::pair<Value, Value> getPair(MathBuilder &mb, GateAttr gate,
                                       Value columns, Value c) {
  int64_t run = gate.getGranularity();
  if (run == 0)
    return {c, mb.add(c, columns)};
  Value base = mb.add(mb.mul(mb.div(c, run), 2 * run), mb.rem(c, run));
  return {base, mb.add(base, mb.i64Constant(run))};
}

SmallVector<Value> cpu::loadArguments(MathBuilder &mb,
                                      ActivationAttr activation, Value columns,
                                      const Row &in, Value c, int64_t lanes) {
  if (!activation.isPaired())
    return {in.load(c, lanes)};
  GateAttr gate = activation.getGate();
  SmallVector<Value> values;
  if (isInterleaved(gate, lanes)) {
    int64_t run = gate.getGranularity();
    Value low = in.load(mb.shl(c, 1), lanes);
    Value high = in.load(mb.add(mb.shl(c, 1), lanes), lanes);
    SmallVector<int64_t> firsts, seconds;
    for (int64_t i = 0; i < lanes; ++i) {
      firsts.push_back(i / run * 2 * run + i % run);
      seconds.push_back(firsts.back() + run);
    }
    values = {mb.shuffle(low, high, firsts), mb.shuffle(low, high, seconds)};
  } else {
    auto [first, second] = getPair(mb, gate, columns, c);
    values = {in.load(first, lanes), in.load(second, lanes)};
  }
  if (gate.getOrder() == GateOrder::UpFirst)
    std::swap(values[0], values[1]);
  return values;
}

void cpu::storeArguments(MathBuilder &mb, ActivationAttr activation,
                         Value columns, const Row &out, ValueRange values,
                         Value c) {
  if (!activation.isPaired())
    return out.store(values.front(), c);
  GateAttr gate = activation.getGate();
  Value first = values[0], second = values[1];
  if (gate.getOrder() == GateOrder::UpFirst)
    std::swap(first, second);
  int64_t lanes = cast<VectorType>(first.getType()).getNumElements();
  if (!isInterleaved(gate, lanes)) {
    auto [at, next] = getPair(mb, gate, columns, c);
    out.store(first, at);
    return out.store(second, next);
  }
  int64_t run = gate.getGranularity();
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < 2 * lanes; ++i)
    places.push_back(i / (2 * run) * run + i % run +
                     (i / run % 2 != 0 ? lanes : 0));
  ArrayRef<int64_t> all(places);
  out.store(mb.shuffle(first, second, all.take_front(lanes)), mb.shl(c, 1));
  out.store(mb.shuffle(first, second, all.drop_front(lanes)),
            mb.add(mb.shl(c, 1), lanes));
}
