//===- ScaleLayoutTest.cpp - tests of scale layouts and group starts ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts as bijections and against their published memory orders, re-layout
// between any two, group starts on random groups, sizes past 2^32.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/ScaleLayout.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

using namespace nvfp4::format;

namespace {

constexpr std::array<ScaleLayout, 4> kLayouts = {
    ScaleLayout::Linear, ScaleLayout::Blocked128x4, ScaleLayout::Blocked8x4,
    ScaleLayout::PackedUE8M0};

const std::array<std::pair<int64_t, int64_t>, 9> kShapes = {{{1, 1},
                                                             {1, 5},
                                                             {8, 4},
                                                             {7, 3},
                                                             {128, 4},
                                                             {129, 5},
                                                             {256, 12},
                                                             {300, 1},
                                                             {33, 17}}};

TEST(ScaleLayout, NamesRoundTrip) {
  for (ScaleLayout layout : kLayouts)
    EXPECT_EQ(parseScaleLayout(stringify(layout)), layout);
  EXPECT_EQ(parseScaleLayout("swizzled"), std::nullopt);
  for (GroupStart rule :
       {GroupStart::Whole, GroupStart::Compact, GroupStart::UpperBound})
    EXPECT_EQ(parseGroupStart(stringify(rule)), rule);
  EXPECT_EQ(parseGroupStart("none"), std::nullopt);
}

TEST(ScaleLayout, OffsetsAreABijectionOntoTheBuffer) {
  for (ScaleLayout layout : kLayouts)
    for (auto [rows, columns] : kShapes) {
      ScaleMatrix m{layout, rows, columns};
      std::vector<int> hits(static_cast<size_t>(m.totalBytes()));
      for (int64_t i = 0; i < m.paddedRows(); ++i)
        for (int64_t j = 0; j < m.paddedColumns(); ++j)
          ++hits.at(static_cast<size_t>(m.offset(i, j)));
      for (int count : hits)
        ASSERT_EQ(count, 1) << stringify(layout) << rows << "x" << columns;
    }
}

// Walks the memory order (R/128, C/4, 32, 4, 4) with a counter instead of
// computing offsets.
TEST(ScaleLayout, BlockedFollowsItsMemoryOrder) {
  ScaleMatrix m{ScaleLayout::Blocked128x4, 300, 9};
  int64_t position = 0;
  for (int64_t tile = 0; tile < 3; ++tile)
    for (int64_t word = 0; word < 3; ++word)
      for (int64_t r32 = 0; r32 < 32; ++r32)
        for (int64_t r4 = 0; r4 < 4; ++r4)
          for (int64_t c4 = 0; c4 < 4; ++c4)
            ASSERT_EQ(m.offset(tile * 128 + r4 * 32 + r32, word * 4 + c4),
                      position++);
  EXPECT_EQ(position, m.totalBytes());
}

// The 6-D view (32, 4, R/128, 4, KT, L) that CuTe and cuDNN describe has the
// strides (16, 4, 512 KT, 1, 512, total).
TEST(ScaleLayout, BlockedIsTheSixDimensionalView) {
  ScaleMatrix m{ScaleLayout::Blocked128x4, 256, 12};
  for (int64_t i = 0; i < 256; ++i)
    for (int64_t j = 0; j < 12; ++j)
      ASSERT_EQ(m.offset(i, j), i % 32 * 16 + i % 128 / 32 * 4 +
                                    i / 128 * 512 * 3 + j % 4 + j / 4 * 512);
  EXPECT_EQ(m.totalBytes(), 2 * 512 * 3);
}

TEST(ScaleLayout, Blocked8FollowsItsMemoryOrder) {
  ScaleMatrix m{ScaleLayout::Blocked8x4, 20, 9};
  int64_t position = 0;
  for (int64_t tile = 0; tile < 3; ++tile)
    for (int64_t word = 0; word < 3; ++word)
      for (int64_t r = 0; r < 8; ++r)
        for (int64_t c4 = 0; c4 < 4; ++c4)
          ASSERT_EQ(m.offset(tile * 8 + r, word * 4 + c4), position++);
  EXPECT_EQ(position, m.totalBytes());
}

// The transposition within 128 rows turns a word column of the packed layout
// into a 128x4 tile, byte for byte.
TEST(ScaleLayout, TransposedPackedWordsAreBlockedTiles) {
  ScaleMatrix packed{ScaleLayout::PackedUE8M0, 256, 4};
  ScaleMatrix blocked{ScaleLayout::Blocked128x4, 256, 4};
  for (int64_t i = 0; i < 256; ++i) {
    // 4 x 32 rows become 32 x 4.
    int64_t transposed = i / 128 * 128 + i % 32 * 4 + i % 128 / 32;
    for (int64_t j = 0; j < 4; ++j)
      ASSERT_EQ(packed.offset(transposed, j), blocked.offset(i, j));
  }
}

TEST(ScaleLayout, WordStridesOfTheDecomposition) {
  EXPECT_EQ((ScaleMatrix{ScaleLayout::Linear, 9, 9}.wordStride()), 4);
  EXPECT_EQ((ScaleMatrix{ScaleLayout::Blocked128x4, 9, 9}.wordStride()), 512);
  EXPECT_EQ((ScaleMatrix{ScaleLayout::Blocked8x4, 9, 9}.wordStride()), 32);
  for (ScaleLayout layout : kLayouts)
    for (auto [rows, columns] : kShapes) {
      ScaleMatrix m{layout, rows, columns};
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          ASSERT_EQ(m.offset(i, j) - m.offset(i, 0),
                    j / 4 * m.wordStride() + j % 4);
    }
}

TEST(ScaleLayout, RelayoutBetweenAnyTwoKeepsScalesAndPads) {
  for (ScaleLayout from : kLayouts)
    for (ScaleLayout to : kLayouts)
      for (auto [rows, columns] : kShapes) {
        ScaleMatrix a{from, rows, columns};
        ScaleMatrix b{to, rows, columns};
        // Padding of the input is NaN and must not reach the output.
        std::vector<uint8_t> in(static_cast<size_t>(a.totalBytes()), 0x7f);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            in[static_cast<size_t>(a.offset(i, j))] =
                static_cast<uint8_t>((i * 31 + j * 7) % 0x7f);
        std::vector<uint8_t> out(static_cast<size_t>(b.totalBytes()), 0xee);
        ASSERT_TRUE(relayoutScales(a, in, b, out, 0xaa));
        for (int64_t i = 0; i < b.paddedRows(); ++i)
          for (int64_t j = 0; j < b.paddedColumns(); ++j)
            ASSERT_EQ(out[static_cast<size_t>(b.offset(i, j))],
                      i < rows && j < columns ? (i * 31 + j * 7) % 0x7f : 0xaa);
      }
}

TEST(ScaleLayout, RelayoutRefusesWrongSizes) {
  ScaleMatrix a{ScaleLayout::Linear, 8, 4};
  ScaleMatrix b{ScaleLayout::Blocked8x4, 8, 4};
  std::vector<uint8_t> in(32, 1), out(32, 0xee);
  ScaleMatrix other{ScaleLayout::Blocked8x4, 7, 4};
  EXPECT_FALSE(relayoutScales(a, in, other, out, 0));
  EXPECT_FALSE(relayoutScales(a, std::span(in).first(31), b, out, 0));
  EXPECT_FALSE(relayoutScales(a, in, b, std::span(out).first(31), 0));
  ScaleMatrix negative{ScaleLayout::Linear, -8, -4};
  EXPECT_FALSE(relayoutScales(negative, in, negative, out, 0));
  EXPECT_EQ(std::count(out.begin(), out.end(), 0xee), 32);
  EXPECT_TRUE(relayoutScales(a, in, b, out, 0));
}

TEST(ScaleLayout, OffsetsPast32Bits) {
  // 256 experts of 7168 rows and 4096 scale columns: 7.5e9 bytes.
  int64_t rows = 256 * 7168, columns = 4096;
  for (ScaleLayout layout : kLayouts) {
    ScaleMatrix m{layout, rows, columns};
    ASSERT_TRUE(m.isRepresentable());
    EXPECT_EQ(m.totalBytes(), rows * columns);
    EXPECT_EQ(m.offset(rows - 1, columns - 1), rows * columns - 1)
        << stringify(layout);
  }
}

TEST(ScaleLayout, HostileExtentsAreNotRepresentable) {
  int64_t huge = std::numeric_limits<int64_t>::max();
  for (ScaleLayout layout : kLayouts) {
    EXPECT_FALSE((ScaleMatrix{layout, huge, 1}.isRepresentable()));
    EXPECT_FALSE((ScaleMatrix{layout, 1, huge}.isRepresentable()));
    EXPECT_FALSE((ScaleMatrix{layout, -1, 4}.isRepresentable()));
    EXPECT_FALSE((ScaleMatrix{layout, 4, -1}.isRepresentable()));
    EXPECT_FALSE((ScaleMatrix{layout, int64_t{1} << 32, int64_t{1} << 31}
                      .isRepresentable()));
    EXPECT_TRUE((ScaleMatrix{layout, 0, 0}.isRepresentable()));
    EXPECT_TRUE((ScaleMatrix{layout, int64_t{1} << 40, 0}.isRepresentable()));
  }
}

struct Groups {
  std::vector<int64_t> first, count;
};

/// Random groups, many empty, with or without gaps between them.
Groups randomGroups(std::mt19937 &random, bool gaps) {
  Groups groups;
  int64_t next = gaps ? random() % 50 : 0;
  auto total = random() % 20 + 1;
  for (unsigned g = 0; g < total; ++g) {
    int64_t rows = random() % 3 == 0 ? 0 : random() % 400;
    groups.first.push_back(next);
    groups.count.push_back(rows);
    next += rows + (gaps ? random() % 60 : 0);
  }
  return groups;
}

TEST(GroupStart, GroupsDoNotOverlapInTheBuffer) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 2000; ++trial)
    for (ScaleLayout layout : kLayouts)
      for (GroupStart rule : {GroupStart::Compact, GroupStart::UpperBound}) {
        Groups g = randomGroups(random, trial % 2 == 1);
        std::vector<int64_t> starts(g.count.size(), -1);
        int64_t rows = groupStartRows(rule, layout, g.first, g.count, starts);
        int64_t align = rowAlignment(layout);
        ASSERT_EQ(rows % align, 0);
        int64_t free = 0;
        for (size_t i = 0; i < starts.size(); ++i) {
          ASSERT_EQ(starts[i] % align, 0);
          ASSERT_GE(starts[i], free);
          if (g.count[i] == 0)
            continue;
          free = starts[i] + (g.count[i] + align - 1) / align * align;
          ASSERT_LE(free, rows);
        }
      }
}

TEST(GroupStart, KnownStarts) {
  const std::vector<int64_t> first = {0, 80, 256, 256};
  const std::vector<int64_t> count = {80, 176, 0, 128};
  std::vector<int64_t> starts(4);
  auto layout = ScaleLayout::Blocked128x4;
  EXPECT_EQ(groupStartRows(GroupStart::Compact, layout, first, count, starts),
            512);
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 128, 384, 384}));
  // floor((80+127)/128) = 1, floor((256+254)/128) = 3, floor((256+381)/128)
  // = 4.
  EXPECT_EQ(
      groupStartRows(GroupStart::UpperBound, layout, first, count, starts),
      640);
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 128, 384, 512}));
  const std::vector<int64_t> aligned = {0, 128, 384, 384};
  EXPECT_EQ(groupStartRows(GroupStart::Whole, layout, aligned, count, starts),
            512);
  EXPECT_EQ(starts, aligned);
}

TEST(GroupStart, NoGroupsAndOnlyEmptyGroups) {
  std::vector<int64_t> none, zero(3, 0), starts(3, -1);
  for (GroupStart rule :
       {GroupStart::Whole, GroupStart::Compact, GroupStart::UpperBound}) {
    EXPECT_EQ(groupStartRows(rule, ScaleLayout::Blocked128x4, none, none, none),
              0);
    EXPECT_EQ(
        groupStartRows(rule, ScaleLayout::Blocked128x4, zero, zero, starts), 0);
  }
}

TEST(GroupStart, RaggedKColumnsArePadded) {
  const std::vector<int64_t> groupK = {256, 0, 17, 384};
  std::vector<int64_t> starts(4);
  // 16, 0, 2 -> 4, 24 columns.
  EXPECT_EQ(
      groupStartScaleColumns(ScaleLayout::Blocked128x4, 16, groupK, starts),
      44);
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 16, 16, 20}));
  EXPECT_EQ(groupStartScaleColumns(ScaleLayout::Linear, 16, groupK, starts),
            42);
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 16, 16, 18}));
  EXPECT_EQ(
      groupStartScaleColumns(ScaleLayout::Blocked128x4, 32, groupK, starts),
      24);
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 8, 8, 12}));
}

} // namespace
