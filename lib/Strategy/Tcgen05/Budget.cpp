//===- Budget.cpp - what a tile takes of the memories -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes follow from the layouts that TMA writes and tcgen05 reads: rows of 128
// bytes, scale atoms of 512 bytes, 4 columns of tensor memory an atom.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/Budget.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace nvfp4;
using namespace nvfp4::strategy;

static constexpr int64_t kRowBytes = 128;
static constexpr int64_t kAtomRows = 128;
static constexpr int64_t kAtomBytes = 512;
static constexpr int64_t kAtomColumns = 4;
static constexpr int64_t kMaxStages = 16;
/// Floats between rows of turned accumulators.
static constexpr int64_t kTurnedPadding = 4;

/// Atoms along K of one tile.
static int64_t kAtoms(const Tile &tile, const Problem &problem) {
  format::BlockFormat scaled = problem.unscaledRows ? problem.rhs : problem.lhs;
  return std::max<int64_t>(tile.k / format::blockSize(scaled) / kAtomColumns,
                           1);
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t strategy::scaleAtoms(int64_t rows) {
  if (rows % 64 != 0)
    return ceilDiv(rows, kAtomRows);
  int64_t lastStart = kAtomRows - std::gcd(rows, kAtomRows);
  return ceilDiv(lastStart + rows, kAtomRows);
}

bool strategy::splitsRows(const Problem &problem) {
  return problem.unscaledRows && problem.f16Rows &&
         problem.rhs != format::BlockFormat::NVFP4;
}

StageBytes strategy::stageBytes(const Tile &tile, const Problem &problem) {
  int64_t atomBytes = kAtoms(tile, problem) * kAtomBytes;
  // Codes of weights, and rows as they are multiplied.
  if (problem.unscaledRows)
    return {.a = tile.m * tile.k * format::elementBits(problem.rhs) / 8,
            .b = tile.n * tile.k * 2,
            .scalesA = scaleAtoms(tile.m) * atomBytes,
            .scalesB = 0};
  // A tile of K spans 128 bytes of a row; FP4 next to FP8 is padded to it.
  int64_t spans = std::max<int64_t>(tile.k / getTileK(problem), 1);
  return {.a = tile.m / tile.ctas * spans * kRowBytes,
          .b = tile.n / tile.ctas * spans * kRowBytes,
          .scalesA = scaleAtoms(tile.m / tile.ctas) * atomBytes,
          .scalesB =
              scaleAtoms(tile.n) * atomBytes + (tile.n < 32 ? kAtomBytes : 0)};
}

int64_t strategy::transactionBytes(const Tile &tile, const Problem &problem) {
  StageBytes bytes = stageBytes(tile, problem);
  if (getInstructionKind(problem) == InstructionKind::MXF8F6F4) {
    format::BlockFormat a = tile.swapAB ? problem.rhs : problem.lhs;
    format::BlockFormat b = tile.swapAB ? problem.lhs : problem.rhs;
    bytes.a = bytes.a * format::elementBits(a) / 8;
    bytes.b = bytes.b * format::elementBits(b) / 8;
  }
  return tile.ctas * bytes.getTotal();
}

SharedMemoryPlan strategy::planSharedMemory(const Tile &tile,
                                            const Problem &problem) {
  int64_t lanes = tile.m / tile.ctas;
  int64_t epilogue =
      tile.swapAB ? std::min<int64_t>(tile.n, 32) * (lanes + kTurnedPadding) * 4
                  : 2 * lanes * tile.epilogueN * problem.epilogue.stagedBytes;
  return {.stages = tile.stages,
          .stageBytes = stageBytes(tile, problem).getTotal(),
          .epilogueBytes = epilogue,
          .otherBytes = 2048 + (splitsRows(problem) ? 2 * tile.n * tile.k : 0)};
}

int64_t strategy::stagesThatFit(int64_t capacity, int64_t stageBytes,
                                int64_t otherBytes) {
  return std::max<int64_t>((capacity - otherBytes) / stageBytes, 0);
}

std::optional<TensorMemoryPlan>
strategy::planTensorMemory(const Tile &tile, const Problem &problem,
                           const Machine &machine) {
  TensorMemoryPlan plan = {};
  int64_t atoms = kAtoms(tile, problem) * kAtomColumns;
  plan.accumulatorStages = tile.accumulatorStages;
  plan.scaleStages = tile.scaleStages;
  plan.scalesB = atoms * scaleAtoms(tile.m / tile.ctas);
  plan.scaleStride = plan.scalesB + atoms * scaleAtoms(tile.n);
  // Decoded weights, two values in a column.
  if (problem.unscaledRows)
    plan.scaleStride = plan.scalesB = tile.k / 2;
  int64_t columns = machine.tensorMemoryColumns;
  int64_t scales = plan.scaleStages * plan.scaleStride;

  plan.accumulatorStride = tile.n;
  if (plan.accumulatorStages * tile.n + scales > columns) {
    // Two accumulators may share columns, up to half of each. Strides stay
    // multiples of 16, as the narrowest wide load of the epilogue; kernels
    // share whole chunks of 32, and both runs of pairs that are wider.
    if (plan.accumulatorStages != 2)
      return std::nullopt;
    int64_t chunk = problem.forKernels ? 32 : 16;
    if (problem.forKernels && problem.epilogue.paired)
      chunk = std::max<int64_t>(chunk, 2 * problem.epilogue.gateGranularity);
    int64_t shared = 2 * tile.n + scales - columns;
    plan.accumulatorStride = tile.n - ceilDiv(shared, chunk) * chunk;
    plan.overlapped = true;
    if (plan.accumulatorStride < tile.n / 2)
      return std::nullopt;
  }
  plan.scales = (plan.accumulatorStages - 1) * plan.accumulatorStride + tile.n;
  plan.used = plan.scales + scales;
  if (plan.used > columns)
    return std::nullopt;
  plan.allocated =
      std::max<int64_t>(32, std::bit_ceil(static_cast<uint64_t>(plan.used)));
  return plan;
}

/// Accumulators and scale buffers, the first that fits of 2 and 2 apart, 2
/// accumulators with one scale buffer, and 1 with 1.
static void chooseTensorMemory(Tile &tile, const Problem &problem,
                               const Machine &machine) {
  constexpr std::pair<int64_t, int64_t> kChoices[] = {
      {2, 2}, {2, 1}, {1, 2}, {1, 1}};
  Tile wish = tile;
  for (auto [accumulators, scales] : kChoices) {
    tile.accumulatorStages =
        wish.accumulatorStages ? wish.accumulatorStages : accumulators;
    tile.scaleStages = wish.scaleStages ? wish.scaleStages : scales;
    auto plan = planTensorMemory(tile, problem, machine);
    // Nothing else hides the time in which weights are decoded.
    bool isGivenUp = plan && plan->overlapped && tile.scaleStages == 2 &&
                     wish.scaleStages == 0 && !problem.unscaledRows;
    if (plan && !isGivenUp)
      return;
  }
}

Tile strategy::complete(Tile tile, const Problem &problem,
                        const Machine &machine) {
  if (tile.epilogueN == 0)
    tile.epilogueN = std::gcd<int64_t>(32, tile.n);
  chooseTensorMemory(tile, problem, machine);
  if (tile.stages == 0) {
    SharedMemoryPlan plan = planSharedMemory(tile, problem);
    tile.stages = std::clamp<int64_t>(
        stagesThatFit(machine.sharedMemory, plan.stageBytes, plan.getTotal()),
        1, kMaxStages);
  }
  return tile;
}
