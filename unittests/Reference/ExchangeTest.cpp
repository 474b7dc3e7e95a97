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

#include <algorithm>

namespace nvfp4::reference::test {
namespace {

constexpr int64_t kExperts = 9, kSlots = 3, kColumns = 8;

std::string count(int64_t n) { return std::to_string(n); }

/// A layer on `ranks` ranks with the attributes `{...}`, whose body quantises
/// rows to a format and multiplies them by the matrices of their experts.
std::string layer(int64_t ranks, const std::string &attributes,
                  const std::string &format, const std::string &quantizer) {
  std::string tokens = "tensor<" + count(ranks) + "xi32>";
  std::string weights = "tensor<9x8x64xf32>";
  return "!a = !grouped_scaled_gemm.scaled<?x64, " + format +
         ">\n!w = !grouped_scaled_gemm.scaled<9x8x64, " + format +
         ">\nfunc.func @f(%x: tensor<?x64xf32>, %e: tensor<?x3xi32>, "
         "%g: tensor<?x3xf32>, %t: " +
         tokens + ", %m: " + weights +
         ") -> tensor<?x8xf32> {\n%w = grouped_scaled_gemm.quantize " +
         quantizer + "(%m : " + weights +
         ") -> !w\n"
         "%o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) "
         "to(%e : tensor<?x3xi32>) weights(%g : tensor<?x3xf32>) tokens(%t : " +
         tokens + ")" +
         (attributes.empty() ? "" : " attributes " + attributes) +
         " {\n^bb0(%r: tensor<?x64xf32>, %ends: tensor<9xi32>):\n"
         "%c0 = arith.constant 0 : index\n"
         "%n = tensor.dim %r, %c0 : tensor<?x64xf32>\n"
         "%q = grouped_scaled_gemm.quantize " +
         quantizer +
         "(%r : tensor<?x64xf32>) -> !a\n"
         "%i = tensor.empty(%n) : tensor<?x8xf32>\n"
         "%y = grouped_scaled_gemm.matmul <ragged_rows, ends> "
         "groups(%ends : tensor<9xi32>) lhs(%q : !a) rhs(%w : !w) "
         "outs(%i : tensor<?x8xf32>) -> tensor<?x8xf32>\n"
         "grouped_scaled_gemm.yield_rows %y : tensor<?x8xf32>\n"
         "} -> tensor<?x8xf32>\nreturn %o : tensor<?x8xf32>\n}";
}

enum class Routing { Uniform, OneExpert, NoExpert };

/// Arguments of a layer but the ends of tokens.
struct Tokens {
  int64_t size;
  std::vector<double> x, factors, weights;
  std::vector<int64_t> experts;

  Tokens(int64_t size, Routing routing) : size(size) {
    std::mt19937 random(3);
    auto draw = [&](int64_t many) {
      std::vector<double> numbers;
      for (int64_t i = 0; i < many; ++i)
        numbers.push_back(static_cast<double>(random() % 97) / 16 - 3);
      return numbers;
    };
    x = draw(size * 64);
    weights = draw(kExperts * kColumns * 64);
    for (int64_t i = 0; i < size * kSlots; ++i) {
      // Some slots are not used.
      int64_t any = static_cast<int64_t>(random() % (kExperts + 1)) - 1;
      experts.push_back(routing == Routing::Uniform     ? any
                        : routing == Routing::OneExpert ? 3
                                                        : -1);
      factors.push_back(static_cast<float>(1.0 + random() % 1000 / 3.0));
    }
  }

  Outcome run(const std::vector<int64_t> &ends, const std::string &attributes,
              const std::string &format, const std::string &quantizer) const {
    auto ranks = static_cast<int64_t>(ends.size());
    return test::run(layer(ranks, attributes, format, quantizer),
                     {reals(Element::F32, {size, 64}, x),
                      integers(Element::I32, {size, kSlots}, experts),
                      reals(Element::F32, {size, kSlots}, factors),
                      integers(Element::I32, {ranks}, ends),
                      reals(Element::F32, {kExperts, kColumns, 64}, weights)});
  }
};

/// Ends of `size` tokens on R ranks: even, all on the last or first one, and
/// one on each but the last.
std::vector<std::vector<int64_t>> shares(int64_t size, int64_t ranks) {
  std::vector<std::vector<int64_t>> found(4);
  for (int64_t rank = 1; rank <= ranks; ++rank) {
    bool isLast = rank == ranks;
    found[0].push_back(size * rank / ranks);
    found[1].push_back(isLast ? size : 0);
    found[2].push_back(size);
    found[3].push_back(isLast ? size : std::min(rank, size));
  }
  return found;
}

TEST(Exchange, OneResultForAllRanks) {
  const std::pair<const char *, const char *> formats[] = {
      {"nvfp4", "<trtllm>"}, {"mxfp4", "<ocp>"}, {"mxfp8_e4m3", "<ue8m0_up>"}};
  // Experts of each rank in no order, with copies.
  const char *tables[] = {
      "", "{table = [[1], [0], [0, 1], [1, 0], [0], [1], [1], [0], [1]]}",
      "{table = [[3], [2, 0], [1], [0, 1, 2], [2], [0], [3], [3], [1, 3]]}"};
  for (auto [format, quantizer] : formats)
    for (Routing routing :
         {Routing::Uniform, Routing::OneExpert, Routing::NoExpert})
      for (int64_t size : {0, 1, 23}) {
        Tokens tokens(size, routing);
        Outcome one = tokens.run({size}, "", format, quantizer);
        ASSERT_EQ(one.error, "");
        bool hasValues = false;
        for (double value : one.tensor().reals())
          hasValues |= value != 0;
        if (size != 1) {
          EXPECT_EQ(hasValues, size > 0 && routing != Routing::NoExpert);
        }
        for (int64_t ranks : {2, 4, 8})
          for (const std::vector<int64_t> &ends : shares(size, ranks))
            for (int64_t table = 0; table <= (ranks < 8 ? 1 : 0); ++table) {
              Outcome many = tokens.run(ends,
                                        tables[table == 0   ? 0
                                               : ranks == 2 ? 1
                                                            : 2],
                                        format, quantizer);
              ASSERT_EQ(many.error, "");
              EXPECT_EQ(many.tensor().reals(), one.tensor().reals())
                  << format << " " << ranks << " ranks";
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
