//===- AluTest.cpp - integer, logic and float instructions ------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every row is an instruction, its inputs, and a result computed here with
// 128-bit or f64 arithmetic, or given as a literal from the PTX text.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include <bit>
#include <cmath>
#include <random>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

/// Runs `op d, a, b, c` for 64-bit or 32-bit registers over `cases` and
/// returns the results.
std::vector<uint64_t>
runTernary(const std::string &op, unsigned bits,
           const std::vector<std::array<uint64_t, 3>> &cases, unsigned sources,
           unsigned outBits = 0, unsigned lastBits = 0) {
  outBits = outBits ? outBits : bits;
  lastBits = lastBits ? lastBits : bits;
  std::vector<uint64_t> in;
  for (const auto &c : cases)
    in.insert(in.end(), c.begin(), c.end());
  auto reg = [](unsigned bits, int i) {
    return (bits == 64 ? "%rd" : bits == 16 ? "%h" : "%r") + std::to_string(i);
  };
  std::string body = prologue() + "  mul.lo.u32 %r1, %r0, 24;\n"
                                  "  cvt.u64.u32 %rd3, %r1;\n"
                                  "  add.s64 %rd2, %rd2, %rd3;\n";
  std::string list = reg(outBits, 9);
  for (unsigned i = 0; i < sources; ++i) {
    unsigned width = i + 1 == sources ? lastBits : bits;
    std::string type = ".b" + std::to_string(width);
    body += "  ld.global" + type + " " + reg(width, 4 + i) + ", [%rd2+" +
            std::to_string(8 * i) + "];\n";
    list += ", " + reg(width, 4 + i);
  }
  body += "  " + op + " " + list + ";\n  st.global.b" +
          std::to_string(outBits) + " [%rd1], " + reg(outBits, 9) + ";\n  ret;";
  Outcome outcome =
      run(moduleAround(body), in, static_cast<unsigned>(cases.size()));
  EXPECT_TRUE(outcome.result.ok()) << outcome.reports;
  return outcome.out;
}

std::vector<std::array<uint64_t, 3>> randomCases(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::array<uint64_t, 3>> cases = {{0, 0, 0},
                                                {~0ull, 1, 1},
                                                {1, ~0ull, 2},
                                                {1ull << 63, ~0ull, 5},
                                                {0x80000000, 0xffffffff, 31},
                                                {0x7fffffff, 0x7fffffff, 32},
                                                {5, 0, 33}};
  while (cases.size() < 64)
    cases.push_back(
        {random(), random() >> (random() % 60), random() >> (random() % 60)});
  return cases;
}

template <typename Model>
void expectMatches(const std::string &op, unsigned bits, unsigned sources,
                   Model model, unsigned outBits = 0, unsigned lastBits = 0) {
  auto cases = randomCases(bits + sources);
  auto results = runTernary(op, bits, cases, sources, outBits, lastBits);
  outBits = outBits ? outBits : bits;
  uint64_t mask = outBits == 64 ? ~0ull : (1ull << outBits) - 1;
  for (size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(results[i], model(cases[i][0], cases[i][1], cases[i][2]) & mask)
        << op << " case " << i;
}

using I128 = __int128;
I128 sext(uint64_t v, unsigned bits) {
  return static_cast<I128>(static_cast<int64_t>(v << (64 - bits)) >>
                           (64 - bits));
}
I128 zext(uint64_t v, unsigned bits) {
  return bits == 64 ? static_cast<I128>(v)
                    : static_cast<I128>(v & ((1ull << bits) - 1));
}

TEST(Alu, AddSubMulMad) {
  for (unsigned bits : {16u, 32u, 64u}) {
    std::string u = ".u" + std::to_string(bits);
    std::string s = ".s" + std::to_string(bits);
    expectMatches("add" + u, bits, 2,
                  [](auto a, auto b, auto) { return a + b; });
    expectMatches("sub" + s, bits, 2,
                  [](auto a, auto b, auto) { return a - b; });
    expectMatches("mul.lo" + u, bits, 2,
                  [](auto a, auto b, auto) { return a * b; });
    expectMatches("mad.lo" + s, bits, 3,
                  [](auto a, auto b, auto c) { return a * b + c; });
    expectMatches("mul.hi" + u, bits, 2, [=](auto a, auto b, auto) {
      using U128 = unsigned __int128;
      return static_cast<uint64_t>((static_cast<U128>(zext(a, bits)) *
                                    static_cast<U128>(zext(b, bits))) >>
                                   bits);
    });
    expectMatches("mul.hi" + s, bits, 2, [=](auto a, auto b, auto) {
      return static_cast<uint64_t>((sext(a, bits) * sext(b, bits)) >> bits);
    });
  }
}

TEST(Alu, WideProducts) {
  expectMatches(
      "mul.wide.u32", 32, 2,
      [](auto a, auto b, auto) {
        return static_cast<uint64_t>(zext(a, 32) * zext(b, 32));
      },
      64);
  expectMatches(
      "mul.wide.s32", 32, 2,
      [](auto a, auto b, auto) {
        return static_cast<uint64_t>(sext(a, 32) * sext(b, 32));
      },
      64);
  expectMatches(
      "mul.wide.s16", 16, 2,
      [](auto a, auto b, auto) {
        return static_cast<uint64_t>(sext(a, 16) * sext(b, 16));
      },
      32);
  expectMatches(
      "mad.wide.s32", 32, 3,
      [](auto a, auto b, auto c) {
        return static_cast<uint64_t>(sext(a, 32) * sext(b, 32)) + c;
      },
      64, 64);
}

TEST(Alu, DivisionAndRemainder) {
  expectMatches("div.u32", 32, 2, [](auto a, auto b, auto) -> uint64_t {
    return zext(b, 32) ? static_cast<uint64_t>(zext(a, 32) / zext(b, 32))
                       : ~0ull;
  });
  expectMatches("div.s32", 32, 2, [](auto a, auto b, auto) -> uint64_t {
    return sext(b, 32) ? static_cast<uint64_t>(sext(a, 32) / sext(b, 32))
                       : ~0ull;
  });
  expectMatches("rem.s64", 64, 2, [](auto a, auto b, auto) -> uint64_t {
    return sext(b, 64) ? static_cast<uint64_t>(sext(a, 64) % sext(b, 64)) : a;
  });
}

TEST(Alu, MinMaxAbsNeg) {
  expectMatches("min.s32", 32, 2, [](auto a, auto b, auto) {
    return static_cast<uint64_t>(std::min(sext(a, 32), sext(b, 32)));
  });
  expectMatches("max.u64", 64, 2,
                [](auto a, auto b, auto) { return std::max(a, b); });
  expectMatches("abs.s32", 32, 1, [](auto a, auto, auto) {
    I128 x = sext(a, 32);
    return static_cast<uint64_t>(x < 0 ? -x : x);
  });
  expectMatches("neg.s64", 64, 1, [](auto a, auto, auto) { return 0 - a; });
}

TEST(Alu, Shifts) {
  auto clampShift = [](uint64_t b) {
    return std::min<uint64_t>(b & 0xffffffff, 64);
  };
  expectMatches("shl.b32", 32, 2, [=](auto a, auto b, auto) -> uint64_t {
    return clampShift(b) > 31 ? 0 : a << clampShift(b);
  });
  expectMatches("shr.u32", 32, 2, [=](auto a, auto b, auto) -> uint64_t {
    return clampShift(b) > 31
               ? 0
               : static_cast<uint64_t>(zext(a, 32)) >> clampShift(b);
  });
  expectMatches(
      "shr.s64", 64, 2,
      [=](auto a, auto b, auto) -> uint64_t {
        return static_cast<uint64_t>(static_cast<int64_t>(a) >>
                                     std::min<uint64_t>(clampShift(b), 63));
      },
      64, 32);
  expectMatches("shf.l.wrap.b32", 32, 3, [](auto a, auto b, auto c) {
    uint64_t pair = (b << 32) | (a & 0xffffffff);
    unsigned n = c & 31;
    return (pair << n) >> 32;
  });
}

TEST(Alu, BitFields) {
  expectMatches("popc.b32", 32, 1, [](auto a, auto, auto) {
    uint64_t n = 0;
    for (int i = 0; i < 32; ++i)
      n += a >> i & 1;
    return n;
  });
  expectMatches("brev.b32", 32, 1, [](auto a, auto, auto) {
    uint64_t r = 0;
    for (int i = 0; i < 32; ++i)
      r |= (a >> i & 1) << (31 - i);
    return r;
  });
  expectMatches("bfe.u32", 32, 3, [](auto a, auto b, auto c) {
    unsigned position = b & 255, length = c & 255;
    uint64_t field = position > 31 ? 0 : zext(a, 32) >> position;
    return length > 31 ? field : field & ((1ull << length) - 1);
  });
  expectMatches("prmt.b32", 32, 3, [](auto a, auto b, auto c) {
    uint8_t bytes[8];
    uint32_t lo = a, hi = b;
    std::memcpy(bytes, &lo, 4);
    std::memcpy(bytes + 4, &hi, 4);
    uint64_t r = 0;
    for (int i = 0; i < 4; ++i) {
      unsigned sel = c >> (4 * i) & 15;
      uint8_t v = bytes[sel & 7];
      if (sel & 8)
        v = v & 0x80 ? 0xff : 0;
      r |= static_cast<uint64_t>(v) << (8 * i);
    }
    return r;
  });
}

TEST(Alu, FloatArithmeticIsExactlyRounded) {
  auto f = [](uint64_t bits) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  };
  auto bits = [](float x) -> uint64_t {
    return x != x ? 0x7fffffffu : std::bit_cast<uint32_t>(x);
  };
  expectMatches("add.rn.f32", 32, 2,
                [&](auto a, auto b, auto) { return bits(f(a) + f(b)); });
  expectMatches("mul.f32", 32, 2,
                [&](auto a, auto b, auto) { return bits(f(a) * f(b)); });
  expectMatches("fma.rn.f32", 32, 3, [&](auto a, auto b, auto c) {
    return bits(std::fma(f(a), f(b), f(c)));
  });
  expectMatches("div.rn.f32", 32, 2,
                [&](auto a, auto b, auto) { return bits(f(a) / f(b)); });
}

TEST(Alu, DirectedRoundingOfAddition) {
  // 1 + 2^-30 lies between 1 and 1 + 2^-23.
  uint64_t one = 0x3f800000, tiny = 0x30800000;
  std::vector<std::array<uint64_t, 3>> cases(1, {one, tiny, 0});
  EXPECT_EQ(runTernary("add.rz.f32", 32, cases, 2)[0], one);
  EXPECT_EQ(runTernary("add.rm.f32", 32, cases, 2)[0], one);
  EXPECT_EQ(runTernary("add.rp.f32", 32, cases, 2)[0], one + 1);
  EXPECT_EQ(runTernary("add.rn.f32", 32, cases, 2)[0], one);
}

TEST(Alu, FlushToZero) {
  std::vector<std::array<uint64_t, 3>> cases = {{0x00800000, 0x3f000000, 0},
                                                {0x00000001, 0x3f800000, 0}};
  auto kept = runTernary("mul.f32", 32, cases, 2);
  auto flushed = runTernary("mul.ftz.f32", 32, cases, 2);
  EXPECT_EQ(kept[0], 0x00400000u);
  EXPECT_EQ(kept[1], 1u);
  EXPECT_EQ(flushed[0], 0u);
  EXPECT_EQ(flushed[1], 0u);
}

// What an H200 answers, written down from its runs.
TEST(Alu, NanZerosAndSubnormalsOfMinMaxAbsNeg) {
  constexpr uint64_t nan = 0x7fc00005, one = 0x3f800000, top = 0x80000000;
  auto binary = [](const std::string &op, uint64_t a, uint64_t b,
                   unsigned bits = 32) {
    return runTernary(op, bits, {{a, b, 0}}, 2)[0];
  };
  auto unary = [](const std::string &op, uint64_t a, unsigned bits = 32) {
    return runTernary(op, bits, {{a, 0, 0}}, 1)[0];
  };
  for (const char *op : {"min.f32", "max.f32"}) {
    EXPECT_EQ(binary(op, nan, one), one) << op;
    EXPECT_EQ(binary(op, one, nan), one) << op;
    EXPECT_EQ(binary(op, nan, nan), 0x7fffffffu) << op;
  }
  EXPECT_EQ(binary("min.NaN.f32", one, nan), 0x7fffffffu);
  EXPECT_EQ(binary("max.NaN.xorsign.abs.f32", top | one, nan), 0x7fffffffu);
  EXPECT_EQ(binary("min.f32", 0, top), top);
  EXPECT_EQ(binary("max.f32", top, 0), 0u);
  EXPECT_EQ(binary("min.ftz.f32", one, 1), 0u);
  EXPECT_EQ(binary("max.ftz.f16", 0x8001, 0xbc00, 16), 0x8000u);
  EXPECT_EQ(binary("mul.rn.ftz.f16", 0x3c00, 1, 16), 0u);
  EXPECT_EQ(unary("abs.f32", top | nan), 0x7fffffffu);
  EXPECT_EQ(unary("neg.ftz.f32", 1), top);
  EXPECT_EQ(unary("neg.f16", 0x7c01, 16), 0x7fffu);
  EXPECT_EQ(unary("abs.f64", 0xfff0000000000001, 64), 0xfff8000000000001u);
}

TEST(Alu, HalfFmaRoundsOnce) {
  // 1 + 2^-11 + 2^-24: the tie at 2^-11 is broken by the last bit.
  // a = 1 + 2^-10 (0x3c01), b = 1 (0x3c00), c = 2^-11 (0x1000) ties to even
  // up; c slightly below half goes down.
  std::vector<std::array<uint64_t, 3>> cases = {{
                                                    0x3c01,
                                                    0x3c00,
                                                    0x1000,
                                                },
                                                {0x3c01, 0x3c00, 0x0fff}};
  auto results = runTernary("fma.rn.f16", 16, cases, 3);
  EXPECT_EQ(results[0], 0x3c02u);
  EXPECT_EQ(results[1], 0x3c01u);
}

} // namespace
