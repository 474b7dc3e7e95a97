//===- WgmmaTiles.cpp - Tiles of kernels for sm_90a -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Time is that of the busiest SM: rounds of tiles, each as many stages as K has
// and an epilogue. Cycles of a stage are fits to measurements; a stage takes
// what the tensor core needs for its width, or what a warpgroup's chain of
// decoding and waiting takes.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/WgmmaTiles.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

using namespace nvfp4::strategy;

namespace {
constexpr double kSms = 132, kClock = 1.75e3; // Cycles a microsecond.
constexpr double kBytes = 4.4e6;              // A microsecond.
/// Cycles until the first stage is there, and of an epilogue.
constexpr double kStart = 5100, kEpilogue = 1700;
/// Up to so many groups are sorted by what their tiles cost, and the tiles of
/// the last rounds are shared by two blocks each, if they have so many stages.
/// What a block then stores and loads takes it so long.
constexpr int64_t kSorted = 32;
constexpr double kLeastStages = 16, kCut = 10000;
/// Stages of a part of K, at least, and parts of a tile.
constexpr double kPartStages = 8, kMostParts = 16;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Rows that are multiplied in each of `count` tiles of a group.
int64_t getWidth(int64_t rows, int64_t count, const Tile &tile) {
  int64_t each = ceilDiv(rows, count),
          step = each > 64 && tile.n == 128 ? 16 : 8;
  return std::min(ceilDiv(each, step) * step, tile.m);
}

/// Of 128 columns of K. The tensor core needs 8 cycles for each row of a tile
/// of 128 columns, but lowers the clock to 1.45 GHz when it is all that is
/// busy.
double getStageCycles(double width, const Tile &tile) {
  constexpr double kTensor = 8 * kClock / 1.45e3;
  if (tile.n == 128)
    return std::max(kTensor * width + 100, 640 + 4.2 * width);
  double chain = 870 + 8.4 * width;
  return std::max(2 * kTensor * width + 100,
                  tile.k == 256 ? 0.95 * chain : chain);
}

WgmmaCandidate predict(const Tile &tile, const Problem &problem) {
  struct Kind {
    double cycles, count;
  };
  std::vector<Kind> kinds;
  double bytes = 0, groups = 0, depth = 0;
  for (const Problem::Group &group : problem.groups) {
    groups += static_cast<double>(group.count);
    if (group.rows == 0)
      continue;
    int64_t count = ceilDiv(group.rows, tile.m);
    double stages = static_cast<double>(ceilDiv(group.k, 128));
    double width = static_cast<double>(getWidth(group.rows, count, tile));
    depth = static_cast<double>(ceilDiv(group.k, tile.k));
    kinds.push_back(
        {stages * getStageCycles(width, tile) + kEpilogue,
         static_cast<double>(group.count * count * ceilDiv(group.n, tile.n))});
    auto n = static_cast<double>(group.n), k = static_cast<double>(group.k);
    bytes +=
        static_cast<double>(group.count) *
        (n * k * 9 / 16 + static_cast<double>(group.rows) *
                              (2 * k + n * problem.epilogue.storedBits / 8));
  }
  double sum = 0, tiles = 0, longest = 0;
  for (const Kind &kind : kinds) {
    sum += kind.cycles * kind.count;
    tiles += kind.count;
    longest = std::max(longest, kind.cycles);
  }
  // Rounds are dealt out so that sums are alike; unsorted, somebody gets one
  // of the longest more than the others.
  double waves = tiles / kSms,
         rounds =
             static_cast<double>(ceilDiv(static_cast<int64_t>(tiles), 132));
  double mean = tiles > 0 ? sum / tiles : 0;
  double busy = groups <= kSorted
                    ? std::max(sum / kSms, (rounds * mean + sum / kSms) / 2)
                    : sum / kSms + longest / 2;
  if (groups <= kSorted && !problem.groupedK && waves > 1 &&
      depth >= kLeastStages)
    busy = std::min(busy, sum / kSms + kCut);
  // Few tiles, in parts along K.
  if (problem.relaxed && groups <= kSorted && !problem.groupedK && tiles > 0) {
    double parts = std::min({std::floor(kSms / tiles),
                             std::floor(depth / kPartStages), kMostParts});
    if (parts > 1)
      busy = longest = longest / parts + kCut;
  }
  busy = (std::max(busy, longest) + kStart) / kClock;
  double dram = bytes / kBytes + 3;
  return {tile, std::max(busy, dram) + 1.5, busy, dram, waves};
}

std::string printed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
std::string printed(const char *format, ...) {
  char text[160];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}
} // namespace

Tile nvfp4::strategy::getDefaultWgmmaTile(int64_t expectedRows) {
  // From here on 192 rows of 128 columns are better than 96 of 256.
  constexpr int64_t kManyRows = 384;
  if (expectedRows >= kManyRows)
    return {.m = 192, .n = 128, .k = 128};
  return {.m = 96, .n = 256, .k = 128};
}

std::vector<WgmmaCandidate>
nvfp4::strategy::rankWgmmaTiles(const Problem &problem) {
  struct Shape {
    int64_t m, n, k;
  };
  bool isDeep = std::all_of(
      problem.groups.begin(), problem.groups.end(),
      [](const Problem::Group &group) { return group.k % 256 == 0; });
  std::vector<WgmmaCandidate> candidates;
  for (Shape shape : {Shape{32, 256, 128},
                      {32, 256, 256},
                      {48, 256, 256},
                      {64, 256, 128},
                      {96, 256, 128},
                      {112, 128, 128},
                      {128, 128, 128},
                      {160, 128, 128},
                      {192, 128, 128},
                      {248, 128, 128}})
    // The widest leaves room for staged rows of 16 bits only.
    if ((shape.k == 128 || isDeep) &&
        (shape.m <= 192 || problem.epilogue.stagedBytes <= 2)) {
      Tile tile;
      tile.m = shape.m;
      tile.n = shape.n;
      tile.k = shape.k;
      candidates.push_back(predict(tile, problem));
    }
  // Of tiles of the same time, the one that is first here.
  std::vector<WgmmaCandidate> ranked;
  for (const WgmmaCandidate &each : candidates)
    ranked.insert(std::find_if(ranked.begin(), ranked.end(),
                               [&](const WgmmaCandidate &other) {
                                 return each.total < other.total;
                               }),
                  each);
  return ranked;
}

std::string nvfp4::strategy::explainWgmmaTiles(
    const std::vector<WgmmaCandidate> &candidates) {
  std::string text = printed("%-14s %8s %8s %8s %7s", "tile", "total us",
                             "busy us", "dram us", "waves");
  for (const WgmmaCandidate &each : candidates)
    text +=
        printed("\n%-14s %8.1f %8.1f %8.1f %7.2f",
                printed("%lldx%lldx%lld", static_cast<long long>(each.tile.m),
                        static_cast<long long>(each.tile.n),
                        static_cast<long long>(each.tile.k))
                    .c_str(),
                each.total, each.busy, each.dram, each.waves);
  return text;
}
