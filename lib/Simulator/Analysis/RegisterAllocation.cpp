//===- RegisterAllocation.cpp - virtual registers to lane planes ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Backward liveness over the blocks, one live interval for each register in
// instruction order, then a linear scan. Intervals are closed, so sources and
// destinations of one instruction never share a plane: a handler may write one
// result before it has read all operands.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Analysis/RegisterAllocation.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

using Bits = std::vector<uint64_t>;
bool test(const Bits &bits, size_t i) { return bits[i / 64] >> (i % 64) & 1; }
void set(Bits &bits, size_t i) { bits[i / 64] |= uint64_t{1} << (i % 64); }

struct BlockLiveness {
  Bits liveIn;
  Bits liveOut;
};

/// Live sets of all blocks. `delayed` are the registers that stay occupied
/// until a wait; empty to ignore waits.
std::vector<BlockLiveness> computeLiveness(const FlowGraph &graph,
                                           const std::vector<Effects> &effects,
                                           const std::vector<bool> &guarded,
                                           const std::vector<int32_t> &delayed,
                                           size_t registers) {
  size_t words = (registers + 63) / 64;
  size_t count = graph.blocks.size();
  std::vector<Bits> upward(count, Bits(words)), killed(count, Bits(words));
  for (size_t b = 0; b < count; ++b) {
    auto use = [&](int32_t reg) {
      if (!test(killed[b], reg))
        set(upward[b], reg);
    };
    for (uint32_t i = graph.blocks[b].begin; i < graph.blocks[b].end; ++i) {
      for (int32_t reg : effects[i].uses)
        use(reg);
      if (effects[i].waitsForDelayed)
        for (int32_t reg : delayed)
          use(reg);
      // A guarded definition keeps the old value in the other lanes.
      for (int32_t reg : effects[i].defs) {
        if (guarded[i])
          use(reg);
        set(killed[b], reg);
      }
    }
  }
  std::vector<BlockLiveness> live(count, {Bits(words), Bits(words)});
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = count; b-- > 0;) {
      Bits &out = live[b].liveOut;
      for (uint32_t successor : graph.blocks[b].successors)
        for (size_t w = 0; w < words; ++w)
          out[w] |= live[successor].liveIn[w];
      for (size_t w = 0; w < words; ++w) {
        uint64_t in = upward[b][w] | (out[w] & ~killed[b][w]);
        changed |= in != live[b].liveIn[w];
        live[b].liveIn[w] = in;
      }
    }
  }
  return live;
}

struct Interval {
  uint32_t begin = noPc;
  uint32_t end = 0;
  void cover(uint32_t position) {
    begin = std::min(begin, position);
    end = std::max(end, position);
  }
};

uint32_t planeBytes(Type type) {
  switch (type) {
  case Type::Pred:
    return predicatePlaneBytes;
  case Type::B128:
    return 2 * widePlaneBytes;
  default:
    return bitWidth(type) == 64 ? widePlaneBytes : narrowPlaneBytes;
  }
}

} // namespace

RegisterAllocation allocateRegisters(const Function &function,
                                     const FlowGraph &graph,
                                     const std::vector<Effects> &effects,
                                     const std::vector<bool> &guarded) {
  RegisterAllocation result;
  size_t registers = function.registers.size();
  result.offsets.assign(registers, RegisterAllocation::unused);
  if (graph.blocks.empty())
    return result;

  std::vector<int32_t> delayed;
  for (const Effects &effect : effects)
    if (effect.delayedDefs)
      delayed.insert(delayed.end(), effect.defs.begin(), effect.defs.end());
  std::sort(delayed.begin(), delayed.end());
  delayed.erase(std::unique(delayed.begin(), delayed.end()), delayed.end());

  auto plain = computeLiveness(graph, effects, guarded, {}, registers);
  for (size_t r = 0; r < registers; ++r)
    if (test(plain[0].liveIn, r))
      result.liveAtEntry.push_back(static_cast<int32_t>(r));

  auto live = delayed.empty() ? plain
                              : computeLiveness(graph, effects, guarded,
                                                delayed, registers);
  std::vector<Interval> intervals(registers);
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    const BasicBlock &block = graph.blocks[b];
    for (size_t w = 0; w < live[b].liveIn.size(); ++w) {
      for (uint64_t bits = live[b].liveIn[w]; bits; bits &= bits - 1)
        intervals[w * 64 + __builtin_ctzll(bits)].cover(block.begin);
      for (uint64_t bits = live[b].liveOut[w]; bits; bits &= bits - 1)
        intervals[w * 64 + __builtin_ctzll(bits)].cover(block.end - 1);
    }
    for (uint32_t i = block.begin; i < block.end; ++i) {
      for (int32_t reg : effects[i].uses)
        intervals[reg].cover(i);
      for (int32_t reg : effects[i].defs)
        intervals[reg].cover(i);
      if (effects[i].waitsForDelayed)
        for (int32_t reg : delayed)
          intervals[reg].cover(i);
    }
  }
  auto end = static_cast<uint32_t>(effects.size());
  for (int32_t reg : result.liveAtEntry)
    intervals[reg] = {0, end};

  std::vector<int32_t> order;
  for (size_t r = 0; r < registers; ++r)
    if (intervals[r].begin != noPc)
      order.push_back(static_cast<int32_t>(r));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(intervals[a].begin, a) < std::pair(intervals[b].begin, b);
  });
  // Free planes by size, and busy ones as a heap ordered by their end.
  std::map<uint32_t, std::vector<uint32_t>> free;
  using Busy = std::pair<uint32_t, int32_t>;
  std::vector<Busy> busy;
  auto later = [](const Busy &a, const Busy &b) { return a.first > b.first; };
  for (int32_t reg : order) {
    while (!busy.empty() && busy.front().first < intervals[reg].begin) {
      int32_t done = busy.front().second;
      free[planeBytes(function.registers[done].type)].push_back(
          result.offsets[done]);
      std::pop_heap(busy.begin(), busy.end(), later);
      busy.pop_back();
    }
    uint32_t bytes = planeBytes(function.registers[reg].type);
    std::vector<uint32_t> &pool = free[bytes];
    if (pool.empty()) {
      result.offsets[reg] = result.bytes;
      result.bytes += bytes;
      ++result.planes;
    } else {
      result.offsets[reg] = pool.back();
      pool.pop_back();
    }
    busy.push_back({intervals[reg].end, reg});
    std::push_heap(busy.begin(), busy.end(), later);
  }
  return result;
}

} // namespace nvfp4::sim
