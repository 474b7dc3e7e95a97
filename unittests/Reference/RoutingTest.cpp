//===- RoutingTest.cpp - Routing and movement of tokens ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Routing methods against formulas, and the orders that sorting promises.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include <cmath>

namespace nvfp4::reference::test {
namespace {

/// Routes one token; `clauses` may name the bias.
Outcome route(const std::string &method, std::vector<double> logits, int64_t k,
              const std::string &attributes = "",
              std::vector<double> bias = {}) {
  auto experts = static_cast<int64_t>(logits.size());
  std::string e = std::to_string(experts), n = std::to_string(k);
  std::string text =
      "func.func @f(%l: tensor<1x" + e +
      "xf32>, %b: tensor<?xf32>, %w: tensor<1x" + n + "xf32>, %i: tensor<1x" +
      n + "xi32>) -> (tensor<1x" + n + "xf32>, tensor<1x" + n + "xi32>) {\n" +
      "%r:2 = grouped_scaled_gemm.route " + method + " (%l : tensor<1x" + e +
      "xf32>)" + (bias.empty() ? "" : " bias(%b : tensor<?xf32>)") +
      " outs(%w, %i : tensor<1x" + n + "xf32>, tensor<1x" + n + "xi32>) " +
      attributes + " -> tensor<1x" + n + "xf32>, tensor<1x" + n + "xi32>\n" +
      "return %r#0, %r#1 : tensor<1x" + n + "xf32>, tensor<1x" + n + "xi32>\n}";
  auto biasSize = static_cast<int64_t>(bias.size());
  return run(text, {reals(Element::F32, {1, experts}, std::move(logits)),
                    reals(Element::F32, {biasSize}, std::move(bias)),
                    fresh(Element::F32, {1, k}), fresh(Element::I32, {1, k})});
}

void expectRoute(const Outcome &o, std::vector<int64_t> experts,
                 std::vector<double> weights) {
  ASSERT_EQ(o.error, "");
  for (size_t i = 0; i < experts.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    EXPECT_EQ(o.tensor(1).integer(at), experts[i]);
    // Inexact values stay in f64, here and there: fewer than 64 roundings, the
    // argument of exp counted as often as its magnitude, 3, says.
    EXPECT_NEAR(o.tensor(0).real(at).value, weights[i],
                64 * 0x1p-53 * weights[i]);
    // Bounds are those of f32, in 2^-24: 3 of the argument of exp, 16 of exp
    // and its sum, as much again of a sum over 4 experts, then quotients.
    EXPECT_LE(o.tensor(0).real(at).bound, 64 * 0x1p-24 * weights[i]);
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Route, Softmax) {
  double total = std::exp(1.0) + std::exp(2.0) + std::exp(-1.0) + std::exp(2.0);
  // The tie of experts 1 and 3 goes to 1.
  expectRoute(
      route("softmax_topk", {1, 2, -1, 2}, 3), {1, 3, 0},
      {std::exp(2.0) / total, std::exp(2.0) / total, std::exp(1.0) / total});
  expectRoute(route("topk_softmax", {1, 2, -1, 2}, 3), {1, 3, 0},
              {1 / (2 + std::exp(-1.0)), 1 / (2 + std::exp(-1.0)),
               std::exp(-1.0) / (2 + std::exp(-1.0))});
}

TEST(Route, RawAndSigmoid) {
  Outcome raw = route("topk", {0.5, -2, 3, 1}, 2);
  expectRoute(raw, {2, 3}, {3, 1});
  EXPECT_EQ(raw.tensor(0).real(0).bound, 0.0);
  for (const char *method : {"sigmoid_topk", "topk_sigmoid"})
    expectRoute(route(method, {0.5, -2, 3, 1}, 2), {2, 3},
                {sigmoid(3), sigmoid(1)});
  double sum = sigmoid(3) + sigmoid(1);
  expectRoute(route("sigmoid_renorm", {0.5, -2, 3, 1}, 2), {2, 3},
              {sigmoid(3) / sum, sigmoid(1) / sum});
  expectRoute(route("llama4", {0.5, -2, 3, 1}, 1), {2}, {sigmoid(3)});
  EXPECT_NE(route("llama4", {0.5, -2, 3, 1}, 2).error.find("top_k = 1"),
            std::string::npos);
}

TEST(Route, DeepSeekMasksWithMinusInfinity) {
  // Expert 3 has a negative biased score and must still beat the masked group,
  // whose members a mask of zero would let through.
  std::vector<double> bias = {2.5, 1.5, .5, -1.5, 0, -.1, -.2, -.3};
  Outcome o = route("deepseek_v3", std::vector<double>(8, 0.0), 4,
                    "{n_group = 2 : i64, topk_group = 1 : i64, "
                    "routed_scaling = 2.5 : f32}",
                    bias);
  expectRoute(o, {0, 1, 2, 3}, std::vector<double>(4, 0.25 * 2.5));
  Outcome error = route("deepseek_v3", std::vector<double>(8, 0.0), 5,
                        "{n_group = 2 : i64, topk_group = 1 : i64}", bias);
  EXPECT_NE(error.error.find("top_k <= 4"), std::string::npos) << error.error;
}

TEST(Route, WeightsAreUnbiased) {
  double sum = sigmoid(-1) + sigmoid(2);
  expectRoute(route("minimax2", {0, 2, -1, 1}, 2, "", {0, 0, 5, 0}), {2, 1},
              {sigmoid(-1) / sum, sigmoid(2) / sum});
}

Outcome sortTokens(std::vector<int64_t> experts, int64_t tokens, int64_t slots,
                   int64_t count, int64_t align, int64_t rows) {
  std::string tk = std::to_string(tokens) + "x" + std::to_string(slots);
  std::string e = std::to_string(count), r = std::to_string(rows);
  std::string types =
      "tensor<" + e + "xi32>, tensor<" + r + "xi32>, tensor<" + tk + "xi32>";
  std::string text =
      "func.func @f(%x: tensor<" + tk + "xi32>, %e: tensor<" + e +
      "xi32>, %t: tensor<" + r + "xi32>, %s: tensor<" + tk + "xi32>) -> (" +
      types + ") {\n%r:3 = grouped_scaled_gemm.sort_tokens(%x : tensor<" + tk +
      "xi32>) outs(%e, %t, %s : " + types +
      ") {align = " + std::to_string(align) + " : i64} -> " + types +
      "\nreturn %r#0, %r#1, %r#2 : " + types + "\n}";
  return run(text, {integers(Element::I32, {tokens, slots}, std::move(experts)),
                    fresh(Element::I32, {count}), fresh(Element::I32, {rows}),
                    fresh(Element::I32, {tokens, slots})});
}

void expectIntegers(const Tensor &tensor, std::vector<int64_t> expected) {
  ASSERT_EQ(tensor.numElements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(tensor.integer(static_cast<int64_t>(i)), expected[i]) << i;
}

TEST(SortTokens, StableWithUnusedSlots) {
  Outcome o = sortTokens({2, 0, 0, -1, 2, 0}, 3, 2, 4, 1, 6);
  ASSERT_EQ(o.error, "");
  expectIntegers(o.tensor(0), {3, 3, 5, 5});
  expectIntegers(o.tensor(1), {0, 1, 2, 0, 2, -1});
  expectIntegers(o.tensor(2), {3, 0, 1, -1, 4, 2});
}

TEST(SortTokens, AlignedGroups) {
  Outcome o = sortTokens({1, 0, 1}, 3, 1, 3, 4, 12);
  ASSERT_EQ(o.error, "");
  expectIntegers(o.tensor(0), {1, 6, 8});
  expectIntegers(o.tensor(1), {1, -1, -1, -1, 0, 2, -1, -1, -1, -1, -1, -1});
  expectIntegers(o.tensor(2), {4, 0, 5});
}

TEST(SortTokens, BoundOfTheWorkspace) {
  // (tokens, top_k, experts, tile): rows needed are T*k + E*(tile-1).
  for (auto [tokens, k, experts, tile] :
       std::vector<std::array<int64_t, 4>>{{4, 8, 32, 128},
                                           {5, 8, 32, 128},
                                           {20, 8, 32, 128},
                                           {19, 8, 32, 128},
                                           {1, 8, 32, 128}}) {
    std::vector<int64_t> chosen;
    for (int64_t i = 0; i < tokens * k; ++i)
      chosen.push_back(i * 7 % experts);
    int64_t rows = tokens * k + experts * (tile - 1);
    Outcome o = sortTokens(chosen, tokens, k, experts, tile, rows);
    ASSERT_EQ(o.error, "");
    int64_t used = 0;
    for (int64_t r = 0; r < rows; ++r)
      used += o.tensor(1).integer(r) >= 0;
    EXPECT_EQ(used, tokens * k);
    EXPECT_NE(sortTokens(chosen, tokens, k, experts, tile, rows - 1)
                  .error.find("token_of_row to hold at least"),
              std::string::npos);
  }
}

TEST(SortTokens, ExpertsAreChecked) {
  EXPECT_NE(sortTokens({0, 3}, 2, 1, 3, 1, 2)
                .error.find("experts in [-1, 3), but got 3 for token 1"),
            std::string::npos);
}

TEST(Combine, AscendingSlotsFused) {
  // fma(2^-30, 1, 1) rounds to 1, so the order of slots shows in the last bits.
  Outcome o = run(R"(
    func.func @f(%y: tensor<3x1xf32>, %r: tensor<2x3xi32>, %w: tensor<2x3xf32>,
                 %o: tensor<2x1xf32>) -> tensor<2x1xf32> {
      %c = grouped_scaled_gemm.combine(%y : tensor<3x1xf32>)
          by(%r : tensor<2x3xi32>) weights(%w : tensor<2x3xf32>)
          outs(%o : tensor<2x1xf32>) -> tensor<2x1xf32>
      return %c : tensor<2x1xf32>
    })",
                  {reals(Element::F32, {3, 1}, {1, 0x1p-24, 0x1p-24}),
                   integers(Element::I32, {2, 3}, {0, 1, 2, 1, 2, 0}),
                   reals(Element::F32, {2, 3}, {1, 1, 1, 1, 1, 1}),
                   fresh(Element::F32, {2, 1})});
  ASSERT_EQ(o.error, "");
  EXPECT_EQ(o.tensor().real(0).value, 1.0);
  EXPECT_EQ(o.tensor().real(1).value, 1.0 + 0x1p-23);
}

TEST(Permute, GathersAndZeroes) {
  Outcome o = run(R"(
    func.func @f(%x: tensor<2x2xbf16>, %t: tensor<3xi32>, %o: tensor<3x2xbf16>)
        -> tensor<3x2xbf16> {
      %p = grouped_scaled_gemm.permute(%x : tensor<2x2xbf16>)
          by(%t : tensor<3xi32>) outs(%o : tensor<3x2xbf16>) -> tensor<3x2xbf16>
      return %p : tensor<3x2xbf16>
    })",
                  {reals(Element::BF16, {2, 2}, {1, 2, 3, 4}),
                   integers(Element::I32, {3}, {1, -1, 0}),
                   fresh(Element::BF16, {3, 2})});
  ASSERT_EQ(o.error, "");
  const double expected[] = {3, 4, 0, 0, 1, 2};
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(o.tensor().real(i).value, expected[i]);
}

} // namespace
} // namespace nvfp4::reference::test
