//===- VerifyFlow.cpp - V3, V4, V5: roles as processes ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles block only on acquire and wait and are otherwise deterministic, so one
// greedy run decides whether a choice of trip counts ends. Whether two slots
// can be open at the same time does depend on the order: that is searched.
//
//===----------------------------------------------------------------------===//

#include "RoleProgram.h"
#include "ScheduleChecks.h"

#include <array>
#include <set>

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
constexpr size_t kEventLimit = 4096;
constexpr size_t kAssignmentLimit = 256;
constexpr size_t kStateLimit = 200000;

class FlowChecker {
public:
  explicit FlowChecker(RolesOp roles) : roles(roles) {
    llvm::append_range(pipelines,
                       roles->getParentOfType<KernelOp>().getOps<PipelineOp>());
    for (Region &role : roles.getBodies())
      programs.emplace_back(role, pipelines);
  }

  LogicalResult run() {
    if (failed(checkEnds()))
      return failure();
    for (const Assignment &assignment : getAssignments())
      if (failed(runOnce(assignment)))
        return failure();
    return checkAliasing();
  }

private:
  /// Each pipeline is filled and drained, by the roles that its protocol wants.
  LogicalResult checkEnds() {
    for (auto [number, pipeline] : llvm::enumerate(pipelines)) {
      SmallVector<unsigned> fills, drains;
      for (auto [role, program] : llvm::enumerate(programs)) {
        if (program.uses(number, EventKind::Acquire))
          fills.push_back(role);
        if (program.uses(number, EventKind::Wait))
          drains.push_back(role);
      }
      if (fills.empty() != drains.empty())
        return pipeline.emitOpError("V3: expected a role that ")
               << (fills.empty() ? "fills" : "drains") << " the pipeline";
      HandOver handOver =
          *getHandOver(pipeline.getProducer(), pipeline.getConsumer());
      if (handOver.sameRole && !fills.empty() &&
          (fills != drains || fills.size() != 1))
        return pipeline.emitOpError("V3: expected one role that both fills and "
                                    "drains, for ")
               << stringifyAgent(pipeline.getProducer()) << " to "
               << stringifyAgent(pipeline.getConsumer());
    }
    return success();
  }

  /// Trip counts 0, 1, 2 and more than any ring is deep, in all combinations
  /// up to a limit.
  std::vector<Assignment> getAssignments() {
    SmallVector<Choice> choices;
    for (const RoleProgram &program : programs)
      for (const Choice &choice : program.getChoices())
        if (llvm::none_of(choices, [&](const Choice &other) {
              return other.key == choice.key;
            }))
          choices.push_back(choice);
    int64_t deepest = 1;
    for (PipelineOp pipeline : pipelines)
      deepest = std::max<int64_t>(deepest, pipeline.getDepth());
    int many = static_cast<int>(std::min<int64_t>(2 * deepest + 1, 16));
    std::vector<Assignment> assignments(1);
    for (const Choice &choice : choices) {
      SmallVector<int> counts{1, 0};
      if (!choice.isCondition)
        counts.append({2, many});
      std::vector<Assignment> next;
      for (const Assignment &assignment : assignments)
        for (int count : counts) {
          // Past the limit, further choices follow the first.
          if (next.size() >= kAssignmentLimit && count != counts.front())
            continue;
          next.push_back(assignment);
          next.back()[choice.key] = count;
        }
      assignments = std::move(next);
    }
    return assignments;
  }

  /// Fills and drains of each role so far, by pipeline.
  struct Counts {
    std::vector<std::array<unsigned, 4>> of;
    explicit Counts(size_t pipelines = 0) : of(pipelines) {}
    unsigned &operator()(unsigned pipeline, EventKind kind) {
      return of[pipeline][static_cast<int>(kind)];
    }
  };

  /// What the other side has done least often: it is waited for.
  unsigned getLeast(std::vector<Counts> &counts, unsigned pipeline,
                    EventKind opens, EventKind closes) {
    unsigned least = std::numeric_limits<unsigned>::max();
    for (unsigned role = 0; role < programs.size(); ++role)
      if (programs[role].uses(pipeline, opens))
        least = std::min(least, counts[role](pipeline, closes));
    return least;
  }

  bool canRun(std::vector<Counts> &counts, unsigned role, const Event &event) {
    unsigned pipeline = event.pipeline;
    if (event.kind == EventKind::Acquire)
      return counts[role](pipeline, EventKind::Acquire) <
             getLeast(counts, pipeline, EventKind::Wait, EventKind::Release) +
                 pipelines[pipeline].getDepth();
    if (event.kind == EventKind::Wait)
      return counts[role](pipeline, EventKind::Wait) <
             getLeast(counts, pipeline, EventKind::Acquire, EventKind::Commit);
    return true;
  }

  /// " with loops run 2, 1 times": what distinguishes the case.
  static std::string describe(const Assignment &assignment) {
    if (assignment.empty())
      return {};
    SmallVector<StringRef> keys(assignment.keys());
    llvm::sort(keys);
    std::string text = " with loops run";
    for (auto [i, key] : llvm::enumerate(keys))
      text += (i ? ", " : " ") + std::to_string(assignment.lookup(key));
    return text + " times";
  }

  LogicalResult runOnce(const Assignment &assignment) {
    std::vector<SmallVector<Event>> events(programs.size());
    for (unsigned role = 0; role < programs.size(); ++role)
      // A case that is too long to run says nothing that shorter ones do not.
      if (failed(programs[role].unroll(assignment, kEventLimit, events[role])))
        return success();
    std::vector<Counts> counts(programs.size(), Counts(pipelines.size()));
    std::vector<size_t> next(programs.size());
    for (bool progress = true; progress;) {
      progress = false;
      for (unsigned role = 0; role < programs.size(); ++role)
        while (next[role] < events[role].size() &&
               canRun(counts, role, events[role][next[role]])) {
          const Event &event = events[role][next[role]++];
          if (failed(checkStaging(counts[role], event)))
            return failure();
          ++counts[role](event.pipeline, event.kind);
          progress = true;
        }
    }
    return checkEnd(assignment, events, next, counts);
  }

  /// An acquire of staging memory waits until all but the last `depth - 1` bulk
  /// groups have been read. With another slot open there is one group less, and
  /// that of the slot acquired might be among those not waited for.
  LogicalResult checkStaging(Counts &counts, const Event &event) {
    PipelineOp pipeline = pipelines[event.pipeline];
    HandOver handOver =
        *getHandOver(pipeline.getProducer(), pipeline.getConsumer());
    if (event.kind != EventKind::Acquire || handOver.empty != Signal::BulkGroup)
      return success();
    unsigned open = counts(event.pipeline, EventKind::Acquire) -
                    counts(event.pipeline, EventKind::Release);
    if (open == 0)
      return success();
    InFlightDiagnostic diag =
        event.op->emitOpError("V3: expected no open slot of the pipeline at an "
                              "acquire for threads to tma, but got ")
        << open << "; release each slot before the next is acquired";
    diag.attachNote(pipeline.getLoc()) << "the pipeline";
    return diag;
  }

  LogicalResult checkEnd(const Assignment &assignment,
                         ArrayRef<SmallVector<Event>> events,
                         ArrayRef<size_t> next, std::vector<Counts> &counts) {
    std::optional<InFlightDiagnostic> diag;
    for (unsigned role = 0; role < programs.size(); ++role) {
      if (next[role] == events[role].size())
        continue;
      Operation *op = events[role][next[role]].op;
      if (diag) {
        diag->attachNote(op->getLoc())
            << "role @" << roles.getRoleName(role) << " waits here";
        continue;
      }
      diag.emplace(
          op->emitOpError("V4: expected to be reached and passed, but role @"));
      *diag << roles.getRoleName(role) << " waits for ever"
            << describe(assignment);
    }
    if (diag)
      return failure();
    for (auto [number, pipeline] : llvm::enumerate(pipelines)) {
      unsigned filled =
          getLeast(counts, number, EventKind::Acquire, EventKind::Commit);
      unsigned drained =
          getLeast(counts, number, EventKind::Wait, EventKind::Wait);
      if (filled != drained)
        return pipeline.emitOpError(
                   "V3: expected as many waits as commits, but got ")
               << drained << " and " << filled << describe(assignment);
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // V5
  //===--------------------------------------------------------------------===//

  /// Bytes or columns of one slot of each buffer, in one of two memories.
  struct Range {
    bool isTmem;
    int64_t begin, end;
    Operation *allocation;

    bool overlaps(const Range &other) const {
      if (isTmem != other.isTmem)
        return false;
      // Without places, buffers overlap only with themselves.
      if (begin < 0 || other.begin < 0)
        return allocation == other.allocation && slot == other.slot;
      return begin < other.end && other.begin < end;
    }
    int64_t slot;
  };

  SmallVector<Range> getRanges(unsigned number, int64_t slot) {
    SmallVector<Range> ranges;
    for (Value buffer : pipelines[number].getBuffers()) {
      auto type = cast<MemRefType>(buffer.getType());
      MemRefType one = getSlotType(type);
      Operation *allocation = getAllocation(buffer);
      bool tmem = isTmem(type);
      int64_t size = tmem ? getTmemColumns(one) : getSharedBytes(one);
      int64_t base = -1, stride = size;
      if (auto alloc = dyn_cast<SmemAllocOp>(allocation);
          alloc && alloc.getOffset())
        base = *alloc.getOffset();
      if (auto alloc = dyn_cast<TmemAllocOp>(allocation);
          alloc && alloc.getColumn() && buffer == alloc.getResult())
        base = *alloc.getColumn(), stride = alloc.getSlotStride();
      Range range{tmem, -1, -1, allocation, slot};
      if (base >= 0) {
        range.begin = base + slot * stride;
        range.end = range.begin + size;
      }
      ranges.push_back(range);
    }
    return ranges;
  }

  bool overlap(unsigned first, int64_t firstSlot, unsigned second,
               int64_t secondSlot) {
    for (const Range &a : getRanges(first, firstSlot))
      for (const Range &b : getRanges(second, secondSlot))
        if (a.overlaps(b))
          return true;
    return false;
  }

  /// Pairs (pipeline, slot) that share memory.
  struct Conflict {
    unsigned first, second;
    int64_t firstSlot, secondSlot;
  };

  LogicalResult checkAliasing() {
    SmallVector<Conflict> conflicts;
    for (unsigned a = 0; a < pipelines.size(); ++a)
      for (unsigned b = a; b < pipelines.size(); ++b)
        for (int64_t i = 0; i < static_cast<int64_t>(pipelines[a].getDepth());
             ++i)
          for (int64_t j = a == b ? i + 1 : 0;
               j < static_cast<int64_t>(pipelines[b].getDepth()); ++j)
            if (overlap(a, i, b, j))
              conflicts.push_back({a, b, i, j});
    if (conflicts.empty())
      return success();
    Assignment assignment;
    for (const RoleProgram &program : programs)
      for (const Choice &choice : program.getChoices())
        assignment[choice.key] = choice.isCondition ? 1 : 3;
    std::vector<SmallVector<Event>> events(programs.size());
    for (unsigned role = 0; role < programs.size(); ++role)
      if (failed(programs[role].unroll(assignment, kEventLimit, events[role])))
        return success();
    return search(events, conflicts);
  }

  /// The number of the last fill of a pipeline that is not yet drained covers
  /// the slots from the least released to the most acquired.
  bool isOpen(std::vector<Counts> &counts, unsigned pipeline, int64_t slot) {
    unsigned acquired = 0;
    for (unsigned role = 0; role < programs.size(); ++role)
      acquired = std::max(acquired, counts[role](pipeline, EventKind::Acquire));
    unsigned released =
        getLeast(counts, pipeline, EventKind::Wait, EventKind::Release);
    for (unsigned use = released; use < acquired; ++use)
      if (static_cast<int64_t>(use % pipelines[pipeline].getDepth()) == slot)
        return true;
    return false;
  }

  /// The role holds a fill or a drain of a slot itself: it rewrites in place.
  bool holds(Counts &counts, unsigned pipeline) {
    return counts(pipeline, EventKind::Acquire) >
               counts(pipeline, EventKind::Commit) ||
           counts(pipeline, EventKind::Wait) >
               counts(pipeline, EventKind::Release);
  }

  LogicalResult search(ArrayRef<SmallVector<Event>> events,
                       ArrayRef<Conflict> conflicts) {
    using State = std::vector<size_t>;
    std::set<State> seen;
    std::vector<State> work{State(programs.size())};
    seen.insert(work.back());
    while (!work.empty() && seen.size() < kStateLimit) {
      State state = std::move(work.back());
      work.pop_back();
      std::vector<Counts> counts(programs.size(), Counts(pipelines.size()));
      for (unsigned role = 0; role < programs.size(); ++role)
        for (size_t i = 0; i < state[role]; ++i)
          ++counts[role](events[role][i].pipeline, events[role][i].kind);
      for (unsigned role = 0; role < programs.size(); ++role) {
        if (state[role] == events[role].size() ||
            !canRun(counts, role, events[role][state[role]]))
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

  LogicalResult checkAcquire(std::vector<Counts> &counts, unsigned role,
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

  RolesOp roles;
  SmallVector<PipelineOp> pipelines;
  std::vector<RoleProgram> programs;
};
} // namespace

LogicalResult nvfp4::warpspec::verifyFlow(RolesOp roles) {
  return FlowChecker(roles).run();
}
