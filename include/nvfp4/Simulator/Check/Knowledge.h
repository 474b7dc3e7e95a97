//===- Knowledge.h - what an agent knows has happened -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps are known by vector clock: everything warp i did up to clock[i].
// Operations of a tensor pipe complete in order of issue, so those of warp i
// are known up to pipe[i]; other asynchronous operations complete in any order,
// so each is known by its own number. Two more clocks say up to where accesses
// through the generic proxy have been made visible to the asynchronous one.
// Knowledge of other clusters is kept apart: few kernels have any.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_CHECK_KNOWLEDGE_H
#define NVFP4_SIMULATOR_CHECK_KNOWLEDGE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nvfp4::sim {

/// A growing set of small numbers.
class NumberSet {
public:
  void add(uint32_t n) {
    if (words.size() <= n / 64)
      words.resize(n / 64 + 1);
    words[n / 64] |= uint64_t{1} << (n % 64);
  }
  bool has(uint32_t n) const {
    return n / 64 < words.size() && (words[n / 64] >> (n % 64) & 1);
  }
  void addAll(const NumberSet &other) {
    if (words.size() < other.words.size())
      words.resize(other.words.size());
    for (size_t i = 0; i < other.words.size(); ++i)
      words[i] |= other.words[i];
  }
  void removeAll(const NumberSet &other) {
    size_t count = std::min(words.size(), other.words.size());
    for (size_t i = 0; i < count; ++i)
      words[i] &= ~other.words[i];
  }
  void clear() { words.clear(); }

private:
  std::vector<uint64_t> words;
};

/// A clock for each warp of a cluster; missing entries are zero.
class VectorClock {
public:
  uint32_t of(uint32_t warp) const {
    return warp < times.size() ? times[warp] : 0;
  }
  void raise(uint32_t warp, uint32_t time) {
    if (times.size() <= warp)
      times.resize(warp + 1);
    times[warp] = std::max(times[warp], time);
  }
  void join(const VectorClock &other) {
    if (times.size() < other.times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }
  /// Forgets what `warp` did.
  void forget(uint32_t warp) {
    if (warp < times.size())
      times[warp] = 0;
  }

private:
  std::vector<uint32_t> times;
};

/// Knowledge of one cluster.
struct ClusterKnowledge {
  VectorClock clock;
  /// Up to where accesses are visible to the asynchronous proxy, in shared and
  /// in global memory.
  VectorClock fencedShared, fencedGlobal;
  /// Number of the newest operation + 1, by pipe of a warp.
  VectorClock pipe;
  NumberSet operations;

  void join(const ClusterKnowledge &other) {
    clock.join(other.clock);
    fencedShared.join(other.fencedShared);
    fencedGlobal.join(other.fencedGlobal);
    pipe.join(other.pipe);
    operations.addAll(other.operations);
  }
};

/// Knowledge of one agent, or carried by a synchronisation.
struct Knowledge {
  /// Knowledge of the agent's own cluster.
  ClusterKnowledge own;
  /// Knowledge of other clusters, by their number.
  std::vector<std::pair<uint32_t, ClusterKnowledge>> others;
  /// That the launch before has ended.
  bool gridWaited = false;

  /// Joins knowledge of an agent of the same cluster.
  void join(const Knowledge &other) {
    gridWaited |= other.gridWaited;
    own.join(other.own);
    for (const auto &[cluster, part] : other.others)
      of(cluster).join(part);
  }
  /// Joins what an agent of cluster `theirs` knows into one of `mine`.
  void join(uint32_t mine, const Knowledge &other, uint32_t theirs) {
    gridWaited |= other.gridWaited;
    (mine == theirs ? own : of(theirs)).join(other.own);
    for (const auto &[cluster, part] : other.others)
      (cluster == mine ? own : of(cluster)).join(part);
  }
  const ClusterKnowledge *find(uint32_t cluster) const {
    for (const auto &[number, part] : others)
      if (number == cluster)
        return &part;
    return nullptr;
  }
  void clear() { *this = Knowledge(); }

private:
  ClusterKnowledge &of(uint32_t cluster) {
    for (auto &[number, part] : others)
      if (number == cluster)
        return part;
    return others.emplace_back(cluster, ClusterKnowledge()).second;
  }
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_CHECK_KNOWLEDGE_H
