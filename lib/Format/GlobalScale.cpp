//===- GlobalScale.cpp - per-tensor scales of checkpoints -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between stored global scales, and the rounding that a common
// multiplier costs.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Format/GlobalScale.h"

#include "nvfp4/Format/Float8.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace nvfp4::format {

std::optional<float> globalMultiplier(float stored, GlobalConvention stores) {
  float multiplier =
      stores == GlobalConvention::Encode ? 1.0f / stored : stored;
  if (!(stored > 0.0f) || !std::isfinite(stored) || !(multiplier > 0.0f) ||
      !std::isfinite(multiplier))
    return std::nullopt;
  return multiplier;
}

/// The UE4M3 code nearest to a non-negative double, ties to even, by search:
/// going through f32 would round twice.
static uint8_t nearestUE4M3(double x) {
  const auto *begin = detail::kE4M3Values.begin();
  const auto *end = begin + kE4M3NaN;
  const auto *above = std::lower_bound(begin, end, x);
  if (above == end)
    return kE4M3NaN - 1;
  auto high = static_cast<uint8_t>(above - begin);
  if (high == 0)
    return 0;
  auto low = static_cast<uint8_t>(high - 1);
  double middle = (static_cast<double>(decodeE4M3(low)) + *above) / 2;
  if (x == middle)
    return low % 2 == 0 ? low : high;
  return x < middle ? low : high;
}

RescaleReport rescaleUE4M3(std::span<uint8_t> scales, double ratio) {
  assert(ratio > 0 && ratio <= 1);
  RescaleReport report;
  for (uint8_t &byte : scales) {
    if (byte >= kE4M3NaN || byte == 0)
      continue;
    double exact = decodeE4M3(byte) * ratio;
    byte = nearestUE4M3(exact);
    if (byte == 0)
      ++report.underflows;
    double rounded = decodeE4M3(byte);
    if (exact >= 0x1p-6)
      report.maxRelativeError =
          std::max(report.maxRelativeError, std::fabs(rounded - exact) / exact);
  }
  return report;
}

std::optional<int64_t> findInvalidUE4M3(std::span<const uint8_t> scales) {
  auto found = std::find_if_not(scales.begin(), scales.end(), isValidUE4M3);
  if (found == scales.end())
    return std::nullopt;
  return found - scales.begin();
}

} // namespace nvfp4::format
