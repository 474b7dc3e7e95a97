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

#include "nvfp4/Strategy/Wgmma/WgmmaTiles.h"

#include "nvfp4/Format/WgmmaWeights.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

using namespace nvfp4::strategy;

namespace {
constexpr double kSms = 132, kClock = 1.75e3; // Cycles a microsecond.
constexpr double kBytes = 4.4e6;              // A microsecond.
/// For floors: bytes and operations a microsecond of the data sheet, the latter
/// at the clock that it holds.
constexpr double kPeakBytes = 4.8e6, kPeakOperations = 781e6;
/// Microseconds of a launch.
constexpr double kLaunch = 1.5;
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

struct StageCycles {
  double product, decode;
  double getTotal() const { return std::max(product, decode); }
};

/// Of 128 columns of K. The tensor core needs 8 cycles for each row of a tile
/// of 128 columns, but lowers the clock to 1.45 GHz when it is all that is
/// busy.
StageCycles getStageCycles(double width, const Tile &tile) {
  constexpr double kTensor = 8 * kClock / 1.45e3;
  if (tile.n == 128)
    return {kTensor * width + 100, 640 + 4.2 * width};
  double chain = 870 + 8.4 * width;
  return {2 * kTensor * width + 100, tile.k == 256 ? 0.95 * chain : chain};
}

/// DRAM reads and writes each once, rows in 16 bits.
double countBytes(const Problem::Group &group, const Problem &problem) {
  auto rows = static_cast<double>(group.rows), n = static_cast<double>(group.n),
       k = static_cast<double>(group.k);
  return static_cast<double>(group.count) *
         (n * k * storedBits(problem.rhs) / 8 +
          rows * (2 * k + n * problem.epilogue.storedBits / 8));
}

Prediction predictTile(const Tile &tile, const Problem &problem) {
  struct Kind {
    double cycles, count;
  };
  std::vector<Kind> kinds;
  double bytes = 0, groups = 0, depth = 0;
  double products = 0, decoding = 0, epilogues = 0;
  for (const Problem::Group &group : problem.groups) {
    groups += static_cast<double>(group.count);
    if (group.rows == 0)
      continue;
    int64_t count = ceilDiv(group.rows, tile.m);
    double stages = static_cast<double>(ceilDiv(group.k, 128));
    double width = static_cast<double>(getWidth(group.rows, count, tile));
    depth = static_cast<double>(ceilDiv(group.k, tile.k));
    StageCycles stage = getStageCycles(width, tile);
    kinds.push_back(
        {stages * stage.getTotal() + kEpilogue,
         static_cast<double>(group.count * count * ceilDiv(group.n, tile.n))});
    double all = kinds.back().count * stages * stage.getTotal();
    (stage.product > stage.decode ? products : decoding) += all;
    epilogues += kinds.back().count * kEpilogue;
    bytes += countBytes(group, problem);
  }
  double sum = 0, tiles = 0, longest = 0;
  for (const Kind &kind : kinds) {
    sum += kind.cycles * kind.count;
    tiles += kind.count;
    longest = std::max(longest, kind.cycles);
  }
  // Rounds are dealt out so that sums are alike; unsorted, somebody gets one
  // of the longest more than the others.
  double sms = problem.multiprocessors
                   ? static_cast<double>(problem.multiprocessors)
                   : kSms;
  double waves = tiles / sms, rounds = std::ceil(std::floor(tiles) / sms);
  double mean = tiles > 0 ? sum / tiles : 0;
  double busy = groups <= kSorted
                    ? std::max(sum / sms, (rounds * mean + sum / sms) / 2)
                    : sum / sms + longest / 2;
  if (groups <= kSorted && !problem.groupedK && waves > 1 &&
      depth >= kLeastStages)
    busy = std::min(busy, sum / sms + kCut);
  // Few tiles, in parts along K.
  if (problem.relaxed && groups <= kSorted && !problem.groupedK && tiles > 0) {
    double parts = std::min(
        {std::floor(sms / tiles), std::floor(depth / kPartStages), kMostParts});
    if (parts > 1) {
      busy = longest = longest / parts + kCut;
      sum = busy * parts * tiles;
    }
  }
  busy = std::max(busy, longest);
  Prediction result = {};
  result.tiles = static_cast<int64_t>(tiles);
  result.waves = waves;
  result.idle = busy > 0 ? 1 - sum / sms / busy : 0;
  double start = kStart / kClock;
  result.busy = (busy + kStart) / kClock;
  result.dram = bytes / kBytes + 3;
  result.fixed = kLaunch + start;
  result.total = std::max(result.busy, result.dram) + kLaunch;
  double most = std::max({products, decoding, epilogues});
  result.limit = result.fixed > result.total - result.fixed ? Limit::Fixed
                 : result.dram > result.busy                ? Limit::DRAM
                 : most == epilogues                        ? Limit::Epilogue
                 : most == products                         ? Limit::Product
                                                            : Limit::Decode;
  return result;
}
} // namespace

Tile nvfp4::strategy::getDefaultWgmmaTile(int64_t rowsPerGroup) {
  // From here on 192 rows of 128 columns are better than 96 of 256.
  constexpr int64_t kManyRows = 384;
  if (rowsPerGroup >= kManyRows)
    return {.m = 192, .n = 128, .k = 128};
  return {.m = 96, .n = 256, .k = 128};
}

Floor nvfp4::strategy::computeWgmmaFloor(const Problem &problem) {
  double bytes = 0, operations = 0;
  for (const Problem::Group &group : problem.groups) {
    if (group.rows == 0)
      continue;
    bytes += countBytes(group, problem) + static_cast<double>(group.count) *
                                              static_cast<double>(group.rows) *
                                              static_cast<double>(group.n) *
                                              problem.epilogue.loadedBits / 8;
    operations += 2 * static_cast<double>(group.count) *
                  static_cast<double>(group.rows) *
                  static_cast<double>(group.n) * static_cast<double>(group.k);
  }
  return {bytes / kPeakBytes, operations / kPeakOperations};
}

std::optional<int64_t> nvfp4::strategy::getKnownK(const Problem &problem) {
  if (problem.anyK || problem.groupedK)
    return std::nullopt;
  std::optional<int64_t> known;
  for (const Problem::Group &group : problem.groups) {
    known = group.k;
    if (group.k == 0 || group.k % 256 != 0)
      break;
  }
  return known;
}

/// Two stages are legal; the model is of tiles with three or more.
static std::optional<Violation> findStageViolation(const Tile &tile,
                                                   const Problem &problem) {
  constexpr int64_t kLeast = 3;
  nvfp4::format::wgmma::Coding coding = {
      .element = nvfp4::format::elementKind(problem.rhs)};
  int64_t blockBytes = coding.blockBytes();
  int64_t bits = 8 * problem.epilogue.stagedBytes;
  if (countWgmmaStages(tile, blockBytes, bits <= 16) >= kLeast)
    return std::nullopt;
  if (countWgmmaStages(tile, blockBytes, true) >= kLeast)
    return Violation{
        Rule::SharedMemory,
        "expected results of at most 16 bits beside 3 stages of m = " +
            std::to_string(tile.m) + ", but got " + std::to_string(bits)};
  return Violation{
      Rule::SharedMemory,
      "expected 3 stages that fit into shared memory, but got stages of " +
          std::to_string(getWgmmaStageBytes(tile, blockBytes)) + " bytes"};
}

Candidate nvfp4::strategy::examineWgmmaTile(const Tile &tile,
                                            const Problem &problem) {
  Candidate candidate = {
      tile,
      findWgmmaViolation(tile, getKnownK(problem), problem.epilogue.rowBlock),
      {}};
  if (!candidate.violation)
    candidate.violation = findStageViolation(tile, problem);
  if (!candidate.violation)
    candidate.prediction = predictTile(tile, problem);
  return candidate;
}

/// The tiles that differ in more than their launch.
static std::vector<Candidate> listTiles(const Problem &problem) {
  struct Shape {
    int64_t m, n, k;
  };
  std::vector<Candidate> candidates;
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
    candidates.push_back(
        examineWgmmaTile({.m = shape.m, .n = shape.n, .k = shape.k}, problem));
  return candidates;
}

std::vector<Candidate> nvfp4::strategy::rankWgmmaTiles(const Problem &problem) {
  auto order = [](const Candidate &c) {
    return std::tuple(c.violation.has_value(), c.prediction.total);
  };
  std::vector<Candidate> candidates;
  // Of tiles of the same time, the one that is first in the list.
  for (const Candidate &each : listTiles(problem))
    candidates.insert(std::upper_bound(candidates.begin(), candidates.end(),
                                       each,
                                       [&](const auto &a, const auto &b) {
                                         return order(a) < order(b);
                                       }),
                      each);
  std::vector<Tile> others(5, candidates.front().tile);
  others[0].clusterM = 2;
  others[1].clusterN = 2;
  others[2].splitK = 2;
  others[3].scheduler = Scheduler::DynamicCounter;
  others[4].scheduler = Scheduler::LaunchControl;
  for (const Tile &tile : others)
    candidates.push_back(examineWgmmaTile(tile, problem));
  return candidates;
}
