//===- IsaAMX.cpp - kernels for AMX --------------------------- -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every CPU with AMX also has AVX-512 FP16, which weights are scaled by. The
// rest is in TileRows.cpp and TileWeights.cpp.
//
//===----------------------------------------------------------------------===//

#include "IsaEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg::cpu;

namespace {
class AMXEmitter : public IsaEmitter {
public:
  AMXEmitter()
      : features((createAVX512BF16Emitter()->targetFeatures() +
                  ",+avx512fp16,+amx-tile,+amx-bf16")
                     .str()) {}
  StringRef targetFeatures() const override { return features; }
  bool hasFma() const override { return true; }

private:
  std::string features;
};
} // namespace

std::unique_ptr<IsaEmitter> nvfp4::gsg::cpu::createAMXEmitter() {
  return std::make_unique<AMXEmitter>();
}
