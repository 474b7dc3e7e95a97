//===- Decode.cpp - elements and scales as f32 lanes ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact decoding by moving the bits of a small float into the fields of an f32.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

static constexpr int64_t kF32Exponent = 0x7F800000;
static constexpr int64_t kF32QuietNaN = 0x7FC00000;

Value KernelEmitter::decodeElement(format::ElementKind kind, Value dwords,
                                   int64_t index) {
  Type lanes = dwords.getType();
  if (kind == format::ElementKind::E2M1) {
    if (Value value = isa->decodeE2M1(kb, dwords, index))
      return value;
    Value code = kb.shr(dwords, 4 * index);
    Value magnitude = kb.widenFloat(kb.bitAnd(code, 7), 1, 1);
    Value sign = kb.shl(kb.bitAnd(code, 8), 28);
    return kb.bitcast(kb.bitOr(kb.bitcast(magnitude, kb.i32), sign), kb.f32);
  }
  bool e4m3 = kind == format::ElementKind::E4M3;
  Value code = kb.shr(dwords, 8 * index);
  Value magnitude = kb.bitAnd(code, 0x7F);
  Value finite =
      e4m3 ? kb.widenFloat(magnitude, 3, 7) : kb.widenFloat(magnitude, 2, 15);
  Value bits = kb.bitcast(finite, kb.i32);
  if (e4m3) {
    bits = kb.select(kb.cmp(Predicate::eq, magnitude, 0x7F),
                     kb.constant(lanes, kF32QuietNaN), bits);
  } else {
    // Exponent 31: infinity with mantissa 0, else NaN.
    Value special =
        kb.bitOr(kb.shl(magnitude, 21), kb.constant(lanes, kF32Exponent));
    bits = kb.select(kb.cmp(Predicate::uge, magnitude, 0x7C), special, bits);
  }
  Value sign = kb.shl(kb.bitAnd(code, 0x80), 24);
  return kb.bitcast(kb.bitOr(bits, sign), kb.f32);
}

Value KernelEmitter::decodeScale(Value words, int64_t index, int exponent) {
  Type lanes = words.getType();
  Value code = kb.bitAnd(kb.shr(words, 8 * index), 0xFF);
  if (spec.scale == format::ScaleKind::UE4M3) {
    Value finite = kb.widenFloat(code, 3, 7, exponent);
    Value bits =
        kb.select(kb.cmp(Predicate::uge, code, 0x7F),
                  kb.constant(lanes, kF32QuietNaN), kb.bitcast(finite, kb.i32));
    return kb.bitcast(bits, kb.f32);
  }
  // 2^-127 is subnormal; all other codes are exponent fields.
  Value bits = kb.select(kb.cmp(Predicate::eq, code, 0),
                         kb.constant(lanes, 0x00400000), kb.shl(code, 23));
  bits = kb.select(kb.cmp(Predicate::eq, code, 0xFF),
                   kb.constant(lanes, kF32QuietNaN), bits);
  Value value = kb.bitcast(bits, kb.f32);
  if (exponent == 0)
    return value;
  return kb.mulF(value,
                 kb.constantF32(value.getType(), std::ldexp(1.0f, exponent)));
}

Value KernelEmitter::accumulate(Value blockSum, Value scaleA, Value scaleB,
                                Value acc) {
  // Exact products: UE4M3 has 4 significant bits, an E2M1 block sum at most 12.
  bool twoFours = spec.activation == format::ElementKind::E2M1 &&
                  spec.weight == format::ElementKind::E2M1;
  if (spec.scale == format::ScaleKind::UE4M3)
    return kb.fma(blockSum, kb.mulF(scaleA, scaleB), acc, /*exact=*/twoFours,
                  isa->hasFma());
  return kb.fma(kb.mulF(blockSum, scaleA), scaleB, acc, /*exact=*/false,
                isa->hasFma());
}
