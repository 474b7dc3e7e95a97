//===- PhiloxTest.cpp - tests of the random generator -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The published known-answer vectors of Philox4x32-10 and the addressing.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/Philox.h"

#include "gtest/gtest.h"

using namespace nvfp4::format;

namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Four elements share a block; the counter is (index / 4, offset), least
// significant word first, and the key is the seed.
TEST(Philox, ElementsAddressWordsOfTheCounter) {
  Philox random{0x299f31d0a4093822, 0x0370734413198a2e};
  uint64_t block = 0x05a308d3243f6a88;
  Words words = philox4x32({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344},
                           {0xa4093822, 0x299f31d0});
  Words first = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(random.bits(4 * block + i), words[i]);
    EXPECT_EQ(Philox{}.bits(i), first[i]);
  }
}

TEST(Philox, SeedOffsetAndIndexAllMatter) {
  Philox base{1, 2};
  EXPECT_NE(base.bits(8), (Philox{2, 2}.bits(8)));
  EXPECT_NE(base.bits(8), (Philox{1, 3}.bits(8)));
  EXPECT_NE(base.bits(8), base.bits(12));
  EXPECT_NE(base.bits(8), base.bits(8 + (uint64_t{1} << 40)));
  EXPECT_EQ(base.bits(8), (Philox{1, 2}.bits(8)));
}

// 2^20 draws: the mean of a uniform has deviation 1/sqrt(12 n) = 2.8e-4, and
// six of those are exceeded about once in 10^9 seeds.
TEST(Philox, UniformIsInRangeWithTheRightMean) {
  Philox random{42, 0};
  double sum = 0;
  constexpr int count = 1 << 20;
  for (uint64_t i = 0; i < count; ++i) {
    float u = random.uniform(i);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
  }
  EXPECT_NEAR(sum / count, 0.5, 6 * 2.82e-4);
}

} // namespace
