//===- StrategyExplain.cpp - why a tile was chosen --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain text; columns are wide enough for the longest tile.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/StrategyExplain.h"

#include <algorithm>
#include <cstdio>

using namespace nvfp4::strategy;

template <typename... Args>
static std::string printed(const char *pattern, Args... args) {
  char buffer[256];
  std::snprintf(buffer, sizeof(buffer), pattern, args...);
  return buffer;
}

/// What takes the time of a candidate.
static std::string describeLimit(const Prediction &prediction) {
  switch (prediction.limit) {
  case Limit::Fixed:
    return printed("%.1f us are launch, first tile and tail", prediction.fixed);
  case Limit::DRAM:
    return "bound by DRAM";
  case Limit::Fill:
    return "bound by the fill of shared memory";
  case Limit::Product:
    return "bound by the tensor core";
  case Limit::Epilogue:
    return "bound by the epilogue";
  case Limit::TileNumber:
    return "bound by the fetches of tile numbers";
  case Limit::Decode:
    return "bound by the decoding of weights";
  }
  return "";
}

/// Why `candidate` is not chosen, of the same time as `winner`.
static std::string explainOrder(const Tile &candidate, const Tile &winner) {
  if (candidate.ctas > winner.ctas)
    return "as fast, with more CTAs a tile";
  return candidate.m * candidate.n > winner.m * winner.n
             ? "as fast, with a larger tile"
             : "as fast, and later in the order of candidates";
}

/// Why a launch that is as fast as the simplest one is not chosen.
static std::string explainEqualLaunch(const Tile &tile) {
  return tile.scheduler == Scheduler::StaticPersistent
             ? "as fast, but L2 shares these loads without a cluster"
             : "as fast, but static_persistent fetches no tile numbers";
}

/// What takes more time than the same tile as `winner` launches it does; empty
/// if it is another tile, or the launch is not what differs.
static std::string explainSlowLaunch(const Candidate &candidate,
                                     const Candidate &winner) {
  const Prediction &own = candidate.prediction, &best = winner.prediction;
  Tile tile = candidate.tile;
  tile.scheduler = winner.tile.scheduler;
  if (tile == winner.tile) {
    if (own.limit == Limit::TileNumber && best.limit != Limit::TileNumber)
      return describeLimit(own);
    return own.fixed > best.fixed
               ? "every slot waits for the number of its first tile"
               : "";
  }
  tile.clusterM = winner.tile.clusterM;
  tile.clusterN = winner.tile.clusterN;
  if (tile != winner.tile)
    return "";
  return own.tiles > best.tiles
             ? "clusters are filled up with tiles of nobody"
             : "L2 shares these loads faster without a cluster";
}

std::string nvfp4::strategy::explainLoss(const Candidate &candidate,
                                         const Candidate &winner) {
  if (candidate.violation)
    return "illegal: " + candidate.violation->text;
  const Prediction &own = candidate.prediction, &best = winner.prediction;
  std::string text, reason = explainSlowLaunch(candidate, winner);
  // What both wait for is not why one of them is slower.
  bool areFixed = own.limit == Limit::Fixed && best.limit == Limit::Fixed;
  if (reason.empty() && areFixed && own.busy > best.busy &&
      own.busy >= own.dram)
    reason = printed("busy for %.1f instead of %.1f us", own.busy, best.busy);
  if (own.total > 1.01 * best.total) {
    text = printed("+%.1f us: ", own.total - best.total) +
           (reason.empty() ? describeLimit(own) : reason);
  } else if (!candidate.tile.hasSimpleLaunch() &&
             winner.tile.hasSimpleLaunch()) {
    text = explainEqualLaunch(candidate.tile);
  } else if (own.busy > best.busy + 0.05) {
    text = printed("as fast, but busy for %.1f instead of %.1f us", own.busy,
                   best.busy);
  } else if (!reason.empty()) {
    text = "as fast, but " + reason;
  } else {
    text = explainOrder(candidate.tile, winner.tile);
  }
  if (own.idle > 0.1 && own.busy >= own.dram)
    text += printed(", %.0f %% of the slots idle", 100 * own.idle);
  return text;
}

/// The shape for the table: `256x128x256 swap`.
static std::string describeTile(const Tile &tile) {
  std::string text = printed("%lldx%lldx%lld", (long long)tile.m,
                             (long long)tile.n, (long long)tile.k);
  if (tile.swapAB)
    text += " swap";
  if (tile.dynamicN)
    text += " dynamic";
  if (tile.splitK > 1)
    text += printed(" split %lld", (long long)tile.splitK);
  if (tile.clusterM * tile.clusterN > 1)
    text += printed(" cluster %lldx%lld", (long long)tile.clusterM,
                    (long long)tile.clusterN);
  if (tile.scheduler != Scheduler::StaticPersistent)
    text += " " + std::string(stringify(tile.scheduler));
  return text;
}

std::string nvfp4::strategy::toString(const Floor &floor,
                                      std::string_view machine) {
  return printed("floor %.1f us (memory %.1f, products %.1f) on ",
                 floor.getTotal(), floor.memory, floor.math) +
         std::string(machine);
}

std::string nvfp4::strategy::explain(const std::vector<Candidate> &candidates,
                                     const Floor &floor,
                                     std::string_view machine) {
  std::string text =
      toString(floor, machine) + "; predictions, not measurements\n";
  int width = 0;
  for (const Candidate &candidate : candidates)
    width = std::max(width, (int)describeTile(candidate.tile).size());
  text += printed("%-*s %6s %8s %8s %8s %7s  %s", width, "tile", "stages",
                  "total us", "busy us", "dram us", "waves", "verdict");
  for (const Candidate &candidate : candidates) {
    text += printed("\n%-*s ", width, describeTile(candidate.tile).c_str());
    if (candidate.violation) {
      text += printed("%6s %8s %8s %8s %7s  ", "-", "-", "-", "-", "-");
      text += explainLoss(candidate, candidates.front());
      continue;
    }
    const Prediction &own = candidate.prediction;
    std::string stages = std::to_string(candidate.tile.stages);
    text += printed("%6s %8.1f %8.1f %8.1f %7.2f  ",
                    candidate.tile.stages ? stages.c_str() : "most", own.total,
                    own.busy, own.dram, own.waves);
    text += &candidate == &candidates.front()
                ? "chosen; " + describeLimit(own)
                : explainLoss(candidate, candidates.front());
  }
  return text;
}
