//===- ClusterTest.cpp - clusters and distributed shared memory -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mapa, accesses of other CTAs' shared memory, remote arrivals, asynchronous
// remote stores, copies between CTAs, multicast and cluster launch control.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Async/TensorMap.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

const char *const sharedMemory = ".extern .shared .align 128 .b8 smem[];\n";
const char *const clusterSync = R"(
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;)";

TEST(Cluster, ReadsWritesAndCountsInOtherCtas) {
  Outcome outcome = runChecked(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mov.u32 %r2, %cluster_ctarank;
    shl.b32 %r3, %r0, 2;
    add.u32 %r3, %r3, %r1;
    mul.lo.u32 %r4, %r2, 1000;
    add.u32 %r4, %r4, %r0;
    st.shared.u32 [%r3], %r4;
    mov.u32 %r5, 0;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.shared.u32 [%r1+128], %r5;)" + std::string(clusterSync) +
                                                R"(
    // The next CTA's words, and a count of all threads in CTA 0.
    add.u32 %r6, %r2, 1;
    and.b32 %r6, %r6, 3;
    mapa.shared::cluster.u32 %r7, %r3, %r6;
    ld.shared::cluster.u32 %r8, [%r7];
    mapa.shared::cluster.u32 %r9, %r1, 0;
    atom.relaxed.cluster.shared::cluster.add.u32 %r10, [%r9+128], 1;
    // The same through a generic address.
    cvt.u64.u32 %rd4, %r3;
    cvta.shared.u64 %rd4, %rd4;
    mapa.u64 %rd4, %rd4, %r6;
    ld.u32 %r11, [%rd4];
    add.u32 %r8, %r8, %r11;)" + clusterSync +
                                                R"(
    ld.shared::cluster.u32 %r12, [%r9+128];
    cvt.u64.u32 %rd5, %r12;
    shl.b64 %rd5, %rd5, 32;
    cvt.u64.u32 %rd6, %r8;
    or.b64 %rd5, %rd5, %rd6;
    st.global.u64 [%rd1], %rd5;)" + clusterSync +
                                                "\n    ret;",
                                            sharedMemory),
                               {}, {.ctas = 8, .cluster = 4});
  for (unsigned i = 0; i < outcome.out.size(); ++i) {
    unsigned next = (i / 32 + 1) % 4;
    EXPECT_EQ(outcome.out[i] & 0xffffffff, 2 * (1000 * next + i % 32)) << i;
    EXPECT_EQ(outcome.out[i] >> 32, 128u) << i;
  }
}

/// Two CTAs with an mbarrier at smem + 512 that counts once, ready for use:
/// %r1 smem, %r2 rank, %r3 peer's smem, %r4 own mbarrier, %p1 thread 0.
std::string pairPrologue() {
  return prologue() + R"(
    mov.u32 %r1, smem;
    mov.u32 %r2, %cluster_ctarank;
    xor.b32 %r5, %r2, 1;
    mapa.shared::cluster.u32 %r3, %r1, %r5;
    add.u32 %r4, %r1, 512;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.relaxed.aligned;
    barrier.cluster.wait.acquire.aligned;)";
}

const char *const waitAndExit = R"(
wait:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r4], 0;
    @!%p2 bra wait;
    shl.b32 %r6, %r0, 2;
    add.u32 %r6, %r6, %r1;
    ld.shared.u32 %r7, [%r6];
    cvt.u64.u32 %rd3, %r7;
    st.global.u64 [%rd1], %rd3;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)";

TEST(Cluster, AsynchronousRemoteStores) {
  Outcome outcome = runChecked(moduleAround(pairPrologue() + R"(
    // Each thread stores to the peer; 32 words are 128 bytes.
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
    shl.b32 %r6, %r0, 2;
    add.u32 %r6, %r6, %r3;
    add.u32 %r7, %r3, 512;
    mul.lo.u32 %r8, %r2, 100;
    add.u32 %r8, %r8, %r0;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r6], %r8, [%r7];)" +
                                                waitAndExit,
                                            sharedMemory),
                               {}, {.ctas = 2, .cluster = 2});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], (1 - i / 32) * 100 + i % 32) << i;
}

TEST(Cluster, AsynchronousRemoteReductions) {
  Outcome outcome = runChecked(moduleAround(pairPrologue() + R"(
    // All lanes add to word 0 of the peer, which holds 5; others stay 5.
    shl.b32 %r6, %r0, 2;
    add.u32 %r6, %r6, %r1;
    mov.u32 %r9, 5;
    st.shared.u32 [%r6], %r9;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    add.u32 %r7, %r3, 512;
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3], %r0, [%r7];)" +
                                                waitAndExit,
                                            sharedMemory),
                               {}, {.ctas = 2, .cluster = 2});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], i % 32 ? 5u : 5 + 31 * 32 / 2) << i;
}

TEST(Cluster, BulkCopyBetweenCtas) {
  Outcome outcome = runChecked(moduleAround(pairPrologue() + R"(
    shl.b32 %r6, %r0, 2;
    add.u32 %r6, %r6, %r1;
    mul.lo.u32 %r8, %r2, 100;
    add.u32 %r8, %r8, %r0;
    st.shared.u32 [%r6+256], %r8;
    fence.proxy.async.shared::cta;
    bar.warp.sync -1;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
    add.u32 %r7, %r3, 512;
    add.u32 %r9, %r1, 256;
    @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3], [%r9], 128, [%r7];)" +
                                                waitAndExit,
                                            sharedMemory),
                               {}, {.ctas = 2, .cluster = 2});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], (1 - i / 32) * 100 + i % 32) << i;
}

/// A tensor map of an array of words that follows it in the input, 512 bytes
/// on.
std::vector<uint64_t> mapAndWords(TensorMapSpec spec, unsigned words) {
  // Allocations are made in order: the output first, then the input.
  DeviceMemory memory;
  memory.allocate(64 * 8, "out");
  spec.address = memory.allocate(8, "in") + 512;
  TensorMap map;
  EXPECT_EQ(encodeTensorMap(spec, map), "");
  std::vector<uint64_t> in(64 + words / 2);
  std::memcpy(in.data(), &map, sizeof map);
  for (unsigned i = 0; i < words / 2; ++i)
    in[64 + i] = uint64_t{2 * i + 1} << 32 | 2 * i;
  return in;
}

TensorMapSpec wordsSpec(unsigned width, unsigned rows, unsigned boxWidth,
                        unsigned boxRows) {
  TensorMapSpec spec;
  spec.type = TensorType::U32;
  spec.rank = 2;
  spec.size = {width, rows, 1, 1, 1};
  spec.stride = {4 * width};
  spec.box = {boxWidth, boxRows, 1, 1, 1};
  return spec;
}

TEST(Cluster, TensorMulticastReachesTheMaskedCtas) {
  // CTA 1 loads rows 2 to 5 of 8 words for both, CTA 0 nothing.
  Outcome outcome = runChecked(moduleAround(pairPrologue() + R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
    setp.eq.u32 %p3, %r2, 1;
    and.pred %p3, %p3, %p1;
    mov.u16 %h0, 3;
    mov.u32 %r8, 0;
    mov.u32 %r9, 2;
    @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd2, {%r8, %r9}], [%r4], %h0;)" +
                                                waitAndExit,
                                            sharedMemory),
                               mapAndWords(wordsSpec(8, 16, 8, 4), 128),
                               {.ctas = 2, .cluster = 2});
  for (unsigned i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.out[i], 16 + i % 32) << i;
}

TEST(Cluster, PairLoadsCountOnTheLeader) {
  // Both CTAs load 8 words; the leader's mbarrier counts both.
  Outcome outcome = runChecked(moduleAround(pairPrologue() + R"(
    setp.eq.u32 %p3, %r2, 0;
    and.pred %p4, %p3, %p1;
    @%p4 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 256;
    and.b32 %r10, %r4, 0xfeffffff;
    mov.u32 %r8, 0;
    shl.b32 %r9, %r2, 2;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%r1], [%rd2, {%r8, %r9}], [%r10];
    @%p3 bra wait;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;)" + waitAndExit,
                                            sharedMemory),
                               mapAndWords(wordsSpec(8, 16, 8, 4), 128),
                               {.ctas = 2, .cluster = 2});
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(outcome.out[i], i) << i;
}

TEST(Cluster, Gather4TakesRowsByIndex) {
  Outcome outcome = runChecked(moduleAround(pairPrologue() + R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
    mov.u32 %r8, 0;
    mov.u32 %r9, 7;
    mov.u32 %r10, 3;
    mov.u32 %r11, 15;
    mov.u32 %r12, 16; // out of range: zeros
    @%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r8, %r9, %r10, %r11, %r12}], [%r4];)" +
                                                waitAndExit,
                                            sharedMemory),
                               mapAndWords(wordsSpec(8, 16, 8, 1), 128),
                               {.ctas = 2, .cluster = 2});
  const unsigned rows[] = {7, 3, 15};
  for (unsigned i = 0; i < 64; ++i) {
    unsigned row = i % 32 / 8;
    EXPECT_EQ(outcome.out[i], row == 3 ? 0 : 8 * rows[row] + i % 8) << i;
  }
}

/// Two CTAs of two warps. In CTA 1 warp 1 initialises an mbarrier late and then
/// arrives; whoever leaves without a wait has `leave` between.
std::string arriveAndExit(const std::string &leave) {
  return moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mov.u32 %r2, %cluster_ctarank;
    mov.u32 %r3, 0;
    setp.eq.u32 %p1, %r2, 1;
    setp.eq.u32 %p2, %r0, 32;
    and.pred %p1, %p1, %p2;
    @!%p1 bra arrive;
late:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 500;
    @%p2 bra late;
    mbarrier.init.shared::cta.b64 [%r1], 1;
arrive:
    bar.warp.sync -1;
    barrier.cluster.arrive.release.aligned;
    setp.ge.u32 %p3, %r0, 32;
    )" + leave + R"(
    barrier.cluster.wait.acquire.aligned;
    setp.ne.u32 %p4, %r0, 0;
    setp.ne.u32 %p5, %r2, 1;
    or.pred %p4, %p4, %p5;
    @%p4 bra done;
    mbarrier.arrive.shared::cta.b64 _, [%r1];
done:
    ret;)",
                      sharedMemory);
}

TEST(Cluster, AThreadThatArrivesAndExitsCountsOnce) {
  runChecked(arriveAndExit("@%p3 ret;"), {},
             {.threads = 64, .ctas = 2, .cluster = 2}, 16);
}

TEST(Cluster, AThreadThatExitsWithoutArrivingCounts) {
  std::string text = arriveAndExit("");
  // Warp 1 of CTA 0 leaves at once.
  text.insert(text.find("    setp.eq.u32 %p2, %r0, 32;"),
              "    setp.ge.u32 %p3, %r0, 32;\n    @%p1 bra stays;\n"
              "    @%p3 ret;\nstays:\n");
  runChecked(text, {}, {.threads = 64, .ctas = 2, .cluster = 2}, 16);
}

TEST(Cluster, APairAllocatesTogether) {
  // CTA 1 comes late; CTA 0 goes on to write the tensor memory of both.
  std::string text = moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    mov.u32 %r2, %cluster_ctarank;
    mov.u32 %r3, 0;
    setp.eq.u32 %p1, %r2, 1;
    setp.eq.u32 %p2, %r0, 0;
    @%p2 mbarrier.init.shared::cta.b64 [%r1+8], 1;
    shl.b32 %r4, %r0, 4;
    add.u32 %r4, %r4, %r1;
    mov.u32 %r5, 0;
    st.shared.v4.u32 [%r4+1024], {%r5, %r5, %r5, %r5};
    fence.proxy.async;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @!%p1 bra allocate;
late:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p3, %r3, 300;
    @%p3 bra late;
allocate:
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 32;
    ld.shared.u32 %r6, [%r1];
    @%p1 bra wait;
    setp.ne.u32 %p4, %r0, 0;
    @%p4 bra wait;
    add.u32 %r7, %r1, 1024;
    shr.u32 %r7, %r7, 4;
    cvt.u64.u32 %rd4, %r7;
    or.b64 %rd4, %rd4, 0x400000000000;
    tcgen05.cp.cta_group::2.32x128b.warpx4 [%r6], %rd4;
    mov.u16 %h0, 3;
    tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1+8], %h0;
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r1+8], 0;
    @!%p5 bra wait;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r6, 32;
    ret;)",
                                  sharedMemory);
  runChecked(text, {}, {.threads = 32, .ctas = 2, .cluster = 2}, 16);
}

TEST(Cluster, ArrivingTwiceIsReported) {
  Outcome outcome = runGrid(moduleAround("barrier.cluster.arrive.aligned;\n"
                                         "barrier.cluster.arrive.aligned;\n"
                                         "barrier.cluster.wait.aligned;\nret;"),
                            {}, {.ctas = 2, .cluster = 2});
  EXPECT_NE(outcome.reports.find("illegal-operand: the thread arrives at the "
                                 "cluster barrier again before it has waited"),
            std::string::npos)
      << outcome.reports;
}

TEST(Cluster, LaunchControlHandsOutEachClusterOnce) {
  // 24 CTAs, four at once: each that runs asks for more until refused, and
  // counts the CTA it stands for.
  RunOptions options;
  options.check = true;
  options.residentCtas = 4;
  for (options.seed = 1; options.seed <= 8; ++options.seed) {
    Outcome outcome = runGrid(moduleAround(prologue() + R"(
    mov.u32 %r1, smem;
    add.u32 %r4, %r1, 512;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
    bar.sync 0;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, 0;
next:
    ld.param.u64 %rd1, [out];
    shl.b32 %r5, %r2, 5;
    add.u32 %r5, %r5, %r0;
    mad.wide.u32 %rd1, %r5, 8, %rd1;
    mov.u64 %rd3, 1;
    red.global.add.u64 [%rd1], %rd3;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;
    @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r4];
    and.b32 %r6, %r3, 1;
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], %r6;
    @!%p2 bra wait;
    .reg .b128 %q;
    ld.shared.b128 %q, [%r1];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q;
    @%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, %q;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    add.u32 %r3, %r3, 1;
    @%p3 bra next;
    ret;)",
                                           sharedMemory),
                              {}, {.ctas = 24}, options);
    EXPECT_EQ(outcome.reports, "");
    for (unsigned i = 0; i < 24 * 32; ++i)
      EXPECT_EQ(outcome.out[i], 1u) << "thread " << i;
  }
}

} // namespace
