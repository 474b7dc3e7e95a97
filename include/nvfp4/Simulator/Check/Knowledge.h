//===- Knowledge.h - what an agent knows has happened -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps are known by vector clock: everything warp i did up to clock[i].
// Asynchronous operations complete in any order, so each is known by its own
// number. A third clock says up to where writes through the generic proxy have
// been made visible to the asynchronous one.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_SIMULATOR_CHECK_KNOWLEDGE_H
#define NVFP4_SIMULATOR_CHECK_KNOWLEDGE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
  bool empty() const { return words.empty(); }

private:
  std::vector<uint64_t> words;
};

/// Knowledge of one agent, or carried by a synchronisation.
struct Knowledge {
  std::vector<uint32_t> clock;
  std::vector<uint32_t> fenced;
  NumberSet operations;

  void join(const Knowledge &other) {
    joinClock(clock, other.clock);
    joinClock(fenced, other.fenced);
    operations.addAll(other.operations);
  }
  void clear() { *this = Knowledge(); }

  uint32_t clockOf(uint32_t agent) const {
    return agent < clock.size() ? clock[agent] : 0;
  }
  uint32_t fencedOf(uint32_t agent) const {
    return agent < fenced.size() ? fenced[agent] : 0;
  }
  /// Writes known now become visible to the asynchronous proxy.
  void fence() { joinClock(fenced, clock); }

private:
  static void joinClock(std::vector<uint32_t> &into,
                        const std::vector<uint32_t> &from) {
    if (into.size() < from.size())
      into.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i)
      into[i] = std::max(into[i], from[i]);
  }
};

} // namespace nvfp4::sim

#endif // NVFP4_SIMULATOR_CHECK_KNOWLEDGE_H
