//===- MatmulTest.cpp - Groupings of the product ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every form of grouping against loops written here, on inputs whose sums are
// exact, so that the expected numbers and bounds of zero are certain.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include <cmath>

namespace nvfp4::reference::test {
namespace {

/// sum over k in [begin, end) of a[m, k] * b[n, k].
double dot(const Lattice &a, int64_t la, int64_t m, const Lattice &b,
           int64_t lb, int64_t n, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t k = begin; k < end; ++k)
    sum += a.at(la, m, k) * b.at(lb, n, k);
  return sum;
}

void expectExact(Real actual, double expected) {
  EXPECT_EQ(actual.value, expected);
  EXPECT_EQ(actual.bound, 0.0);
}

const char *kDense = R"(
  !t = !grouped_scaled_gemm.scaled<?x?, nvfp4>
  func.func @f(%a: !t, %b: !t, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !t) rhs(%b : !t)
        outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
    return %d : tensor<?x?xf32>
  })";

TEST(Matmul, Dense) {
  for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {3, 5, 64}, {1, 1, 16}, {17, 9, 160}, {4, 33, 18}, {2, 3, 0}}) {
    Lattice a(1, m, k, 1), b(1, n, k, 2);
    Outcome o = run(
        kDense, join({a.values(), b.values(), {fresh(Element::F32, {m, n})}}));
    ASSERT_EQ(o.error, "");
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        expectExact(o.tensor().real(i * n + j), dot(a, 0, i, b, 0, j, 0, k));
  }
}

TEST(Matmul, BoundsOfInexactSums) {
  // Scales 2^-9 and 448 in one row: f32 sums must round.
  Lattice a(1, 2, 4096, 3), b(1, 3, 4096, 4);
  for (size_t i = 0; i < a.scales.size(); ++i)
    a.scales[i] = i % 2 ? 0x01 : 0x7e;
  Outcome o = run(
      kDense, join({a.values(), b.values(), {fresh(Element::F32, {2, 3})}}));
  ASSERT_EQ(o.error, "");
  Real r = o.tensor().real(0);
  EXPECT_GT(r.bound, 0.0);
  // Of block-wise sums: a rounding to f32 for each of 256 blocks, and a few.
  // Lattice::at takes the scales of `a` above for 1.
  double magnitude = 0;
  for (int64_t k = 0; k < 4096; ++k)
    magnitude += std::fabs(a.at(0, 0, k) * b.at(0, 0, k)) *
                 (k / 16 % 2 ? 0x1p-9 : 448.0);
  EXPECT_LE(r.bound, (256 + 8) * 0x1p-24 * magnitude);
  // A result one bound away passes, four bounds away does not.
  for (auto [factor, passes] : {std::pair{0.9, true}, {4.0, false}}) {
    Tensor moved = o.tensor();
    moved.setReal(0, {r.value + factor * r.bound, 0.0});
    EXPECT_EQ(compare(moved, o.tensor()).passed, passes);
  }
}

TEST(Matmul, NaNScalePoisonsItsRowOnly) {
  Lattice a(1, 3, 32, 5), b(1, 4, 32, 6);
  a.scales[2] = 0x7f; // Row 1, block 0.
  Outcome o = run(
      kDense, join({a.values(), b.values(), {fresh(Element::F32, {3, 4})}}));
  ASSERT_EQ(o.error, "");
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(std::isnan(o.tensor().real(i).value), i / 4 == 1);
}

TEST(Matmul, NegativeScaleIsAnError) {
  Lattice a(1, 3, 32, 5), b(1, 4, 32, 6);
  b.scales[3] = 0x80;
  Outcome o = run(
      kDense, join({a.values(), b.values(), {fresh(Element::F32, {3, 4})}}));
  EXPECT_NE(
      o.error.find("sign bit clear, but got byte 128 for line 1, block 1"),
      std::string::npos)
      << o.error;
}

TEST(Matmul, Batched) {
  Lattice a(3, 2, 48, 7), b(3, 5, 48, 8);
  Outcome o = run(R"(
    !a = !grouped_scaled_gemm.scaled<3x2x48, nvfp4>
    !b = !grouped_scaled_gemm.scaled<3x5x48, nvfp4>
    func.func @f(%a: !a, %b: !b, %alpha: tensor<3xf32>, %c: tensor<3x2x5xbf16>)
        -> tensor<3x2x5xbf16> {
      %d = grouped_scaled_gemm.matmul <batched> lhs(%a : !a) rhs(%b : !b)
          alpha(%alpha : tensor<3xf32>)
          outs(%c : tensor<3x2x5xbf16>) -> tensor<3x2x5xbf16>
      return %d : tensor<3x2x5xbf16>
    })",
                  join({a.values(true),
                        b.values(true),
                        {reals(Element::F32, {3}, {1, -0.5, 0}),
                         fresh(Element::BF16, {3, 2, 5})}}));
  ASSERT_EQ(o.error, "");
  const double alpha[] = {1, -0.5, 0};
  for (int64_t l = 0; l < 3; ++l)
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 5; ++j)
        expectExact(
            o.tensor().real((l * 2 + i) * 5 + j),
            roundTo(Element::BF16, alpha[l] * dot(a, l, i, b, l, j, 0, 48)));
}

std::string ragged(const std::string &grouping, const std::string &tail) {
  return R"(
    !a = !grouped_scaled_gemm.scaled<?x32, nvfp4>
    !b = !grouped_scaled_gemm.scaled<3x4x32, nvfp4>
    func.func @f(%a: !a, %b: !b, %g: tensor<?xi32>, %alpha: f32,
                 %c: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %d = grouped_scaled_gemm.matmul )" +
         grouping + R"( groups(%g : tensor<?xi32>)
          lhs(%a : !a) rhs(%b : !b) alpha(%alpha : f32)
          outs(%c : tensor<?x4xf32>) )" +
         tail + R"( -> tensor<?x4xf32>
      return %d : tensor<?x4xf32>
    })";
}

/// Runs ragged rows and checks each row against the group that `groupOf` says,
/// -1 for rows that must keep the destination.
void checkRagged(const std::string &grouping, const std::string &tail,
                 std::vector<int64_t> offsets, std::vector<int> groupOf) {
  auto rows = static_cast<int64_t>(groupOf.size());
  Lattice a(1, rows, 32, 11), b(3, 4, 32, 12);
  auto count = static_cast<int64_t>(offsets.size());
  Outcome o = run(ragged(grouping, tail),
                  join({a.values(),
                        b.values(true),
                        {integers(Element::I32, {count}, offsets), f32(0.5),
                         fresh(Element::F32, {rows, 4})}}));
  ASSERT_EQ(o.error, "") << grouping;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t n = 0; n < 4; ++n) {
      Real actual = o.tensor().real(r * 4 + n);
      int g = groupOf[static_cast<size_t>(r)];
      if (g >= 0)
        expectExact(actual, 0.5 * dot(a, 0, r, b, g, n, 0, 32));
      else if (tail.empty())
        EXPECT_TRUE(std::isnan(actual.value) && std::isinf(actual.bound));
      else
        expectExact(actual, 0.0);
    }
}

TEST(Matmul, RaggedRows) {
  checkRagged("<ragged_rows, ends>", "", {2, 2, 5}, {0, 0, 2, 2, 2});
  checkRagged("<ragged_rows, ends>", "", {0, 0, 0}, {-1, -1});
  checkRagged("<ragged_rows, ends>", "", {0, 0, 0}, {});
  checkRagged("<ragged_rows, ends>", "{tail = #grouped_scaled_gemm<tail zero>}",
              {1, 3, 3}, {0, 1, 1, -1, -1});
  checkRagged("<ragged_rows, starts>", "", {1, 2, 2, 4}, {-1, 0, 2, 2, -1});
  // Aligned: group 1 starts at 4; an empty group may repeat the end or not.
  checkRagged("<ragged_rows, ends, align = 4>", "", {3, 6, 9},
              {0, 0, 0, -1, 1, 1, -1, -1, 2});
  checkRagged("<ragged_rows, ends, align = 4>", "", {3, 3, 5},
              {0, 0, 0, -1, 2});
  checkRagged("<ragged_rows, ends, align = 4>", "", {3, 4, 5},
              {0, 0, 0, -1, 2});
}

TEST(Matmul, RaggedOffsetsAreChecked) {
  auto errorOf = [](const std::string &grouping, std::vector<int64_t> offsets) {
    Lattice a(1, 5, 32, 11), b(3, 4, 32, 12);
    auto count = static_cast<int64_t>(offsets.size());
    return run(ragged(grouping, ""),
               join({a.values(),
                     b.values(true),
                     {integers(Element::I32, {count}, offsets), f32(1),
                      fresh(Element::F32, {5, 4})}}))
        .error;
  };
  EXPECT_NE(errorOf("<ragged_rows, ends>", {3, 2, 5})
                .find("expected group ends[1] to be at least 3, the end of the "
                      "group before, but got 2"),
            std::string::npos);
  EXPECT_NE(errorOf("<ragged_rows, ends>", {3, 4, 6}).find("at most 5"),
            std::string::npos);
  EXPECT_NE(errorOf("<ragged_rows, ends>", {3, 4}).find("groups, but got 3"),
            std::string::npos);
  EXPECT_NE(errorOf("<ragged_rows, starts, align = 2>", {0, 3, 4, 5})
                .find("multiple of 2, but got 3"),
            std::string::npos);
}

TEST(Matmul, Masked) {
  Lattice a(3, 4, 32, 13), b(3, 5, 32, 14);
  Outcome o = run(
      R"(
    !a = !grouped_scaled_gemm.scaled<3x4x32, nvfp4>
    !b = !grouped_scaled_gemm.scaled<3x5x32, nvfp4>
    func.func @f(%a: !a, %b: !b, %g: tensor<3xi64>, %c: tensor<3x4x5xf16>)
        -> tensor<3x4x5xf16> {
      %d = grouped_scaled_gemm.matmul <masked> groups(%g : tensor<3xi64>)
          lhs(%a : !a) rhs(%b : !b)
          outs(%c : tensor<3x4x5xf16>) -> tensor<3x4x5xf16>
      return %d : tensor<3x4x5xf16>
    })",
      join({a.values(true),
            b.values(true),
            {integers(Element::I64, {3}, {4, 0, 2}),
             reals(Element::F16, {3, 4, 5}, std::vector<double>(60, 13.0))}}));
  ASSERT_EQ(o.error, "");
  const int64_t counts[] = {4, 0, 2};
  for (int64_t g = 0; g < 3; ++g)
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 5; ++j)
        expectExact(o.tensor().real((g * 4 + i) * 5 + j),
                    i < counts[g]
                        ? roundTo(Element::F16, dot(a, g, i, b, g, j, 0, 32))
                        : 13.0);
}

TEST(Matmul, RaggedKAccumulates) {
  // Group 1 is empty: with beta 1 its matrix stays as it was.
  Lattice a(1, 2, 80, 15), b(1, 3, 80, 16);
  std::vector<double> old(18);
  for (size_t i = 0; i < old.size(); ++i)
    old[i] = static_cast<double>(i);
  Outcome o = run(R"(
    !a = !grouped_scaled_gemm.scaled<2x80, nvfp4>
    !b = !grouped_scaled_gemm.scaled<3x80, nvfp4>
    func.func @f(%a: !a, %b: !b, %g: tensor<3xi32>, %beta: f32,
                 %c: tensor<3x2x3xf32>) -> tensor<3x2x3xf32> {
      %d = grouped_scaled_gemm.matmul <ragged_k, ends, align = 16>
          groups(%g : tensor<3xi32>) lhs(%a : !a) rhs(%b : !b)
          beta(%beta : f32)
          outs(%c : tensor<3x2x3xf32>) -> tensor<3x2x3xf32>
      return %d : tensor<3x2x3xf32>
    })",
                  join({a.values(),
                        b.values(),
                        {integers(Element::I32, {3}, {32, 32, 72}), f32(1),
                         reals(Element::F32, {3, 2, 3}, old)}}));
  ASSERT_EQ(o.error, "");
  const int64_t begins[] = {0, 32, 32}, ends[] = {32, 32, 72};
  for (int64_t g = 0; g < 3; ++g)
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        int64_t at = (g * 2 + i) * 3 + j;
        expectExact(o.tensor().real(at),
                    static_cast<double>(at) +
                        dot(a, 0, i, b, 0, j, begins[g], ends[g]));
      }
}

TEST(Matmul, DiscreteWeights) {
  Lattice a(1, 3, 32, 17), b0(1, 4, 32, 18), b1(1, 4, 32, 19);
  Outcome o = run(R"(
    !a = !grouped_scaled_gemm.scaled<3x32, nvfp4>
    !b = !grouped_scaled_gemm.scaled<4x32, nvfp4>
    func.func @f(%a: !a, %b0: !b, %b1: !b, %g: tensor<2xi32>,
                 %c: tensor<3x4xf32>) -> tensor<3x4xf32> {
      %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%g : tensor<2xi32>) lhs(%a : !a) rhs(%b0 : !b, %b1 : !b)
          outs(%c : tensor<3x4xf32>) -> tensor<3x4xf32>
      return %d : tensor<3x4xf32>
    })",
                  join({a.values(),
                        b0.values(),
                        b1.values(),
                        {integers(Element::I32, {2}, {1, 3}),
                         fresh(Element::F32, {3, 4})}}));
  ASSERT_EQ(o.error, "");
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      expectExact(o.tensor().real(i * 4 + j),
                  dot(a, 0, i, i < 1 ? b0 : b1, 0, j, 0, 32));
}

TEST(Matmul, List) {
  Lattice a0(1, 3, 32, 20), b0(1, 2, 32, 21), a1(1, 1, 48, 22),
      b1(1, 4, 48, 23);
  Outcome o = run(R"(
    !a0 = !grouped_scaled_gemm.scaled<3x32, nvfp4>
    !b0 = !grouped_scaled_gemm.scaled<2x32, nvfp4>
    !a1 = !grouped_scaled_gemm.scaled<1x48, nvfp4>
    !b1 = !grouped_scaled_gemm.scaled<4x48, nvfp4>
    func.func @f(%a0: !a0, %b0: !b0, %a1: !a1, %b1: !b1, %alpha: tensor<2xf32>,
                 %beta: f32, %c0: tensor<3x2xf32>, %c1: tensor<1x4xf32>)
        -> (tensor<3x2xf32>, tensor<1x4xf32>) {
      %d:2 = grouped_scaled_gemm.matmul_list
          lhs(%a0 : !a0, %a1 : !a1) rhs(%b0 : !b0, %b1 : !b1)
          alpha(%alpha : tensor<2xf32>) beta(%beta : f32)
          outs(%c0, %c1 : tensor<3x2xf32>, tensor<1x4xf32>)
          -> tensor<3x2xf32>, tensor<1x4xf32>
      return %d#0, %d#1 : tensor<3x2xf32>, tensor<1x4xf32>
    })",
                  join({a0.values(),
                        b0.values(),
                        a1.values(),
                        b1.values(),
                        {reals(Element::F32, {2}, {2, 4}), f32(-1),
                         reals(Element::F32, {3, 2}, {1, 2, 3, 4, 5, 6}),
                         reals(Element::F32, {1, 4}, {1, 1, 1, 1})}}));
  ASSERT_EQ(o.error, "");
  for (int64_t i = 0; i < 6; ++i)
    expectExact(o.tensor(0).real(i),
                2 * dot(a0, 0, i / 2, b0, 0, i % 2, 0, 32) -
                    static_cast<double>(i + 1));
  for (int64_t j = 0; j < 4; ++j)
    expectExact(o.tensor(1).real(j), 4 * dot(a1, 0, 0, b1, 0, j, 0, 48) - 1);
}

TEST(Matmul, SamplingLeavesTheRestOut) {
  Lattice a(1, 40, 32, 24), b(1, 50, 32, 25);
  InterpreterOptions options;
  options.sample = {5, 6, 1};
  std::vector<Value> args =
      join({a.values(), b.values(), {fresh(Element::F32, {40, 50})}});
  Outcome some = run(kDense, args, options);
  Outcome all = run(kDense, args);
  ASSERT_EQ(some.error, "");
  CompareReport report = compare(all.tensor(), some.tensor());
  EXPECT_TRUE(report.passed) << report.str();
  EXPECT_EQ(report.compared, 30);
  EXPECT_EQ(report.skipped, 2000 - 30);
  EXPECT_EQ(some.tensor().real(0).bound, 0.0);
  EXPECT_EQ(some.tensor().real(1999).bound, 0.0);
}

} // namespace
} // namespace nvfp4::reference::test
