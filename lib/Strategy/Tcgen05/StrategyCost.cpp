//===- StrategyCost.cpp - predicted times of a tile -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of docs/Rationale/Strategy.md, in its order.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/StrategyCost.h"

#include "nvfp4/Strategy/Tcgen05/Budget.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

using namespace nvfp4;
using namespace nvfp4::strategy;

static int64_t ceilDiv(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// A number of tiles, at most 2^40 for extents that no device can hold.
static int64_t countTiles(int64_t a, int64_t b, int64_t c) {
  constexpr int64_t kMost = int64_t(1) << 40;
  double count = double(a) * double(b) * double(c);
  return count < double(kMost) ? a * b * c : kMost;
}

//===----------------------------------------------------------------------===//
// Floors
//===----------------------------------------------------------------------===//

double strategy::uniqueBytes(const Problem &problem) {
  double bits = 0;
  const Epilogue &epilogue = problem.epilogue;
  for (const Problem::Group &group : problem.groups) {
    if (group.rows == 0)
      continue;
    double rows = double(group.rows), n = double(group.n), k = double(group.k);
    bits +=
        double(group.count) *
        (n * k * storedBits(problem.rhs) + rows * k * storedRowBits(problem) +
         rows * n * (epilogue.storedBits + epilogue.loadedBits));
  }
  return bits / 8;
}

Floor strategy::computeFloor(const Problem &problem, const Machine &machine) {
  double operations = 0;
  for (const Problem::Group &group : problem.groups)
    operations += 2.0 * double(group.count) * double(group.rows) *
                  double(group.n) * double(group.k);
  InstructionKind kind = getInstructionKind(problem);
  double rate = kind == InstructionKind::F16        ? machine.peakBf16
                : kind == InstructionKind::MXF8F6F4 ? machine.peakFp8
                                                    : machine.peakFp4;
  return {uniqueBytes(problem) / machine.peakDram * 1e6,
          operations / rate * 1e6};
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

double strategy::issueInterval(int64_t m, int64_t n, int64_t ctas) {
  double columns = double(n);
  if (ctas == 1)
    return std::max(columns / 2, 32.0 * double(m) / 128 + columns / 4);
  return std::max(columns / 2, 35.5 + columns / 8);
}

double strategy::dramRate(const Machine &machine, double bytes) {
  const auto &points = machine.dramInFlight;
  if (bytes <= points.front().bytes)
    return points.front().bytesPerSecond * bytes / points.front().bytes;
  for (size_t i = 1; i < points.size(); ++i) {
    const InFlightPoint &low = points[i - 1], &high = points[i];
    if (bytes <= high.bytes)
      return low.bytesPerSecond + (high.bytesPerSecond - low.bytesPerSecond) *
                                      (bytes - low.bytes) /
                                      (high.bytes - low.bytes);
  }
  return points.back().bytesPerSecond;
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

double strategy::packRoundRobin(const std::vector<TileRun> &runs,
                                int64_t slots) {
  std::vector<double> load(static_cast<size_t>(slots), 0.0);
  size_t next = 0;
  for (const TileRun &run : runs) {
    // Whole rounds change nothing in the order of slots.
    double rounds = double(run.count / slots) * run.cycles;
    for (double &slot : load)
      slot += rounds;
    for (int64_t i = 0; i < run.count % slots; ++i) {
      load[next] += run.cycles;
      next = (next + 1) % load.size();
    }
  }
  return *std::max_element(load.begin(), load.end());
}

/// How high `amount` fills slots of ascending `load`, lowest first.
static double findLevel(const std::vector<double> &load, double amount) {
  double sum = 0, level = 0;
  for (size_t i = 0; i < load.size(); ++i) {
    sum += load[i];
    level = (sum + amount) / double(i + 1);
    if (i + 1 < load.size() && level <= load[i + 1])
      break;
  }
  return level;
}

double strategy::packFirstFree(const std::vector<TileRun> &runs,
                               int64_t slots) {
  std::vector<double> load(static_cast<size_t>(slots), 0.0);
  for (const TileRun &run : runs) {
    int64_t left = run.count;
    if (left > 2 * slots) {
      // No slot goes beyond a level before the others come near it. So below
      // one that fewer tiles reach each takes what fits.
      std::sort(load.begin(), load.end());
      double level = findLevel(load, double(left - slots) * run.cycles);
      for (double &slot : load) {
        int64_t fit = int64_t(std::max(level - slot, 0.0) / run.cycles);
        slot += double(fit) * run.cycles;
        left -= fit;
      }
    }
    std::make_heap(load.begin(), load.end(), std::greater<>());
    for (; left > 0; --left) {
      std::pop_heap(load.begin(), load.end(), std::greater<>());
      load.back() += run.cycles;
      std::push_heap(load.begin(), load.end(), std::greater<>());
    }
  }
  return *std::max_element(load.begin(), load.end());
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// The cycles of one tile.
struct TileCost {
  double cycles;
  double stageBytes;
  double epilogue;
  Limit limit;
};
} // namespace

/// Bytes a second for all SMs. A's rows go to the tiles of a cluster along n,
/// those of B to the ones along m; without a cluster L2 serves both.
static double getFillRate(const Tile &tile, const Machine &machine) {
  int64_t sharers = std::max(tile.clusterM, tile.clusterN);
  return sharers == 1   ? machine.sharedMemoryFill
         : sharers == 2 ? machine.fillSharedByTwo
                        : machine.fillSharedByMore;
}

static TileCost costOfTile(const Tile &tile, int64_t k, const Problem &problem,
                           const Machine &machine) {
  constexpr double kInstructionBytes = 32, kRowBytes = 128;
  TileCost cost = {};
  cost.stageBytes = double(stageBytes(tile, problem).getTotal());
  double product =
      kRowBytes / kInstructionBytes * issueInterval(tile.m, tile.n, tile.ctas);
  double decode = 0;
  if (problem.unscaledRows) {
    // Rows of 16 bits, by A in tensor memory, which is no load on shared
    // memory.
    product = 2 * double(tile.k) / kInstructionBytes * double(tile.n) / 2;
    decode = double(tile.k) * (format::elementBits(problem.rhs) == 4
                                   ? machine.decodeFp4CyclesPerColumn
                                   : machine.decodeFp8CyclesPerColumn);
  }
  double fillRate =
      getFillRate(tile, machine) / double(machine.sms) / machine.clock;
  double fill = cost.stageBytes / fillRate;
  int64_t steps = ceilDiv(ceilDiv(k, tile.k), tile.splitK);
  if (splitsRows(problem))
    steps *= 2;
  double loop = double(steps) * std::max({product, fill, decode});
  Limit loopLimit = decode > std::max(product, fill) ? Limit::Decode
                    : product > fill                 ? Limit::Product
                                                     : Limit::Fill;

  double lanes = double(tile.m / tile.ctas), columns = double(tile.n);
  cost.epilogue =
      columns * (problem.epilogue.heavy ? machine.heavyEpilogueCyclesPerColumn
                                        : machine.epilogueCyclesPerColumn);
  // The last part reads the sums of the others, by way of L2.
  cost.epilogue += double(tile.splitK - 1) * lanes * columns * 4 / fillRate;
  if (tile.accumulatorStages == 1) {
    cost.cycles = loop + cost.epilogue;
    cost.limit = loopLimit;
  } else {
    cost.cycles = std::max(loop, cost.epilogue);
    cost.limit = cost.epilogue > loop ? Limit::Epilogue : loopLimit;
  }
  return cost;
}

/// n of the instruction for the tiles of `tokens` tokens: `tile.n`, or for the
/// last one with `dynamicN` what is left.
static int64_t lastN(const Tile &tile, int64_t tokens) {
  int64_t left = tokens - (ceilDiv(tokens, tile.n) - 1) * tile.n;
  int64_t step = 8 * tile.ctas;
  return tile.dynamicN ? ceilDiv(left, step) * step : tile.n;
}

Prediction strategy::predict(const Tile &tile, const Problem &problem,
                             const Machine &machine) {
  // What a slot computes at once, clusters of tiles, counts as one.
  std::vector<TileRun> runs;
  int64_t together = tile.clusterM * tile.clusterN;
  bool isStatic = tile.scheduler == Scheduler::StaticPersistent;
  double number = isStatic ? 0 : machine.tileNumber * machine.clock;
  double work = 0, inFlight = 0, epilogue = 0, longest = 0;
  Prediction result = {};
  auto addTiles = [&](int64_t count, int64_t n, int64_t k) {
    if (count == 0)
      return;
    Tile one = tile;
    one.n = n;
    TileCost cost = costOfTile(one, k, problem, machine);
    // The number of the next one is fetched meanwhile.
    if (number > cost.cycles) {
      cost.cycles = number;
      cost.limit = Limit::TileNumber;
    }
    runs.push_back({count * tile.splitK, cost.cycles});
    result.tiles += runs.back().count * together;
    work += double(runs.back().count) * cost.cycles;
    if (runs.size() == 1)
      inFlight = double(tile.stages) * cost.stageBytes;
    epilogue = std::max(epilogue, cost.epilogue);
    if (cost.cycles > longest) {
      longest = cost.cycles;
      result.limit = cost.limit;
    }
  };
  for (const Problem::Group &group : problem.groups) {
    if (group.rows == 0 || group.n == 0)
      continue;
    int64_t onM = tile.swapAB ? group.n : group.rows;
    int64_t onN = tile.swapAB ? group.rows : group.n;
    int64_t tilesM = ceilDiv(onM, tile.m), tilesN = ceilDiv(onN, tile.n);
    int64_t runsM = ceilDiv(tilesM, tile.clusterM);
    int64_t runsN = ceilDiv(tilesN, tile.clusterN);
    // A cluster takes as long as its widest tile.
    bool isLastAlone = tilesN - (runsN - 1) * tile.clusterN == 1;
    // The tiles of one width first: their order within a group matters less
    // than that groups follow one another.
    addTiles(countTiles(group.count, runsM, runsN - 1), tile.n, group.k);
    addTiles(countTiles(group.count, runsM, 1),
             isLastAlone ? lastN(tile, onN) : tile.n, group.k);
  }

  double perMicrosecond = machine.clock * 1e-6;
  result.fixed = (machine.launch + machine.firstTile) * 1e6 +
                 std::max(machine.tail * 1e6, epilogue / perMicrosecond) +
                 (tile.splitK > 1 ? machine.handOver * 1e6 : 0);
  // The first tile of a slot, too, has its number from the counter.
  if (tile.scheduler == Scheduler::DynamicCounter)
    result.fixed += machine.tileNumber * 1e6;
  result.total = result.fixed;
  if (runs.empty())
    return result;

  int64_t slots = machine.sms / (tile.ctas * together);
  double busiest =
      isStatic ? packRoundRobin(runs, slots) : packFirstFree(runs, slots);
  result.busy = busiest / perMicrosecond;
  result.waves = double(result.tiles) / double(slots * together);
  result.idle = 1 - work / (busiest * double(slots));
  double active = std::min(1.0, result.waves);
  result.dram =
      uniqueBytes(problem) / dramRate(machine, inFlight * active) * 1e6;
  result.total += std::max(result.busy, result.dram);
  if (result.dram > result.busy)
    result.limit = Limit::DRAM;
  if (result.fixed > std::max(result.busy, result.dram))
    result.limit = Limit::Fixed;
  return result;
}
