//===- Math.cpp - fast approximations ---------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// rsqrt, sin, cos, lg2, ex2, tanh. Hardware documents an error bound for each;
// here the exact value is computed in f64 and rounded, which is within every
// bound but not bit-identical to hardware.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "FloatMode.h"
#include "Lanewise.h"

#include <cmath>

namespace nvfp4::sim {
namespace {

float canonicalize(double x) {
  return x != x ? std::bit_cast<float>(0x7fffffffu) : static_cast<float>(x);
}
float rsqrt(float a) {
  return canonicalize(1.0 / std::sqrt(static_cast<double>(a)));
}
double rsqrtDouble(double a) { return 1.0 / std::sqrt(a); }
float sine(float a) { return canonicalize(std::sin(static_cast<double>(a))); }
float cosine(float a) { return canonicalize(std::cos(static_cast<double>(a))); }
float log2Of(float a) {
  return canonicalize(std::log2(static_cast<double>(a)));
}
float exp2Of(float a) {
  return canonicalize(std::exp2(static_cast<double>(a)));
}
float tanhOf(float a) {
  return canonicalize(std::tanh(static_cast<double>(a)));
}

template <double (*F)(double)> Half onHalf(Half a) {
  return {static_cast<uint16_t>(encodeFloat(F(halfToFloat(a.bits)), formatF16,
                                            Rounding::NearestEven, false))};
}
template <double (*F)(double)> BFloat onBFloat(BFloat a) {
  return {static_cast<uint16_t>(encodeFloat(
      F(bfloatToFloat(a.bits)), formatBF16, Rounding::NearestEven, false))};
}
template <typename T, T (*F)(T)> uint32_t onPair(uint32_t a) {
  uint32_t low = F(T{static_cast<uint16_t>(a)}).bits;
  uint32_t high = F(T{static_cast<uint16_t>(a >> 16)}).bits;
  return high << 16 | low;
}
double exp2Double(double a) { return std::exp2(a); }
double tanhDouble(double a) { return std::tanh(a); }

template <double (*F)(double)> Handler half(Type type) {
  switch (type) {
  case Type::F16:
    return lanewise<onHalf<F>>;
  case Type::BF16:
    return lanewise<onBFloat<F>>;
  case Type::F16x2:
    return lanewise<onPair<Half, onHalf<F>>>;
  default:
    return lanewise<onPair<BFloat, onBFloat<F>>>;
  }
}

void decodeMath(DecodeContext &context) {
  const std::string &opcode = context.parsed.opcode;
  context.take("approx");
  bool flush = context.take("ftz");
  Type type = context.expectType(
      {Type::F32, Type::F64, Type::F16, Type::BF16, Type::F16x2, Type::BF16x2});
  decodeOperands(context, type, 1);
  Handler handler = nullptr;
  if (type == Type::F32)
    handler = opcode == "rsqrt" ? lanewise<rsqrt>
              : opcode == "sin" ? lanewise<sine>
              : opcode == "cos" ? lanewise<cosine>
              : opcode == "lg2" ? lanewise<log2Of>
              : opcode == "ex2" ? lanewise<exp2Of>
                                : lanewise<tanhOf>;
  else if (type == Type::F64 && opcode == "rsqrt")
    handler = lanewise<rsqrtDouble>;
  else if (opcode == "ex2" && type != Type::F64)
    handler = half<exp2Double>(type);
  else if (opcode == "tanh" && type != Type::F64)
    handler = half<tanhDouble>(type);
  context.inst.handler = handler;
  applyFloatMode(context, Rounding::NearestEven, flush && type == Type::F32);
}

} // namespace

void addMathInstructions(InstructionTable &table) {
  for (const char *opcode : {"rsqrt", "sin", "cos", "lg2", "ex2", "tanh"})
    table.add(opcode, decodeMath);
}

} // namespace nvfp4::sim
