//===- GateLayoutTest.cpp - tests of gate and up interleaving ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every producer's rows written out, permutations between all of them, and the
// trtllm-gen row shuffle.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/GateLayout.h"

#include "gtest/gtest.h"

#include <set>
#include <string>
#include <vector>

using namespace nvfp4::format;

namespace {

/// "g3" or "u3".
std::string named(bool gate, int64_t c) {
  std::string name(1, gate ? 'g' : 'u');
  return name.append(std::to_string(c));
}

/// The rows of a weight with I output columns as "g0", "u0", ..., built by
/// emitting runs of q.
std::vector<std::string> rowsOf(int64_t outputColumns, int64_t q,
                                bool gateFirst) {
  std::vector<std::string> rows;
  for (int64_t start = 0; start < outputColumns; start += q)
    for (bool gate : {gateFirst, !gateFirst})
      for (int64_t c = start; c < start + q; ++c)
        rows.push_back(named(gate, c));
  return rows;
}

TEST(GateLayout, RowsOfEveryGranularity) {
  for (int64_t q : {1, 2, 8, 16, 32, 64, 128})
    for (bool gateFirst : {true, false}) {
      int64_t columns = 128;
      auto rows = rowsOf(columns, q, gateFirst);
      GateLayout layout{q,
                        gateFirst ? GateOrder::GateFirst : GateOrder::UpFirst};
      for (int64_t c = 0; c < columns; ++c) {
        EXPECT_EQ(rows[static_cast<size_t>(layout.gateRow(c))], named(true, c));
        EXPECT_EQ(rows[static_cast<size_t>(layout.upRow(c))], named(false, c));
      }
      for (int64_t row = 0; row < 2 * columns; ++row) {
        const std::string &name = rows[static_cast<size_t>(row)];
        EXPECT_EQ(layout.isGateRow(row), name[0] == 'g');
        EXPECT_EQ(std::to_string(layout.column(row)), name.substr(1));
      }
    }
}

TEST(GateLayout, ProducersTable) {
  struct Expected {
    const char *name;
    int64_t gate1, up0;
  };
  // Row of gate column 1 and of up column 0 for I = 128.
  const Expected table[] = {
      {"gpt_oss", 2, 1},       {"triton_kernels", 2, 1},
      {"deepgemm_mega", 1, 8}, {"flashinfer_mega", 1, 16},
      {"cudnn", 1, 32},        {"cutedsl", 65, 0},
      {"vllm", 1, 128},        {"trtllm_cutlass", 129, 0},
      {"trtllm_gen", 3, 0},
  };
  EXPECT_EQ(std::size(table), kGateLayouts.size());
  for (const Expected &row : table) {
    auto found = findGateLayout(row.name);
    ASSERT_TRUE(found) << row.name;
    EXPECT_EQ(found->layout(128).gateRow(1), row.gate1) << row.name;
    EXPECT_EQ(found->layout(128).upRow(0), row.up0) << row.name;
  }
  EXPECT_EQ(findGateLayout("nobody"), std::nullopt);
}

TEST(GateLayout, PermutationsMoveEveryRowToItsName) {
  int64_t columns = 128;
  std::vector<int64_t> source(256);
  for (const NamedGateLayout &from : kGateLayouts)
    for (const NamedGateLayout &to : kGateLayouts) {
      GateLayout a = from.layout(columns), b = to.layout(columns);
      ASSERT_TRUE(gatePermutation(a, b, source));
      auto before =
          rowsOf(columns, a.granularity, a.order == GateOrder::GateFirst);
      auto after =
          rowsOf(columns, b.granularity, b.order == GateOrder::GateFirst);
      for (size_t row = 0; row < after.size(); ++row)
        ASSERT_EQ(before[static_cast<size_t>(source[row])], after[row]);
    }
}

// trtllm-gen takes rows 0, N/2, 1, N/2+1, ... of the up-first halves.
TEST(GateLayout, TrtllmGenInterleavesTheHalves) {
  std::vector<int64_t> source(256);
  ASSERT_TRUE(gatePermutation(findGateLayout("trtllm_cutlass")->layout(128),
                              findGateLayout("trtllm_gen")->layout(128),
                              source));
  for (int64_t row = 0; row < 256; ++row)
    EXPECT_EQ(source[static_cast<size_t>(row)], row / 2 + row % 2 * 128);
}

TEST(GateLayout, RowCountMustBeAMultipleOfTwoRuns) {
  GateLayout q8{8, GateOrder::GateFirst};
  EXPECT_TRUE(q8.divides(0));
  EXPECT_TRUE(q8.divides(32));
  EXPECT_FALSE(q8.divides(24));
  EXPECT_FALSE(q8.divides(17));
  EXPECT_FALSE((GateLayout{0, GateOrder::GateFirst}.divides(16)));
  std::vector<int64_t> source(24, -1);
  EXPECT_FALSE(gatePermutation(q8, {1, GateOrder::UpFirst}, source));
  EXPECT_FALSE(gatePermutation({1, GateOrder::UpFirst}, q8, source));
  EXPECT_EQ(source, std::vector<int64_t>(24, -1));
}

TEST(GateLayout, OrderNames) {
  for (GateOrder order : {GateOrder::GateFirst, GateOrder::UpFirst})
    EXPECT_EQ(parseGateOrder(stringify(order)), order);
  EXPECT_EQ(parseGateOrder("middle"), std::nullopt);
}

// Within a block, rows 0, ways, 2*ways, ... become consecutive: the shuffle is
// the transposition of an 8 x ways matrix.
TEST(GateLayout, TrtllmShuffleIsATransposition) {
  for (int64_t block : {16, 32}) {
    int64_t ways = block / 8;
    for (int64_t start = 0; start < 4 * block; start += block)
      for (int64_t i = 0; i < 8; ++i)
        for (int64_t j = 0; j < ways; ++j)
          EXPECT_EQ(trtllmShuffledRow(start + i * ways + j, block),
                    start + j * 8 + i);
  }
  EXPECT_EQ(trtllmShuffledRow(33, 32), 40);
  EXPECT_EQ(trtllmShuffledRow(17, 16), 24);
}

TEST(GateLayout, RowsPast32Bits) {
  GateLayout layout{64, GateOrder::UpFirst};
  int64_t c = (int64_t{1} << 33) + 5;
  EXPECT_EQ(layout.upRow(c), (int64_t{1} << 34) + 5);
  EXPECT_EQ(layout.gateRow(c), (int64_t{1} << 34) + 69);
  EXPECT_EQ(layout.column(layout.gateRow(c)), c);
}

} // namespace
