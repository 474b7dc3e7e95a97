//===- CompiledProgram.cpp - A function under measurement -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles through a temporary file, the way the tools read their input.
//
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace nvfp4;
using namespace nvfp4::bench;
using tensorio::DType;
using tensorio::Tensor;

void bench::fail(const std::string &message) {
  llvm::errs() << "benchmark: " << message << "\n";
  std::exit(1);
}

Tensor bench::allocate(DType dtype, std::vector<int64_t> shape) {
  auto tensor = Tensor::allocate(dtype, std::move(shape));
  if (!tensor)
    fail(tensor.message());
  return *tensor;
}

Tensor bench::randomBytes(DType dtype, std::vector<int64_t> shape, uint8_t low,
                          uint8_t high, std::mt19937 &random) {
  // Speed does not depend on what the bytes are; drawing all of them takes
  // long.
  constexpr size_t period = 1 << 20;
  std::vector<std::byte> drawn(period);
  for (std::byte &byte : drawn)
    byte = static_cast<std::byte>(low + random() % (high - low + 1u));
  Tensor tensor = allocate(dtype, std::move(shape));
  auto bytes = tensor.mutableBytes();
  for (size_t at = 0; at < bytes.size(); at += period)
    std::memcpy(bytes.data() + at, drawn.data(),
                std::min(period, bytes.size() - at));
  return tensor;
}

void bench::add(const char *name, std::function<void(benchmark::State &)> run) {
  benchmark::RegisterBenchmark(name, std::move(run))
      ->Arg(1)
      ->Arg(2)
      ->ArgName("threads")
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

int bench::runAll(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

Program Program::compile(const std::string &text, const char *function,
                         const char *isa) {
  llvm::SmallString<128> path;
  int file = -1;
  if (llvm::sys::fs::createTemporaryFile("nvfp4-benchmark", "mlir", file, path))
    fail("cannot create a temporary file");
  {
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    os << text;
  }
  Program program;
  tools::CodeOptions options;
  options.isa = isa;
  options.report = [](const std::string &message) {
    llvm::errs() << message << "\n";
  };
  program.module = tools::ParsedModule::parse(path.str().str(), options);
  llvm::sys::fs::remove(path);
  if (!program.module || failed(tools::resolve(options)))
    fail("cannot parse the module");
  auto signature = tools::Signature::get(program.module->get(), function);
  if (!signature)
    fail(signature.message());
  program.signature = *signature;
  auto compiled = tools::CompiledFunction::compile(program.module->get(),
                                                   options, function);
  if (!compiled)
    fail(compiled.message());
  program.function = std::move(*compiled);
  return program;
}

void Program::call(std::vector<Tensor> &arguments) {
  auto results = function->call(arguments, signature);
  if (!results)
    fail(results.message());
}
