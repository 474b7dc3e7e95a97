//===- TileWeights.cpp - scaled weights for tiles of AMX ------ -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// E2M1 elements times scales as bf16, which holds the products exactly.
//
// With UE4M3: the upper byte of an f16 says all of 2^8 * e2m1, and a code
// shifted by 7 is the f16 of 2^-8 times the scale, subnormal ones too, so the
// product in f16 is the scaled element, at least 2^-10. Its bits moved down by
// 3 are the bf16 of 2^-112 times as much: no product is subnormal in either.
//
// With E8M0 the scale is an exponent to subtract from that of the element,
// saturating at zero.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;
using Predicate = arith::CmpIPredicate;

static constexpr int64_t kNaNPair = 0x7FC07FC0;
/// In place of an E8M0 scale that is NaN, and of one that is too far from 1:
/// NaN unless the block is zeros.
static constexpr int64_t kNaNScale = -1, kFarScale = 0xFFFEFFFE;

SmallVector<Value> KernelEmitter::decodeTileScales(Value words) {
  Value bytes = kb.bitcast(words, kb.i8);
  Value zeros = kb.constant(bytes.getType(), 0);
  SmallVector<Value> scales;
  for (int64_t block = 0; block < 4; ++block) {
    // The code of each lane in both of its halves.
    SmallVector<int64_t> mask;
    for (int64_t lane = 0; lane < plan.getLanes(); ++lane)
      mask.append({4 * lane + block, 64, 4 * lane + block, 64});
    Value codes = kb.bitcast(kb.shuffle(bytes, zeros, mask), kb.i16);
    if (spec.scale == format::ScaleKind::UE4M3) {
      scales.push_back(kb.bitcast(kb.shl(codes, 7), kb.i32));
      continue;
    }
    auto constant = [&](int64_t value) {
      return kb.constant(codes.getType(), value);
    };
    Value below = kb.sub(constant(127 + kTileExponent), codes);
    Value isFar = kb.cmp(Predicate::ugt, below, constant(2 * kTileExponent));
    Value isNaN = kb.cmp(Predicate::eq, codes, constant(0xFF));
    Value others = kb.select(isNaN, constant(kNaNScale),
                             constant(static_cast<int16_t>(kFarScale)));
    scales.push_back(
        kb.bitcast(kb.select(isFar, others, kb.shl(below, 7)), kb.i32));
  }
  return scales;
}

/// From packed dwords, the looked up bytes of the elements as upper bytes of
/// words, those of the lower nibbles first and the lower byte of each half
/// first.
static SmallVector<Value> lookUpBytes(KernelBuilder &kb, Value dwords,
                                      ArrayRef<int8_t> table) {
  Value lookup = kb.byteVector(table);
  SmallVector<Value> words;
  for (Value nibbles : {dwords, kb.shr(kb.bitcast(dwords, kb.i16), 4)}) {
    Value bytes =
        kb.intrinsic("llvm.x86.avx512.permvar.qi.512", lookup.getType(),
                     {lookup, kb.bitcast(nibbles, kb.i8)});
    Value halves = kb.bitcast(bytes, kb.i16);
    words.push_back(kb.shl(halves, 8));
    words.push_back(kb.bitAnd(halves, 0xFF00));
  }
  return words;
}

/// The f16 of 2^8 * e2m1, upper byte.
static int8_t upperByte(uint8_t code) {
  constexpr uint8_t bytes[] = {0, 0x58, 0x5C, 0x5E, 0x60, 0x62, 0x64, 0x66};
  return static_cast<int8_t>(bytes[code & 7] | (code & 8) << 4);
}

static SmallVector<Value> scaleByUE4M3(KernelBuilder &kb,
                                       ArrayRef<Value> dwords, Value scales) {
  SmallVector<int8_t> table;
  for (uint8_t i = 0; i < 64; ++i)
    table.push_back(upperByte(i & 15));
  Type half = kb.builder.getF16Type();
  Value scale = kb.bitcast(scales, half);
  Value isNaN = kb.cmp(Predicate::uge, scales, 0x3F803F80);
  auto words = [&](int64_t ofNaN, int64_t ofOthers) {
    Value lanes = kb.select(isNaN, kb.constant(scales.getType(), ofNaN),
                            kb.constant(scales.getType(), ofOthers));
    return kb.bitcast(lanes, kb.i16);
  };
  Value kept = words(0, 0x8FFF8FFF), added = words(kNaNPair, 0);
  SmallVector<Value> pairs;
  for (Value dword : dwords)
    for (Value element : lookUpBytes(kb, dword, table)) {
      Value product =
          kb.bitcast(kb.mulF(kb.bitcast(element, half), scale), kb.i16);
      Value moved = arith::ShRSIOp::create(kb.builder, kb.loc, product,
                                           kb.constant(product.getType(), 3));
      pairs.push_back(
          kb.bitcast(kb.bitOr(kb.bitAnd(moved, kept), added), kb.i32));
    }
  return pairs;
}

static SmallVector<Value> scaleByE8M0(KernelBuilder &kb, ArrayRef<Value> dwords,
                                      Value scales) {
  // bf16 of e2m1 times the greatest scale; no sign of zero.
  SmallVector<int8_t> table;
  for (uint8_t i = 0; i < 32; ++i) {
    uint8_t code = i & 7 ? i & 15 : 0;
    uint32_t bits = llvm::bit_cast<uint32_t>(
        std::ldexp(format::decodeE2M1(code), static_cast<int>(kTileExponent)));
    table.append(
        {static_cast<int8_t>(bits >> 16), static_cast<int8_t>(bits >> 24)});
  }
  Value exponents = kb.bitcast(scales, kb.i16);
  Value elements = dwords.front();
  for (Value dword : dwords.drop_front())
    elements = kb.bitOr(elements, dword);
  auto isScale = [&](int64_t value) {
    return kb.cmp(Predicate::eq, scales,
                  kb.constant(scales.getType(), static_cast<int32_t>(value)));
  };
  // A block of zeros may have any scale: 0 is what quantisers give it.
  Value isFar = arith::AndIOp::create(
      kb.builder, kb.loc, isScale(kFarScale),
      kb.cmp(Predicate::ne, kb.bitAnd(elements, 0x77777777), 0));
  Value isNaN =
      arith::OrIOp::create(kb.builder, kb.loc, isFar, isScale(kNaNScale));
  Value nan = kb.constant(scales.getType(), kNaNPair);
  SmallVector<Value> pairs;
  for (Value dword : dwords)
    for (Value words : lookUpWords(kb, dword, table)) {
      Value scaled =
          kb.intrinsic("llvm.usub.sat", words.getType(), {words, exponents});
      pairs.push_back(kb.select(isNaN, nan, kb.bitcast(scaled, kb.i32)));
    }
  return pairs;
}

SmallVector<Value> KernelEmitter::decodeTileWeights(ArrayRef<Value> dwords,
                                                    Value scales) {
  return spec.scale == format::ScaleKind::UE4M3
             ? scaleByUE4M3(kb, dwords, scales)
             : scaleByE8M0(kb, dwords, scales);
}
