//===- CopyTest.cpp - cp.async and edited tensor maps -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes, zero fill and groups of cp.async; reductions of bulk copies; every
// field that tensormap.replace edits, seen through the tile that is loaded.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Async/TensorMap.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

const char *const sharedMemory = ".extern .shared .align 128 .b8 smem[];\n";

/// Words 0, 1, 2, ...
std::vector<uint64_t> words(unsigned count) {
  std::vector<uint64_t> in;
  for (unsigned i = 0; i < count; i += 2)
    in.push_back(uint64_t{i + 1} << 32 | i);
  return in;
}

TEST(Copy, AsyncCopyZeroFillsWhatItDoesNotRead) {
  // Lane i copies the first i % 17 bytes of 16.
  Outcome outcome = runChecked(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    shl.b32 %r2, %r0, 4;
    add.u32 %r3, %r1, %r2;
    mul.wide.u32 %rd3, %r0, 16;
    add.u64 %rd3, %rd3, %rd2;
    rem.u32 %r4, %r0, 17;
    cp.async.cg.shared.global [%r3], [%rd3], 16, %r4;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r3];
    add.u32 %r5, %r5, %r6;
    add.u32 %r5, %r5, %r7;
    add.u32 %r5, %r5, %r8;
    cvt.u64.u32 %rd4, %r5;
    st.global.u64 [%rd1], %rd4;
    ret;)",
                                            sharedMemory),
                               words(128), {});
  std::vector<uint64_t> in = words(128);
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t four[4] = {};
    std::memcpy(four, reinterpret_cast<const char *>(in.data()) + 16 * lane,
                lane % 17);
    EXPECT_EQ(outcome.out[lane], four[0] + four[1] + four[2] + four[3]) << lane;
  }
}

TEST(Copy, WaitGroupCoversAllButTheNewest) {
  Outcome outcome = runChecked(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    shl.b32 %r2, %r0, 2;
    add.u32 %r3, %r1, %r2;
    mul.wide.u32 %rd3, %r0, 4;
    add.u64 %rd3, %rd3, %rd2;
    cp.async.ca.shared.global [%r3], [%rd3], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r3+128], [%rd3+128], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r3+256], [%rd3+256], 4;
    cp.async.commit_group;
    cp.async.wait_group 2;
    ld.shared.u32 %r4, [%r3];
    cp.async.wait_group 1;
    ld.shared.u32 %r5, [%r3+128];
    cp.async.wait_group 0;
    ld.shared.u32 %r6, [%r3+256];
    mad.lo.u32 %r4, %r5, 100, %r4;
    mad.lo.u32 %r4, %r6, 10000, %r4;
    cvt.u64.u32 %rd4, %r4;
    st.global.u64 [%rd1], %rd4;
    ret;)",
                                            sharedMemory),
                               words(96), {}, 16);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[lane],
              lane + 100 * (32 + lane) + 10000 * (64 + lane));
}

TEST(Copy, AnUnwaitedCopyIsARace) {
  RunOptions options;
  options.check = true;
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    shl.b32 %r2, %r0, 2;
    add.u32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %r0;
    mul.wide.u32 %rd3, %r0, 4;
    add.u64 %rd3, %rd3, %rd2;
    cp.async.ca.shared.global [%r3], [%rd3], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r4, [%r3];
    cp.async.wait_group 0;
    ret;)",
                                     sharedMemory),
                        words(32), 32, options);
  EXPECT_NE(outcome.reports.find("data-race"), std::string::npos)
      << outcome.reports;
}

TEST(Copy, MbarrierArrivesWhenTheThreadsCopiesAreDone) {
  // Warp 1 reads what warp 0 copied, after an mbarrier that the copies trigger.
  Outcome outcome = runChecked(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    add.u32 %r9, %r1, 512;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [%r9], 32;
    bar.sync 0;
    and.b32 %r2, %r0, 31;
    shl.b32 %r2, %r2, 2;
    add.u32 %r3, %r1, %r2;
    setp.ge.u32 %p2, %r0, 32;
    @%p2 bra wait;
    mul.wide.u32 %rd3, %r0, 4;
    add.u64 %rd3, %rd3, %rd2;
    cp.async.ca.shared.global [%r3], [%rd3], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r9];
    cp.async.wait_all;
    ret;
wait:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r9], 0;
    @!%p3 bra wait;
    ld.shared.u32 %r4, [%r3];
    cvt.u64.u32 %rd4, %r4;
    st.global.u64 [%rd1], %rd4;
    ret;)",
                                            sharedMemory),
                               words(32), {.threads = 64}, 16);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[32 + lane], lane);
}

TEST(Copy, BulkReductionAddsIntoGlobalMemory) {
  Outcome outcome = runChecked(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    shl.b32 %r2, %r0, 3;
    add.u32 %r3, %r1, %r2;
    mul.wide.u32 %rd3, %r0, 1000;
    st.shared.u64 [%r3], %rd3;
    mov.u64 %rd4, 7;
    st.global.u64 [%rd1], %rd4;
    fence.proxy.async;
    bar.warp.sync -1;
    setp.eq.u32 %p1, %r0, 0;
    @!%p1 bra done;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%rd1], [%r1], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u64 [%rd1], [%r1], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
    ret;)",
                                            sharedMemory),
                               {}, {}, 16);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(outcome.out[lane], std::max(7 + 1000 * lane, 1000 * lane));
}

/// Loads a box of 8x4 words through a map whose fields `edits` has changed in
/// shared memory (address %r2); 64-bit %rd5 is the address of the words, %r12
/// to %r15 are free.
Outcome loadThroughEditedMap(const std::string &edits,
                             unsigned transactionBytes = 128) {
  DeviceMemory memory;
  memory.allocate(32 * 8, "out");
  uint64_t input = memory.allocate(8, "in");
  TensorMapSpec spec;
  spec.type = TensorType::U32;
  spec.rank = 2;
  spec.address = input + 512;
  spec.size = {16, 16, 1, 1, 1};
  spec.stride = {64};
  spec.box = {8, 4, 1, 1, 1};
  TensorMap map;
  EXPECT_EQ(encodeTensorMap(spec, map), "");
  std::vector<uint64_t> in(64);
  std::memcpy(in.data(), &map, sizeof map);
  for (uint64_t word : words(512))
    in.push_back(word);
  return runChecked(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    add.u32 %r2, %r1, 1024;
    add.u32 %r4, %r1, 1536;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
    shl.b32 %r3, %r0, 2;
    mul.wide.u32 %rd3, %r3, 1;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u32 %r5, [%rd3];
    add.u32 %r6, %r3, %r2;
    st.shared.u32 [%r6], %r5;
    add.u64 %rd5, %rd2, 512;
    bar.warp.sync -1;
    @!%p1 bra edited;
)" + edits + R"(
edited:
    bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2+128], [%r2], 128;
    add.u64 %rd6, %rd2, 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd6], 128;
    mov.u32 %r8, 8;
    mov.u32 %r9, 2;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], )" +
                                     std::to_string(transactionBytes) + R"(;
    @%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd6, {%r8, %r9}], [%r4];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
    @!%p2 bra wait;
    add.u32 %r6, %r3, %r1;
    ld.shared.u32 %r7, [%r6];
    cvt.u64.u32 %rd4, %r7;
    st.global.u64 [%rd1], %rd4;
    ret;)",
                                 sharedMemory),
                    in, {}, 3);
}

/// Expects word (8 + i % 8, 2 + i / 8) by `at(column, row)`.
template <typename F> void expectBox(const Outcome &outcome, F at) {
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(outcome.out[i], at(8 + i % 8, 2 + i / 8)) << i;
}

TEST(TensorMapReplace, Unchanged) {
  expectBox(loadThroughEditedMap(""),
            [](unsigned x, unsigned y) { return 16 * y + x; });
}

TEST(TensorMapReplace, Address) {
  expectBox(loadThroughEditedMap(R"(
    add.u64 %rd5, %rd5, 256;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %rd5;)"),
            [](unsigned x, unsigned y) { return 64 + 16 * y + x; });
}

TEST(TensorMapReplace, Stride) {
  expectBox(loadThroughEditedMap(R"(
    mov.u64 %rd5, 96;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 0, %rd5;)"),
            [](unsigned x, unsigned y) { return 24 * y + x; });
}

TEST(TensorMapReplace, SizesAndZeroFill) {
  expectBox(
      loadThroughEditedMap(R"(
    mov.u32 %r12, 12;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, %r12;
    mov.u32 %r12, 4;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 1, %r12;)"),
      [](unsigned x, unsigned y) { return x < 12 && y < 4 ? 16 * y + x : 0; });
}

TEST(TensorMapReplace, ElementStride) {
  // Every second row: a box of 8 rows loads 4.
  expectBox(loadThroughEditedMap(R"(
    mov.u32 %r12, 8;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, %r12;
    mov.u32 %r12, 2;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 1, %r12;)"),
            [](unsigned x, unsigned y) { return 16 * (2 + 2 * (y - 2)) + x; });
}

TEST(TensorMapReplace, ElementTypeAndSwizzle) {
  // 16-byte pieces of 32-byte rows change places every fourth row.
  Outcome outcome = loadThroughEditedMap(R"(
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r2], 1;)");
  for (unsigned i = 0; i < 32; ++i) {
    unsigned piece = i / 4 ^ (i / 32 & 1);
    EXPECT_EQ(outcome.out[i], 16 * (2 + piece / 2) + 8 + piece % 2 * 4 + i % 4);
  }
  // As 16-bit elements coordinates and box count halves: half the bytes.
  outcome = loadThroughEditedMap(R"(
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2], 1;
    mov.u32 %r12, 32;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, %r12;
    mov.u32 %r12, 16;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 0, %r12;)");
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(outcome.out[i], 16 * (2 + i / 8) + 4 + i % 8) << i;
}

/// Makes the map 128 bytes of zeros.
const char *const blankMap = R"(
    mov.u64 %rd7, 0;
    mov.u32 %r12, 0;
blank:
    add.u32 %r13, %r2, %r12;
    st.shared.u64 [%r13], %rd7;
    add.u32 %r12, %r12, 8;
    setp.lt.u32 %p3, %r12, 128;
    @%p3 bra blank;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %rd5;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 1;
    mov.u32 %r12, 16;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 0, %r12;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r2], 1, %r12;
    mov.u64 %rd7, 64;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2], 0, %rd7;
    mov.u32 %r12, 1;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 0, %r12;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r2], 1, %r12;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2], 2;
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r2], 0;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r2], 0;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r2], 0;)";

TEST(TensorMapReplace, FieldByFieldFromZeros) {
  expectBox(loadThroughEditedMap(std::string(blankMap) + R"(
    mov.u32 %r12, 8;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 0, %r12;
    mov.u32 %r12, 4;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2], 1, %r12;)"),
            [](unsigned x, unsigned y) { return 16 * y + x; });
}

TEST(TensorMapReplace, WhatIsLeftOutOfZerosIsMissing) {
  // Without a box.
  std::string reports = run(moduleAround(prologue() + R"(
    mov.u32 %r2, smem;
    add.u64 %rd5, %rd2, 512;
    setp.eq.u32 %p1, %r0, 0;
    @!%p1 bra done;)" + blankMap + R"(
    cvt.u64.u32 %rd6, %r2;
    cvta.shared.u64 %rd6, %rd6;
    mov.u32 %r8, 0;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd6, {%r8, %r8}], [%r2+128];
done:
    ret;)",
                                         sharedMemory),
                            std::vector<uint64_t>(128))
                            .reports;
  EXPECT_NE(reports.find("expected box dimensions of 1 to 256, but got 0"),
            std::string::npos)
      << reports;
}

TEST(TensorMapReplace, RankMustMatchTheCopy) {
  std::string text = moduleAround(prologue() + R"(
    setp.eq.u32 %p1, %r0, 0;
    @%p1 tensormap.replace.tile.rank.global.b1024.b32 [%rd2], 5;
    ret;)");
  TensorMapSpec spec;
  spec.type = TensorType::U32;
  spec.rank = 2;
  spec.address = globalBase;
  spec.size = {16, 16, 1, 1, 1};
  spec.stride = {64};
  spec.box = {8, 4, 1, 1, 1};
  TensorMap map;
  ASSERT_EQ(encodeTensorMap(spec, map), "");
  std::vector<uint64_t> in(16);
  std::memcpy(in.data(), &map, sizeof map);
  Outcome outcome = run(text, in);
  EXPECT_NE(outcome.reports.find("expected a rank field of 0 to 4, but got 5"),
            std::string::npos)
      << outcome.reports;
}

} // namespace
