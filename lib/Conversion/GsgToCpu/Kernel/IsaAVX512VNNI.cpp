//===- IsaAVX512VNNI.cpp - kernels for AVX-512 with VNNI --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// vpermb looks at six index bits, so a table that holds the 16 values four
// times needs no masking of the nibbles; vpermps looks at four. vpdpbusd
// accumulates four u8 * s8 products per 32-bit lane without saturation; LLVM
// folds the broadcast of an activation dword into its memory operand.
//
// With vdpbf16ps, pairs of weights are cut out of a dword by vpmultishiftqb and
// looked up by vpermw, which looks at five index bits.
//
//===----------------------------------------------------------------------===//

#include "IsaEmitter.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::arithmetic;
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

  Value decodeE2M1(KernelBuilder &kb, Value dwords,
                   int64_t index) const override {
    // Rows are prepared element by element.
    if (!isa<VectorType>(dwords.getType()))
      return {};
    return lookUpE2M1(kb, kb.shr(dwords, 4 * index));
  }

  SmallVector<Value> decodeScaleWords(KernelBuilder &kb, format::ScaleKind kind,
                                      Value words) const override {
    if (kind != format::ScaleKind::UE4M3)
      return {};
    // A UE4M3 number has at most 4 significant bits, so the upper two bytes of
    // its f32 say it all: two lookups of 128 bytes, indexed by the code, where
    // codes with the top bit set become 0x7F, which is NaN.
    SmallVector<int8_t> table[2];
    for (uint8_t code = 0; code < 128; ++code) {
      uint32_t bits = llvm::bit_cast<uint32_t>(format::decodeUE4M3(code));
      table[0].push_back(static_cast<int8_t>(bits >> 16));
      table[1].push_back(static_cast<int8_t>(bits >> 24));
    }
    Value codes = kb.bitcast(words, kb.i8);
    codes = arith::MinUIOp::create(kb.builder, kb.loc, codes,
                                   kb.constant(codes.getType(), 0x7F));
    auto choose = [&](Value low, Value index, Value high) {
      return kb.intrinsic("llvm.x86.avx512.vpermi2var.qi.512", codes.getType(),
                          {low, index, high});
    };
    Value bytes[2];
    for (int i = 0; i < 2; ++i)
      bytes[i] = choose(kb.byteVector(ArrayRef(table[i]).take_front(64)), codes,
                        kb.byteVector(ArrayRef(table[i]).drop_front(64)));
    // The two bytes of scales 0 and 2 of each lane side by side, and those of
    // 1 and 3.
    Value low = kb.bitcast(bytes[0], kb.i16),
          high = kb.bitcast(bytes[1], kb.i16);
    Value even = kb.bitOr(kb.bitAnd(low, 0x00FF), kb.shl(high, 8));
    Value odd = kb.bitOr(kb.shr(low, 8), kb.bitAnd(high, 0xFF00));
    even = kb.bitcast(even, kb.i32);
    odd = kb.bitcast(odd, kb.i32);
    return {kb.lowerBf16(even), kb.lowerBf16(odd), kb.upperBf16(even),
            kb.upperBf16(odd)};
  }
};

class AVX512BF16Emitter : public AVX512VNNIEmitter {
public:
  AVX512BF16Emitter()
      : features((AVX512VNNIEmitter::targetFeatures() + ",+avx512bf16").str()) {
  }
  StringRef targetFeatures() const override { return features; }

  SmallVector<Value> decodePairs(KernelBuilder &kb,
                                 Value dwords) const override {
    SmallVector<int8_t> table;
    for (int copy = 0; copy < 2; ++copy)
      for (uint8_t code = 0; code < 16; ++code) {
        uint32_t bits = llvm::bit_cast<uint32_t>(format::decodeE2M1(code));
        table.append(
            {static_cast<int8_t>(bits >> 16), static_cast<int8_t>(bits >> 24)});
      }
    SmallVector<Value> pairs;
    for (Value words : lookUpWords(kb, dwords, table))
      pairs.push_back(kb.bitcast(words, kb.i32));
    return pairs;
  }

  Value pairDot(KernelBuilder &kb, Value sum, Value weights,
                Value activations) const override {
    Type bf16 = kb.builder.getBF16Type();
    return kb.intrinsic(
        "llvm.x86.avx512bf16.dpbf16ps.512", sum.getType(),
        {sum, kb.bitcast(weights, bf16), kb.bitcast(activations, bf16)});
  }

private:
  std::string features;
};
} // namespace

Value nvfp4::gsg::cpu::lookUpE2M1(KernelBuilder &kb, Value codes) {
  SmallVector<float> table;
  for (uint8_t code = 0; code < 16; ++code)
    table.push_back(format::decodeE2M1(code));
  auto floats = VectorType::get(16, kb.f32);
  Value lookup = arith::ConstantOp::create(
      kb.builder, kb.loc, DenseElementsAttr::get(floats, ArrayRef(table)));
  return kb.intrinsic("llvm.x86.avx512.permvar.sf.512", floats,
                      {lookup, codes});
}

SmallVector<Value> nvfp4::gsg::cpu::lookUpWords(KernelBuilder &kb, Value dwords,
                                                ArrayRef<int8_t> table) {
  Value lookup = kb.bitcast(kb.byteVector(table), kb.i16);
  SmallVector<Value> words;
  for (int8_t first = 0; first < 32; first += 8) {
    // Where in a qword, which is two lanes, the bits of each byte begin.
    SmallVector<int8_t> begins;
    for (int8_t byte = 0; byte < 64; ++byte)
      begins.push_back(
          static_cast<int8_t>((byte & 4) * 8 + first + (byte & 2) * 2));
    Value nibbles =
        kb.intrinsic("llvm.x86.avx512.pmultishift.qb.512",
                     kb.bitcast(dwords, kb.i8).getType(),
                     {kb.byteVector(begins), kb.bitcast(dwords, kb.i8)});
    words.push_back(kb.intrinsic("llvm.x86.avx512.permvar.hi.512",
                                 lookup.getType(),
                                 {lookup, kb.bitcast(nibbles, kb.i16)}));
  }
  return words;
}

std::unique_ptr<IsaEmitter> nvfp4::gsg::cpu::createAVX512VNNIEmitter() {
  return std::make_unique<AVX512VNNIEmitter>();
}

std::unique_ptr<IsaEmitter> nvfp4::gsg::cpu::createAVX512BF16Emitter() {
  return std::make_unique<AVX512BF16Emitter>();
}
