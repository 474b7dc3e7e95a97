//===- FloatMode.h - rounding and flushing of the host's float unit -------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Directed rounding and `.ftz` are done by the host: a handler is wrapped in
// one that sets the control register around it. The wrapped handler is called
// through a pointer, so no operation moves across.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATMODE_H
#define NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATMODE_H

#include "nvfp4/Simulator/Decode/DecodeContext.h"
#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <xmmintrin.h>

namespace nvfp4::sim {

/// Attributes of a wrapped handler.
struct FloatModeAttributes : InstAttributes {
  Handler inner = nullptr;
  unsigned mode = 0;
};

inline Step runInFloatMode(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &attributes = inst.attr<FloatModeAttributes>();
  unsigned saved = _mm_getcsr();
  _mm_setcsr(attributes.mode);
  Step step = attributes.inner(warp, inst, mask);
  _mm_setcsr(saved);
  return step;
}

/// Consumes `.ftz` and a rounding modifier, and wraps the handler when they
/// differ from the host's default.
inline void applyFloatMode(DecodeContext &context, Rounding rounding,
                           bool flush) {
  if (rounding == Rounding::NearestEven && !flush)
    return;
  auto &attributes = context.makeAttributes<FloatModeAttributes>();
  unsigned mode = 0x1f80; // all exceptions masked
  if (flush)
    mode |= 0x8040; // flush results, treat subnormal inputs as zero
  switch (rounding) {
  case Rounding::Down:
    mode |= 0x2000;
    break;
  case Rounding::Up:
    mode |= 0x4000;
    break;
  case Rounding::TowardZero:
    mode |= 0x6000;
    break;
  default:
    break;
  }
  attributes.mode = mode;
  attributes.inner = context.inst.handler;
  context.inst.handler = runInFloatMode;
}

/// Consumes one of .rn .rz .rm .rp; nearest-even when there is none.
inline Rounding takeRounding(DecodeContext &context) {
  switch (context.takeAny({"rn", "rz", "rm", "rp"})) {
  case 1:
    return Rounding::TowardZero;
  case 2:
    return Rounding::Down;
  case 3:
    return Rounding::Up;
  default:
    return Rounding::NearestEven;
  }
}

} // namespace nvfp4::sim

#endif // NVFP4_LIB_SIMULATOR_INSTRUCTIONS_FLOATMODE_H
