//===- Problem.cpp - a product as the cost model sees it --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantities that follow from formats, and expected rows of groups.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Strategy/Problem.h"

#include <algorithm>
#include <cmath>

using namespace nvfp4;
using namespace nvfp4::strategy;
using format::BlockFormat;

int64_t Problem::getRows() const {
  int64_t rows = 0;
  for (const Group &group : groups)
    rows += group.count * group.rows;
  return rows;
}

InstructionKind strategy::getInstructionKind(const Problem &problem) {
  if (format::elementBits(problem.lhs) == 8 ||
      format::elementBits(problem.rhs) == 8)
    return InstructionKind::MXF8F6F4;
  return problem.lhs == BlockFormat::MXFP4 ? InstructionKind::MXF4
                                           : InstructionKind::MXF4NVF4;
}

int64_t strategy::getTileK(const Problem &problem) {
  return getInstructionKind(problem) == InstructionKind::MXF8F6F4 ? 128 : 256;
}

double strategy::storedBits(BlockFormat format) {
  return format::elementBits(format) + 8.0 / format::blockSize(format);
}

std::vector<Problem::Group> strategy::spreadRows(int64_t rows, int64_t count,
                                                 int64_t n, int64_t k,
                                                 int64_t capacity) {
  if (rows <= 0 || count <= 0)
    return {};
  double empty = std::pow(1.0 - 1.0 / double(count), double(rows));
  int64_t active = std::llround(double(count) * (1.0 - empty));
  active = std::clamp<int64_t>(active, 1, std::min(count, rows));
  std::vector<Problem::Group> groups;
  auto add = [&](int64_t number, int64_t each) {
    if (number > 0 && each > 0)
      groups.push_back({number, std::min(each, capacity), n, k});
  };
  add(rows % active, rows / active + 1);
  add(active - rows % active, rows / active);
  return groups;
}
