//===- LaunchCostsTest.cpp - Times of kernels beside products ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model against times of benchmarks/h200/device-layer on an H200, and what
// it decides.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelTarget/LaunchCosts.h"

#include "gtest/gtest.h"

using namespace nvfp4::strategy;

namespace {
constexpr TokenMoves kGptOss{32, 4, 5760}, kQwen3{128, 8, 4096};

/// Tokens, and microseconds of route, sort_tokens, permute and combine.
struct Measured {
  TokenMoves moves;
  int64_t tokens;
  double route, sort, permute, combine;
};
constexpr Measured kMeasured[] = {{kGptOss, 1, 2.0, 3.2, 2.0, 2.3},
                                  {kGptOss, 64, 2.2, 3.2, 2.2, 2.3},
                                  {kGptOss, 256, 2.3, 4.4, 3.9, 2.9},
                                  {kGptOss, 1024, 2.4, 5.8, 9.2, 5.6},
                                  {kGptOss, 4096, 3.5, 8.2, 39.4, 31.7},
                                  {kQwen3, 1, 2.7, 3.5, 2.0, 3.0},
                                  {kQwen3, 64, 2.8, 3.8, 2.6, 3.4},
                                  {kQwen3, 256, 2.9, 5.7, 4.4, 3.4},
                                  {kQwen3, 1024, 3.0, 6.8, 12.1, 6.8},
                                  {kQwen3, 4096, 6.0, 10.9, 47.7, 38.9}};

TEST(LaunchCosts, AreNearMeasuredTimes) {
  for (const Measured &m : kMeasured) {
    EXPECT_NEAR(m.moves.predictRoute(m.tokens) / m.route, 1, 0.2);
    EXPECT_NEAR(m.moves.predictSort(m.tokens) / m.sort, 1, 0.2);
    EXPECT_NEAR(m.moves.predictPermute(m.tokens) / m.permute, 1, 0.2);
    EXPECT_NEAR(m.moves.predictCombine(m.tokens) / m.combine, 1, 0.2);
  }
}

/// Tokens, and microseconds of all before the products, in one launch and
/// apart, as in the table of launches in docs/Hopper.md.
struct MeasuredOrder {
  TokenMoves moves;
  int64_t tokens;
  double together, apart;
};
constexpr MeasuredOrder kOrders[] = {
    {kGptOss, 1, 3.9, 6.3}, {kGptOss, 16, 4.3, 6.4}, {kGptOss, 64, 7.1, 7.0},
    {kQwen3, 1, 4.9, 7.2},  {kQwen3, 16, 5.8, 7.4},  {kQwen3, 64, 12.2, 8.1}};

TEST(LaunchCosts, OneLaunchIsForFewTokens) {
  for (const MeasuredOrder &m : kOrders) {
    EXPECT_NEAR(m.moves.predictOneLaunch(m.tokens, true) / m.together, 1, 0.12);
    EXPECT_NEAR(m.moves.predictApart(m.tokens, true) / m.apart, 1, 0.12);
  }
  for (const TokenMoves &moves : {kGptOss, kQwen3})
    EXPECT_GT(moves.predictOneLaunch(4096, true),
              moves.predictApart(4096, true));
}

TEST(LaunchCosts, TokensAreQuantisedOnceWhereTheyAreMany) {
  QuantizedMoves moves{1024, 4, 2048, 576};
  EXPECT_LT(moves.predictOneLaunch(1), moves.predictOncePerToken(1));
  EXPECT_LT(moves.predictOneLaunch(1), moves.predictApart(1));
  EXPECT_LT(moves.predictOncePerToken(4096), moves.predictOneLaunch(4096));
  // A row for each token: nothing is saved.
  moves.slots = 1;
  EXPECT_LT(moves.predictOneLaunch(4096), moves.predictOncePerToken(4096));
}

TEST(LaunchCosts, BothDirectionsSaveALaunch) {
  for (int64_t tokens : {0, 1, 4096}) {
    double apart = 2 * QuantizedMoves{1024, 1, 0, 0}.predictQuantize(tokens);
    EXPECT_NEAR(apart - predictBothDirections(tokens, 1024), 1.9, 0.01);
  }
}
} // namespace
