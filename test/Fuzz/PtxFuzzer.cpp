//===- PtxFuzzer.cpp - Fuzzes the simulator's loader ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input is PTX text: it is parsed and every kernel is decoded, analysed and
// given registers. What is refused must come with a diagnostic; what is
// accepted loads again from the same text.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Simulator/Simulator.h"

#include <cstdlib>

using namespace nvfp4::sim;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics("fuzz.ptx");
  auto program = Program::load(text, "fuzz.ptx", diagnostics);
  if (!program) {
    if (diagnostics.str().empty())
      std::abort();
    return 0;
  }
  Diagnostics again("fuzz.ptx");
  auto same = Program::load(text, "fuzz.ptx", again);
  if (!same || same->kernels().size() != program->kernels().size())
    std::abort();
  return 0;
}
