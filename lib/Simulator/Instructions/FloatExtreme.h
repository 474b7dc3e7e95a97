//===- FloatExtreme.h - smallest or largest of many f32 ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The minimum and maximum of redux.sync and tcgen05.ld.red for f32 values.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATEXTREME_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATEXTREME_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace nvfp4::sim {

/// Takes values one by one. +0 is above -0; NaN does not count unless
/// `propagateNan`, and is what remains when there is nothing else.
struct FloatExtreme {
  bool isMax = false;
  bool absolute = false;
  bool propagateNan = false;

  void add(uint32_t bits) {
    auto value = std::bit_cast<float>(bits);
    if (absolute)
      value = std::fabs(value);
    if (value != value) {
      anyNan = true;
      return;
    }
    bool better =
        value == best ? std::signbit(value) != isMax : (value > best) == isMax;
    if (!any || better)
      best = value;
    any = true;
  }
  uint32_t bits() const {
    return !any || (anyNan && propagateNan) ? 0x7fffffffu
                                            : std::bit_cast<uint32_t>(best);
  }

  // The extreme value so far.
  float best = 0;
  bool any = false;
  bool anyNan = false;
};

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATEXTREME_H
