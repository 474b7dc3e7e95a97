//===- VerifyAliasing.cpp - V5: open slots share no memory ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether two slots can be open at the same time depends on the order in which
// roles run: the states that they can reach are searched.
//
//===----------------------------------------------------------------------===//

#include "FlowModel.h"
#include "ScheduleChecks.h"

#include "mlir/IR/Matchers.h"

#include <set>

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// Events of a role, and states, that are searched.
constexpr size_t kEventLimit = 4096;
constexpr size_t kStateLimit = 200000;

/// What one slot of a pipeline takes of an allocation: bytes or columns.
struct SlotRange {
  Value buffer;
  Operation *allocation;
  /// Place of the allocation, or -1.
  int64_t base;
  /// From the start of the allocation.
  int64_t begin, end;
  unsigned pipeline;
  int64_t slot;
};

/// Pairs (pipeline, slot) that share memory.
struct Conflict {
  unsigned first, second;
  int64_t firstSlot, secondSlot;

  auto getKey() const {
    return std::tuple(first, second, firstSlot, secondSlot);
  }
};

/// The first column of a slice within its allocation; none if it is not known.
std::optional<int64_t> getFirstColumn(Value buffer) {
  int64_t column = 0;
  while (auto slice = buffer.getDefiningOp<TmemSliceOp>()) {
    APInt offset;
    if (!matchPattern(slice.getOffset(), m_ConstantInt(&offset)))
      return std::nullopt;
    column += offset.getSExtValue();
    buffer = slice.getSource();
  }
  return column;
}

class AliasChecker {
public:
  explicit AliasChecker(RolesOp roles)
      : model(roles), pipelines(model.pipelines) {}

  LogicalResult run() {
    SmallVector<Conflict> conflicts = findConflicts();
    if (conflicts.empty())
      return success();
    Assignment assignment;
    for (const RoleProgram &program : model.programs)
      for (const Choice &choice : program.getChoices())
        assignment[choice.key] = choice.isCondition ? 1 : 3;
    std::vector<SmallVector<Event>> events(model.countRoles());
    bool isWhole = true;
    for (unsigned role = 0; role < model.countRoles(); ++role)
      isWhole &=
          model.programs[role].unroll(assignment, kEventLimit, events[role]);
    if (failed(search(events, conflicts)))
      return failure();
    if (!isWhole)
      model.roles.emitWarning("V5: expected at most ")
          << kEventLimit
          << " hand-overs of a role, but got more: only so many are checked";
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // What shares memory
  //===--------------------------------------------------------------------===//

  void addRanges(unsigned number, Value buffer,
                 SmallVectorImpl<SlotRange> &ranges) {
    auto type = cast<MemRefType>(buffer.getType());
    MemRefType one = getSlotType(type);
    SlotRange range{buffer, getAllocation(buffer), -1, 0, 0, number, 0};
    int64_t size = isTmem(type) ? getTmemColumns(one) : getSharedBytes(one);
    int64_t stride = size;
    std::optional<int64_t> first = 0;
    if (auto alloc = dyn_cast<SmemAllocOp>(range.allocation)) {
      if (alloc.getOffset())
        range.base = *alloc.getOffset();
    } else {
      auto columns = cast<TmemAllocOp>(range.allocation);
      if (columns.getColumn())
        range.base = *columns.getColumn();
      if (buffer == columns.getResult())
        stride = columns.getSlotStride();
      first = getFirstColumn(buffer);
      // It might be any of its columns.
      if (!first)
        first = stride = 0, size = columns.getNumColumns();
    }
    int64_t depth = pipelines[number].getDepth();
    for (range.slot = 0; range.slot < depth; ++range.slot) {
      range.begin = *first + range.slot * stride;
      range.end = range.begin + size;
      ranges.push_back(range);
    }
  }

  /// Ranges in which some may overlap: those of one allocation, or those of one
  /// memory that have a place.
  static void sweep(SmallVectorImpl<SlotRange> &ranges, bool isPlaced,
                    SmallVectorImpl<Conflict> &conflicts) {
    auto getBegin = [&](const SlotRange &range) {
      return range.begin + (isPlaced ? range.base : 0);
    };
    llvm::sort(ranges, [&](const SlotRange &a, const SlotRange &b) {
      return std::tuple(getBegin(a), a.pipeline, a.slot, a.end) <
             std::tuple(getBegin(b), b.pipeline, b.slot, b.end);
    });
    for (auto *a = ranges.begin(); a != ranges.end(); ++a)
      for (auto *b = a + 1;
           b != ranges.end() && getBegin(*b) < getBegin(*a) + a->end - a->begin;
           ++b) {
        if (isPlaced && a->allocation == b->allocation)
          continue;
        // Slots of one buffer lie side by side.
        if (a->pipeline == b->pipeline &&
            (a->slot == b->slot || a->buffer == b->buffer))
          continue;
        bool swaps =
            std::tuple(b->pipeline, b->slot) < std::tuple(a->pipeline, a->slot);
        const SlotRange &first = swaps ? *b : *a, &second = swaps ? *a : *b;
        conflicts.push_back(
            {first.pipeline, second.pipeline, first.slot, second.slot});
      }
  }

  SmallVector<Conflict> findConflicts() {
    llvm::MapVector<Operation *, SmallVector<SlotRange>> ofAllocation;
    SmallVector<SlotRange> shared, columns, ranges;
    for (unsigned number = 0; number < pipelines.size(); ++number)
      for (Value buffer : pipelines[number].getBuffers())
        addRanges(number, buffer, ranges);
    for (const SlotRange &range : ranges) {
      ofAllocation[range.allocation].push_back(range);
      if (range.base >= 0)
        (isa<SmemAllocOp>(range.allocation) ? shared : columns)
            .push_back(range);
    }
    SmallVector<Conflict> conflicts;
    for (auto &entry : ofAllocation)
      sweep(entry.second, /*isPlaced=*/false, conflicts);
    sweep(shared, /*isPlaced=*/true, conflicts);
    sweep(columns, /*isPlaced=*/true, conflicts);
    llvm::sort(conflicts, [](const Conflict &a, const Conflict &b) {
      return a.getKey() < b.getKey();
    });
    conflicts.erase(llvm::unique(conflicts,
                                 [](const Conflict &a, const Conflict &b) {
                                   return a.getKey() == b.getKey();
                                 }),
                    conflicts.end());
    return conflicts;
  }

  //===--------------------------------------------------------------------===//
  // What is open at the same time
  //===--------------------------------------------------------------------===//

  /// The number of the last fill of a pipeline that is not yet drained covers
  /// the slots from the least released to the most acquired.
  bool isOpen(ArrayRef<Counts> counts, unsigned pipeline, int64_t slot) {
    unsigned acquired = 0;
    for (const Counts &each : counts)
      acquired = std::max(acquired, each(pipeline, EventKind::Acquire));
    unsigned released =
        model.getLeast(counts, pipeline, EventKind::Wait, EventKind::Release);
    for (unsigned use = released; use < acquired; ++use)
      if (static_cast<int64_t>(use % pipelines[pipeline].getDepth()) == slot)
        return true;
    return false;
  }

  /// The role holds a fill or a drain of a slot itself: it rewrites in place.
  static bool holds(const Counts &counts, unsigned pipeline) {
    return counts(pipeline, EventKind::Acquire) >
               counts(pipeline, EventKind::Commit) ||
           counts(pipeline, EventKind::Wait) >
               counts(pipeline, EventKind::Release);
  }

  LogicalResult search(ArrayRef<SmallVector<Event>> events,
                       ArrayRef<Conflict> conflicts) {
    using State = std::vector<size_t>;
    unsigned size = model.countRoles();
    // What each role has done after so many of its events.
    std::vector<std::vector<Counts>> after(size);
    for (unsigned role = 0; role < size; ++role) {
      Counts counts(pipelines.size());
      after[role].push_back(counts);
      for (const Event &event : events[role]) {
        ++counts(event.pipeline, event.kind);
        after[role].push_back(counts);
      }
    }
    std::set<State> seen;
    std::vector<State> work{State(size)};
    seen.insert(work.back());
    std::vector<Counts> counts(size);
    while (!work.empty()) {
      if (seen.size() >= kStateLimit) {
        model.roles.emitWarning("V5: expected at most ")
            << kStateLimit
            << " states of the roles, but got more: only so many are checked";
        return success();
      }
      State state = std::move(work.back());
      work.pop_back();
      for (unsigned role = 0; role < size; ++role)
        counts[role] = after[role][state[role]];
      for (unsigned role = 0; role < size; ++role) {
        if (state[role] == events[role].size() ||
            !model.canRun(counts, role, events[role][state[role]]))
          continue;
        const Event &event = events[role][state[role]];
        if (event.kind == EventKind::Acquire &&
            failed(checkAcquire(counts, role, event, conflicts)))
          return failure();
        State next = state;
        ++next[role];
        if (seen.insert(next).second)
          work.push_back(std::move(next));
      }
    }
    return success();
  }

  LogicalResult checkAcquire(ArrayRef<Counts> counts, unsigned role,
                             const Event &event, ArrayRef<Conflict> conflicts) {
    int64_t slot = counts[role](event.pipeline, EventKind::Acquire) %
                   pipelines[event.pipeline].getDepth();
    for (const Conflict &conflict : conflicts) {
      for (bool swapped : {false, true}) {
        unsigned own = swapped ? conflict.second : conflict.first;
        unsigned other = swapped ? conflict.first : conflict.second;
        int64_t ownSlot = swapped ? conflict.secondSlot : conflict.firstSlot;
        int64_t otherSlot = swapped ? conflict.firstSlot : conflict.secondSlot;
        if (own != event.pipeline || ownSlot != slot ||
            !isOpen(counts, other, otherSlot) || holds(counts[role], other))
          continue;
        InFlightDiagnostic diag =
            event.op->emitOpError(
                "V5: expected memory that no open slot uses, but slot ")
            << otherSlot << " of another pipeline shares that of slot " << slot
            << " and may be open";
        diag.attachNote(pipelines[other].getLoc()) << "the other pipeline";
        return diag;
      }
    }
    return success();
  }

  FlowModel model;
  MutableArrayRef<PipelineOp> pipelines;
};
} // namespace

LogicalResult nvfp4::warpspec::verifyAliasing(RolesOp roles) {
  return AliasChecker(roles).run();
}
