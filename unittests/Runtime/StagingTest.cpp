//===- StagingTest.cpp - Operands that host code prepares -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Padding is zero, whatever the source holds there, and so is what lies between
// the rows of the target.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_staging.h"

#include "gtest/gtest.h"

#include <cstring>
#include <vector>

TEST(Staging, HalfBytesBehindOddRowsAreZero) {
  uint64_t bytes = 0xfedcba9876543210, result = 0;
  auto stage = [&](int64_t rowBytes) {
    EXPECT_EQ(nvfp4_stage_odd_values("a place", &bytes, 8 / rowBytes, rowBytes,
                                     &result, rowBytes),
              1);
    return result;
  };
  EXPECT_EQ(stage(1), 0x0e0c0a0806040200u);
  EXPECT_EQ(stage(2), 0x0edc0a9806540210u);
  EXPECT_EQ(stage(4), 0x0edcba9806543210u);
  EXPECT_EQ(stage(8), 0x0edcba9876543210u);
}

TEST(Staging, RowsAreZeroUpToThePitch) {
  const uint8_t bytes[6] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66};
  std::vector<uint8_t> result(8, 0xff);
  EXPECT_EQ(nvfp4_stage_odd_values("a place", bytes, 2, 3, result.data(), 4),
            1);
  EXPECT_EQ(result,
            (std::vector<uint8_t>{0x11, 0x22, 0x03, 0, 0x44, 0x55, 0x06, 0}));
}

TEST(Staging, ScalesBehindTheLastColumnAreZero) {
  // Two tiles of 128 x 4 scales in each of two rows of tiles.
  constexpr int64_t rowBytes = 1024;
  for (int64_t columns = 5; columns <= 8; ++columns) {
    std::vector<uint8_t> scales(2 * rowBytes, 0x7f), result(2 * rowBytes, 0xff);
    ASSERT_EQ(nvfp4_stage_padded_scales("a place", scales.data(), 2, rowBytes,
                                        columns, result.data(), rowBytes),
              1);
    for (size_t i = 0; i < result.size(); ++i) {
      int64_t column = i % rowBytes < 512 ? i % 4 : 4 + i % 4;
      ASSERT_EQ(result[i], column < columns ? 0x7f : 0)
          << "byte " << i << " of " << columns << " columns";
    }
  }
}
