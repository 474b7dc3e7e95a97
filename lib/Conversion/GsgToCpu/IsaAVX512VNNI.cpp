//===- IsaAVX512VNNI.cpp - kernels for AVX-512 with VNNI --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// vpermb looks at six index bits, so a table that holds the 16 values four
// times needs no masking of the nibbles. vpdpbusd accumulates four u8 * s8
// products per 32-bit lane without saturation; LLVM folds the broadcast of an
// activation dword into its memory operand.
//
//===----------------------------------------------------------------------===//

#include "IsaEmitter.h"

using namespace mlir;
using namespace nvfp4::gsg::cpu;

namespace {
class AVX512VNNIEmitter : public IsaEmitter {
public:
  StringRef targetFeatures() const override {
    return "+sse4.2,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+popcnt,+lzcnt,+cx16,"
           "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx512vbmi,"
           "+avx512vnni";
  }
  bool hasFma() const override { return true; }

  std::pair<Value, Value> decodeNibbles(KernelBuilder &kb,
                                        Value dwords) const override {
    SmallVector<int8_t> table;
    for (int copy = 0; copy < 4; ++copy)
      table.append(std::begin(kBiasedE2M1), std::end(kBiasedE2M1));
    Value lookup = kb.byteVector(table);
    auto decode = [&](Value nibbles) {
      return kb.intrinsic("llvm.x86.avx512.permvar.qi.512", lookup.getType(),
                          {lookup, kb.bitcast(nibbles, kb.i8)});
    };
    return {decode(dwords), decode(kb.shr(kb.bitcast(dwords, kb.i16), 4))};
  }

  Value blockDot(KernelBuilder &kb, Value bias, ArrayRef<Value> weights,
                 ArrayRef<Value> activations) const override {
    for (auto [weight, activation] : llvm::zip_equal(weights, activations))
      bias = kb.intrinsic("llvm.x86.avx512.vpdpbusd.512", bias.getType(),
                          {bias, weight, activation});
    return bias;
  }
};
} // namespace

std::unique_ptr<IsaEmitter> nvfp4::gsg::cpu::createAVX512VNNIEmitter() {
  return std::make_unique<AVX512VNNIEmitter>();
}
