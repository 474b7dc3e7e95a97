//===- EpilogueTest.cpp - Epilogues of the product --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// alpha, bias, prob, activations, amax and quantised results against the
// formulas written out, on products that are exact.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include <cmath>

namespace nvfp4::reference::test {
namespace {

constexpr int64_t kM = 3, kN = 8, kK = 32;

/// A dense product [3, 8] with `clauses`; %v is an f32 [3], %b an f32 [8].
struct Case {
  Lattice a{1, kM, kK, 31}, b{1, kN, kK, 32};
  std::vector<double> row = {-2, 0.5, 0}, column;

  Case() {
    for (int i = 0; i < kN; ++i)
      column.push_back(i - 3.5);
  }
  double acc(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t k = 0; k < kK; ++k)
      sum += a.at(0, m, k) * b.at(0, n, k);
    return sum;
  }
  Outcome run(const std::string &clauses, int64_t columns,
              const std::string &alphaType = "f32",
              Value alpha = f32(0.25)) const {
    std::string out = "tensor<3x" + std::to_string(columns) + "xf32>";
    return test::run(
        "!a = !grouped_scaled_gemm.scaled<3x32, nvfp4>\n"
        "!b = !grouped_scaled_gemm.scaled<8x32, nvfp4>\n"
        "func.func @f(%a: !a, %w: !b, %alpha: " +
            alphaType +
            ", %v: tensor<3xf32>, %b: tensor<8xf32>, %z: tensor<3x8xbf16>, "
            "%o: " +
            out + ", %m: tensor<1xf32>) -> (tensor<3x8xbf16>, " + out +
            ", tensor<1xf32>) {\n"
            "%d:3 = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) "
            "rhs(%w : !b) alpha(%alpha : " +
            alphaType + ")\n" + clauses +
            "\npreact_outs(%z : tensor<3x8xbf16>) outs(%o : " + out +
            ") amax_outs(%m : tensor<1xf32>) -> tensor<3x8xbf16>, " + out +
            ", tensor<1xf32>\nreturn %d#0, %d#1, %d#2 : tensor<3x8xbf16>, " +
            out + ", tensor<1xf32>\n}",
        join({a.values(),
              b.values(),
              {std::move(alpha), reals(Element::F32, {3}, row),
               reals(Element::F32, {8}, column), fresh(Element::BF16, {3, 8}),
               fresh(Element::F32, {3, columns}), fresh(Element::F32, {1})}}));
  }
};

/// Inexact values stay in f64. exp(t) is off by |t| 2^-53 of itself, here and
/// in the interpreter, and is not 0 or infinite for |t| < 746 only; the other
/// steps are fewer than 100.
constexpr double kExpTolerance = 0x1p-42;
/// Bounds are those of f32. In units of 2^-24: that of the sigmoid's argument,
/// |t| < 746; 16 of exp, which is 4 units in the last place off, and its sum
/// and quotient; 8 of three products and of an order of them that is open.
constexpr double kExpBound = (746 + 24) * 0x1p-24;

/// Checks every element of result 1 and the amax against `formula`.
template <typename Fn>
void check(const Outcome &o, int64_t columns, double tolerance, Fn formula) {
  ASSERT_EQ(o.error, "");
  double largest = 0;
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t c = 0; c < columns; ++c) {
      double expected = formula(m, c);
      largest = std::max(largest, std::fabs(expected));
      Real r = o.tensor(1).real(m * columns + c);
      EXPECT_LE(std::fabs(r.value - expected), tolerance * std::fabs(expected))
          << m << " " << c;
      if (tolerance == 0)
        EXPECT_EQ(r.bound, 0.0);
      else
        // Besides, 2^-126 times the |u| + 1 <= 8 of subnormal results.
        EXPECT_LE(r.bound, kExpBound * std::fabs(expected) + 0x1p-122);
    }
  EXPECT_NEAR(o.tensor(2).real(0).value, largest, tolerance * largest);
}

TEST(Epilogue, ScaleOfEachRow) {
  Case c;
  auto row = [&](int64_t m) { return c.row[static_cast<size_t>(m)]; };
  auto bias = [&](int64_t n) { return c.column[static_cast<size_t>(n)]; };
  auto acc = [&](int64_t m, int64_t n) { return 0.25 * c.acc(m, n); };
  check(c.run("row_scale(%v : tensor<3xf32>) bias(%b : tensor<8xf32>)", kN), kN,
        0, [&](int64_t m, int64_t n) { return acc(m, n) * row(m) + bias(n); });
  check(c.run("row_scale(%v : tensor<3xf32>) bias(%b : tensor<8xf32>) "
              "prob(%v : tensor<3xf32>) at gemm",
              kN),
        kN, 0, [&](int64_t m, int64_t n) {
          return acc(m, n) * row(m) * row(m) + bias(n);
        });
}

TEST(Epilogue, PositionsOfProb) {
  Case c;
  auto at = [&](const std::string &position) {
    return c.run(
        "bias(%b : tensor<8xf32>) prob(%v : tensor<3xf32>) at " + position, kN);
  };
  auto bias = [&](int64_t n) { return c.column[static_cast<size_t>(n)]; };
  auto prob = [&](int64_t m) { return c.row[static_cast<size_t>(m)]; };
  auto acc = [&](int64_t m, int64_t n) { return 0.25 * c.acc(m, n); };
  check(at("gemm"), kN, 0,
        [&](int64_t m, int64_t n) { return acc(m, n) * prob(m) + bias(n); });
  check(at("bias"), kN, 0,
        [&](int64_t m, int64_t n) { return acc(m, n) + bias(n) * prob(m); });
  for (const char *position : {"pre_activation", "post_activation"})
    check(at(position), kN, 0, [&](int64_t m, int64_t n) {
      return (acc(m, n) + bias(n)) * prob(m);
    });
  // The pre-activation is stored before a later prob.
  Outcome o = at("post_activation");
  EXPECT_EQ(o.tensor(0).real(16).value,
            roundTo(Element::BF16, acc(2, 0) + bias(0)));
}

TEST(Epilogue, SwiGLUWithPairsOfAlpha) {
  Case c;
  for (auto [gate, up, text] :
       std::vector<std::tuple<std::vector<int>, std::vector<int>, std::string>>{
           {{0, 2, 4, 6}, {1, 3, 5, 7}, "<1, gate_first>"},
           {{2, 3, 6, 7}, {0, 1, 4, 5}, "<2, up_first>"},
           {{0, 1, 2, 3}, {4, 5, 6, 7}, "<halves, gate_first>"}}) {
    Outcome o = c.run("activation = <swiglu, gate = " + text +
                          ", alpha = 1.702, beta = 1.0, limit = 7.0>",
                      4, "tensor<1x2xf32>",
                      reals(Element::F32, {1, 2}, {0.0625, 0.03125}));
    double a = static_cast<float>(1.702);
    check(o, 4, kExpTolerance, [&, g = gate, u = up](int64_t m, int64_t col) {
      double z = std::min(0.0625 * c.acc(m, g[static_cast<size_t>(col)]), 7.0);
      double w = 0.03125 * c.acc(m, u[static_cast<size_t>(col)]);
      w = std::max(-7.0, std::min(w, 7.0));
      return z / (1 + std::exp(-a * z)) * (w + 1);
    });
  }
}

TEST(Epilogue, UnpairedActivations) {
  Case c;
  auto z = [&](int64_t m, int64_t n) { return 0.25 * c.acc(m, n); };
  check(c.run("activation = <relu>", kN), kN, 0,
        [&](int64_t m, int64_t n) { return std::max(z(m, n), 0.0); });
  check(c.run("activation = <relu2>", kN), kN, 0, [&](int64_t m, int64_t n) {
    return std::pow(std::max(z(m, n), 0.0), 2);
  });
  check(
      c.run("activation = <silu>", kN), kN, kExpTolerance,
      [&](int64_t m, int64_t n) { return z(m, n) / (1 + std::exp(-z(m, n))); });
}

TEST(Epilogue, ReGLU) {
  Case c;
  check(c.run("activation = <reglu, gate = <halves, up_first>>", 4), 4, 0,
        [&](int64_t m, int64_t n) {
          return std::max(0.25 * c.acc(m, n + 4), 0.0) * 0.25 * c.acc(m, n);
        });
}

TEST(Epilogue, GeGLU) {
  Case c;
  Outcome o = c.run("activation = <geglu_tanh, gate = <halves, gate_first>>", 4,
                    "f32", f32(0.03125));
  ASSERT_EQ(o.error, "");
  for (int64_t m = 0; m < kM; ++m)
    for (int64_t n = 0; n < 4; ++n) {
      double g = 0.03125 * c.acc(m, n), u = 0.03125 * c.acc(m, n + 4);
      double y =
          u * 0.5 * g *
          (1 + std::tanh(0.7978845608028654 * (g + 0.044715 * g * g * g)));
      Real r = o.tensor(1).real(m * 4 + n);
      // 1 + tanh cancels for negative g, so errors count against u g / 2. In
      // f64 there are fewer than 16 roundings. In f32 the argument x of tanh is
      // off by 12 x 2^-24, of which at most 0.45 * 12 reach tanh; that is
      // 4 units in the last place off, 8; the sum and three products round.
      double scale = 0.5 * std::fabs(u * g);
      EXPECT_NEAR(r.value, y, 16 * 0x1p-53 * scale);
      EXPECT_LE(r.bound, (6 + 8 + 6) * 0x1p-24 * scale);
    }
}

TEST(Epilogue, CustomRegion) {
  Case c;
  Outcome o = c.run(R"(activation = <custom>
      row(%v : tensor<3xf32>) column(%b : tensor<8xf32>)
      epilogue {
      ^bb0(%x: f32, %r: f32, %k: f32):
        %s = arith.addf %x, %k : f32
        %p = arith.maximumf %s, %r : f32
        grouped_scaled_gemm.yield %p : f32
      })",
                    kN);
  check(o, kN, 0, [&](int64_t m, int64_t n) {
    return std::max(0.25 * c.acc(m, n) + c.column[static_cast<size_t>(n)],
                    c.row[static_cast<size_t>(m)]);
  });
}

TEST(Epilogue, QuantisedResultOfGroups) {
  Lattice a(1, 5, 32, 41), b(2, 16, 32, 42);
  Outcome o = run(R"(
    !a = !grouped_scaled_gemm.scaled<5x32, nvfp4>
    !b = !grouped_scaled_gemm.scaled<2x16x32, nvfp4>
    !d = !grouped_scaled_gemm.scaled<5x16, nvfp4>
    func.func @f(%a: !a, %b: !b, %g: tensor<2xi32>, %s: tensor<2xf32>,
                 %o: tensor<5x16xf32>) -> (!d, !d) {
      %d = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%g : tensor<2xi32>) lhs(%a : !a) rhs(%b : !b)
          quantizer = <trtllm> global_scale(%s : tensor<2xf32>) -> !d
      %e = grouped_scaled_gemm.matmul <ragged_rows, ends>
          groups(%g : tensor<2xi32>) lhs(%a : !a) rhs(%b : !b)
          outs(%o : tensor<5x16xf32>) -> tensor<5x16xf32>
      %q = grouped_scaled_gemm.quantize <trtllm>(%e : tensor<5x16xf32>)
          groups(%g : tensor<2xi32>) as <ragged_rows, ends>
          global_scale(%s : tensor<2xf32>) -> !d
      return %d, %q : !d, !d
    })",
                  join({a.values(),
                        b.values(true),
                        {integers(Element::I32, {2}, {2, 4}),
                         reals(Element::F32, {2}, {1, 0.25}),
                         fresh(Element::F32, {5, 16})}}));
  ASSERT_EQ(o.error, "");
  // Fused and unfused forms give the same bytes; row 4 is outside every group.
  EXPECT_EQ(o.scaled(0).data.bytes(), o.scaled(1).data.bytes());
  EXPECT_EQ(o.scaled(0).scales.bytes(), o.scaled(1).scales.bytes());
  EXPECT_EQ(o.scaled(0).scales.bytes()[4], 0);
  EXPECT_NE(o.scaled(0).scales.bytes()[0], 0);
  CompareReport report = compare(o.results[0], o.results[1]);
  EXPECT_TRUE(report.passed) << report.str();
  EXPECT_EQ(report.codesEqualFraction, 1.0);
}

} // namespace
} // namespace nvfp4::reference::test
