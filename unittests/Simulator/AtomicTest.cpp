//===- AtomicTest.cpp - atom, red and their types ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each lane applies one operation to its own place; the expected values are
// computed here from the definitions. Contention is tested by what all lanes
// together must have done.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

#include <algorithm>
#include <bit>
#include <random>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

/// `atom` on the lane's 64-bit place of a copy of `in`; the output is the new
/// value in memory plus `mix` times what the instruction returned.
std::string atomicBody(const std::string &operation, const std::string &type,
                       bool isWide, const std::string &more = "") {
  std::string reg = isWide ? "%rd" : "%r";
  return moduleAround(prologue() + R"(
    mul.wide.u32 %rd3, %r0, 16;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u64 %rd4, [%rd3];
    ld.global.u64 %rd5, [%rd3+8];
    cvt.u32.u64 %r4, %rd4;
    cvt.u32.u64 %r5, %rd5;
    st.global.u64 [%rd1], %rd4;
    atom.global.)" + operation +
                      "." + type + " " + reg + "6, [%rd1], " + reg + "5" +
                      more + R"(;
    ld.global.u64 %rd7, [%rd1];
    )" +
                      (isWide
                           ? ""
                           : "cvt.u64.u32 %rd6, %r6;\n    and.b64 %rd4, %rd4, "
                             "0xffffffff;\n    ") +
                      R"(setp.ne.u64 %p1, %rd6, %rd4;
    @%p1 trap; // the old value comes back
    st.global.u64 [%rd1], %rd7;
    ret;)");
}

template <typename T, typename F>
void expectOperation(const std::string &operation, const std::string &type,
                     F model) {
  std::mt19937_64 random(3);
  std::vector<uint64_t> in;
  for (unsigned i = 0; i < 64; ++i)
    in.push_back(i % 8 < 4 ? random() : random() % 4);
  Outcome outcome = run(atomicBody(operation, type, sizeof(T) == 8), in);
  EXPECT_EQ(outcome.reports, "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    auto a = static_cast<T>(in[2 * lane]), b = static_cast<T>(in[2 * lane + 1]);
    EXPECT_EQ(static_cast<T>(outcome.out[lane]), static_cast<T>(model(a, b)))
        << operation << "." << type << " lane " << lane;
  }
}

template <typename T> void expectIntegers(const std::string &type) {
  expectOperation<T>("min", type, [](T a, T b) { return b < a ? b : a; });
  expectOperation<T>("max", type, [](T a, T b) { return b > a ? b : a; });
}

TEST(Atomic, IntegerOperations) {
  auto add = [](auto a, auto b) { return a + b; };
  expectOperation<uint32_t>("add", "u32", add);
  expectOperation<uint32_t>("add", "s32", add);
  expectOperation<uint64_t>("add", "u64", add);
  expectIntegers<uint32_t>("u32");
  expectIntegers<int32_t>("s32");
  expectIntegers<uint64_t>("u64");
  expectIntegers<int64_t>("s64");
  auto both = [](auto a, auto b) { return a & b; };
  auto either = [](auto a, auto b) { return a | b; };
  auto differ = [](auto a, auto b) { return a ^ b; };
  auto second = [](auto, auto b) { return b; };
  expectOperation<uint32_t>("and", "b32", both);
  expectOperation<uint64_t>("and", "b64", both);
  expectOperation<uint32_t>("or", "b32", either);
  expectOperation<uint64_t>("or", "b64", either);
  expectOperation<uint32_t>("xor", "b32", differ);
  expectOperation<uint64_t>("xor", "b64", differ);
  expectOperation<uint32_t>("exch", "b32", second);
  expectOperation<uint64_t>("exch", "b64", second);
  expectOperation<uint32_t>(
      "inc", "u32", [](uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; });
  expectOperation<uint32_t>("dec", "u32", [](uint32_t a, uint32_t b) {
    return a == 0 || a > b ? b : a - 1;
  });
}

TEST(Atomic, CompareAndSwap) {
  std::vector<uint64_t> in;
  for (unsigned i = 0; i < 32; ++i) {
    in.push_back(i % 3);
    in.push_back(1);
  }
  Outcome outcome = run(atomicBody("cas", "b32", false, ", 77"), in);
  EXPECT_EQ(outcome.reports, "");
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[lane], lane % 3 == 1 ? 77 : lane % 3) << lane;
}

TEST(Atomic, FloatAdditions) {
  std::vector<uint64_t> in;
  for (unsigned i = 0; i < 32; ++i) {
    in.push_back(std::bit_cast<uint32_t>(0.1f * static_cast<float>(i)));
    in.push_back(std::bit_cast<uint32_t>(1e-3f + static_cast<float>(i)));
  }
  Outcome outcome = run(atomicBody("add", "f32", false), in);
  for (unsigned lane = 0; lane < 32; ++lane) {
    float a = 0.1f * static_cast<float>(lane);
    float sum = a + (1e-3f + static_cast<float>(lane));
    EXPECT_EQ(outcome.out[lane], std::bit_cast<uint32_t>(sum)) << lane;
  }
  in.clear();
  for (unsigned i = 0; i < 32; ++i) {
    in.push_back(std::bit_cast<uint64_t>(1.0 / (i + 1)));
    in.push_back(std::bit_cast<uint64_t>(1e-9 * i));
  }
  outcome = run(atomicBody("add", "f64", true), in);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[lane],
              std::bit_cast<uint64_t>(1.0 / (lane + 1) + 1e-9 * lane));
  // Pairs of halves: each half on its own.
  in.clear();
  for (unsigned i = 0; i < 32; ++i) {
    in.push_back(0x3c004000); // 1, 2
    in.push_back(uint64_t{floatToHalf(static_cast<float>(i))} << 16 | 0x3800);
  }
  outcome = run(atomicBody("add.noftz", "f16x2", false), in);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[lane],
              uint64_t{floatToHalf(static_cast<float>(lane) + 1)} << 16 |
                  floatToHalf(2.5f))
        << lane;
}

TEST(Atomic, VectorReductions) {
  std::string text = moduleAround(prologue() + R"(
    mul.wide.u32 %rd3, %r0, 16;
    add.u64 %rd3, %rd3, %rd2;
    mov.f32 %f0, 0f3F800000;
    mov.f32 %f1, 0f40000000;
    mov.f32 %f2, 0f40400000;
    mov.f32 %f3, 0f40800000;
    red.global.add.v4.f32 [%rd3], {%f0, %f1, %f2, %f3};
    ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd3];
    add.f32 %f4, %f4, %f5;
    mul.f32 %f6, %f6, %f7;
    mov.b64 %rd4, {%f4, %f6};
    st.global.u64 [%rd1], %rd4;
    ret;)");
  std::vector<uint64_t> in;
  for (unsigned i = 0; i < 64; ++i)
    in.push_back(uint64_t{std::bit_cast<uint32_t>(2.0f)} << 32 |
                 std::bit_cast<uint32_t>(static_cast<float>(i / 2)));
  Outcome outcome = run(text, in);
  EXPECT_EQ(outcome.reports, "");
  for (unsigned lane = 0; lane < 32; ++lane) {
    auto x = static_cast<float>(lane);
    EXPECT_EQ(outcome.out[lane],
              uint64_t{std::bit_cast<uint32_t>((x + 3) * 6)} << 32 |
                  std::bit_cast<uint32_t>(x + 1 + 4));
  }
}

TEST(Atomic, EveryArrivalCountsOnce) {
  // All threads of four CTAs on one counter; what comes back is a permutation.
  RunOptions options;
  options.check = true;
  Outcome outcome = runGrid(moduleAround(prologue() + R"(
    atom.global.add.u64 %rd3, [%rd2], 1;
    st.global.u64 [%rd1], %rd3;
    ret;)"),
                            {0}, {.threads = 96, .ctas = 4}, options);
  EXPECT_EQ(outcome.reports, "");
  std::sort(outcome.out.begin(), outcome.out.end());
  for (unsigned i = 0; i < outcome.out.size(); ++i)
    EXPECT_EQ(outcome.out[i], i);
}

} // namespace
