//===- LegalityTest.cpp - tests of the rules for tiles ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rule refuses, names what it expected, and finds the nearest legal tile.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Tcgen05/Legality.h"

#include "gtest/gtest.h"

#include <cctype>
#include <iterator>
#include <limits>
#include <regex>
#include <sstream>

using namespace nvfp4::strategy;
using nvfp4::format::BlockFormat;

namespace {

const Machine &kMachine = kB200;

Problem makeProblem() {
  Problem problem;
  problem.groups = {{8, 128, 4096, 7168}};
  return problem;
}

std::string why(const Tile &tile, const Problem &problem = makeProblem()) {
  auto violation = findViolation(tile, problem, kMachine);
  return violation ? violation->text : "";
}

std::string nearest(const Tile &tile, const Problem &problem = makeProblem()) {
  auto legal = findNearestLegal(tile, problem, kMachine);
  return legal ? toString(*legal) : "";
}

TEST(Legality, AcceptsTheTilesOfTheInstruction) {
  for (int64_t n : {64, 128, 192, 256})
    EXPECT_EQ(why({.m = 128, .n = n}), "");
  for (int64_t n : {128, 192, 256})
    EXPECT_EQ(why({.m = 256, .n = n, .ctas = 2}), "");
  for (int64_t n = 8; n <= 256; n += 8)
    EXPECT_EQ(why({.m = 128, .n = n, .swapAB = true}), "");
  for (int64_t n = 16; n <= 256; n += 16)
    EXPECT_EQ(why({.m = 256, .n = n, .ctas = 2, .swapAB = true}), "");
}

TEST(Legality, RefusesOtherShapes) {
  EXPECT_EQ(why({.m = 64, .n = 128}),
            "expected m = 128 for ctas = 1, but got 64");
  EXPECT_EQ(why({.m = 128, .n = 128, .ctas = 2}),
            "expected m = 256 for ctas = 2, but got 128");
  EXPECT_EQ(why({.n = 96}), "expected n = 64, 128, 192 or 256 with weights on "
                            "n, but got 96; swap_ab = true takes it");
  EXPECT_EQ(why({.n = 100}), "expected n = 64, 128, 192 or 256 with weights on "
                             "n, but got 100");
  EXPECT_EQ(why({.m = 256, .n = 64, .ctas = 2}),
            "expected n = 128, 192 or 256 for ctas = 2 with weights on n, but "
            "got 64; swap_ab = true takes it");
  EXPECT_EQ(why({.m = 256, .n = 24, .ctas = 2, .swapAB = true}),
            "expected n a multiple of 16 from 16 to 256, but got 24");
  EXPECT_EQ(why({.k = 128}), "expected k = 256 for these formats, 128 bytes of "
                             "a row, but got 128");
  EXPECT_EQ(why({.ctas = 4}), "expected ctas 1 or 2, but got 4");
  EXPECT_EQ(
      why({.dynamicN = true}),
      "expected dynamic_n with swap_ab = true only, but got swap_ab = false");
}

TEST(Legality, RefusesWhatDoesNotFit) {
  EXPECT_EQ(why({.stages = 6}),
            "expected 1 to 5 stages of 36864 bytes in 232448 bytes of shared "
            "memory, but got 6");
  EXPECT_EQ(nearest({.stages = 6}),
            "<m = 128, n = 128, k = 256, stages = 5, accumulator_stages = 2, "
            "scale_stages = 2, epilogue_n = 32>");
  Tile wide = {
      .n = 224, .swapAB = true, .accumulatorStages = 2, .scaleStages = 2};
  EXPECT_EQ(why(wide), "");
  wide.accumulatorStages = 3;
  EXPECT_EQ(why(wide), "expected accumulator_stages = 1 or 2, but got 3");
  EXPECT_EQ(why({.epilogueN = 48}),
            "expected epilogue_n = 8, 16, 32 or 64, but got 48");
}

TEST(Legality, RefusesLaunchesThatDoNotExist) {
  EXPECT_EQ(why({.m = 256, .ctas = 2, .clusterM = 2, .clusterN = 4}),
            "expected ctas * cluster_m * cluster_n <= 8, but got 16");
  EXPECT_EQ(why({.clusterM = 100}),
            "expected cluster_m from 1 to 8, but got 100");
  EXPECT_EQ(why({.splitK = 2}),
            "expected split_k = 1 unless determinism = relaxed, but got 2; "
            "another order of summation gives other bits");
  Problem problem = makeProblem();
  problem.relaxed = true;
  EXPECT_EQ(why({.splitK = 2}, problem), "");
  EXPECT_EQ(why({.splitK = 17}, problem),
            "expected split_k from 1 to 16, but got 17");
  EXPECT_EQ(why({.scheduler = Scheduler::LaunchControl}), "");
  problem.extentsOnDevice = true;
  EXPECT_EQ(why({.scheduler = Scheduler::LaunchControl}, problem),
            "expected scheduler static_persistent or dynamic_counter for "
            "groups whose extents are on the device, but got launch_control");
}

TEST(Legality, RefusesOperandsThatTmaCannotRead) {
  Problem problem = makeProblem();
  problem.groups = {{1, 16, 64, 48}};
  EXPECT_EQ(why({}, problem), "expected K a multiple of 32, which TMA can "
                              "address, but got 48; the nearest is 64");
  EXPECT_EQ(nearest({}, problem), "");
  problem.rhs = BlockFormat::MXFP4;
  problem.lhs = BlockFormat::MXFP8_E4M3;
  problem.groups = {{1, 16, 64, 192}};
  EXPECT_EQ(why({.k = 128}, problem),
            "expected K a multiple of 128, which TMA can address, but got 192; "
            "the nearest is 256");
  // Where groups cut K it is the rows that they share.
  problem = makeProblem();
  problem.groups = {{4, 16, 64, 48}};
  problem.groupedK = true;
  problem.wholeK = 192;
  EXPECT_EQ(why({}, problem), "");
  EXPECT_EQ(why({.n = 8, .swapAB = true}, problem), "");
  problem.wholeK = 200;
  EXPECT_EQ(why({}, problem), "expected K a multiple of 32, which TMA can "
                              "address, but got 200; the nearest is 224");
}

TEST(Legality, KeepsPairsTogether) {
  Problem problem = makeProblem();
  problem.epilogue.paired = true;
  // halves: only a tile that takes 128 rows of each.
  EXPECT_NE(why({.n = 128}, problem), "");
  EXPECT_NE(why({.n = 64, .swapAB = true}, problem), "");
  EXPECT_EQ(why({.n = 256}, problem), "");
  EXPECT_NE(nearest({.n = 64, .swapAB = true}, problem).find("n = 256"),
            std::string::npos);
  // Blocks of 96 = 2 * 48 rows fit into no tile but are no multiple of 128.
  problem.epilogue.gateGranularity = 48;
  EXPECT_EQ(why({.n = 192}, problem), "");
  EXPECT_NE(why({.n = 256}, problem), "");
  problem.epilogue.gateGranularity = 16;
  EXPECT_EQ(why({.n = 64, .swapAB = true}, problem), "");
  EXPECT_EQ(why({.n = 128}, problem), "");
}

/// The numbers of `n = 64, 128 or 256` behind `word`.
std::vector<int64_t> numbersBehind(const std::string &text,
                                   const std::string &word) {
  std::vector<int64_t> numbers;
  std::smatch match;
  std::regex list(word + "((?:<?\\d+>?(?:, | or )?)+)"), number("\\d+");
  if (!std::regex_search(text, match, list))
    return numbers;
  std::string all = match[1];
  for (std::sregex_iterator it(all.begin(), all.end(), number), end; it != end;
       ++it)
    numbers.push_back(std::stoll(it->str()));
  return numbers;
}

// Whoever does what a refusal proposes is not refused again.
TEST(Legality, AdviceForPairsIsTaken) {
  int followed = 0;
  auto follow = [&](const Tile &tile, const Problem &problem) {
    std::string text = why(tile, problem);
    if (text.empty())
      return;
    std::string what = toString(tile) + ": " + text;
    if (problem.groups[0].n == 192) {
      auto legal = findNearestLegal(tile, problem, kMachine);
      EXPECT_TRUE(!legal || why(*legal, problem).empty()) << what;
    }
    auto withGate = [&](int64_t granularity) {
      Problem moved = problem;
      moved.epilogue.gateGranularity = granularity;
      EXPECT_EQ(problem.groups[0].n % (2 * granularity), 0) << what;
      return moved;
    };
    // What these n take, as it is or laid out anew.
    std::vector<int64_t> taken =
        numbersBehind(text, "they take gate blocks of ");
    Problem other = taken.empty() ? problem : withGate(taken[0]);
    for (int64_t n : numbersBehind(text, "n = ")) {
      Tile wider = tile;
      wider.n = n;
      wider.swapAB = false;
      EXPECT_EQ(why(wider, other), "") << what;
      ++followed;
    }
    for (const char *word : {"makes blocks of ", "expected a gate layout "})
      for (int64_t granularity : numbersBehind(text, word)) {
        EXPECT_NE(granularity, problem.epilogue.gateGranularity) << what;
        EXPECT_EQ(why(tile, withGate(granularity)), "") << what;
        ++followed;
      }
  };
  for (bool forKernels : {false, true})
    for (int64_t granularity : {0, 1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 256})
      for (int64_t columns : {4096, 5760, 192})
        for (int64_t ctas : {1, 2})
          for (bool swapAB : {false, true})
            for (int64_t n : {64, 96, 128, 192, 256}) {
              Problem problem = makeProblem();
              problem.forKernels = forKernels;
              problem.groups[0].n = columns;
              problem.epilogue.paired = true;
              problem.epilogue.gateGranularity = granularity;
              // 96 with swap_ab is refused for itself.
              if (columns % std::max<int64_t>(2, 2 * granularity) == 0 &&
                  !(swapAB && n == 96))
                follow(
                    {.m = 128 * ctas, .n = n, .ctas = ctas, .swapAB = swapAB},
                    problem);
            }
  EXPECT_GT(followed, 500);
  Problem problem = makeProblem();
  problem.epilogue.paired = true;
  problem.epilogue.gateGranularity = 64;
  EXPECT_EQ(
      why({.n = 192}, problem),
      "expected whole pairs of gate and up rows in the 192 weight rows of "
      "a tile, but got gate blocks of 64; n = 128 or 256 takes them; "
      "relayout_gate makes blocks of 32");
}

/// Sets the parameter that a message calls `name`; false for none.
bool set(Tile &tile, const std::string &name, int64_t value) {
  const std::pair<const char *, int64_t Tile::*> members[] = {
      {"m", &Tile::m},
      {"n", &Tile::n},
      {"k", &Tile::k},
      {"stages", &Tile::stages},
      {"ctas", &Tile::ctas},
      {"cluster_m", &Tile::clusterM},
      {"cluster_n", &Tile::clusterN},
      {"split_k", &Tile::splitK},
      {"accumulator_stages", &Tile::accumulatorStages},
      {"scale_stages", &Tile::scaleStages},
      {"epilogue_n", &Tile::epilogueN}};
  for (auto [known, member] : members)
    if (name == known) {
      tile.*member = value;
      return true;
    }
  return false;
}

/// The tiles that `text` proposes in place of `tile`.
std::vector<Tile> followAdvice(const Tile &tile, const std::string &text) {
  std::vector<Tile> tiles;
  auto add = [&](const std::string &name, int64_t value) {
    Tile other = tile;
    if (set(other, name, value))
      tiles.push_back(other);
  };
  // `expected n = 64, 128 or 256`, `expected cluster_m from 1 to 8`, `expected
  // n a multiple of 8 from 8 to 256`, `expected 1 to 5 stages`. Only the first
  // clause proposes values.
  std::istringstream clause(text.substr(0, text.find(", but got")));
  std::vector<std::string> words(std::istream_iterator<std::string>(clause),
                                 {});
  auto isNumber = [](const std::string &word) {
    return std::isdigit(static_cast<unsigned char>(word[0])) != 0;
  };
  if (words.size() > 4 && isNumber(words[1]) && words[4] == "stages")
    for (int i : {1, 3})
      add("stages", std::stoll(words[i]));
  bool isValue = false;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (word == "for" || word == "unless" || word == "with")
      break;
    if (isNumber(word) && isValue)
      add(words[1], std::stoll(word));
    isValue |= word == "=" || word == "from";
  }
  if (text.find("expected scheduler static_persistent") != std::string::npos) {
    tiles.push_back(tile);
    tiles.back().scheduler = Scheduler::StaticPersistent;
  }
  if (text.find("or dynamic_counter") != std::string::npos) {
    tiles.push_back(tile);
    tiles.back().scheduler = Scheduler::DynamicCounter;
  }
  if (text.find("expected dynamic_n") != std::string::npos) {
    tiles.push_back(tile);
    tiles.back().dynamicN = false;
  }
  if (text.find("swap_ab = true takes it") != std::string::npos) {
    tiles.push_back(tile);
    tiles.back().swapAB = true;
  }
  return tiles;
}

// Of a legal tile one parameter is changed; every value that the refusal names
// is legal, and so is the nearest strategy.
TEST(Legality, AdviceIsTaken) {
  int followed = 0, refused = 0;
  auto check = [&](const Tile &tile, const Problem &problem) {
    std::string text = why(tile, problem);
    if (text.empty())
      return;
    std::string what = toString(tile) + ": " + text;
    // The same search for all of them, so for some.
    if (++refused % 32 == 0) {
      auto legal = findNearestLegal(tile, problem, kMachine);
      ASSERT_TRUE(legal) << what;
      EXPECT_EQ(why(*legal, problem), "") << what;
    }
    std::vector<Tile> others = followAdvice(tile, text);
    // Of pairs and columns of tensor memory it is a relation that is named.
    EXPECT_TRUE(!others.empty() ||
                text.find("of tensor memory") != std::string::npos ||
                text.find("ctas * ") != std::string::npos)
        << what;
    for (const Tile &other : others) {
      EXPECT_EQ(why(other, problem), "") << what;
      ++followed;
    }
  };
  for (bool forKernels : {false, true})
    for (bool relaxed : {false, true})
      for (bool extentsOnDevice : {false, true})
        for (bool groupedK : {false, true})
          for (int64_t ctas : {1, 2})
            for (bool swapAB : {false, true})
              for (int64_t n : {128, 192, 256}) {
                Problem problem = makeProblem();
                problem.forKernels = forKernels;
                problem.relaxed = relaxed;
                problem.extentsOnDevice = extentsOnDevice;
                problem.groupedK = groupedK;
                problem.wholeK = 8192;
                Tile tile = {
                    .m = 128 * ctas, .n = n, .ctas = ctas, .swapAB = swapAB};
                ASSERT_EQ(why(tile, problem), "") << toString(tile);
                for (const char *name :
                     {"m", "n", "k", "stages", "cluster_m", "cluster_n",
                      "split_k", "accumulator_stages", "scale_stages",
                      "epilogue_n"})
                  for (int64_t value : {-1, 1, 2, 3, 5, 9, 16, 20, 24, 48, 64,
                                        96, 100, 104, 160, 512}) {
                    Tile odd = tile;
                    set(odd, name, value);
                    check(odd, problem);
                  }
                for (Scheduler scheduler :
                     {Scheduler::DynamicCounter, Scheduler::LaunchControl}) {
                  Tile odd = tile;
                  odd.scheduler = scheduler;
                  check(odd, problem);
                }
                tile.dynamicN = true;
                check(tile, problem);
              }
  EXPECT_GT(followed, 5000);
}

TEST(Legality, NearestChangesLittle) {
  EXPECT_EQ(nearest({.n = 96}),
            "<m = 128, n = 64, k = 256, stages = 7, accumulator_stages = 2, "
            "scale_stages = 2, epilogue_n = 32>");
  EXPECT_EQ(nearest({.m = 256, .n = 250, .stages = 2}),
            "<m = 256, n = 256, k = 256, stages = 2, ctas = 2, "
            "accumulator_stages = 2, scale_stages = 1, epilogue_n = 32>");
}

// Whatever is asked for, the answer is legal, and a legal tile is its own
// nearest one.
TEST(Legality, NearestIsLegalForAnyNumbers) {
  const int64_t kNumbers[] = {INT64_MIN, -1, 0, 1, 24, 128, 300, INT64_MAX};
  for (int64_t number : kNumbers) {
    for (int64_t Tile::*member :
         {&Tile::m, &Tile::n, &Tile::k, &Tile::stages, &Tile::ctas,
          &Tile::clusterM, &Tile::clusterN, &Tile::splitK,
          &Tile::accumulatorStages, &Tile::scaleStages, &Tile::epilogueN}) {
      Tile tile;
      tile.*member = number;
      auto legal = findNearestLegal(tile, makeProblem(), kMachine);
      ASSERT_TRUE(legal);
      EXPECT_FALSE(findViolation(*legal, makeProblem(), kMachine))
          << toString(*legal);
      if (!findViolation(tile, makeProblem(), kMachine)) {
        EXPECT_EQ(*legal, complete(tile, makeProblem(), kMachine));
      }
    }
  }
}

// Attributes hold any 64-bit number.
TEST(Legality, RefusesHugeNumbers) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  std::string text = std::to_string(huge);
  EXPECT_EQ(why({.accumulatorStages = huge}),
            "expected accumulator_stages = 1 or 2, but got " + text);
  EXPECT_EQ(why({.scaleStages = huge}),
            "expected scale_stages = 1 or 2, but got " + text);
  EXPECT_EQ(why({.epilogueN = huge}),
            "expected epilogue_n = 8, 16, 32, 64 or 128, but got " + text);
  EXPECT_EQ(why({.stages = huge}),
            "expected 1 to 5 stages of 36864 bytes in 232448 bytes of shared "
            "memory, but got " +
                text);
  EXPECT_EQ(why({.clusterM = huge}),
            "expected cluster_m from 1 to 8, but got " + text);
  EXPECT_EQ(why({.m = huge}), "expected m = 128 for ctas = 1, but got " + text);
  EXPECT_NE(nearest({.m = huge,
                     .n = huge,
                     .k = huge,
                     .stages = huge,
                     .ctas = huge,
                     .clusterM = huge,
                     .clusterN = huge,
                     .splitK = huge,
                     .accumulatorStages = huge,
                     .scaleStages = huge,
                     .epilogueN = huge}),
            "");
  Problem problem = makeProblem();
  problem.groups = {{huge, huge, huge, huge}, {huge, huge, huge, huge}};
  EXPECT_EQ(problem.getRows(), huge);
  EXPECT_EQ(why({}, problem),
            "expected K a multiple of 32, which TMA can address, but got " +
                text + "; the nearest is 9223372036854775776");
}

TEST(Legality, DecodesWeightsOnMBesideUnscaledRows) {
  Problem problem = makeProblem();
  problem.unscaledRows = problem.forKernels = true;
  for (int64_t n : {16, 32, 64, 128, 192, 256})
    EXPECT_EQ(why({.m = 128, .n = n, .k = 128, .swapAB = true}, problem), "");
  EXPECT_EQ(why({.m = 128, .n = 128, .k = 256, .swapAB = true}, problem),
            "expected k = 128 beside rows without scales, but got 256");
  EXPECT_EQ(why({.m = 128, .n = 128, .k = 128}, problem),
            "expected swap_ab = true beside rows without scales, as decoded "
            "weights are operand A, but got false");
  EXPECT_EQ(
      why({.m = 256, .n = 64, .k = 128, .ctas = 2, .swapAB = true}, problem),
      "expected ctas = 1 beside rows without scales, for which there are "
      "kernels, but got 2");
  EXPECT_EQ(why({.m = 128, .n = 8, .k = 128, .swapAB = true}, problem),
            "expected n = 16, 32, 64, 128, 192 or 256, but got 8");
  EXPECT_EQ(nearest({.m = 256, .n = 8, .k = 256, .ctas = 2}, problem),
            nearest({.m = 128, .n = 16, .k = 128, .swapAB = true}, problem));
  // Rows that TMA can address have a multiple of 16 bytes of codes.
  problem.forKernels = false;
  problem.groups.front().k = 48;
  auto violation = findOperandViolation(problem);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->text, "expected K a multiple of 32, which TMA can "
                             "address, but got 48; the nearest is 64");
}

} // namespace
