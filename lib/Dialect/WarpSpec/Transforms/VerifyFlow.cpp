//===- VerifyFlow.cpp - V3, V4: balance and deadlock ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles are deterministic, so one greedy run decides whether a choice of trip
// counts ends.
//
//===----------------------------------------------------------------------===//

#include "FlowModel.h"
#include "ScheduleChecks.h"

using namespace mlir;
using namespace nvfp4::warpspec;

namespace {
/// Events of a role, and choices of trip counts, that are run.
constexpr size_t kEventLimit = 65536;
constexpr size_t kAssignmentLimit = 256;

class FlowChecker {
public:
  explicit FlowChecker(RolesOp roles)
      : model(roles), roles(roles), pipelines(model.pipelines) {}

  LogicalResult run() {
    if (failed(checkEnds()))
      return failure();
    for (const Assignment &assignment : getAssignments())
      if (failed(runOnce(assignment)))
        return failure();
    if (hasMoreChoices)
      roles.emitWarning("V4: expected at most ")
          << kAssignmentLimit
          << " combinations of trip counts and conditions, but got more: only "
             "so many are checked";
    if (hasMoreEvents)
      roles.emitWarning("V4: expected at most ")
          << kEventLimit
          << " hand-overs of a role, but got more: only so many are checked";
    return success();
  }

private:
  /// Each pipeline is filled and drained, by the roles that its protocol wants.
  LogicalResult checkEnds() {
    for (auto [number, pipeline] : llvm::enumerate(pipelines)) {
      SmallVector<unsigned> fills, drains;
      for (unsigned role = 0; role < model.countRoles(); ++role) {
        if (model.uses(role, number, EventKind::Acquire))
          fills.push_back(role);
        if (model.uses(role, number, EventKind::Wait))
          drains.push_back(role);
      }
      if (fills.empty() != drains.empty())
        return pipeline.emitOpError("V3: expected a role that ")
               << (fills.empty() ? "fills" : "drains") << " the pipeline";
      if (model.getProtocol(number).sameRole && !fills.empty() &&
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
    for (const RoleProgram &program : model.programs)
      for (const Choice &choice : program.getChoices())
        if (llvm::none_of(choices, [&](const Choice &other) {
              return other.key == choice.key;
            }))
          choices.push_back(choice);
    int64_t deepest = 1;
    for (PipelineOp pipeline : pipelines)
      deepest = std::max<int64_t>(deepest, pipeline.getDepth());
    int many = static_cast<int>(2 * deepest + 1);
    std::vector<Assignment> assignments(1);
    for (const Choice &choice : choices) {
      SmallVector<int> counts{1, 0};
      if (!choice.isCondition)
        counts.append({2, many});
      std::vector<Assignment> next;
      for (const Assignment &assignment : assignments)
        for (int count : counts) {
          // Past the limit, further choices follow the first.
          if (next.size() >= kAssignmentLimit && count != counts.front()) {
            hasMoreChoices = true;
            continue;
          }
          next.push_back(assignment);
          next.back()[choice.key] = count;
        }
      assignments = std::move(next);
    }
    return assignments;
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
    unsigned size = model.countRoles();
    std::vector<SmallVector<Event>> events(size);
    std::vector<bool> isWhole(size);
    for (unsigned role = 0; role < size; ++role)
      isWhole[role] =
          model.programs[role].unroll(assignment, kEventLimit, events[role]);
    std::vector<Counts> counts(size, Counts(pipelines.size()));
    std::vector<size_t> next(size);
    for (bool progress = true; progress;) {
      progress = false;
      for (unsigned role = 0; role < size; ++role)
        while (next[role] < events[role].size() &&
               model.canRun(counts, role, events[role][next[role]])) {
          const Event &event = events[role][next[role]++];
          if (failed(checkEvent(counts[role], event)))
            return failure();
          ++counts[role](event.pipeline, event.kind);
          progress = true;
        }
    }
    for (unsigned role = 0; role < size; ++role)
      if (!isWhole[role] && next[role] == events[role].size()) {
        // Others may wait for what it would do next.
        hasMoreEvents = true;
        return success();
      }
    return checkEnd(assignment, events, next, counts);
  }

  LogicalResult checkEvent(const Counts &counts, const Event &event) {
    if (event.kind == EventKind::DrainAll)
      return checkDrainAll(counts, event);
    if (event.kind == EventKind::Acquire)
      return checkStaging(counts, event);
    return success();
  }

  /// Its own fill would be waited for by the role that is to commit it. Bulk
  /// groups are waited for once they have been committed, by release.
  LogicalResult checkDrainAll(const Counts &counts, const Event &event) {
    bool isStaging =
        model.getProtocol(event.pipeline).empty == Signal::BulkGroup;
    unsigned open = counts(event.pipeline, EventKind::Acquire) -
                    counts(event.pipeline,
                           isStaging ? EventKind::Release : EventKind::Commit);
    if (open == 0)
      return success();
    InFlightDiagnostic diag =
        event.op->emitOpError("V3: expected no open slot of the pipeline at "
                              "drain_all, but got ")
        << open << "; " << (isStaging ? "release" : "commit")
        << " each slot before";
    diag.attachNote(pipelines[event.pipeline].getLoc()) << "the pipeline";
    return diag;
  }

  /// An acquire of staging memory waits until all but the last `depth - 1` bulk
  /// groups have been read. With another slot open there is one group less, and
  /// that of the slot acquired might be among those not waited for.
  LogicalResult checkStaging(const Counts &counts, const Event &event) {
    if (model.getProtocol(event.pipeline).empty != Signal::BulkGroup)
      return success();
    unsigned open = counts(event.pipeline, EventKind::Acquire) -
                    counts(event.pipeline, EventKind::Release);
    if (open == 0)
      return success();
    InFlightDiagnostic diag =
        event.op->emitOpError("V3: expected no open slot of the pipeline at an "
                              "acquire for threads to tma, but got ")
        << open << "; release each slot before the next is acquired";
    diag.attachNote(pipelines[event.pipeline].getLoc()) << "the pipeline";
    return diag;
  }

  LogicalResult checkEnd(const Assignment &assignment,
                         ArrayRef<SmallVector<Event>> events,
                         ArrayRef<size_t> next, ArrayRef<Counts> counts) {
    std::optional<InFlightDiagnostic> diag;
    for (unsigned role = 0; role < model.countRoles(); ++role) {
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
          model.getLeast(counts, number, EventKind::Acquire, EventKind::Commit);
      unsigned drained =
          model.getLeast(counts, number, EventKind::Wait, EventKind::Wait);
      if (filled != drained)
        return pipeline.emitOpError(
                   "V3: expected as many waits as commits, but got ")
               << drained << " and " << filled << describe(assignment);
    }
    return success();
  }

  FlowModel model;
  RolesOp roles;
  MutableArrayRef<PipelineOp> pipelines;
  /// Something is left that was not run.
  bool hasMoreChoices = false, hasMoreEvents = false;
};
} // namespace

LogicalResult nvfp4::warpspec::verifyFlow(RolesOp roles) {
  return FlowChecker(roles).run();
}
