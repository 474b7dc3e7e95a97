//===- MixedTest.cpp - f32 arithmetic with 16-bit operands ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add, sub and fma of f32 with f16 or bf16 operands (PTX ISA 9.7.5), against
// exact sums rounded once. Operands have few bits and exponents near each
// other, so that f64 holds every exact result.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <random>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

/// The code of a float that the format can hold; bf16 has 16 bits of the f32.
uint16_t halfCode(float value) {
  if (value == 0)
    return std::signbit(value) ? 0x8000 : 0;
  int exponent = 0;
  float fraction = std::frexp(std::fabs(value), &exponent); // in [0.5, 1)
  auto mantissa = static_cast<uint16_t>(fraction * 2048) & 1023;
  return static_cast<uint16_t>((std::signbit(value) ? 0x8000 : 0) |
                               (exponent + 14) << 10 | mantissa);
}
uint16_t bfloatCode(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

struct Case {
  float a, b, c;
};

/// Products and addends with exponents of -6 to 6 and 8 bits, and an addend of
/// 24 bits.
std::vector<Case> randomCases() {
  std::mt19937 random(11);
  auto small = [&] {
    float value = std::ldexp(static_cast<float>(1 + random() % 255),
                             static_cast<int>(random() % 13) - 13);
    return random() % 2 ? value : -value;
  };
  std::vector<Case> cases;
  for (unsigned i = 0; i < 64; ++i) {
    float c = std::ldexp(static_cast<float>(random() % (1 << 24)),
                         static_cast<int>(random() % 13) - 30);
    cases.push_back({small(), small(), random() % 2 ? c : -c});
  }
  return cases;
}

/// Runs `op` on all cases; `sources` without the addend.
std::vector<float> runMixed(const std::string &op, bool half,
                            const std::vector<Case> &cases, unsigned sources) {
  auto code = [&](float value) {
    return half ? halfCode(value) : bfloatCode(value);
  };
  std::vector<uint64_t> in;
  for (const Case &c : cases)
    in.push_back(uint64_t{std::bit_cast<uint32_t>(c.c)} << 32 |
                 uint32_t{code(c.b)} << 16 | code(c.a));
  std::string operands = sources == 2 ? "%h0, %h1, %f1" : "%h0, %f1";
  Outcome outcome = run(moduleAround(prologue() + R"(
    mul.wide.u32 %rd3, %r0, 8;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.b16 %h0, [%rd3];
    ld.global.b16 %h1, [%rd3+2];
    ld.global.f32 %f1, [%rd3+4];
    )" + op + " %f0, " + operands +
                                     R"(;
    st.global.f32 [%rd1], %f0;
    ret;)"),
                        in, static_cast<unsigned>(cases.size()));
  EXPECT_EQ(outcome.reports, "") << op;
  std::vector<float> results;
  for (uint64_t word : outcome.out)
    results.push_back(std::bit_cast<float>(static_cast<uint32_t>(word)));
  return results;
}

/// `exact` rounded to f32 by a mode of <cfenv>.
float rounded(double exact, int mode) {
  volatile double value = exact;
  int before = std::fegetround();
  std::fesetround(mode);
  volatile float result = static_cast<float>(value);
  std::fesetround(before);
  return result;
}

TEST(Mixed, RoundsOnceInEveryMode) {
  const std::pair<const char *, int> modes[] = {{"", FE_TONEAREST},
                                                {".rn", FE_TONEAREST},
                                                {".rz", FE_TOWARDZERO},
                                                {".rm", FE_DOWNWARD},
                                                {".rp", FE_UPWARD}};
  const std::pair<const char *, std::function<double(Case)>> operations[] = {
      {"add", [](Case x) { return double{x.a} + x.c; }},
      {"sub", [](Case x) { return double{x.a} - x.c; }},
      {"fma", [](Case x) { return double{x.a} * x.b + x.c; }}};
  std::vector<Case> cases = randomCases();
  for (bool half : {true, false})
    for (const auto &[name, exact] : operations)
      for (const auto &[modeName, mode] : modes) {
        bool isFma = std::string(name) == "fma";
        if (isFma && !*modeName) // needs a mode
          continue;
        std::string op =
            std::string(name) + modeName + ".f32." + (half ? "f16" : "bf16");
        auto results = runMixed(op, half, cases, isFma ? 2 : 1);
        for (size_t i = 0; i < cases.size(); ++i)
          EXPECT_EQ(results[i], rounded(exact(cases[i]), mode))
              << op << " case " << i;
      }
}

TEST(Mixed, Saturates) {
  std::vector<Case> cases = {
      {0.5f, 1.0f, 0.25f}, {2.0f, 1.0f, 0.0f}, {-2.0f, 1.0f, 0.5f}};
  EXPECT_EQ(runMixed("add.sat.f32.f16", true, cases, 1),
            (std::vector<float>{0.75f, 1.0f, 0.0f}));
  EXPECT_EQ(runMixed("add.rz.f32.bf16.sat", false, cases, 1),
            (std::vector<float>{0.75f, 1.0f, 0.0f}));
  EXPECT_EQ(runMixed("fma.rn.sat.f32.bf16", false, cases, 2),
            (std::vector<float>{0.75f, 1.0f, 0.0f}));
  // NaN results are +0.
  std::vector<Case> nan = {{0.5f, 1.0f, std::nanf("")}};
  EXPECT_EQ(
      std::bit_cast<uint32_t>(runMixed("sub.sat.f32.f16", true, nan, 1)[0]),
      0u);
}

} // namespace
