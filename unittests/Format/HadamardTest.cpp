//===- HadamardTest.cpp - tests of the 16-point transform -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against the matrix built by Sylvester's recursion, exactly, on integers.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Hadamard.h"

#include "gtest/gtest.h"

#include <array>
#include <vector>

using namespace nvfp4::format;

namespace {

using Matrix = std::array<std::array<int, 16>, 16>;

/// H(2n) = [H H; H -H], starting from [1].
Matrix sylvester() {
  Matrix h{};
  h[0][0] = 1;
  for (size_t n = 1; n < 16; n *= 2)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        h[i][j + n] = h[i][j];
        h[i + n][j] = h[i][j];
        h[i + n][j + n] = -h[i][j];
      }
  return h;
}

TEST(Hadamard, TransformerEngineSigns) {
  const int signs[16] = {1,  1,  1,  -1, 1,  -1, -1, -1,
                         -1, -1, -1, 1,  -1, 1,  -1, -1};
  for (unsigned i = 0; i < 16; ++i)
    EXPECT_EQ((kHadamardMaskTE >> i & 1) != 0, signs[i] < 0) << i;
}

TEST(Hadamard, EqualsTheMatrixProduct) {
  Matrix h = sylvester();
  for (bool normalized : {false, true})
    for (uint16_t mask : {uint16_t{0}, uint16_t{1}, kHadamardMaskTE}) {
      std::array<float, 16> x;
      for (int i = 0; i < 16; ++i)
        x[static_cast<size_t>(i)] = static_cast<float>(i * i % 23 - 11);
      std::array<float, 16> y = x;
      hadamard16(std::span<float, 16>(y), {normalized, mask});
      for (size_t j = 0; j < 16; ++j) {
        double expected = 0;
        for (size_t i = 0; i < 16; ++i)
          expected += (mask >> i & 1 ? -x[i] : x[i]) * h[i][j];
        EXPECT_EQ(y[j], normalized ? expected / 4 : expected);
      }
    }
}

TEST(Hadamard, NormalizedKeepsInnerProducts) {
  std::array<double, 16> a, b;
  double before = 0, after = 0;
  for (size_t i = 0; i < 16; ++i) {
    a[i] = static_cast<double>(i % 5) - 2;
    b[i] = static_cast<double>(i % 7) - 3;
    before += a[i] * b[i];
  }
  hadamard16(std::span<double, 16>(a), {true, kHadamardMaskTE});
  hadamard16(std::span<double, 16>(b), {true, kHadamardMaskTE});
  for (size_t i = 0; i < 16; ++i)
    after += a[i] * b[i];
  EXPECT_EQ(before, after);
}

TEST(Hadamard, RowsMustBeWholeRuns) {
  std::vector<float> x(32, 1.0f);
  EXPECT_TRUE(hadamard16Rows(std::span(x), HadamardParams{false, 0}));
  EXPECT_EQ(x[0], 16.0f);
  EXPECT_EQ(x[16], 16.0f);
  EXPECT_EQ(x[17], 0.0f);
  x.resize(17);
  EXPECT_FALSE(hadamard16Rows(std::span(x), HadamardParams{}));
}

} // namespace
