//===- MatrixMoveTest.cpp - ldmatrix of bytes -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// m8n16 and m16n16 of 8-, 6- and 4-bit elements, from rows in an order of their
// own, against the layouts as the text has them.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include <array>
#include <random>

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

using Row = std::array<uint64_t, 2>;

/// 32 rows of 16 bytes, padding included.
std::vector<uint64_t> rows() {
  std::mt19937_64 random(7);
  std::vector<uint64_t> words(64);
  for (uint64_t &word : words)
    word = random();
  return words;
}

/// The row whose address lane `lane` supplies.
Row rowOf(const std::vector<uint64_t> &words, unsigned lane) {
  unsigned row = (5 * lane + 3) % 32;
  return {words[2 * row], words[2 * row + 1]};
}

uint8_t element(const Row &row, unsigned i, unsigned bits) {
  unsigned value = 0;
  for (unsigned b = 0; b < bits; ++b)
    value |= (row[(i * bits + b) / 64] >> ((i * bits + b) % 64) & 1) << b;
  return static_cast<uint8_t>(value);
}

/// Registers `first` and `first + 1` of all lanes.
std::vector<uint64_t> load(const std::string &form, unsigned count,
                           unsigned first) {
  std::string registers;
  for (unsigned i = 0; i < count; ++i)
    registers += (i ? ", %r" : "%r") + std::to_string(10 + i);
  std::string low = "%r" + std::to_string(10 + first);
  std::string high = "%r" + std::to_string(11 + first);
  RunOptions options;
  options.check = true;
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mul.wide.u32 %rd3, %r0, 16;
    add.u64 %rd4, %rd2, %rd3;
    ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd4];
    shl.b32 %r6, %r0, 4;
    add.u32 %r6, %r6, %r1;
    st.shared.v4.b32 [%r6], {%r2, %r3, %r4, %r5};
    bar.warp.sync -1;
    mad.lo.u32 %r7, %r0, 5, 3;
    and.b32 %r7, %r7, 31;
    shl.b32 %r7, %r7, 4;
    add.u32 %r7, %r7, %r1;
    mov.u32 %r11, 0;
    ldmatrix.sync.aligned.)" + form + " {" +
                                         registers + R"(}, [%r7];
    st.global.v2.b32 [%rd1], {)" + low + ", " +
                                         high + "};\n    ret;",
                                     ".extern .shared .align 16 .b8 smem[];\n"),
                        rows(), 32, options);
  EXPECT_EQ(outcome.reports, "") << form;
  return outcome.out;
}

/// Four consecutive columns of row lane / 4 of matrix `m`.
void expectRows(const std::string &form, unsigned count, unsigned bits) {
  std::vector<uint64_t> words = rows();
  for (unsigned m = 0; m < count; ++m) {
    std::vector<uint64_t> out = load(form, count, m & ~1u);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(
            static_cast<uint8_t>(out[lane] >> (32 * (m % 2) + 8 * i)),
            element(rowOf(words, 8 * m + lane / 4), 4 * (lane % 4) + i, bits))
            << form << " matrix " << m << " lane " << lane << " byte " << i;
  }
}

/// Four consecutive columns of rows lane / 4 and lane / 4 + 8 of the transposed
/// matrix `m`.
void expectColumns(const std::string &form, unsigned count, unsigned bits) {
  std::vector<uint64_t> words = rows();
  for (unsigned m = 0; m < count; ++m) {
    std::vector<uint64_t> out = load(form, 2 * count, 2 * m);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned row : {lane / 4, lane / 4 + 8})
        for (unsigned i = 0; i < 4; ++i) {
          unsigned column = 4 * (lane % 4) + i;
          unsigned byte = 4 * (i / 2) + 2 * (row / 8) + i % 2;
          EXPECT_EQ(static_cast<uint8_t>(out[lane] >> (8 * byte)),
                    element(rowOf(words, 16 * m + column), row, bits))
              << form << " matrix " << m << " lane " << lane << " row " << row
              << " column " << column;
        }
  }
}

TEST(MatrixMove, EightRowsOfPackedElements) {
  for (unsigned count : {1, 2, 4}) {
    std::string form = "m8n16.x" + std::to_string(count) + ".shared.b8x16.";
    expectRows(form + "b4x16_p64", count, 4);
    expectRows(form + "b6x16_p32", count, 6);
  }
}

TEST(MatrixMove, SixteenTransposedRows) {
  for (unsigned count : {1, 2}) {
    std::string form = "m16n16.x" + std::to_string(count) + ".trans.shared.";
    expectColumns(form + "b8", count, 8);
    expectColumns(form + "b8x16.b4x16_p64", count, 4);
    expectColumns(form + "b8x16.b6x16_p32", count, 6);
  }
}

TEST(MatrixMove, IllegalForms) {
  auto error = [](const std::string &form, const std::string &target) {
    std::string text = moduleAround(prologue() + "ldmatrix.sync.aligned." +
                                    form + ", [%r7];\nret;");
    size_t at = text.find("sm_100a");
    return loadError(text.replace(at, 7, target));
  };
  EXPECT_NE(error("m16n16.x1.trans.shared.b8 {%r1, %r2}", "sm_90a")
                .find("expected target sm_100a or a later one for "
                      "'ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8', but "
                      "got sm_90a"),
            std::string::npos);
  EXPECT_NE(error("m16n16.x1.shared.b8 {%r1, %r2}", "sm_100a").find("m16n16"),
            std::string::npos);
  EXPECT_NE(error("m16n16.x4.trans.shared.b8 {%r1, %r2}", "sm_100a")
                .find("m16n16.x4"),
            std::string::npos);
  EXPECT_NE(error("m16n16.x2.trans.shared.b8 {%r1, %r2}", "sm_100a")
                .find("expected 4 registers, but got 2"),
            std::string::npos);
}

} // namespace
