//===- Kernels.cpp - which legal tiles have kernels -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/Blackwell.md lists as missing, as far as it concerns tiles.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/Kernels.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace nvfp4::strategy;

/// Gate and up columns meet in the registers of one thread.
static std::optional<std::string> checkGate(const Tile &tile,
                                            const Problem &problem) {
  if (!problem.epilogue.paired)
    return std::nullopt;
  int64_t granularity = problem.epilogue.gateGranularity;
  if (granularity > 0 && granularity <= 64 &&
      std::has_single_bit(static_cast<uint64_t>(granularity)))
    return std::nullopt;
  // Of these the tile and N hold whole pairs.
  int64_t most =
      std::gcd<int64_t>(128, tile.swapAB ? tile.m / tile.ctas : tile.n);
  for (const Problem::Group &group : problem.groups)
    most = std::gcd(most, group.n);
  most /= 2;
  std::string layouts = "<1>";
  for (int64_t runs = 2; runs <= most; runs *= 2)
    layouts += (runs == most ? " or <" : ", <") + std::to_string(runs) + ">";
  return "expected a gate layout " + layouts + ", but got " +
         (granularity ? "<" + std::to_string(granularity) + ">" : "halves") +
         ", whose pairs no kernel brings together";
}

const std::vector<int64_t> &nvfp4::strategy::getTokensOnN() {
  static const std::vector<int64_t> values = {8, 16, 32, 64, 128, 192, 256};
  return values;
}

std::optional<std::string>
nvfp4::strategy::findMissingKernel(const Tile &tile, const Problem &problem) {
  auto expected = [](const std::string &what, int64_t got) {
    return "expected " + what + ", for which there are kernels, but got " +
           std::to_string(got);
  };
  if (problem.unscaledRows && tile.ctas != 1)
    return expected("ctas = 1 beside rows without scales", tile.ctas);
  if (tile.clusterM != 1)
    return expected("cluster_m = 1", tile.clusterM);
  if (tile.clusterN != 1)
    return expected("cluster_n = 1", tile.clusterN);
  if (tile.splitK != 1 && problem.groupedK)
    return expected("split_k = 1 for ragged_k", tile.splitK);
  if (tile.scheduler != Scheduler::StaticPersistent)
    return std::string("expected scheduler static_persistent, for which there "
                       "are kernels, but got ") +
           std::string(stringify(tile.scheduler));
  if (tile.dynamicN)
    return "expected dynamic_n = false, for which there are kernels, but got "
           "true";
  // Scales of rows begin where tiles do: at a row that 8 divides within the
  // lanes of an atom, or at one of its columns.
  const std::vector<int64_t> &tokens = getTokensOnN();
  if (tile.swapAB &&
      std::find(tokens.begin(), tokens.end(), tile.n) == tokens.end())
    return expected(tile.ctas == 2 ? "n = 16, 32, 64, 128, 192 or 256"
                                   : "n = 8, 16, 32, 64, 128, 192 or 256",
                    tile.n);
  int64_t columns = std::gcd<int64_t>(32, tile.n);
  if (tile.epilogueN != 0 && tile.epilogueN != columns)
    return expected("epilogue_n = " + std::to_string(columns), tile.epilogueN);
  return checkGate(tile, problem);
}
