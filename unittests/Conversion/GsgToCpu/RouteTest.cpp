//===- RouteTest.cpp - choice of experts ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The methods against formulas in double and a sort. Logits come from a
// lattice whose biased scores differ by far more than rounding, so the chosen
// experts are exact; weights agree within a few ulp.
//
//===----------------------------------------------------------------------===//

#include "OpJit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace nvfp4::gsg::cpu;

namespace {

struct RouteCase {
  std::string method;
  int64_t experts, topK;
  bool biased = false;
  int64_t groups = 1, keep = 1;
  float scaling = 1.0f;
};

OpJit compile(const RouteCase &c, bool baseline = false,
              const std::string &element = "f32") {
  std::string logits = "memref<?x?x" + element + ">";
  return OpJit("%l: " + logits +
                   ", %b: memref<?xf32>, %w: memref<?x?xf32>, "
                   "%e: memref<?x?xi32>",
               "grouped_scaled_gemm.route " + c.method + " (%l : " + logits +
                   ")" + (c.biased ? " bias(%b : memref<?xf32>)" : "") +
                   " outs(%w, %e : memref<?x?xf32>, memref<?x?xi32>) "
                   "{n_group = " +
                   std::to_string(c.groups) +
                   " : i64, topk_group = " + std::to_string(c.keep) +
                   " : i64, routed_scaling = " + std::to_string(c.scaling) +
                   " : f32}",
               baseline);
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// Indices by decreasing score, lower index first, NaN last.
std::vector<size_t> ordered(const std::vector<double> &scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    bool nanA = std::isnan(scores[a]), nanB = std::isnan(scores[b]);
    if (nanA != nanB)
      return nanB;
    return !nanA && scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  return order;
}

struct Choice {
  std::vector<size_t> experts;
  std::vector<double> weights;
};

Choice choose(const RouteCase &c, const std::vector<double> &logits,
              const std::vector<double> &bias) {
  bool biased = c.method == "deepseek_v3" || c.method == "minimax2";
  std::vector<double> scores = logits;
  if (biased)
    for (size_t e = 0; e < logits.size(); ++e)
      scores[e] = sigmoid(logits[e]) + (c.biased ? bias[e] : 0.0);
  if (c.groups > 1) {
    size_t size = logits.size() / static_cast<size_t>(c.groups);
    std::vector<double> sums;
    for (size_t g = 0; g < static_cast<size_t>(c.groups); ++g) {
      std::vector<double> part(scores.begin() + static_cast<long>(g * size),
                               scores.begin() +
                                   static_cast<long>((g + 1) * size));
      std::sort(part.rbegin(), part.rend());
      sums.push_back(part[0] + (size > 1 ? part[1] : 0.0));
    }
    std::vector<size_t> best = ordered(sums);
    for (size_t g = static_cast<size_t>(c.keep); g < best.size(); ++g)
      for (size_t i = 0; i < size; ++i)
        scores[best[g] * size + i] = -INFINITY;
  }
  Choice choice;
  choice.experts = ordered(scores);
  choice.experts.resize(static_cast<size_t>(c.topK));
  double sum = 0;
  auto add = [&](auto function) {
    for (size_t e : choice.experts) {
      choice.weights.push_back(function(logits[e]));
      sum += choice.weights.back();
    }
  };
  if (c.method == "softmax_topk") {
    add([](double x) { return std::exp(x); });
    sum = 0;
    for (double x : logits)
      sum += std::exp(x);
  } else if (c.method == "topk_softmax") {
    add([](double x) { return std::exp(x); });
  } else if (c.method == "topk") {
    add([](double x) { return x; });
    sum = 1;
  } else {
    add(sigmoid);
    if (c.method != "sigmoid_renorm" && !biased)
      sum = 1;
  }
  for (double &w : choice.weights)
    w = w / sum * (c.method == "deepseek_v3" ? c.scaling : 1.0);
  return choice;
}

class RouteTest : public testing::TestWithParam<RouteCase> {};

TEST_P(RouteTest, AgreesWithFormulas) {
  const RouteCase &c = GetParam();
  constexpr int64_t tokens = 33;
  std::mt19937 random(5);
  Memory<float> logits({tokens, c.experts}), bias({c.experts});
  for (int64_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(static_cast<int>(random() % 97) - 48) / 16;
  // With biases, multiples of 4 exceed every difference of sigmoids.
  for (int64_t e = 0; e < c.experts; ++e)
    bias[e] = static_cast<float>(e * 37 % c.experts) * 4 -
              static_cast<float>(2 * c.experts);
  for (bool baseline : {false, true}) {
    OpJit jit = compile(c, baseline);
    ASSERT_TRUE(jit.succeeded());
    Memory<float> weights({tokens, c.topK});
    Memory<int32_t> experts({tokens, c.topK});
    jit({logits, bias, weights, experts});
    for (int64_t t = 0; t < tokens; ++t) {
      std::vector<double> row(logits.data() + t * c.experts,
                              logits.data() + (t + 1) * c.experts);
      Choice want = choose(c, row, {bias.data(), bias.data() + c.experts});
      for (int64_t s = 0; s < c.topK; ++s) {
        auto slot = static_cast<size_t>(s);
        ASSERT_EQ(experts[t * c.topK + s],
                  static_cast<int32_t>(want.experts[slot]))
            << "token " << t << " slot " << s;
        double weight = want.weights[slot];
        // Distance to the maximum and the sum: each addition rounds once.
        double tolerance =
            std::fabs(weight) * (static_cast<double>(c.experts) + 16) * 0x1p-24;
        ASSERT_NEAR(weights[t * c.topK + s], weight, tolerance);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Methods, RouteTest,
    testing::Values(RouteCase{"softmax_topk", 40, 4},
                    RouteCase{"topk_softmax", 128, 4},
                    RouteCase{"topk", 16, 16}, RouteCase{"sigmoid_topk", 7, 2},
                    RouteCase{"topk_sigmoid", 64, 6},
                    RouteCase{"sigmoid_renorm", 64, 6},
                    RouteCase{"llama4", 16, 1},
                    RouteCase{"deepseek_v3", 256, 8, true, 8, 4, 2.5f},
                    RouteCase{"deepseek_v3", 32, 3, false, 1, 1, 1.0f},
                    RouteCase{"deepseek_v3", 4, 2, true, 4, 2, 1.0f},
                    RouteCase{"minimax2", 33, 8, true}),
    [](const auto &info) {
      return info.param.method + "_" + std::to_string(info.param.experts);
    });

/// Negative biased scores of the open group beat the closed group, which is
/// -infinity and not zero.
TEST(Route, ClosedGroupsAreMinusInfinity) {
  OpJit jit = compile({"deepseek_v3", 8, 4, true, 2, 1, 1.0f});
  ASSERT_TRUE(jit.succeeded());
  Memory<float> logits({1, 8}, std::vector<float>(8, 0.0f));
  Memory<float> bias({8}, {2.5f, 1.5f, 0.5f, -1.5f, 0.0f, -0.1f, -0.2f, -0.3f});
  Memory<float> weights({1, 4});
  Memory<int32_t> experts({1, 4});
  jit({logits, bias, weights, experts});
  EXPECT_EQ(experts.values(), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(weights.values(), std::vector<float>(4, 0.25f));
}

TEST(Route, TiesAndNaN) {
  OpJit jit = compile({"topk", 20, 6});
  ASSERT_TRUE(jit.succeeded());
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> row(20, nan);
  row[3] = -INFINITY;
  row[5] = 1.0f;
  row[11] = 1.0f;
  row[17] = -0.0f;
  row[18] = 0.0f;
  Memory<float> logits({1, 20}, row), bias({20});
  Memory<float> weights({1, 6});
  Memory<int32_t> experts({1, 6});
  jit({logits, bias, weights, experts});
  EXPECT_EQ(experts.values(), (std::vector<int32_t>{5, 11, 17, 18, 3, 0}));
}

TEST(Route, ReadsNarrowLogits) {
  OpJit jit = compile({"topk", 3, 2}, false, "bf16");
  ASSERT_TRUE(jit.succeeded());
  Memory<uint16_t> logits({1, 3}, {0x3F80, 0xBF80, 0x4000});
  Memory<float> bias({3}), weights({1, 2});
  Memory<int32_t> experts({1, 2});
  jit({logits, bias, weights, experts});
  EXPECT_EQ(experts.values(), (std::vector<int32_t>{2, 0}));
  EXPECT_EQ(weights.values(), (std::vector<float>{2.0f, 1.0f}));
}

TEST(Route, NoTokens) {
  OpJit jit = compile({"softmax_topk", 8, 2});
  ASSERT_TRUE(jit.succeeded());
  Memory<float> logits({0, 8}), bias({8}), weights({0, 2});
  Memory<int32_t> experts({0, 2});
  jit({logits, bias, weights, experts});
}
} // namespace
