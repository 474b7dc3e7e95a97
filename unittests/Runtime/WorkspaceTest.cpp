//===- WorkspaceTest.cpp - Places in the workspace of a call ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first gap that is large enough is taken.
//
//===----------------------------------------------------------------------===//

#include "Frame/Workspace.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using nvfp4::runtime::Workspace;

TEST(Workspace, PlacesAreMultiplesOf256) {
  Workspace workspace;
  EXPECT_EQ(workspace.getPeak(), 0u);
  EXPECT_EQ(workspace.allocate(1), 0u);
  EXPECT_EQ(workspace.allocate(256), 256u);
  EXPECT_EQ(workspace.allocate(257), 512u);
  EXPECT_EQ(workspace.allocate(0), 1024u);
  EXPECT_EQ(workspace.getPeak(), 1280u);
}

TEST(Workspace, GapsAreTakenAgain) {
  Workspace workspace;
  uint64_t first = workspace.allocate(512), second = workspace.allocate(512);
  workspace.allocate(256);
  EXPECT_TRUE(workspace.free(first));
  EXPECT_FALSE(workspace.free(first));
  EXPECT_FALSE(workspace.free(second + 256));
  EXPECT_EQ(workspace.allocate(513), 1280u);
  EXPECT_EQ(workspace.allocate(256), 0u);
  EXPECT_TRUE(workspace.free(second));
  EXPECT_EQ(workspace.allocate(768), 256u);
  EXPECT_EQ(workspace.getPeak(), 2048u);
}

TEST(Workspace, PiecesNeverOverlap) {
  std::mt19937 random(1);
  Workspace workspace;
  std::map<uint64_t, uint64_t> pieces;
  for (int i = 0; i < 2000; ++i) {
    if (!pieces.empty() && random() % 2) {
      auto chosen = std::next(pieces.begin(), random() % pieces.size());
      EXPECT_TRUE(workspace.free(chosen->first));
      pieces.erase(chosen);
      continue;
    }
    uint64_t bytes = random() % 5000, begin = workspace.allocate(bytes);
    auto next = pieces.lower_bound(begin);
    ASSERT_TRUE(next == pieces.end() || begin + bytes <= next->first);
    if (next != pieces.begin()) {
      auto before = std::prev(next);
      ASSERT_LE(before->first + before->second, begin);
    }
    pieces[begin] = bytes;
    ASSERT_LE(begin + bytes, workspace.getPeak());
  }
}
