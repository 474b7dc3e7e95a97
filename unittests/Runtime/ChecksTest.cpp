//===- ChecksTest.cpp - Tests of the checks of compiled code ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that compiled code calls on group offsets, counts, indices and
// extents, at the edges of their ranges.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Runtime/nvfp4_checks.h"
#include "nvfp4/Runtime/nvfp4_runtime.h"

#include "gtest/gtest.h"

#include <limits>
#include <string>
#include <thread>
#include <vector>

static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

/// The violation since the last question, "" if there is none.
static std::string take() {
  return nvfp4_take_violation() == NVFP4_OK ? "" : nvfp4_last_error();
}

static std::string groupsMessage(std::vector<int64_t> values, int64_t form,
                                 int64_t align, int64_t extent) {
  int32_t wide = nvfp4_check_groups("at", values.data(), 64, values.size(), 1,
                                    form, align, extent);
  std::string message = take();
  EXPECT_EQ(wide, message.empty());
  // The same as integers of 32 bits, with gaps.
  std::vector<int32_t> narrow;
  for (int64_t value : values) {
    if (value != static_cast<int32_t>(value))
      return message;
    narrow.insert(narrow.end(), {static_cast<int32_t>(value), -7, -7});
  }
  nvfp4_check_groups("at", narrow.data(), 32, values.size(), 3, form, align,
                     extent);
  EXPECT_EQ(take(), message);
  return message;
}

TEST(Checks, Positive) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float tiny = std::numeric_limits<float>::denorm_min();
  for (float good : {1.0f, tiny, std::numeric_limits<float>::max()})
    EXPECT_EQ(nvfp4_check_positive("at", "c1", "S", good, 1), 1);
  for (auto [bad, text] : {std::pair(0.0f, "0"),
                           {-0.0f, "-0"},
                           {-2.5f, "-2.5"},
                           {infinity, "inf"},
                           {nan, "nan"}}) {
    EXPECT_EQ(nvfp4_check_positive("at", "c1", "S", bad, 0), 1);
    EXPECT_EQ(take(), "");
    EXPECT_EQ(nvfp4_check_positive("at", "c1", "S", bad, 1), 0);
    EXPECT_EQ(take(), "at: expected S to be finite and positive, but got " +
                          std::string(text) + " [c1]");
  }
}

TEST(Checks, Ends) {
  auto ends = [](std::vector<int64_t> values, int64_t align) {
    return groupsMessage(std::move(values), NVFP4_GROUP_ENDS, align, 100);
  };
  EXPECT_EQ(ends({}, 1), "");
  EXPECT_EQ(ends({0, 0, 100, 100}, 1), "");
  EXPECT_EQ(ends({5, 5, 20}, 16), "");
  EXPECT_EQ(ends({5, 16}, 16), "");
  EXPECT_EQ(ends({5, 15}, 16),
            "at: expected group ends[1] to be at least 16, where the group "
            "starts, but got 15 [grouping_c7]");
  EXPECT_EQ(ends({5, 4}, 1), "at: expected group ends[1] to be at least 5, the "
                             "one before it, but got 4 [grouping_c7]");
  EXPECT_EQ(ends({5, 101}, 1), "at: expected group ends[1] to be in [5, 100], "
                               "but got 101 [grouping_c6]");
  EXPECT_EQ(ends({kMin, 5}, 1),
            "at: expected group ends[0] to be in [0, 100], but got "
            "-9223372036854775808 [grouping_c6]");
  EXPECT_NE(ends({kMax}, kMax), "");
  EXPECT_EQ(ends({99, 99}, kMax), "");
}

TEST(Checks, Starts) {
  auto starts = [](std::vector<int64_t> values) {
    return groupsMessage(std::move(values), NVFP4_GROUP_STARTS, 8, 100);
  };
  EXPECT_EQ(starts({0, 8, 96, 100}), "");
  EXPECT_EQ(starts({16, 16, 16}), "");
  EXPECT_EQ(starts({0, 12, 100}),
            "at: expected group starts[1] to be a multiple of 8, but got 12 "
            "(nearest: 8) [grouping_c8]");
  EXPECT_EQ(starts({0, 32, 16, 100}),
            "at: expected group starts[2] to be at least 32, the one before "
            "it, but got 16 [grouping_c7]");
}

TEST(Checks, Counts) {
  EXPECT_EQ(groupsMessage({100, 0, 3}, NVFP4_GROUP_COUNTS, 1, 100), "");
  EXPECT_EQ(groupsMessage({3, -1}, NVFP4_GROUP_COUNTS, 1, 100),
            "at: expected group row counts[1] to be in [0, 100], but got -1 "
            "[grouping_c6]");
}

TEST(Checks, Numbers) {
  EXPECT_EQ(nvfp4_check_equal("at", "c1", "K", 3, 3), 1);
  EXPECT_EQ(nvfp4_check_range("at", "c1", "K", 3, 3, kMax), 1);
  EXPECT_EQ(nvfp4_check_range("at", "c1", "K", 3, 1, 3), 1);
  EXPECT_EQ(nvfp4_check_multiple("at", "c1", "K", 0, 16), 1);
  EXPECT_EQ(take(), "");
  EXPECT_EQ(nvfp4_check_equal("at", "c1", "K", 4, 3), 0);
  EXPECT_EQ(take(), "at: expected K to be 3, but got 4 [c1]");
  EXPECT_EQ(nvfp4_check_range("at", "c1", "K", 2, 3, kMax), 0);
  EXPECT_EQ(take(), "at: expected K to be at least 3, but got 2 [c1]");
  EXPECT_EQ(nvfp4_check_range("at", "c1", "K", 4, 1, 3), 0);
  EXPECT_EQ(take(), "at: expected K to be in [1, 3], but got 4 [c1]");
  for (auto [seen, nearest] : {std::pair(8, 16), std::pair(24, 16),
                               std::pair(25, 32), std::pair(40, 32)}) {
    EXPECT_EQ(nvfp4_check_multiple("at", "c1", "K", seen, 16), 0);
    EXPECT_EQ(take(), "at: expected K to be a multiple of 16, but got " +
                          std::to_string(seen) +
                          " (nearest: " + std::to_string(nearest) + ") [c1]");
  }
}

TEST(Checks, Indices) {
  // Two rows of three entries and a gap.
  std::vector<int32_t> entries = {-1, 0, 7, 99, 3, 2, 1, 99};
  auto check = [&](int64_t limit) {
    nvfp4_check_indices("at", "c1", "rows", entries.data(), 32, 2, 3, 4, 1,
                        limit);
    return take();
  };
  EXPECT_EQ(check(8), "");
  EXPECT_EQ(check(7), "at: expected rows[0, 2] to be in [-1, 7), but got 7 "
                      "(nearest: 6) [c1]");
  entries[4] = -2;
  EXPECT_EQ(check(8), "at: expected rows[1, 0] to be in [-1, 8), but got -2 "
                      "(nearest: -1) [c1]");
  std::vector<int64_t> vector = {5, 1};
  EXPECT_EQ(nvfp4_check_indices("at", "c1", "rows", vector.data(), 64, 2, -1, 1,
                                0, 0),
            0);
  EXPECT_EQ(take(), "at: expected rows[0] to be in [-1, 0), but got 5 "
                    "(nearest: -1) [c1]");
}

TEST(Checks, ScaleRoom) {
  std::vector<int32_t> ends = {100, 100, 130};
  auto check = [&](int64_t isUpperBound, int64_t tile, int64_t block,
                   int64_t have, int64_t haveAcross) {
    nvfp4_check_scale_room("at", "c1", "lhs", ends.data(), 32, ends.size(), 1,
                           NVFP4_GROUP_ENDS, 1, 200, isUpperBound, tile, block,
                           have, haveAcross, 4);
    return take();
  };
  // The third group starts at row 128, and without tiles at row 100.
  EXPECT_EQ(check(0, 128, 0, 158, 4), "");
  EXPECT_EQ(check(0, 1, 0, 130, 4), "");
  EXPECT_EQ(check(0, 128, 0, 157, 4),
            "at: expected rows of the scales of lhs to be at least 158 for the "
            "groups, but got 157 [c1]");
  // At 128 floor((100 + 2 * 127) / 128).
  EXPECT_EQ(check(1, 128, 0, 286, 4), "");
  EXPECT_NE(check(1, 128, 0, 285, 4), "");
  // 7 blocks and 2, the latter after 8.
  EXPECT_EQ(check(0, 4, 16, 10, 4), "");
  EXPECT_NE(check(0, 4, 16, 9, 4), "");
  EXPECT_EQ(check(0, 4, 16, 10, 3),
            "at: expected rows of the scales of lhs to be at least 4, but got "
            "3 [c1]");
  // No position, no scale.
  ends = {0, 0};
  EXPECT_EQ(check(0, 128, 0, 0, 0), "");
  ends = {5, 4};
  EXPECT_NE(check(0, 128, 0, 1000, 4), "");
}

TEST(Checks, TheFirstViolationOfAnyThreadIsKept) {
  EXPECT_EQ(nvfp4_check_equal("first", "c1", "K", 4, 3), 0);
  std::thread([] { nvfp4_check_equal("second", "c1", "K", 4, 3); }).join();
  EXPECT_EQ(take(), "first: expected K to be 3, but got 4 [c1]");
  EXPECT_EQ(take(), "");
  std::thread([] { nvfp4_check_equal("other", "c1", "K", 4, 3); }).join();
  EXPECT_EQ(take(), "other: expected K to be 3, but got 4 [c1]");
}

TEST(Checks, Disjoint) {
  static char bytes[256];
  struct Rows {
    int64_t start, rows, width, pitch;
  };
  auto shares = [](Rows a, Rows b) {
    auto check = [](Rows a, Rows b) {
      int32_t apart = nvfp4_check_disjoint(
          "at", "dest_c3", "operand #6", "operand #5", bytes + a.start, a.rows,
          a.width, a.pitch, bytes + b.start, b.rows, b.width, b.pitch);
      EXPECT_EQ(apart, take().empty());
      return !apart;
    };
    bool there = check(a, b);
    EXPECT_EQ(there, check(b, a));
    return there;
  };
  // Every pair of small matrices against a count of the bytes they share.
  for (int64_t pitch : {1, 3, 8})
    for (int64_t start = 0; start < 40; ++start)
      for (int64_t rows : {0, 1, 2, 4})
        for (int64_t width : {0, 1, 3}) {
          Rows a{16, 3, 2, 8}, b{start, rows, width, pitch};
          if (rows > 1 && pitch != a.pitch)
            b.rows = 1;
          int shared = 0;
          for (int64_t i = 0; i < a.rows; ++i)
            for (int64_t j = 0; j < b.rows; ++j)
              for (int64_t x = 0; x < a.width; ++x)
                for (int64_t y = 0; y < b.width; ++y)
                  shared +=
                      a.start + i * a.pitch + x == b.start + j * b.pitch + y;
          EXPECT_EQ(shares(a, b), shared != 0)
              << start << " " << rows << " " << width << " " << pitch;
        }
  // Interleaved rows of two pitches are not told apart.
  EXPECT_TRUE(shares({0, 4, 1, 8}, {4, 2, 1, 16}));
  EXPECT_FALSE(shares({0, 4, 1, 8}, {25, 2, 1, 16}));

  nvfp4_check_disjoint("at", "dest_c3", "operand #6", "operand #5", bytes + 8,
                       1, 16, 0, bytes + 16, 1, 4, 0);
  EXPECT_EQ(take(), "at: expected operand #6, an output, to overlap no other "
                    "operand, but operand #5 starts 8 bytes after its start "
                    "[dest_c3]");
  nvfp4_check_disjoint("at", "dest_c3", "operand #6", "operand #5", bytes + 8,
                       1, 16, 0, bytes, 1, 12, 0);
  EXPECT_EQ(take(), "at: expected operand #6, an output, to overlap no other "
                    "operand, but operand #5 starts 8 bytes before it "
                    "[dest_c3]");
}

TEST(Checks, AllDisjoint) {
  static char bytes[256];
  struct Row {
    int64_t number, start, rows, width, pitch;
  };
  auto shares = [](std::vector<Row> rows, int64_t outputs) {
    std::vector<int64_t> table;
    for (const Row &row : rows)
      table.insert(table.end(),
                   {row.number, reinterpret_cast<intptr_t>(bytes) + row.start,
                    row.rows, row.width, row.pitch});
    int32_t apart = nvfp4_check_all_disjoint("at", "dest_c3", table.data(),
                                             rows.size(), outputs);
    std::string said = take();
    EXPECT_EQ(apart, said.empty());
    return said;
  };
  auto overlap = [](int output, int other, const std::string &distance) {
    return "at: expected operand #" + std::to_string(output) +
           ", an output, to overlap no other operand, but operand #" +
           std::to_string(other) + " starts " + distance + " [dest_c3]";
  };
  EXPECT_EQ(shares({}, 0), "");
  // Inputs may share bytes with each other.
  EXPECT_EQ(shares({{0, 0, 1, 16, 0}, {1, 0, 1, 16, 0}, {2, 16, 1, 4, 0}}, 1),
            "");
  EXPECT_EQ(shares({{0, 0, 1, 17, 0}, {1, 0, 1, 16, 0}, {2, 16, 1, 4, 0}}, 1),
            overlap(2, 0, "16 bytes before it"));
  // A long operand that begins first reaches others past its neighbour.
  EXPECT_EQ(shares({{0, 8, 1, 4, 0},
                    {3, 64, 1, 8, 0},
                    {4, 0, 1, 65, 0},
                    {7, 128, 1, 8, 0}},
                   2),
            overlap(4, 0, "8 bytes after its start"));
  EXPECT_EQ(shares({{3, 64, 1, 8, 0}, {4, 0, 1, 65, 0}}, 1),
            overlap(4, 3, "64 bytes after its start"));
  // Of two outputs the later one is named first.
  EXPECT_EQ(shares({{5, 32, 1, 8, 0}, {6, 30, 1, 4, 0}}, 2),
            overlap(6, 5, "2 bytes after its start"));
  // Rows of one matrix lie between those of another; empty ones nowhere.
  EXPECT_EQ(shares({{0, 0, 4, 4, 16}, {1, 4, 4, 4, 16}, {2, 0, 0, 4, 16}}, 2),
            "");
}
