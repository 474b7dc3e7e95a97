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

#include "nvfp4/KernelTarget/Problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace nvfp4;
using namespace nvfp4::strategy;
using format::BlockFormat;

int64_t Problem::getRows() const {
  // More rows than fit 64 bits are as many as do.
  int64_t rows = 0, part = 0;
  for (const Group &group : groups)
    if (__builtin_mul_overflow(group.count, group.rows, &part) ||
        __builtin_add_overflow(rows, part, &rows))
      return std::numeric_limits<int64_t>::max();
  return rows;
}

int64_t Problem::getRowsPerGroup() const {
  int64_t count = 0;
  for (const Group &group : groups)
    count += group.count;
  return count == 0 ? 0 : getRows() / count + (getRows() % count != 0);
}

InstructionKind strategy::getInstructionKind(const Problem &problem) {
  if (problem.unscaledRows)
    return InstructionKind::F16;
  if (format::elementBits(problem.lhs) == 8 ||
      format::elementBits(problem.rhs) == 8)
    return InstructionKind::MXF8F6F4;
  return problem.lhs == BlockFormat::MXFP4 ? InstructionKind::MXF4
                                           : InstructionKind::MXF4NVF4;
}

int64_t strategy::getTileK(const Problem &problem) {
  InstructionKind kind = getInstructionKind(problem);
  bool isWide =
      kind == InstructionKind::MXF8F6F4 || kind == InstructionKind::F16;
  return isWide ? 128 : 256;
}

double strategy::storedBits(BlockFormat format) {
  return format::elementBits(format) + 8.0 / format::blockSize(format);
}

double strategy::storedRowBits(const Problem &problem) {
  return problem.unscaledRows ? 16 : storedBits(problem.lhs);
}

/// Rows at the middle of `parts` equal parts of the probability, of a binomial
/// distribution of `trials` with `probability` each.
static std::vector<double> binomialQuantiles(double trials, double probability,
                                             int64_t parts) {
  double mean = trials * probability;
  // Beyond, the spread is below 4 % and the first term no double.
  if (mean > 600 || probability >= 1)
    return std::vector<double>(static_cast<size_t>(parts), mean);
  std::vector<double> quantiles;
  double value = 0;
  double term = std::exp(trials * std::log1p(-probability)), sum = term;
  for (int64_t i = 0; i < parts; ++i) {
    double wanted = (double(i) + 0.5) / double(parts);
    while (sum < wanted && value < trials) {
      term *= (trials - value) / (value + 1) * probability / (1 - probability);
      ++value;
      sum += term;
      // The sum of what is left may round to less than is wanted.
      if (value > mean && term < 1e-18)
        break;
    }
    quantiles.push_back(value);
  }
  return quantiles;
}

std::vector<Problem::Group> strategy::spreadRows(int64_t rows, int64_t count,
                                                 int64_t n, int64_t k,
                                                 int64_t capacity,
                                                 int64_t choices) {
  if (rows <= 0 || count <= 0)
    return {};
  // More classes than this say nothing more about a tile.
  constexpr int64_t kMostParts = 4096, kMostClasses = 16;
  int64_t parts = std::min(count, kMostParts);
  std::vector<double> quantiles = binomialQuantiles(
      double(rows) / double(choices), double(choices) / double(count), parts);
  bool isCoarse = quantiles.back() - quantiles.front() >= kMostClasses;
  int64_t chunk = isCoarse ? (parts + kMostClasses - 1) / kMostClasses : 1;

  std::vector<Problem::Group> groups;
  for (int64_t i = 0; i < parts; i += chunk) {
    int64_t end = std::min(parts, i + chunk);
    double sum = 0;
    for (int64_t j = i; j < end; ++j)
      sum += quantiles[static_cast<size_t>(j)];
    int64_t each = std::min(std::llround(sum / double(end - i)),
                            static_cast<long long>(capacity));
    // Parts share `count` without a rest.
    int64_t number = count * end / parts - count * i / parts;
    if (each == 0)
      continue;
    if (!groups.empty() && groups.back().rows == each)
      groups.back().count += number;
    else
      groups.push_back({number, each, n, k});
  }
  // Fewer rows than a group in the middle has: they are somewhere.
  if (groups.empty())
    groups.push_back({std::min(rows, count), 1, n, k});
  return groups;
}
