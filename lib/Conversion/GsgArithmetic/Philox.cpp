//===- Philox.cpp - counter-based random numbers in vectors -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 32-bit words live in 64-bit lanes, where their products fit.
//
//===----------------------------------------------------------------------===//

#include "Philox.h"

#include <array>
#include <numeric>

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;
using IntPredicate = arith::CmpIPredicate;

/// The four words of each counter of `blocks`, vectors of i32.
static std::array<Value, 4> emitWords(MathBuilder &mb, Value seed,
                                      Value blocks) {
  int64_t count = cast<VectorType>(blocks.getType()).getNumElements();
  Value zero = mb.constant(VectorType::get(count, mb.i32), 0);
  auto high = [&](Value wide) { return mb.truncate(mb.shr(wide, 32), mb.i32); };
  std::array<Value, 4> counter = {mb.truncate(blocks, mb.i32), high(blocks),
                                  zero, zero};
  Value key[2] = {mb.truncate(seed, mb.i32), high(seed)};
  for (int round = 0; round < 10; ++round) {
    Value even = mb.mul(mb.zeroExtend(counter[0], mb.i64), 0xD2511F53);
    Value odd = mb.mul(mb.zeroExtend(counter[2], mb.i64), 0xCD9E8D57);
    counter = {
        mb.bitXor(mb.bitXor(high(odd), counter[1]), mb.splat(key[0], count)),
        mb.truncate(odd, mb.i32),
        mb.bitXor(mb.bitXor(high(even), counter[3]), mb.splat(key[1], count)),
        mb.truncate(even, mb.i32)};
    key[0] = mb.add(key[0], static_cast<int32_t>(0x9E3779B9));
    key[1] = mb.add(key[1], static_cast<int32_t>(0xBB67AE85));
  }
  return counter;
}

/// Element i of `first` and element i of `second` in turn, in runs of `run`.
static Value interleave(MathBuilder &mb, Value first, Value second,
                        int64_t run) {
  int64_t count = cast<VectorType>(first.getType()).getNumElements();
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < count; i += run)
    for (int64_t from : {i, count + i})
      for (int64_t j = 0; j < run; ++j)
        mask.push_back(from + j);
  return mb.shuffle(first, second, mask);
}

Value nvfp4::gsg::arithmetic::emitPhiloxUniform(MathBuilder &mb, Value seed,
                                                Value first, int64_t lanes) {
  // Four elements share a counter, and one counter more is begun by elements
  // that do not start with one.
  int64_t count = lanes / 4 + 1;
  auto type = VectorType::get(count, mb.i64);
  SmallVector<int64_t> iota(count);
  std::iota(iota.begin(), iota.end(), 0);
  Value numbers = arith::ConstantOp::create(
      mb.builder, mb.loc, DenseElementsAttr::get(type, ArrayRef(iota)));
  Value blocks = mb.add(mb.splat(mb.shr(first, 2), count), numbers);
  std::array<Value, 4> words = emitWords(mb, seed, blocks);
  Value all = interleave(mb, interleave(mb, words[0], words[1], 1),
                         interleave(mb, words[2], words[3], 1), 2);
  Value position = mb.bitAnd(first, 3), word;
  for (int64_t begin = 0; begin < 4; ++begin) {
    SmallVector<int64_t> mask(lanes);
    std::iota(mask.begin(), mask.end(), begin);
    Value part = mb.shuffle(all, all, mask);
    word =
        word ? mb.select(mb.cmp(IntPredicate::eq, position, begin), part, word)
             : part;
  }
  // 24 bits are exact as f32.
  return mb.mulF(mb.intToFloat(mb.shr(word, 8)), 0x1p-24);
}
