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

/// Runs kernel `k` with `threads` threads, `in` as input, and 64 bits of output
/// a thread.
inline Outcome run(const std::string &text,
                   const std::vector<uint64_t> &in = {}, unsigned threads = 32,
                   RunOptions options = {}) {
  Outcome outcome;
  auto program = load(text);
  if (!program)
    return outcome;
  DeviceMemory memory;
  uint64_t out = memory.allocate(threads * 8, "out");
  memory.fill(out, 0, threads * 8);
  uint64_t input = memory.allocate(in.size() * 8 + 8, "in");
  memory.write(input, in.data(), in.size() * 8);
  LaunchConfig config;
  config.block = {threads, 1, 1};
  config.dynamicShared = 4096;
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
  mad.wide.u32 %rd1, %r0, 8, %rd1;
)";
}

} // namespace nvfp4::sim::test

#endif // NVFP4_UNITTESTS_SIMULATOR_RUNPTX_H
