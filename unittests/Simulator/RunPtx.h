//===- RunPtx.h - run a few lines of PTX in a test --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Wraps a body into a kernel with one output pointer, runs it with 32 threads
// and returns what it stored.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_SIMULATOR_RUNPTX_H
#define NVFP4_UNITTESTS_SIMULATOR_RUNPTX_H

#include "nvfp4/Simulator/Simulator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace nvfp4::sim::test {

/// PTX of 128 threads that copies `words` of 8 bytes from %rd2 to `smem`.
/// Changes %r4, %r5, %rd3, %rd4 and %p2; %r0 is the thread.
inline std::string fillShared(unsigned words) {
  return R"(
    mov.u32 %r4, %r0;
fill:
    mul.wide.u32 %rd3, %r4, 8;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u64 %rd4, [%rd3];
    mov.u32 %r5, smem;
    mad.lo.u32 %r5, %r4, 8, %r5;
    st.shared.u64 [%r5], %rd4;
    add.u32 %r4, %r4, 128;
    setp.lt.u32 %p2, %r4, )" +
         std::to_string(words) + R"(;
    @%p2 bra fill;
    fence.proxy.async.shared::cta;
    bar.sync 0;)";
}

/// PTX of 128 threads that clears `columns` of tensor memory, whose address is
/// at [%r2]: it becomes %r3, and that of the thread's warp %r8. Changes %r9 to
/// %r11 and %p2.
inline std::string clearTensorMemory(unsigned columns) {
  return R"(
    ld.shared.b32 %r3, [%r2];
    shr.u32 %r8, %r0, 5;
    shl.b32 %r8, %r8, 21;
    add.u32 %r8, %r8, %r3;
    mov.u32 %r9, 0;
    mov.u32 %r10, 0;
clear:
    add.u32 %r11, %r8, %r10;
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r11], {%r9, %r9, %r9, %r9, %r9, %r9, %r9, %r9};
    add.u32 %r10, %r10, 8;
    setp.lt.u32 %p2, %r10, )" +
         std::to_string(columns) + R"(;
    @%p2 bra clear;
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
)";
}

inline std::string moduleAround(const std::string &body,
                                const std::string &variables = "") {
  return ".version 8.8\n.target sm_100a\n.address_size 64\n" + variables +
         ".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" + body +
         "\n}\n";
}

/// Loads a module; the test fails with its diagnostics when it does not load.
inline std::unique_ptr<Program> load(const std::string &text) {
  Diagnostics diagnostics("test.ptx");
  auto program = Program::load(text, "test.ptx", diagnostics);
  EXPECT_NE(program, nullptr) << diagnostics.str();
  return program;
}

/// The diagnostics of a module that must not load.
inline std::string loadError(const std::string &text) {
  Diagnostics diagnostics("test.ptx");
  EXPECT_EQ(Program::load(text, "test.ptx", diagnostics), nullptr);
  return diagnostics.str();
}

struct Outcome {
  RunResult result;
  std::vector<uint64_t> out;
  std::string reports;
};

/// Extents of a launch, one-dimensional.
struct Extents {
  unsigned threads = 32;
  unsigned ctas = 1;
  unsigned cluster = 1;
  unsigned sharedBytes = 4096;
  bool programmatic = false;
};

/// Runs kernel `k` with `in` as input (512-byte aligned) and 64 bits of output
/// a thread of the grid.
inline Outcome runGrid(const std::string &text, const std::vector<uint64_t> &in,
                       const Extents &extents, RunOptions options = {}) {
  Outcome outcome;
  auto program = load(text);
  if (!program)
    return outcome;
  unsigned threads = extents.threads * extents.ctas;
  DeviceMemory memory;
  uint64_t out = memory.allocate(threads * 8, "out");
  memory.fill(out, 0, threads * 8);
  uint64_t input = memory.allocate(in.size() * 8 + 8, "in");
  memory.write(input, in.data(), in.size() * 8);
  LaunchConfig config;
  config.grid = {extents.ctas, 1, 1};
  config.block = {extents.threads, 1, 1};
  config.cluster = {extents.cluster, 1, 1};
  config.dynamicShared = extents.sharedBytes;
  config.programmatic = extents.programmatic;
  config.parameters.resize(16);
  std::memcpy(config.parameters.data(), &out, 8);
  std::memcpy(config.parameters.data() + 8, &input, 8);
  const Kernel *kernel = program->kernel("k");
  outcome.result = program->launch(*kernel, config, memory, options);
  outcome.out.resize(threads);
  memory.read(out, outcome.out.data(), threads * 8);
  outcome.reports = outcome.result.reports.str(*kernel);
  return outcome;
}

/// One CTA of `threads` threads.
inline Outcome run(const std::string &text,
                   const std::vector<uint64_t> &in = {}, unsigned threads = 32,
                   RunOptions options = {}) {
  Extents extents;
  extents.threads = threads;
  return runGrid(text, in, extents, options);
}

/// Runs for several seeds with the checker; reports fail the test. The outcome
/// is that of the last seed.
inline Outcome runChecked(const std::string &text,
                          const std::vector<uint64_t> &in,
                          const Extents &extents, unsigned seeds = 8) {
  Outcome outcome;
  RunOptions options;
  options.check = true;
  for (options.seed = 1; options.seed <= seeds; ++options.seed) {
    options.delays =
        options.seed % 3 ? DelayMode::Uniform : DelayMode::Adversarial;
    Outcome next = runGrid(text, in, extents, options);
    EXPECT_EQ(next.reports, "") << "seed " << options.seed;
    EXPECT_TRUE(next.result.completed);
    if (options.seed > 1) {
      EXPECT_EQ(next.out, outcome.out) << "seed " << options.seed;
    }
    outcome = std::move(next);
  }
  return outcome;
}

/// Declarations and addresses most bodies need: %rd1 points to this thread's
/// output, %rd2 to the input, %r0 is the thread.
inline std::string prologue() {
  return R"(
  .reg .pred %p<8>;
  .reg .b16 %h<16>;
  .reg .b32 %r<32>;
  .reg .f32 %f<16>;
  .reg .b64 %rd<16>;
  .reg .f64 %d<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  mov.u32 %r0, %tid.x;
  mov.u32 %r31, %ctaid.x;
  mov.u32 %r30, %ntid.x;
  mad.lo.u32 %r31, %r31, %r30, %r0;
  mad.wide.u32 %rd1, %r31, 8, %rd1;
)";
}

} // namespace nvfp4::sim::test

#endif // NVFP4_UNITTESTS_SIMULATOR_RUNPTX_H
