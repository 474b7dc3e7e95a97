//===- GluTest.cpp - glu and hadamard ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations against the formulas in double, within 4 ulp of f32: at most five
// operations are rounded. alpha * g is rounded on both sides, because the
// exponential magnifies that rounding.
//
//===----------------------------------------------------------------------===//

#include "OpJit.h"

#include "nvfp4/Format/Float16.h"
#include "nvfp4/Format/GateLayout.h"
#include "nvfp4/Format/Hadamard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace nvfp4;
using namespace nvfp4::gsg::cpu;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Ordinary values, extremes, and NaN in every position of a pair.
std::vector<float> inputs(int64_t count) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0.0f, 4.0f);
  const float special[] = {
      0.0f,  -0.0f,  1e-30f,  -1e-40f, 100.0f, -100.0f,  7.0f,      -7.0f,
      88.5f, -88.5f, -104.0f, 3e38f,   -3e38f, INFINITY, -INFINITY, NAN};
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(random() % 8 == 0 ? special[random() % 16]
                                       : normal(random));
  return values;
}

void expectClose(float got, double want, int64_t i) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << "element " << i << ": " << got;
    return;
  }
  auto rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    // The last roundings may differ on the border of the range.
    EXPECT_TRUE(got == rounded ||
                std::fabs(want) > 0.999999 * std::numeric_limits<float>::max())
        << "element " << i << ": " << got << " instead of " << want;
    return;
  }
  float magnitude = std::fabs(rounded);
  double ulp = std::nextafter(magnitude, INFINITY) - magnitude;
  EXPECT_LE(std::fabs(got - want), 4 * ulp)
      << "element " << i << ": " << got << " instead of " << want;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// The f32 that a product of pairs of f32 is rounded to on the way.
double f32(double x) { return static_cast<float>(x); }

/// Minimum and maximum that keep NaN.
double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
}
double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b);
}

std::function<double(double, double)> swiglu(double alpha, double beta,
                                             double limit) {
  return [=](double g, double u) {
    g = minimum(g, limit);
    u = maximum(minimum(u, limit), -limit);
    // Rounded where f32 leaves its range on the way.
    double s = f32(sigmoid(f32(static_cast<float>(alpha) * g)));
    return f32(g * s) * f32(u + beta);
  };
}

double geglu(double g, double u) {
  double inner = 0.7978845608028654 * (g + 0.044715 * g * g * g);
  return f32(g * f32(1.0 / (1.0 + std::exp(-2.0 * inner)))) * u;
}

void checkPairs(const std::string &parameters,
                const std::function<double(double, double)> &formula) {
  for (auto [granularity, order] :
       {std::pair<int64_t, format::GateOrder>{0, format::GateOrder::GateFirst},
        {0, format::GateOrder::UpFirst},
        {1, format::GateOrder::GateFirst},
        {3, format::GateOrder::GateFirst},
        {8, format::GateOrder::UpFirst},
        {16, format::GateOrder::GateFirst},
        {32, format::GateOrder::UpFirst}}) {
    std::string gate = (granularity != 0 ? std::to_string(granularity)
                                         : std::string("halves")) +
                       ", " + std::string(format::stringify(order));
    SCOPED_TRACE(parameters + " gate " + gate);
    std::string op = "grouped_scaled_gemm.glu <" +
                     parameters.substr(0, parameters.find(',')) + ", gate = <" +
                     gate + ">" +
                     (parameters.find(',') == std::string::npos
                          ? ""
                          : parameters.substr(parameters.find(','))) +
                     "> (%z : memref<?x?xf32>) outs(%y : memref<?x?x";
    OpJit native("%z: memref<?x?xf32>, %y: memref<?x?xf32>", op + "f32>)");
    OpJit baseline("%z: memref<?x?xf32>, %y: memref<?x?xf32>", op + "f32>)",
                   /*baseline=*/true);
    OpJit narrow("%z: memref<?x?xf32>, %y: memref<?x?xbf16>", op + "bf16>)");
    ASSERT_TRUE(native.succeeded() && baseline.succeeded() &&
                narrow.succeeded());
    for (int64_t columns : {96, 0}) {
      constexpr int64_t rows = 7;
      format::GateLayout layout{granularity != 0 ? granularity : columns,
                                order};
      Memory<float> z({rows, 2 * columns}, inputs(rows * 2 * columns));
      Memory<float> y({rows, columns}), other({rows, columns});
      Memory<uint16_t> half({rows, columns});
      native({z, y});
      baseline({z, other});
      narrow({z, half});
      for (int64_t i = 0; i < y.size(); ++i) {
        int64_t row = i / columns * 2 * columns;
        int64_t c = i % columns;
        expectClose(
            y[i], formula(z[row + layout.gateRow(c)], z[row + layout.upRow(c)]),
            i);
        // The sign of a computed NaN is the processor's choice.
        if (std::isnan(y[i])) {
          ASSERT_TRUE(std::isnan(other[i]));
          ASSERT_TRUE(std::isnan(format::bf16ToF32(half[i])));
          continue;
        }
        ASSERT_EQ(std::memcmp(&y[i], &other[i], sizeof(float)), 0);
        ASSERT_EQ(half[i], format::f32ToBF16(y[i]));
      }
    }
  }
}

TEST(Glu, SwiGLU) { checkPairs("swiglu", swiglu(1.0, 0.0, kInfinity)); }
TEST(Glu, GptOss) {
  checkPairs("swiglu, alpha = 1.702, beta = 1.0, limit = 7.0",
             swiglu(1.702f, 1.0, 7.0));
}
TEST(Glu, ClampedMostly) {
  checkPairs("swiglu, alpha = 1.1, limit = 1.4", swiglu(1.1f, 0.0, 1.4f));
}
TEST(Glu, GeGLU) { checkPairs("geglu_tanh", geglu); }
TEST(Glu, ReGLU) {
  checkPairs("reglu", [](double g, double u) { return maximum(g, 0.0) * u; });
}

void checkSingle(const std::string &name,
                 const std::function<double(double)> &formula) {
  SCOPED_TRACE(name);
  OpJit jit("%z: memref<?x?x?xf32>, %y: memref<?x?x?xf32>",
            "grouped_scaled_gemm.glu <" + name +
                "> (%z : memref<?x?x?xf32>) outs(%y : memref<?x?x?xf32>)");
  ASSERT_TRUE(jit.succeeded());
  Memory<float> z({2, 3, 37}, inputs(2 * 3 * 37));
  Memory<float> y({2, 3, 37});
  jit({z, y});
  for (int64_t i = 0; i < y.size(); ++i)
    expectClose(y[i], formula(z[i]), i);
}

TEST(Glu, WithoutPairs) {
  checkSingle("identity", [](double z) { return z; });
  checkSingle("relu", [](double z) { return maximum(z, 0.0); });
  checkSingle("relu2", [](double z) {
    double r = maximum(z, 0.0);
    return r * r;
  });
  checkSingle("silu", [](double z) { return z * f32(sigmoid(z)); });
  checkSingle("silu, round_bf16", [](double z) {
    z = format::bf16ToF32(format::f32ToBF16(static_cast<float>(z)));
    return z * f32(sigmoid(z));
  });
  checkSingle("gelu_tanh", [](double z) { return geglu(z, 1.0); });
}

TEST(Hadamard, IsExact) {
  for (bool normalized : {false, true})
    for (uint16_t mask : {uint16_t{0}, format::kHadamardMaskTE}) {
      std::string attributes = "{sign_mask = " + std::to_string(mask) +
                               " : i32" + (normalized ? ", normalized" : "") +
                               "}";
      OpJit jit("%x: memref<?x?xbf16>, %y: memref<?x?xf32>",
                "grouped_scaled_gemm.hadamard %x outs(%y) " + attributes +
                    " : memref<?x?xbf16>, memref<?x?xf32>");
      ASSERT_TRUE(jit.succeeded());
      constexpr int64_t rows = 5, columns = 64;
      std::mt19937 random(2);
      std::normal_distribution<float> normal;
      Memory<uint16_t> x({rows, columns});
      Memory<float> y({rows, columns});
      std::vector<float> want;
      for (int64_t i = 0; i < x.size(); ++i) {
        x[i] = format::f32ToBF16(normal(random));
        want.push_back(format::bf16ToF32(x[i]));
      }
      ASSERT_TRUE(
          format::hadamard16Rows(std::span<float>(want), {normalized, mask}));
      jit({x, y});
      for (int64_t i = 0; i < y.size(); ++i)
        ASSERT_EQ(y[i], want[static_cast<size_t>(i)]) << "element " << i;
    }
}
} // namespace
