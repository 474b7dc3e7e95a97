//===- Candidate.h - A tile with what is known of it ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The words in which every target says why a tile is illegal or what it costs.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_KERNELTARGET_CANDIDATE_H
#define NVFP4_KERNELTARGET_CANDIDATE_H

#include "nvfp4/KernelTarget/Tile.h"

#include <optional>

namespace nvfp4::strategy {

enum class Rule {
  /// No tile can read the operands.
  Operands,
  /// Extents of the instruction.
  Shape,
  /// A tile holds whole pairs of gate and up columns.
  Pairs,
  /// Clusters, split of K, scheduler.
  Launch,
  /// The machine could execute it, but there is no kernel.
  Kernel,
  SharedMemory,
  TensorMemory,
};

/// Why a tile is illegal: "expected X, but got Y".
struct Violation {
  Rule rule;
  std::string text;
};

/// Microseconds that the data sheet allows: every byte once, every product.
struct Floor {
  double memory;
  double math;
  double getTotal() const { return memory > math ? memory : math; }
};

/// What holds back the main loop or the whole.
enum class Limit { Fixed, DRAM, Fill, Product, Epilogue, TileNumber, Decode };
const char *stringify(Limit limit);

struct Prediction {
  /// Microseconds from launch to end.
  double total;
  /// Of it: work of the busiest SM; DRAM, which runs beside it; launch, first
  /// tile and tail.
  double busy;
  double dram;
  double fixed;
  /// With those that fill up clusters.
  int64_t tiles;
  /// Tiles over slots (CTAs, pairs or clusters of them that run at once).
  double waves;
  /// The share of slot time before the end of the busiest without a tile.
  double idle;
  Limit limit;
};

/// A tile that was considered.
struct Candidate {
  /// Complete if legal.
  Tile tile;
  /// Why it is illegal, if it is; else `prediction` is set.
  std::optional<Violation> violation;
  Prediction prediction;
};

/// What the lowering can do beyond the default.
struct SearchOptions {
  /// Consider tiles with `dynamicN`.
  bool dynamicN = false;
};

} // namespace nvfp4::strategy

#endif // NVFP4_KERNELTARGET_CANDIDATE_H
