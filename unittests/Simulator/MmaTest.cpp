//===- MmaTest.cpp - mma.sync and wgmma -------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small integer matrices, so that the products are exact in every model; the
// expected values are a plain triple loop over the matrices.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Machine/MiniFloat.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

int valueA(int row, int k) { return (3 * row + 5 * k) % 7 - 3; }
int valueB(int column, int k) { return (2 * column + k * k) % 5 - 2; }

/// Row-major f16 matrices of 16 columns, A then B.
std::vector<uint64_t> operands(int rowsA) {
  std::vector<uint16_t> halves;
  for (int r = 0; r < rowsA; ++r)
    for (int k = 0; k < 16; ++k)
      halves.push_back(floatToHalf(static_cast<float>(valueA(r, k))));
  for (int c = 0; c < 8; ++c)
    for (int k = 0; k < 16; ++k)
      halves.push_back(floatToHalf(static_cast<float>(valueB(c, k))));
  std::vector<uint64_t> words(halves.size() / 4);
  std::memcpy(words.data(), halves.data(), halves.size() * 2);
  return words;
}

/// Each thread's output is its four accumulators as 16-bit integers.
void expectProduct(const Outcome &outcome, int threads) {
  for (int thread = 0; thread < threads; ++thread)
    for (int i = 0; i < 4; ++i) {
      int lane = thread % 32;
      int row = thread / 32 * 16 + lane / 4 + 8 * (i / 2);
      int column = 2 * (lane % 4) + i % 2;
      int expected = 0;
      for (int k = 0; k < 16; ++k)
        expected += valueA(row, k) * valueB(column, k);
      EXPECT_EQ(static_cast<int16_t>(outcome.out[thread] >> (16 * i)), expected)
          << "row " << row << " column " << column;
    }
}

const char *const storeResults = R"(
    cvt.rni.s32.f32 %r20, %f0;
    cvt.rni.s32.f32 %r21, %f1;
    cvt.rni.s32.f32 %r22, %f2;
    cvt.rni.s32.f32 %r23, %f3;
    prmt.b32 %r24, %r20, %r21, 0x5410;
    prmt.b32 %r25, %r22, %r23, 0x5410;
    st.global.v2.b32 [%rd1], {%r24, %r25};
    ret;)";

const char *const sharedMemory = ".extern .shared .align 128 .b8 smem[];\n";

TEST(Mma, M16n8k16ThroughLdmatrix) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mul.wide.u32 %rd3, %r0, 16;
    add.u64 %rd4, %rd2, %rd3;
    ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];
    shl.b32 %r6, %r0, 4;
    add.u32 %r6, %r6, %r1;
    st.shared.v4.b32 [%r6], {%r2, %r3, %r4, %r5};
    setp.lt.u32 %p1, %r0, 16;
    @%p1 ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4+512];
    @%p1 st.shared.v4.b32 [%r6+512], {%r2, %r3, %r4, %r5};
    bar.warp.sync -1;
    // Matrix i = lane / 8: rows 8 (i % 2), columns 8 (i / 2).
    and.b32 %r7, %r0, 15;
    shl.b32 %r7, %r7, 5;
    shr.u32 %r8, %r0, 4;
    shl.b32 %r8, %r8, 4;
    add.u32 %r7, %r7, %r8;
    add.u32 %r7, %r7, %r1;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r7];
    and.b32 %r8, %r0, 7;
    shl.b32 %r8, %r8, 5;
    shr.u32 %r9, %r0, 3;
    and.b32 %r9, %r9, 1;
    shl.b32 %r9, %r9, 4;
    add.u32 %r8, %r8, %r9;
    add.u32 %r8, %r8, %r1;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r14, %r15}, [%r8+512];
    mov.f32 %f4, 0f00000000;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
      {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, {%r14, %r15},
      {%f4, %f4, %f4, %f4};)" + std::string(storeResults),
                                     sharedMemory),
                        operands(16));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  expectProduct(outcome, 32);
}

TEST(Mma, WgmmaFromSharedMemory) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    RunOptions options;
    options.seed = seed;
    options.check = true;
    // Core matrices of 8 rows of 16 bytes; the second half of K 128 bytes on,
    // the next 8 rows 256. The product is made of two halves of the
    // accumulation: once from zero, once more on top, minus nothing.
    Outcome outcome = run(moduleAround(prologue() + R"(
      mov.u32 %r1, smem;
      mul.wide.u32 %rd3, %r0, 16;
      add.u64 %rd4, %rd2, %rd3;
      ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];
      shr.u32 %r6, %r0, 4;
      shl.b32 %r6, %r6, 8;
      shr.u32 %r7, %r0, 1;
      and.b32 %r7, %r7, 7;
      shl.b32 %r7, %r7, 4;
      add.u32 %r6, %r6, %r7;
      and.b32 %r7, %r0, 1;
      shl.b32 %r7, %r7, 7;
      add.u32 %r6, %r6, %r7;
      add.u32 %r6, %r6, %r1;
      st.shared.v4.b32 [%r6], {%r2, %r3, %r4, %r5};
      setp.lt.u32 %p1, %r0, 16;
      @%p1 ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4+2048];
      @%p1 st.shared.v4.b32 [%r6+2048], {%r2, %r3, %r4, %r5};
      fence.proxy.async.shared::cta;
      bar.sync 0;
      shr.u32 %r8, %r1, 4;
      cvt.u64.u32 %rd5, %r8;
      or.b64 %rd5, %rd5, 0x0000001000080000;
      add.u64 %rd6, %rd5, 128;
      mov.f32 %f0, 0f00000000;
      mov.f32 %f1, %f0;
      mov.f32 %f2, %f0;
      mov.f32 %f3, %f0;
      mov.pred %p2, 0;
      wgmma.fence.sync.aligned;
      wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
        {%f0, %f1, %f2, %f3}, %rd5, %rd6, %p2, -1, 1, 0, 0;
      mov.pred %p2, 1;
      wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
        {%f0, %f1, %f2, %f3}, %rd5, %rd6, %p2, 1, 1, 0, 0;
      wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
        {%f0, %f1, %f2, %f3}, %rd5, %rd6, %p2, 1, 1, 0, 0;
      wgmma.commit_group.sync.aligned;
      wgmma.wait_group.sync.aligned 0;)" + std::string(storeResults),
                                       sharedMemory),
                          operands(64), 128, options);
    ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
    expectProduct(outcome, 128);
  }
}

/// The words a lane contributes to fragments of bytes: A rows g and g + 8, B
/// column g, four elements of K from 4 t on and 16 further.
template <typename F> std::vector<uint64_t> byteFragments(F a, F b) {
  std::vector<uint64_t> in;
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane / 4, t = lane % 4;
    auto word = [](F element, int row, int k) {
      uint32_t bits = 0;
      for (int i = 0; i < 4; ++i)
        bits |= static_cast<uint32_t>(element(row, k + i) & 0xff) << (8 * i);
      return uint64_t{bits};
    };
    in.push_back(word(a, g, 4 * t) | word(a, g + 8, 4 * t) << 32);
    in.push_back(word(a, g, 4 * t + 16) | word(a, g + 8, 4 * t + 16) << 32);
    in.push_back(word(b, g, 4 * t) | word(b, g, 4 * t + 16) << 32);
  }
  return in;
}

int byteA(int row, int k) { return (row * 37 + k * 91) % 256; }
int byteB(int column, int k) { return (column * 53 + k * 29 + 128) % 256; }

const char *const loadByteFragments = R"(
    mul.wide.u32 %rd3, %r0, 24;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.v2.b32 {%r2, %r3}, [%rd3];
    ld.global.v2.b32 {%r4, %r5}, [%rd3+8];
    ld.global.v2.b32 {%r6, %r7}, [%rd3+16];)";

TEST(Mma, IntegersWithAllSigns) {
  using Element = int (*)(int, int);
  std::vector<uint64_t> in = byteFragments<Element>(byteA, byteB);
  for (std::string a : {"s8", "u8"})
    for (std::string b : {"s8", "u8"}) {
      Outcome outcome = run(moduleAround(prologue() + loadByteFragments + R"(
    mov.u32 %r20, 1000;
    mma.sync.aligned.m16n8k32.row.col.s32.)" +
                                         a + "." + b + R"(.s32
      {%r8, %r9, %r10, %r11}, {%r2, %r3, %r4, %r5}, {%r6, %r7},
      {%r20, %r20, %r20, %r20};
    xor.b32 %r10, %r10, %r9; // rows g and g + 8 in one word each
    mov.b64 %rd4, {%r8, %r10};
    st.global.u64 [%rd1], %rd4;
    ret;)"),
                            in);
      ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
      auto at = [&](int row, int column) {
        int sum = 1000;
        for (int k = 0; k < 32; ++k) {
          int x = byteA(row, k), y = byteB(column, k);
          sum += (a == "s8" ? static_cast<int8_t>(x) : x) *
                 (b == "s8" ? static_cast<int8_t>(y) : y);
        }
        return static_cast<uint32_t>(sum);
      };
      for (int lane = 0; lane < 32; ++lane) {
        int g = lane / 4, column = 2 * (lane % 4);
        EXPECT_EQ(outcome.out[lane] & 0xffffffff, at(g, column)) << lane;
        EXPECT_EQ(outcome.out[lane] >> 32,
                  at(g + 8, column) ^ at(g, column + 1))
            << lane;
      }
    }
}

TEST(Mma, IntegersSaturateOnRequest) {
  using Element = int (*)(int, int);
  std::vector<uint64_t> in = byteFragments<Element>(
      [](int, int) { return 127; }, [](int, int) { return 127; });
  for (bool saturate : {false, true}) {
    Outcome outcome = run(moduleAround(prologue() + loadByteFragments + R"(
    mov.u32 %r20, 0x7ffffff0;
    mma.sync.aligned.m16n8k32.row.col.)" +
                                       (saturate ? "satfinite." : "") +
                                       R"(s32.s8.s8.s32
      {%r8, %r9, %r10, %r11}, {%r2, %r3, %r4, %r5}, {%r6, %r7},
      {%r20, %r20, %r20, %r20};
    mov.b64 %rd4, {%r8, %r11};
    st.global.u64 [%rd1], %rd4;
    ret;)"),
                          in);
    uint64_t value = saturate ? 0x7fffffffu : 0x7ffffff0u + 32 * 127 * 127;
    EXPECT_EQ(outcome.out[5], value << 32 | value);
  }
}

TEST(Mma, BlockScaledFp4) {
  // Elements 1 (code 2) everywhere; row i of A is scaled by 2^(i % 4), its
  // second block of 32 twice that; column j of B by 2^(j % 2).
  std::vector<uint64_t> in;
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane / 4, t = lane % 4;
    // Thread 0 of a pair supplies row g, thread 1 row g + 8; garbage in the
    // others, which thread ids 0 do not select.
    uint32_t a = 0xffffffff, b = 0xffffffff;
    if (t < 2)
      a = (127 + (g + 8 * t) % 4) | (128 + (g + 8 * t) % 4) << 8;
    if (t == 0)
      b = (127 + g % 2) << 16 | (127 + g % 2) << 24;
    in.push_back(uint64_t{b} << 32 | a);
  }
  // One pair of scales is a register, the other a vector of one.
  Outcome outcome = run(moduleAround(prologue() + R"(
    mul.wide.u32 %rd3, %r0, 8;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.v2.b32 {%r2, %r3}, [%rd3];
    mov.u32 %r4, 0x22222222;
    mov.f32 %f4, 0f40000000;
    mov.u16 %h0, 0;
    mov.u16 %h1, 2;
    mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
      {%f0, %f1, %f2, %f3}, {%r4, %r4, %r4, %r4}, {%r4, %r4},
      {%f4, %f4, %f4, %f4}, %r2, {%h0, %h0}, {%r3}, {2, 0};)" +
                                     std::string(storeResults)),
                        in);
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      int expected = 2 + 32 * 3 * (1 << row % 4) * (1 << column % 2);
      EXPECT_EQ(static_cast<int16_t>(outcome.out[lane] >> (16 * i)), expected)
          << row << " " << column;
    }
}

} // namespace
