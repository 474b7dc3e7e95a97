//===- MemRefCopyTest.cpp - Tests of strided copies -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copy that upstream lowering calls for strided memrefs: windows,
// transposition, and matrices without elements.
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include <array>
#include <cstdint>

extern "C" void memrefCopy(int64_t elementSize, void *source, void *target);

namespace {
struct Descriptor {
  void *allocated, *aligned;
  int64_t offset;
  std::array<int64_t, 2> sizes, strides;
};
struct Unranked {
  int64_t rank;
  void *descriptor;
};
} // namespace

TEST(MemRefCopy, TransposesAWindow) {
  std::array<int16_t, 12> source;
  for (int i = 0; i < 12; ++i)
    source[i] = static_cast<int16_t>(i);
  std::array<int16_t, 8> target;
  target.fill(-1);
  // Rows 1..2, columns 1..3 of a 3x4 matrix, into columns of width 2.
  Descriptor from{source.data(), source.data(), 5, {2, 3}, {4, 1}};
  Descriptor to{target.data(), target.data(), 1, {2, 3}, {1, 2}};
  Unranked unrankedFrom{2, &from}, unrankedTo{2, &to};
  memrefCopy(sizeof(int16_t), &unrankedFrom, &unrankedTo);
  EXPECT_EQ(target, (std::array<int16_t, 8>{-1, 5, 9, 6, 10, 7, 11, -1}));
}

TEST(MemRefCopy, CopiesNothingFromAnEmptyMatrix) {
  Descriptor from{nullptr, nullptr, 0, {2, 0}, {0, 1}};
  std::array<int32_t, 2> target = {1, 2};
  Descriptor to{target.data(), target.data(), 0, {2, 0}, {1, 1}};
  Unranked unrankedFrom{2, &from}, unrankedTo{2, &to};
  memrefCopy(sizeof(int32_t), &unrankedFrom, &unrankedTo);
  EXPECT_EQ(target, (std::array<int32_t, 2>{1, 2}));
}
