//===- Tile.cpp - how a product is cut --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a tile, the same as that of the attribute.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/Tile.h"

using namespace nvfp4::strategy;

std::string nvfp4::strategy::toString(const Tile &tile) {
  std::string text = "<m = " + std::to_string(tile.m) +
                     ", n = " + std::to_string(tile.n) +
                     ", k = " + std::to_string(tile.k);
  auto add = [&](const char *name, int64_t value, int64_t byDefault) {
    if (value != byDefault)
      text += std::string(", ") + name + " = " + std::to_string(value);
  };
  add("stages", tile.stages, 0);
  add("ctas", tile.ctas, 1);
  add("cluster_m", tile.clusterM, 1);
  add("cluster_n", tile.clusterN, 1);
  add("split_k", tile.splitK, 1);
  add("accumulator_stages", tile.accumulatorStages, 0);
  add("scale_stages", tile.scaleStages, 0);
  add("epilogue_n", tile.epilogueN, 0);
  if (tile.swapAB)
    text += ", swap_ab = true";
  if (tile.dynamicN)
    text += ", dynamic_n = true";
  if (tile.scheduler != Scheduler::StaticPersistent)
    text += ", scheduler = " + std::string(stringify(tile.scheduler));
  return text + ">";
}
