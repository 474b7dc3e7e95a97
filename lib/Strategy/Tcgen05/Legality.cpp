//===- Legality.cpp - which tiles a machine can execute ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rule is a function that returns the text of its violation, so that the
// list of rules is one table.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/Legality.h"

#include "nvfp4/KernelTarget/Alternatives.h"
#include "nvfp4/Strategy/Tcgen05/Kernels.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <tuple>

using namespace nvfp4;
using namespace nvfp4::strategy;

using Text = std::optional<std::string>;

/// Parts of K whose sums the last one of them still adds in little time.
static constexpr int64_t kMostParts = 16;

static Text expected(const std::string &what, int64_t got,
                     const std::string &why = "") {
  return "expected " + what + ", but got " + std::to_string(got) +
         (why.empty() ? "" : "; " + why);
}

static std::string str(int64_t value) { return std::to_string(value); }

/// Gate and up rows that belong together are in one tile of one CTA. Coarse
/// layouts take half a tile of each, which must start at scale atoms.
static bool holdsPairs(const Tile &tile, const Problem &problem) {
  if (!problem.epilogue.paired)
    return true;
  int64_t weights = tile.swapAB ? tile.m / tile.ctas : tile.n;
  int64_t granularity = problem.epilogue.gateGranularity;
  if (granularity != 0 && weights / 2 % granularity == 0)
    return true;
  // halves: blocks of N/2 rows.
  return weights == 256 &&
         std::all_of(problem.groups.begin(), problem.groups.end(),
                     [&](const Problem::Group &group) {
                       int64_t block = granularity ? granularity : group.n / 2;
                       return block % 128 == 0;
                     });
}

static std::string list(const std::vector<int64_t> &values) {
  std::vector<std::string> texts;
  for (int64_t value : values)
    texts.push_back(str(value));
  return joinAlternatives(texts);
}

/// In place of a text that costs a search: the rule is broken.
static Text withoutAdvice() { return std::string(); }

/// Whether `tile` is legal, for which no text of advice is made.
static bool isLegal(const Tile &tile, const Problem &problem,
                    const Machine &machine);

/// Those of `values` with which `tile` is legal; if there is none, which then
/// is for another reason, all.
static std::vector<int64_t> findLegalValues(Tile tile, int64_t Tile::*member,
                                            const std::vector<int64_t> &values,
                                            const Problem &problem,
                                            const Machine &machine) {
  std::vector<int64_t> legal;
  for (int64_t value : values) {
    tile.*member = value;
    if (isLegal(tile, problem, machine))
      legal.push_back(value);
  }
  return legal.empty() ? values : legal;
}

/// `n = 64, 128 or 256`: with weights on n, those that also hold the pairs of
/// the problem; empty if none does.
static std::string listWeightsOnN(const Tile &wish, const Problem &problem,
                                  const Machine &machine) {
  std::vector<int64_t> values;
  for (int64_t n : {64, 128, 192, 256}) {
    Tile tile = {.m = 128 * wish.ctas, .n = n, .ctas = wish.ctas};
    if ((wish.ctas == 1 || n != 64) && holdsPairs(tile, problem) &&
        !(problem.forKernels && findMissingKernel(tile, problem)))
      values.push_back(n);
  }
  if (values.empty())
    return "";
  Tile tile = wish;
  tile.swapAB = false;
  return "n = " +
         list(findLegalValues(tile, &Tile::n, values, problem, machine));
}

/// Tokens on n are multiples of it: of rows of the instruction, and of blocks
/// along rows, which are not of two tiles.
static int64_t getTokenStep(const Tile &tile, const Problem &problem) {
  int64_t step = (problem.unscaledRows ? 16 : 8) * tile.ctas;
  return std::max(step, problem.epilogue.rowBlock);
}

/// The same with tokens on n, for a message that needs no more than the step.
static std::string listTokensOnN(const Tile &wish, const Problem &problem,
                                 const Machine &machine) {
  int64_t step = getTokenStep(wish, problem);
  if (!problem.forKernels)
    return "n a multiple of " + str(step) + " from " + str(step) + " to 256";
  std::vector<int64_t> values;
  for (int64_t n : getTokensOnN())
    if (n >= step)
      values.push_back(n);
  return "n = " +
         list(findLegalValues(wish, &Tile::n, values, problem, machine));
}

/// The largest gate blocks of kernels that N and so many weight rows of a tile
/// are made of.
static int64_t getBlocks(int64_t weights, const Problem &problem) {
  int64_t rows = std::gcd<int64_t>(128, weights);
  for (const Problem::Group &group : problem.groups)
    rows = std::gcd(rows, group.n);
  return rows / 2;
}

/// The instruction: M 128 for one CTA; 256 for a pair, for which the place of
/// scales at M 128 is not known for certain.
static Text checkInstruction(const Tile &tile, const Problem &problem,
                             const Machine &machine, bool advise) {
  if (tile.ctas != 1 && tile.ctas != 2)
    return expected("ctas 1 or 2", tile.ctas);
  if (tile.m != 128 * tile.ctas)
    return expected("m = " + str(128 * tile.ctas) +
                        " for ctas = " + str(tile.ctas),
                    tile.m);
  if (tile.k != getTileK(problem))
    return expected("k = " + str(getTileK(problem)) +
                        (problem.unscaledRows
                             ? " beside rows without scales"
                             : " for these formats, 128 bytes of a row"),
                    tile.k);
  // Threads decode weights into tensor memory, where only A may lie.
  if (problem.unscaledRows && !tile.swapAB)
    return "expected swap_ab = true beside rows without scales, as decoded "
           "weights are operand A, but got false";
  int64_t step = getTokenStep(tile, problem);
  if (tile.swapAB && (tile.n < step || tile.n > 256 || tile.n % step != 0))
    return advise ? expected(listTokensOnN(tile, problem, machine), tile.n)
                  : withoutAdvice();
  // Scales of weights come in atoms of 128 rows, of which the instruction can
  // start at row 64.
  if (!tile.swapAB &&
      (tile.n < 64 * tile.ctas || tile.n > 256 || tile.n % 64 != 0)) {
    if (!advise)
      return withoutAdvice();
    std::string legal = listWeightsOnN(tile, problem, machine), more;
    Tile swapped = tile;
    swapped.swapAB = true;
    if (isLegal(swapped, problem, machine))
      more = "swap_ab = true takes it";
    if (legal.empty()) {
      legal = listWeightsOnN(tile, Problem(), machine);
      more = "they take gate blocks of " + str(getBlocks(64, problem)) +
             ", which relayout_gate makes";
    }
    return expected(legal + (tile.ctas == 2 ? " for ctas = 2" : "") +
                        " with weights on n",
                    tile.n, more);
  }
  if (tile.dynamicN && !tile.swapAB && !problem.forKernels)
    return "expected dynamic_n with swap_ab = true only, but got swap_ab = "
           "false";
  return std::nullopt;
}

static Text checkPairs(const Tile &tile, const Problem &problem,
                       const Machine &machine, bool advise) {
  if (holdsPairs(tile, problem))
    return std::nullopt;
  if (!advise)
    return withoutAdvice();
  int64_t weights = tile.swapAB ? tile.m / tile.ctas : tile.n;
  int64_t granularity = problem.epilogue.gateGranularity;
  std::string text =
      "expected whole pairs of gate and up rows in the " + str(weights) +
      " weight rows of a tile, but got " +
      (granularity ? "gate blocks of " + str(granularity) : "gate = halves");
  std::string others = problem.unscaledRows
                           ? std::string()
                           : listWeightsOnN(tile, problem, machine);
  if (!others.empty())
    text +=
        "; " + others + (tile.swapAB ? " without swap_ab" : "") + " takes them";
  return text + "; relayout_gate makes blocks of " +
         str(getBlocks(weights, problem));
}

static Text checkLaunch(const Tile &tile, const Problem &problem,
                        const Machine &machine) {
  if (tile.splitK != 1 && !problem.relaxed)
    return expected("split_k = 1 unless determinism = relaxed", tile.splitK,
                    "another order of summation gives other bits");
  int64_t room = machine.clusterCtas / tile.ctas;
  for (auto [name, value, most] :
       {std::tuple("cluster_m", tile.clusterM, room),
        std::tuple("cluster_n", tile.clusterN, room),
        std::tuple("split_k", tile.splitK, kMostParts)})
    if (value < 1 || value > most)
      return expected(std::string(name) + " from 1 to " + str(most), value);
  int64_t ctas = tile.ctas * tile.clusterM * tile.clusterN;
  if (ctas > machine.clusterCtas)
    return expected(
        "ctas * cluster_m * cluster_n <= " + str(machine.clusterCtas), ctas);
  if (tile.scheduler == Scheduler::LaunchControl && problem.extentsOnDevice)
    return "expected scheduler static_persistent or dynamic_counter for groups "
           "whose extents are on the device, but got launch_control";
  return std::nullopt;
}

/// What the plans of the memories multiply: 0 leaves the choice open, and no
/// product of values in these ranges leaves 64 bits.
static bool areRangesLegal(const Tile &tile) {
  auto isOne = [](int64_t value, int64_t most) {
    return value >= 0 && value <= most;
  };
  return isOne(tile.accumulatorStages, 2) && isOne(tile.scaleStages, 2) &&
         isOne(tile.epilogueN, 128);
}

static Text expectedEpilogueN(const Tile &tile, const Problem &problem,
                              const Machine &machine) {
  std::vector<int64_t> values;
  for (int64_t columns = 8; columns <= 128; columns *= 2)
    if (tile.n % columns == 0)
      values.push_back(columns);
  return expected("epilogue_n = " +
                      list(findLegalValues(tile, &Tile::epilogueN, values,
                                           problem, machine)),
                  tile.epilogueN);
}

static Text checkRanges(const Tile &tile, const Problem &problem,
                        const Machine &machine, bool advise) {
  if (areRangesLegal(tile))
    return std::nullopt;
  if (!advise)
    return withoutAdvice();
  for (auto [name, member] :
       {std::pair("accumulator_stages", &Tile::accumulatorStages),
        std::pair("scale_stages", &Tile::scaleStages)})
    if (tile.*member < 0 || tile.*member > 2)
      return expected(
          std::string(name) + " = " +
              list(findLegalValues(tile, member, {1, 2}, problem, machine)),
          tile.*member);
  return expectedEpilogueN(tile, problem, machine);
}

static Text checkTensorMemory(const Tile &tile, const Problem &problem,
                              const Machine &machine) {
  if (planTensorMemory(tile, problem, machine))
    return std::nullopt;
  return "expected at most " + str(machine.tensorMemoryColumns) +
         " columns of tensor memory, but got more with n = " + str(tile.n) +
         ", accumulator_stages = " + str(tile.accumulatorStages) +
         ", scale_stages = " + str(tile.scaleStages);
}

static Text checkSharedMemory(const Tile &tile, const Problem &problem,
                              const Machine &machine, bool advise) {
  int64_t columns = tile.epilogueN;
  if (columns < 8 || columns > 128 || (columns & (columns - 1)) != 0 ||
      tile.n % columns != 0)
    return advise ? expectedEpilogueN(tile, problem, machine) : withoutAdvice();
  SharedMemoryPlan plan = planSharedMemory(tile, problem);
  plan.stages = 0;
  int64_t fit =
      stagesThatFit(machine.sharedMemory, plan.stageBytes, plan.getTotal());
  if (tile.stages >= 1 && tile.stages <= fit)
    return std::nullopt;
  if (fit < 1)
    return expected("at most " + str(machine.sharedMemory) +
                        " bytes of shared memory",
                    plan.stageBytes + plan.getTotal(),
                    "one stage has " + str(plan.stageBytes));
  return expected("1 to " + str(fit) + " stages of " + str(plan.stageBytes) +
                      " bytes in " + str(machine.sharedMemory) +
                      " bytes of shared memory",
                  tile.stages);
}

std::optional<Violation>
strategy::findOperandViolation(const Problem &problem) {
  auto bits = [](format::BlockFormat f) { return format::elementBits(f); };
  if (problem.forKernels)
    return std::nullopt;
  // Rows start at multiples of 16 bytes; unpacked FP4 comes in 128 elements.
  int64_t lhsBits = problem.unscaledRows ? 16 : bits(problem.lhs);
  int64_t step = 128 / std::min<int64_t>(lhsBits, bits(problem.rhs));
  if (!problem.unscaledRows && lhsBits != bits(problem.rhs))
    step = 128;
  // Where groups cut K, TMA addresses the rows that they share.
  std::vector<int64_t> extents;
  if (problem.groupedK)
    extents.push_back(problem.wholeK);
  else
    for (const Problem::Group &group : problem.groups)
      extents.push_back(group.k);
  for (int64_t k : extents) {
    if (k % step == 0)
      continue;
    int64_t below = k / step * step;
    bool hasAbove = below <= std::numeric_limits<int64_t>::max() - step;
    return Violation{
        Rule::Operands,
        *expected("K a multiple of " + str(step) + ", which TMA can address", k,
                  "the nearest is " + str(hasAbove ? below + step : below))};
  }
  return std::nullopt;
}

/// The first rule that `tile` breaks, with a text if `advise` is set.
static std::optional<Violation> findBrokenRule(const Tile &tile,
                                               const Problem &problem,
                                               const Machine &machine,
                                               bool advise) {
  if (auto violation = findOperandViolation(problem))
    return violation;
  if (Text text = checkInstruction(tile, problem, machine, advise))
    return Violation{Rule::Shape, *text};
  if (Text text = checkPairs(tile, problem, machine, advise))
    return Violation{Rule::Pairs, *text};
  // Before what the machine could do, of which kernels do less.
  if (problem.forKernels)
    if (Text text = findMissingKernel(tile, problem))
      return Violation{Rule::Kernel, *text};
  if (Text text = checkLaunch(tile, problem, machine))
    return Violation{Rule::Launch, *text};
  if (Text text = checkRanges(tile, problem, machine, advise))
    return Violation{Rule::SharedMemory, *text};
  Tile whole = complete(tile, problem, machine);
  if (Text text = checkTensorMemory(whole, problem, machine))
    return Violation{Rule::TensorMemory, *text};
  if (Text text = checkSharedMemory(whole, problem, machine, advise))
    return Violation{Rule::SharedMemory, *text};
  return std::nullopt;
}

std::optional<Violation> strategy::findViolation(const Tile &tile,
                                                 const Problem &problem,
                                                 const Machine &machine) {
  return findBrokenRule(tile, problem, machine, /*advise=*/true);
}

static bool isLegal(const Tile &tile, const Problem &problem,
                    const Machine &machine) {
  return !findBrokenRule(tile, problem, machine, /*advise=*/false);
}

/// `wish` with extents (swapAB, ctas, n) and everything else made legal by
/// giving way; still illegal if the extents are.
static Tile giveWay(const Tile &wish, bool swapAB, int64_t ctas, int64_t n,
                    const Problem &problem, const Machine &machine) {
  Tile tile = wish;
  tile.swapAB = swapAB;
  tile.ctas = ctas;
  tile.n = n;
  tile.m = 128 * ctas;
  tile.k = getTileK(problem);
  tile.dynamicN &= swapAB;
  if (!isLegal(
          {.m = tile.m, .n = n, .k = tile.k, .ctas = ctas, .swapAB = swapAB},
          problem, machine))
    return tile;
  if (checkLaunch(tile, problem, machine)) {
    tile.splitK =
        problem.relaxed ? std::clamp<int64_t>(tile.splitK, 1, kMostParts) : 1;
    if (problem.extentsOnDevice && tile.scheduler == Scheduler::LaunchControl)
      tile.scheduler = Scheduler::StaticPersistent;
    int64_t room = machine.clusterCtas / ctas;
    for (int64_t *extent : {&tile.clusterM, &tile.clusterN}) {
      *extent = std::clamp<int64_t>(*extent, 1, room);
      room /= *extent;
    }
  }
  if (!areRangesLegal(tile))
    tile.accumulatorStages = tile.scaleStages = tile.epilogueN = 0;
  if (problem.forKernels && findMissingKernel(tile, problem)) {
    tile.clusterM = tile.clusterN = 1;
    if (problem.groupedK)
      tile.splitK = 1;
    tile.dynamicN = false;
    tile.scheduler = Scheduler::StaticPersistent;
  }
  Tile whole = complete(tile, problem, machine);
  if (checkTensorMemory(whole, problem, machine))
    tile.scaleStages = 0;
  whole = complete(tile, problem, machine);
  if (checkTensorMemory(whole, problem, machine))
    tile.accumulatorStages = 0;
  Tile anyStages = tile;
  anyStages.stages = 0;
  if (!isLegal(anyStages, problem, machine))
    tile.epilogueN = 0;
  if (!isLegal(tile, problem, machine))
    tile.stages = 0;
  return complete(tile, problem, machine);
}

std::optional<Tile> strategy::findNearestLegal(const Tile &tile,
                                               const Problem &problem,
                                               const Machine &machine) {
  std::optional<Tile> best;
  std::tuple<bool, bool, uint64_t> bestDistance;
  for (bool swapAB : {false, true}) {
    for (int64_t ctas : {1, 2}) {
      for (int64_t n = 8; n <= 256; n += 8) {
        Tile other = giveWay(tile, swapAB, ctas, n, problem, machine);
        if (!isLegal(other, problem, machine))
          continue;
        // An m of 256 asks for a pair as much as ctas = 2 does.
        bool isOtherWidth = ctas != (tile.m == 256 ? 2 : tile.ctas);
        uint64_t apart = n > tile.n ? uint64_t(n) - uint64_t(tile.n)
                                    : uint64_t(tile.n) - uint64_t(n);
        std::tuple distance(swapAB != tile.swapAB, isOtherWidth, apart);
        if (!best || distance < bestDistance) {
          best = other;
          bestDistance = distance;
        }
      }
    }
  }
  return best;
}
