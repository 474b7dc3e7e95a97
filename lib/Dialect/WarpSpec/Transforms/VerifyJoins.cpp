//===- VerifyJoins.cpp - V5: joined buffers lie side by side ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tmem_join` becomes the lower of two addresses, which is the address of both
// only if nothing lies between them. Checked where both have a place.
//
//===----------------------------------------------------------------------===//

#include "ScheduleChecks.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// Columns of the slots that a buffer may be.
struct Slots {
  int64_t begin, stride, columns, count;

  int64_t getBegin(int64_t slot) const { return begin + slot * stride; }
  int64_t getEnd(int64_t slot) const { return getBegin(slot) + columns; }
};
} // namespace

/// None if the buffer has no place yet, or is a part of a slot.
static std::optional<Slots> getSlots(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Value whole = buffer;
  if (Operation *opener = getSlotOpener(buffer)) {
    PipelineOp pipeline = getPipelineOp(opener->getOperand(0));
    unsigned number = cast<OpResult>(getOrigin(buffer)).getResultNumber();
    if (!pipeline)
      return std::nullopt;
    whole = pipeline.getBuffers()[number - 1];
  }
  auto alloc = dyn_cast_or_null<TmemAllocOp>(getAllocation(whole));
  if (!alloc || !alloc.getColumn() || whole != alloc.getResult())
    return std::nullopt;
  MemRefType all = alloc.getType();
  int64_t count = all.getRank() == 3 ? all.getDimSize(0) : 1;
  int64_t columns = getTmemColumns(type);
  if (count < 1 || columns * count != getTmemColumns(all))
    return std::nullopt;
  return Slots{static_cast<int64_t>(*alloc.getColumn()), alloc.getSlotStride(),
               columns, count};
}

LogicalResult nvfp4::warpspec::verifyJoins(RolesOp roles) {
  WalkResult walk = roles->walk([](TmemJoinOp join) {
    std::optional<Slots> first = getSlots(join.getFirst());
    std::optional<Slots> second = getSlots(join.getSecond());
    if (!first || !second)
      return WalkResult::advance();
    for (int64_t i = 0; i < first->count; ++i)
      for (int64_t j = 0; j < second->count; ++j) {
        // Slots of two rings are joined by their numbers.
        if (first->count > 1 && second->count > 1 && i != j)
          continue;
        if (first->getEnd(i) == second->getBegin(j) ||
            second->getEnd(j) == first->getBegin(i))
          continue;
        join.emitOpError("V5: expected joined buffers side by side, but got "
                         "columns [")
            << first->getBegin(i) << ", " << first->getEnd(i) << ") and ["
            << second->getBegin(j) << ", " << second->getEnd(j) << ")";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
