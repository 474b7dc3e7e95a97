//===- ExchangeTest.cpp - Experts on several ranks --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Virtual ranks: rows and places by hand, sums in both orders, and one result
// for every number of ranks, placement and share of the tokens.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include <numeric>

namespace nvfp4::reference::test {
namespace {

constexpr int64_t kExperts = 5, kSlots = 3, kTokens = 23, kColumns = 8;

std::string count(int64_t n) { return std::to_string(n); }

/// A layer on `ranks` ranks, whose body multiplies rows by the matrices of
/// their experts, with the attributes `{...}`.
std::string layer(int64_t ranks, const std::string &attributes) {
  std::string tokens = "tensor<" + count(ranks) + "xi32>";
  return "!a = !grouped_scaled_gemm.scaled<?x32, nvfp4>\n"
         "!w = !grouped_scaled_gemm.scaled<5x8x32, nvfp4>\n"
         "func.func @f(%x: tensor<?x32xf32>, %e: tensor<?x3xi32>, "
         "%g: tensor<?x3xf32>, %t: " +
         tokens +
         ", %w: !w) -> tensor<?x8xf32> {\n"
         "%o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x32xf32>) "
         "to(%e : tensor<?x3xi32>) weights(%g : tensor<?x3xf32>) tokens(%t : " +
         tokens + ")" +
         (attributes.empty() ? "" : " attributes " + attributes) +
         " {\n^bb0(%r: tensor<?x32xf32>, %ends: tensor<5xi32>):\n"
         "%c0 = arith.constant 0 : index\n"
         "%n = tensor.dim %r, %c0 : tensor<?x32xf32>\n"
         "%q = grouped_scaled_gemm.quantize <trtllm>(%r : tensor<?x32xf32>) "
         "-> !a\n"
         "%i = tensor.empty(%n) : tensor<?x8xf32>\n"
         "%y = grouped_scaled_gemm.matmul <ragged_rows, ends> "
         "groups(%ends : tensor<5xi32>) lhs(%q : !a) rhs(%w : !w) "
         "outs(%i : tensor<?x8xf32>) -> tensor<?x8xf32>\n"
         "grouped_scaled_gemm.yield_rows %y : tensor<?x8xf32>\n"
         "} -> tensor<?x8xf32>\nreturn %o : tensor<?x8xf32>\n}";
}

/// Arguments of a layer but the ends of tokens.
struct Tokens {
  std::vector<double> x, factors;
  std::vector<int64_t> experts;

  explicit Tokens(bool isSkewed) {
    std::mt19937 random(3);
    for (int64_t i = 0; i < kTokens * 32; ++i)
      x.push_back(static_cast<double>(random() % 97) / 16 - 3);
    for (int64_t i = 0; i < kTokens * kSlots; ++i) {
      // Some slots are not used.
      experts.push_back(isSkewed ? 3 : static_cast<int64_t>(random() % 6) - 1);
      factors.push_back(static_cast<float>(1.0 + random() % 1000 / 3.0));
    }
  }

  Outcome run(const std::vector<int64_t> &ends,
              const std::string &attributes = "") const {
    auto ranks = static_cast<int64_t>(ends.size());
    Lattice weights(kExperts, kColumns, 32, 5);
    return test::run(layer(ranks, attributes),
                     join({{reals(Element::F32, {kTokens, 32}, x),
                            integers(Element::I32, {kTokens, kSlots}, experts),
                            reals(Element::F32, {kTokens, kSlots}, factors),
                            integers(Element::I32, {ranks}, ends)},
                           weights.values(true)}));
  }
};

TEST(Exchange, OneResultForAllRanks) {
  for (bool isSkewed : {false, true}) {
    Tokens tokens(isSkewed);
    Outcome one = tokens.run({kTokens});
    ASSERT_EQ(one.error, "");
    bool hasValues = false;
    for (double value : one.tensor().reals())
      hasValues |= value != 0;
    EXPECT_TRUE(hasValues);
    const std::vector<std::pair<std::vector<int64_t>, std::string>> cases = {
        {{11, kTokens}, ""},
        {{0, kTokens}, "{table = [[1], [0], [0, 1], [1, 0], [0]]}"},
        {{kTokens, kTokens}, "{capacity = 23 : i64}"},
        {{0, 1, 22, kTokens}, ""},
        {{6, 12, 18, kTokens}, "{table = [[3], [2, 0], [1], [0, 1, 2], [2]]}"},
        {{4, 4, 9, 20, kTokens}, ""}};
    for (const auto &[ends, attributes] : cases) {
      Outcome many = tokens.run(ends, attributes);
      ASSERT_EQ(many.error, "");
      EXPECT_EQ(many.tensor().reals(), one.tensor().reals()) << attributes;
    }
  }
}

TEST(Exchange, RowsInTheOrderOfExperts) {
  Outcome o =
      run("func.func @f(%x: tensor<3x1xf32>, %e: tensor<3x2xi32>, %t: "
          "tensor<2xi32>)"
          " -> (tensor<6x1xf32>, tensor<3xi32>, tensor<3x2xi32>) {\n"
          "%r:3 = grouped_scaled_gemm.exchange_rows(%x : tensor<3x1xf32>) "
          "to(%e : tensor<3x2xi32>) tokens(%t : tensor<2xi32>) "
          "{table = [[0, 1], [1], [0]]} -> tensor<6x1xf32>, tensor<3xi32>, "
          "tensor<3x2xi32>\nreturn %r#0, %r#1, %r#2 : tensor<6x1xf32>, "
          "tensor<3xi32>, tensor<3x2xi32>\n}",
          {reals(Element::F32, {3, 1}, {10, 20, 30}),
           integers(Element::I32, {3, 2}, {2, 0, -1, 0, 0, 1}),
           integers(Element::I32, {2}, {1, 3})});
  ASSERT_EQ(o.error, "");
  const double rows[] = {10, 20, 30, 30, 10, 0};
  const int64_t ends[] = {3, 4, 5}, places[] = {4, 0, -1, 1, 2, 3};
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(o.tensor(0).real(i).value, rows[i]);
    EXPECT_EQ(o.tensor(2).integer(i), places[i]);
  }
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(o.tensor(1).integer(i), ends[i]);
}

/// 2^24 + 1 + 1 of one token, whose sum tells the order: the ranks of the
/// experts 0, 1 and 2 are those of `table`.
double sumOnes(const std::string &attributes) {
  Outcome o =
      run("func.func @f(%x: tensor<1x1xf32>, %e: tensor<1x3xi32>, "
          "%w: tensor<1x3xf32>, %t: tensor<2xi32>) -> tensor<1x1xf32> {\n"
          "%o = grouped_scaled_gemm.expert_parallel(%x : tensor<1x1xf32>) "
          "to(%e : tensor<1x3xi32>) weights(%w : tensor<1x3xf32>) "
          "tokens(%t : tensor<2xi32>) attributes {" +
              attributes +
              "} {\n^bb0(%r: tensor<?x1xf32>, %ends: tensor<3xi32>):\n"
              "grouped_scaled_gemm.yield_rows %r : tensor<?x1xf32>\n"
              "} -> tensor<1x1xf32>\nreturn %o : tensor<1x1xf32>\n}",
          {reals(Element::F32, {1, 1}, {1}),
           integers(Element::I32, {1, 3}, {0, 1, 2}),
           reals(Element::F32, {1, 3}, {0x1p24, 1, 1}),
           integers(Element::I32, {2}, {1, 1})});
  EXPECT_EQ(o.error, "");
  return o.error.empty() ? o.tensor().real(0).value : 0;
}

TEST(Exchange, SumsBySlotOrByRank) {
  EXPECT_EQ(sumOnes("table = [[0], [1], [1]]"), 0x1p24);
  EXPECT_EQ(sumOnes("rank_grouped, table = [[0], [1], [1]]"), 0x1p24 + 2);
  EXPECT_EQ(sumOnes("rank_grouped, table = [[0], [1], [0]]"), 0x1p24);
  // A copy on the rank of the token is taken, else the one whose turn it is.
  EXPECT_EQ(sumOnes("rank_grouped, table = [[0], [1, 0], [1]]"), 0x1p24);
  EXPECT_EQ(sumOnes("rank_grouped, table = [[1], [0, 1], [0, 1]]"), 0x1p24 + 2);
}

} // namespace
} // namespace nvfp4::reference::test
