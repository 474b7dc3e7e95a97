//===- IsaAVX2.cpp - kernels for x86-64-v3 ----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// vpmaddubsw adds pairs of u8 * s8 products with signed saturation to 16 bits.
// A product is at most 24 * 12 in magnitude and a block of 32 sums 16 of them
// per 16-bit lane, 4608, so saturation never fires and the result is exact.
//
//===----------------------------------------------------------------------===//

#include "IsaEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

namespace {
class AVX2Emitter : public IsaEmitter {
public:
  StringRef targetFeatures() const override {
    return "+sse4.2,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+popcnt,+lzcnt,+cx16";
  }
  bool hasFma() const override { return true; }

  std::pair<Value, Value> decodeNibbles(KernelBuilder &kb,
                                        Value dwords) const override {
    SmallVector<int8_t> table;
    for (int copy = 0; copy < 2; ++copy)
      table.append(std::begin(kBiasedE2M1), std::end(kBiasedE2M1));
    Value lookup = kb.byteVector(table);
    auto decode = [&](Value nibbles) {
      Value index = kb.bitAnd(kb.bitcast(nibbles, kb.i8), 15);
      return kb.intrinsic("llvm.x86.avx2.pshuf.b", lookup.getType(),
                          {lookup, index});
    };
    return {decode(dwords), decode(kb.shr(kb.bitcast(dwords, kb.i16), 4))};
  }

  Value blockDot(KernelBuilder &kb, Value bias, ArrayRef<Value> weights,
                 ArrayRef<Value> activations) const override {
    auto words = VectorType::get(16, kb.i16);
    Value sum;
    for (auto [weight, activation] : llvm::zip_equal(weights, activations)) {
      Value pairs = kb.intrinsic("llvm.x86.avx2.pmadd.ub.sw", words,
                                 {weight, activation});
      sum = sum ? kb.add(sum, pairs) : pairs;
    }
    Value dot = kb.intrinsic("llvm.x86.avx2.pmadd.wd", bias.getType(),
                             {sum, kb.constant(words, 1)});
    return kb.add(dot, bias);
  }
};
} // namespace

std::unique_ptr<IsaEmitter> nvfp4::gsg::cpu::createAVX2Emitter() {
  return std::make_unique<AVX2Emitter>();
}
