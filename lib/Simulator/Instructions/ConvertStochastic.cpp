//===- ConvertStochastic.cpp - cvt.rs ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stochastic rounding of f32: the magnitude is rounded away from zero when the
// bits that do not fit, plus random bits, carry. Random bits are as significant
// as the highest of the bits that do not fit.
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <cmath>

namespace nvfp4::sim {
namespace {

struct StochasticAttributes : InstAttributes {
  Type to = Type::E2M1x4;
  bool relu = false;
  bool satfinite = false;
  unsigned count = 4;
};

/// Bits of an element in the destination.
unsigned elementPitch(const StochasticAttributes &a) {
  return a.to == Type::E2M1x4 ? 4 : a.count == 4 ? 8 : 16;
}

/// The random bits of element `i` (0 is the first operand) and their number.
std::pair<uint32_t, unsigned> randomBits(const StochasticAttributes &a,
                                         unsigned i, uint32_t bits) {
  switch (a.to) {
  case Type::F16x2:
    return {bits >> (i == 0 ? 16 : 0) & 0x1fff, 13};
  case Type::BF16x2:
    return {bits >> (i == 0 ? 16 : 0) & 0xffff, 16};
  case Type::E2M1x4:
    // The first two take the upper bytes of both halves, the others the lower.
    return {bits >> (16 * (1 - i % 2) + 8 * (1 - i / 2)) & 0xff, 8};
  default:
    return {bits >> (i < 2 ? 16 : 0) & 0xffff, 16};
  }
}

uint32_t encodeElement(const StochasticAttributes &a, float value,
                       uint32_t random, unsigned width) {
  if (a.relu && !(value > 0) && value == value)
    value = 0;
  return encodeStochastic(value, *floatFormat(a.to), random, width,
                          a.satfinite);
}

Step convert(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<StochasticAttributes>();
  const Ref *sources = &warp.kernel.pool[inst.pool];
  unsigned pitch = elementPitch(a);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t bits = warp.narrow(inst.op[1])[lane];
    uint32_t result = 0;
    for (unsigned i = 0; i < a.count; ++i) {
      auto [random, width] = randomBits(a, i, bits);
      float value = std::bit_cast<float>(warp.narrow(sources[i])[lane]);
      result |= encodeElement(a, value, random, width)
                << (pitch * (a.count - 1 - i));
    }
    warp.narrow(inst.op[0])[lane] = result;
  }
  return Step::Next;
}

} // namespace

uint32_t encodeStochastic(double value, const FloatFormat &format,
                          uint32_t random, unsigned width, bool saturate) {
  uint32_t down = encodeFloat(value, format, Rounding::TowardZero, saturate);
  if (!std::isfinite(value))
    return down;
  uint32_t signBit = 1u << (format.exponentBits + format.mantissaBits);
  uint32_t magnitude = down & (signBit - 1);
  uint32_t exponent = magnitude >> format.mantissaBits;
  // The distance to the next value, also where that is infinity.
  double step =
      std::ldexp(1.0, static_cast<int>(exponent ? exponent : 1) - format.bias -
                          static_cast<int>(format.mantissaBits));
  double rest = (std::fabs(value) - decodeFloat(magnitude, format)) / step;
  bool carries =
      std::floor(std::ldexp(rest, static_cast<int>(width))) + random >=
      std::ldexp(1.0, static_cast<int>(width));
  if (!carries)
    return down;
  uint32_t largest =
      encodeFloat(1e300, format, Rounding::TowardZero, true) & (signBit - 1);
  if (magnitude >= largest && (saturate || !format.ieee))
    return (down & signBit) | largest;
  return down + 1;
}

void decodeStochasticConvert(DecodeContext &context) {
  auto &a = context.makeAttributes<StochasticAttributes>();
  a.relu = context.take("relu");
  a.satfinite = context.take("satfinite");
  a.to =
      context.expectType({Type::F16x2, Type::BF16x2, Type::E4M3x4, Type::E5M2x4,
                          Type::E2M3x4, Type::E3M2x4, Type::E2M1x4});
  context.expectType({Type::F32});
  bool pair = a.to == Type::F16x2 || a.to == Type::BF16x2;
  a.count = pair ? 2 : 4;
  if (!pair && !a.satfinite)
    context.error("conversion to '." + std::string(typeName(a.to)) +
                  "' needs '.satfinite'");
  if (!context.expectOperands(pair ? 4 : 3))
    return;
  std::vector<const Operand *> sources;
  if (pair)
    sources = {&context.operand(1), &context.operand(2)};
  else
    sources = context.elements(1);
  if (sources.size() != a.count) {
    context.error("expected 4 values, but got " +
                  std::to_string(sources.size()));
    return;
  }
  Inst &inst = context.inst;
  inst.op[0] = context.dest(0, a.to);
  inst.op[1] = context.source(context.operandCount() - 1, Type::B32);
  inst.pool = context.poolSize();
  for (const Operand *source : sources)
    context.addToPool(context.source(*source, Type::F32));
  inst.handler = convert;
}

} // namespace nvfp4::sim
