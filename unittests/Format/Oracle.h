//===- Oracle.h - nearest value by search -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of every cast: a format is the list of its magnitudes, computed
// with ldexp in double, and rounding is a search for the nearest of them, ties
// to the even code. Shares nothing with the bit arithmetic under test.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_FORMAT_ORACLE_H
#define NVFP4_UNITTESTS_FORMAT_ORACLE_H

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace oracle {

/// The magnitudes of codes 0..lastCode of a float with `mantissaBits` mantissa
/// bits and exponent bias `bias`; element c is the value of code c.
inline std::vector<double> magnitudes(int mantissaBits, int bias,
                                      unsigned lastCode) {
  std::vector<double> values;
  for (unsigned code = 0; code <= lastCode; ++code) {
    int field = static_cast<int>(code >> mantissaBits);
    int mantissa = static_cast<int>(code) - (field << mantissaBits);
    double fraction = std::ldexp(mantissa, -mantissaBits);
    values.push_back(field == 0 ? std::ldexp(fraction, 1 - bias)
                                : std::ldexp(1 + fraction, field - bias));
  }
  return values;
}

/// The code of the magnitude nearest to |x|, x finite; ties to the even code,
/// or down. Past the last magnitude the answer is the last code.
inline unsigned nearest(const std::vector<double> &values, double x,
                        bool tiesDown = false) {
  double magnitude = std::fabs(x);
  auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  if (above == values.end())
    return static_cast<unsigned>(values.size() - 1);
  auto high = static_cast<unsigned>(above - values.begin());
  if (*above == magnitude)
    return high;
  unsigned low = high - 1;
  double toLow = magnitude - values[low];
  double toHigh = values[high] - magnitude;
  if (toLow != toHigh)
    return toLow < toHigh ? low : high;
  return tiesDown || low % 2 == 0 ? low : high;
}

inline float fromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

/// All 2^16 bf16 values, then every midpoint between neighbours of `values`
/// with its two f32 neighbours, then random bit patterns. Both signs.
inline std::vector<float> castInputs(const std::vector<double> &values) {
  std::vector<float> inputs;
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    inputs.push_back(fromBits(bits << 16));
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    auto middle = static_cast<float>((values[i] + values[i + 1]) / 2);
    for (float x : {middle, std::nextafterf(middle, INFINITY),
                    std::nextafterf(middle, 0.0f)}) {
      inputs.push_back(x);
      inputs.push_back(-x);
    }
  }
  std::mt19937 random(17);
  for (int i = 0; i < 1 << 18; ++i)
    inputs.push_back(fromBits(static_cast<uint32_t>(random())));
  return inputs;
}

} // namespace oracle

#endif // NVFP4_UNITTESTS_FORMAT_ORACLE_H
