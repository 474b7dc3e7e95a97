//===- LoadStoreTest.cpp - loads and stores of a warp -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without the checker a warp's access goes as a whole where nothing is to be
// said of any lane: the bytes must be those of lanes one by one, and what is
// wrong with a lane must still be reported.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

constexpr unsigned words = 1024;

/// Where a lane goes, in elements: the same place, places in a row, rows, a
/// permutation backwards, anywhere, and many to one place.
const char *const patterns[] = {
    "mov.u32 %r2, 5;",
    "mov.u32 %r2, %r0;",
    "mul.lo.u32 %r2, %r0, 7;",
    "sub.u32 %r2, 31, %r0;",
    "mul.lo.u32 %r2, %r0, 53; xor.b32 %r2, %r2, 21; and.b32 %r2, %r2, 63;",
    "shr.u32 %r2, %r0, 3;"};

struct Access {
  const char *type, *move;
  unsigned bytes;
  bool vector = false;
};
const Access accesses[] = {
    {"u8", "u32 %r4", 1},   {"s8", "s32 %r4", 1},    {"u16", "u32 %r4", 2},
    {"s16", "s64 %rd5", 2}, {"b32", "b32 %r4", 4},   {"s32", "s64 %rd5", 4},
    {"b64", "b64 %rd5", 8}, {"v2.b32", "", 8, true}, {"v4.b32", "", 16, true}};

/// Loads by a pattern, stores by the next one, and gives 64 bits a lane.
/// Addresses of 32 bits in shared memory, of 64 bits in global memory, and
/// generic ones.
std::string bodyOf(const Access &access, unsigned pattern,
                   const std::string &space, const std::string &guard) {
  bool isWide = space != ".shared";
  std::string size = std::to_string(access.bytes);
  std::string value =
      access.vector ? access.bytes == 8 ? "{%r4, %r5}" : "{%r4, %r5, %r6, %r7}"
                    : std::string(access.move).substr(4);
  auto address = [&](const std::string &name) {
    return isWide ? "mul.wide.u32 %rd6, %r2, " + size + ";\n    add.u64 " +
                        name + ", %rd6, %rd4;\n"
                  : "mad.lo.u32 " + name + ", %r2, " + size + ", %r1;\n";
  };
  std::string from = isWide ? "%rd7" : "%r8", to = isWide ? "%rd8" : "%r9";
  return prologue() + R"(
    mov.u32 %r1, smem;
    mov.u32 %r3, %r0;
fill:
    shl.b32 %r2, %r3, 2;
    add.u32 %r2, %r2, %r1;
    mul.lo.u32 %r10, %r3, 0x9E3779B1;
    st.shared.u32 [%r2], %r10;
    cvt.u64.u32 %rd6, %r3;
    shl.b64 %rd6, %rd6, 2;
    add.u64 %rd6, %rd6, %rd2;
    st.global.u32 [%rd6], %r10;
    add.u32 %r3, %r3, 32;
    setp.lt.u32 %p1, %r3, )" +
         std::to_string(words) + R"(;
    @%p1 bra fill;
    bar.warp.sync -1;
    cvt.u64.u32 %rd4, %r1;
    cvta.shared.u64 %rd4, %rd4;)" +
         (space == ".global" ? "\n    mov.u64 %rd4, %rd2;" : "") + R"(
    setp.ne.u32 %p2, %r0, 31;
    and.b32 %r11, %r0, 5;
    setp.ne.u32 %p3, %r11, 1;
    mov.u64 %rd5, 0;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
    mov.u32 %r6, 0;
    mov.u32 %r7, 0;
    )" + patterns[pattern] +
         "\n    " + address(from) + "    " +
         patterns[(pattern + 1) % std::size(patterns)] + "\n    " +
         address(to) + "    bar.warp.sync -1;\n    " + guard + "ld" + space +
         "." + access.type + " " + value + ", [" + from +
         "+16];\n    bar.warp.sync -1;\n    " + guard + "st" + space + "." +
         access.type + " [" + to + "], " + value + R"(;
    bar.warp.sync -1;
    cvt.u64.u32 %rd9, %r4;
    add.u64 %rd5, %rd5, %rd9;
    cvt.u64.u32 %rd9, %r7;
    mad.lo.u64 %rd5, %rd9, 3, %rd5;
    mov.u32 %r3, %r0;
sum:
    shl.b32 %r2, %r3, 2;
    add.u32 %r2, %r2, %r1;
    ld.shared.u32 %r10, [%r2];
    cvt.u64.u32 %rd9, %r10;
    cvt.u64.u32 %rd6, %r3;
    shl.b64 %rd6, %rd6, 2;
    add.u64 %rd6, %rd6, %rd2;
    mad.lo.u64 %rd5, %rd5, 31, %rd9;
    ld.global.u32 %r10, [%rd6];
    cvt.u64.u32 %rd9, %r10;
    mad.lo.u64 %rd5, %rd5, 31, %rd9;
    add.u32 %r3, %r3, 32;
    setp.lt.u32 %p1, %r3, )" +
         std::to_string(words) + R"(;
    @%p1 bra sum;
    st.global.u64 [%rd1], %rd5;
    ret;)";
}

Outcome runBody(const std::string &body, bool check) {
  RunOptions options;
  options.check = check;
  // What two lanes store at one place is a race, and the last one's stays.
  options.ignored = {{ReportKind::DataRace, 0}};
  return run(moduleAround(body, ".extern .shared .align 128 .b8 smem[];\n"),
             std::vector<uint64_t>(words), 32, options);
}

TEST(LoadStore, AWarpAsAWholeDoesWhatItsLanesDo) {
  for (const Access &access : accesses)
    for (unsigned pattern = 0; pattern < std::size(patterns); ++pattern)
      for (const char *space : {".shared", ".global", ""})
        for (const char *guard : {"", "@%p2 ", "@%p3 "}) {
          std::string body = bodyOf(access, pattern, space, guard);
          Outcome whole = runBody(body, false), lanes = runBody(body, true);
          ASSERT_EQ(whole.reports + lanes.reports, "") << body;
          ASSERT_EQ(whole.out, lanes.out) << body;
        }
}

/// Reports of a load or store at `address`, from %r0, of `type`; the first 64
/// words of shared memory are written.
std::string reportsOf(const std::string &address, const std::string &access) {
  return run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    shl.b32 %r2, %r0, 3;
    add.u32 %r2, %r2, %r1;
    mov.u64 %rd4, 0;
    st.shared.u64 [%r2], %rd4;
    bar.warp.sync -1;
    shl.b32 %r2, %r0, 2;
    add.u32 %r2, %r2, %r1;
    )" + address + "\n" + access +
                              "\nret;",
                          ".extern .shared .align 128 .b8 smem[];\n"))
      .reports;
}

TEST(LoadStore, WhatIsWrongWithOneLaneIsReported) {
  const std::string load = "ld.shared.u32 %r3, [%r2];";
  const std::string store = "st.shared.u32 [%r2], %r0;";
  auto lane17 = [](const std::string &amount) {
    return "setp.eq.u32 %p1, %r0, 17; @%p1 add.u32 %r2, %r2, " + amount + ";";
  };
  for (const std::string &access : {load, store}) {
    EXPECT_EQ(reportsOf("", access), "");
    EXPECT_EQ(reportsOf(lane17("64"), access), "");
    EXPECT_NE(reportsOf(lane17("2"), access).find("misaligned: "),
              std::string::npos);
    // Behind the end, before the start, and far away.
    for (const char *amount : {"65536", "-2048", "0x80000000", "0xC0000000"}) {
      std::string reports = reportsOf(lane17(amount), access);
      EXPECT_NE(reports.find("out-of-bounds: "), std::string::npos) << amount;
      EXPECT_NE(reports.find("lane 17"), std::string::npos) << reports;
    }
  }
  std::string reports = reportsOf(lane17("1024"), load);
  EXPECT_NE(reports.find("uninitialized-read: 4 bytes at shared offset 2116"),
            std::string::npos)
      << reports;
  // What a store has marked as written may be read.
  EXPECT_EQ(reportsOf(lane17("1024"), store + load), "");
  // Not by the others, whose bytes lie between.
  EXPECT_NE(reportsOf(lane17("1024"), store + "add.u32 %r2, %r2, 512;" + load)
                .find("uninitialized-read: "),
            std::string::npos);
}

} // namespace
