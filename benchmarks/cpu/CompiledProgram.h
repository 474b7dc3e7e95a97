//===- CompiledProgram.h - A function under measurement ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the CPU benchmarks share: compiling a module of text as nvfp4-run does,
// calling its function, operands. An error ends the program with its message.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_BENCHMARKS_CPU_COMPILEDPROGRAM_H
#define NVFP4_BENCHMARKS_CPU_COMPILEDPROGRAM_H

#include "nvfp4/Tools/Compile.h"
#include "nvfp4/Tools/CompiledFunction.h"

#include "benchmark/benchmark.h"

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace nvfp4::bench {

[[noreturn]] void fail(const std::string &message);

/// A tensor of zeros.
tensorio::Tensor allocate(tensorio::DType dtype, std::vector<int64_t> shape);

/// Bytes drawn uniformly from [low, high], repeated after a mebibyte.
tensorio::Tensor randomBytes(tensorio::DType dtype, std::vector<int64_t> shape,
                             uint8_t low, uint8_t high, std::mt19937 &random);

/// Registers `name/threads:n` for one and two threads; `run` reads the number
/// from state.range(0).
void add(const char *name, std::function<void(benchmark::State &)> run);

/// Runs what was added, by the options of Google Benchmark; the exit status.
int runAll(int argc, char **argv);

/// One function through gsg-to-cpu, ready to be called.
class Program {
public:
  static Program compile(const std::string &text, const char *function,
                         const char *isa = "native");

  /// Operands in the order of the signature; destinations are written in place.
  void call(std::vector<tensorio::Tensor> &arguments);

private:
  std::unique_ptr<tools::ParsedModule> module;
  tools::Signature signature;
  std::unique_ptr<tools::CompiledFunction> function;
};

} // namespace nvfp4::bench

#endif // NVFP4_BENCHMARKS_CPU_COMPILEDPROGRAM_H
