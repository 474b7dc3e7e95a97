//===- Explorer.h - all schedules of a small program ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses, run after run, who goes next, until every order of the steps that
// can make a difference has been there. A step of a warp ends with its next
// synchronisation: a strong access, an arrival, a wait that asks. The effect of
// an asynchronous operation is a step of its own. Weak accesses are no choice:
// the checker reports those that race, whichever order a run has.
//
// Orders that differ only in steps that commute are one (source sets and sleep
// sets of dynamic partial-order reduction: Abdulla et al., POPL 2014). Every
// run starts from the beginning, so a program must do the same after the same
// choices:
//
//   Explorer explorer(100'000);
//   options.explorer = &explorer;
//   while (explorer.nextRun())
//     ... run with fresh memory, look at reports and results
//   explorer.isComplete()
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_MACHINE_EXPLORER_H
#define NVFP4_SIMULATOR_MACHINE_EXPLORER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace nvfp4::sim {

class Explorer {
public:
  /// A warp, or the effect of an asynchronous operation.
  using Agent = uint32_t;
  /// A word of memory or a barrier.
  using Object = uint64_t;

  /// Uses of an object that commute: arrivals do, and so do reads and waits. A
  /// wait that has come back is ordered after arrivals, and has nothing to find
  /// out by coming before: it would have waited for them.
  enum class Use : uint8_t { Read, Wait, Arrive, Write };

  /// At most `maximumRuns` runs. With `everyOrder` also orders of steps that
  /// commute are different ones, to compare results with.
  explicit Explorer(uint64_t maximumRuns, bool everyOrder = false)
      : maximumRuns(maximumRuns), everyOrder(everyOrder) {}

  /// Prepares the next run. False when there is none, or no more are allowed.
  bool nextRun();
  /// Whether nextRun ended because no order is left.
  bool isComplete() const { return complete; }
  /// Runs so far.
  uint64_t runs() const { return runCount; }
  /// The run repeats an order that has been there: it was given up, and its
  /// results mean nothing.
  bool isRedundant() const { return redundant; }
  /// A run went another way after the same choices; nothing is known then.
  bool hasDiverged() const { return diverged; }

  // For machines. ------------------------------------------------------------
  Agent warp(unsigned device, uint32_t number);
  /// A new agent that the step in progress starts.
  Agent started();
  /// The agent of `enabled` that makes the next step. `waiting` would only ask
  /// again what nothing has answered since. The first of `enabled` once the run
  /// is redundant or has diverged.
  Agent choose(const std::vector<Agent> &enabled,
               const std::vector<Agent> &waiting);
  /// The step in progress uses an object.
  void uses(Object object, Use use);
  /// The step in progress comes after all arrivals at the object.
  void follows(Object object);
  /// The step in progress lets a warp go on that waited.
  void wakes(Agent agent);
  /// Whether the step in progress has used anything.
  bool hasUsed() const { return !inProgress.empty(); }
  /// The objects that the step in progress has read, if it did nothing else.
  std::vector<Object> onlyRead() const;
  /// Counts steps that did more than read, also the one in progress.
  uint64_t changes() const { return changeCount + hasChanged(); }

private:
  using Uses = std::vector<std::pair<Object, Use>>;

  /// A choice and what came of it.
  struct Node {
    Agent chosen = 0;
    Uses uses;
    std::set<Agent> enabled, waiting, backtrack;
    /// Choices that have been explored from here, or from earlier nodes in an
    /// order that commutes, with what they use.
    std::map<Agent, Uses> sleep;
  };
  /// A step comes after these beside what it depends on: steps, and arrivals
  /// at objects.
  struct Origins {
    std::vector<std::size_t> steps;
    std::vector<Object> objects;
  };
  enum class Relation : uint8_t { Commute, Ordered, Reversible };

  Relation relation(const Uses &first, const Uses &second) const;
  /// Whether the step in progress has done more than read.
  bool hasChanged() const;
  /// Ends the step in progress.
  void endStep();
  /// Adds the choices that reverse what depends on each other in the run.
  void findRaces();
  void reverse(std::size_t first, std::size_t second,
               const std::vector<std::vector<bool>> &before);

  const uint64_t maximumRuns;
  const bool everyOrder;
  uint64_t runCount = 0;
  bool complete = false, redundant = false, diverged = false;
  std::vector<Node> nodes;
  /// Choices of the run so far; the last one is in progress.
  std::size_t depth = 0;
  Uses inProgress;
  uint64_t changeCount = 0;
  /// For each agent of the run the number of agents that it has started, and
  /// the steps that let it begin or go on, until it makes its next step.
  std::map<Agent, uint32_t> startedBy;
  std::map<Agent, std::vector<std::size_t>> causes;
  std::vector<Origins> origins;
  /// The numbers of agents are the same in all runs: by device and warp, and by
  /// who has started an operation as its how-manieth.
  std::map<std::pair<uint64_t, uint64_t>, Agent> agents;
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_MACHINE_EXPLORER_H
