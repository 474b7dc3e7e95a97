//===- Cycles.cpp - the model of cycles -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Cycles.h. Warps run in the order of the times at which they may issue,
// one instruction at a time, and events at theirs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Machine/Machine.h"
#include "nvfp4/Simulator/Machine/Warp.h"

#include <algorithm>

namespace nvfp4::sim {

PipeCost cycles::tcgen05Mma(unsigned m, unsigned n, unsigned ctas) {
  // A CTA of a pair multiplies its rows by all columns and reads half of B.
  uint64_t rows = m / ctas;
  uint64_t multiply = rows * n / 256;
  uint64_t read = (rows + n / ctas) * 32 / 128;
  return {std::max(multiply, read), ctas == 2 ? 174u : 140u};
}

PipeCost cycles::wgmma(unsigned n) { return {n / 2, 0}; }

Warp *Machine::pickWarp(unsigned &quantum) {
  if (options.delays != DelayMode::Cycles) {
    Warp *warp = ready[random.below(ready.size())];
    quantum = 1 + static_cast<unsigned>(random.below(64));
    return warp;
  }
  auto slot = [](Warp &warp) -> uint64_t & {
    return warp.cta.issueFree[warp.index % 4];
  };
  Warp *next = nullptr;
  uint64_t time = 0;
  for (Warp *warp : ready) {
    uint64_t at = std::max(warp->readyAt, slot(*warp));
    if (next && at >= time)
      continue;
    next = warp;
    time = at;
  }
  if (!events.empty() && events.top().time <= time) {
    now = std::max(now, events.top().time);
    return nullptr;
  }
  now = std::max(now, time);
  next->readyAt = now + cycles::instruction;
  slot(*next) = now + 1;
  quantum = 1;
  return next;
}

} // namespace nvfp4::sim
