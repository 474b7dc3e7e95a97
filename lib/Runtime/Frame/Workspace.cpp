//===- Workspace.cpp - Places in the workspace of a call --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls have few allocations at a time, so that a sorted list is searched.
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"

#include <algorithm>

using namespace nvfp4::runtime;

uint64_t Workspace::allocate(uint64_t bytes) {
  // Memory of no bytes has a place of its own as well.
  uint64_t size =
      (std::max<uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  uint64_t begin = 0;
  auto next = pieces.begin();
  for (; next != pieces.end() && next->begin - begin < size; ++next)
    begin = next->end;
  pieces.insert(next, {begin, begin + size});
  peak = std::max(peak, begin + size);
  return begin;
}

bool Workspace::free(uint64_t offset) {
  auto found = std::lower_bound(
      pieces.begin(), pieces.end(), offset,
      [](const Piece &piece, uint64_t at) { return piece.begin < at; });
  if (found == pieces.end() || found->begin != offset)
    return false;
  pieces.erase(found);
  return true;
}
