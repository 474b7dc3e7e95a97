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

#include <numeric>

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;
using IntPredicate = arith::CmpIPredicate;

Value nvfp4::gsg::arithmetic::emitPhiloxUniform(MathBuilder &mb, Value seed,
                                                Value first, int64_t lanes) {
  constexpr int64_t low = 0xFFFFFFFF;
  auto type = VectorType::get(lanes, mb.i64);
  SmallVector<int64_t> iota(lanes);
  std::iota(iota.begin(), iota.end(), 0);
  Value lane = arith::ConstantOp::create(
      mb.builder, mb.loc, DenseElementsAttr::get(type, ArrayRef(iota)));
  Value index = mb.add(mb.splat(first, lanes), lane);
  Value block = mb.shr(index, 2);
  Value zero = mb.constant(type, 0);
  Value counter[4] = {mb.bitAnd(block, low), mb.shr(block, 32), zero, zero};
  Value key[2] = {mb.bitAnd(seed, low), mb.shr(seed, 32)};
  for (int round = 0; round < 10; ++round) {
    Value even = mb.mul(counter[0], 0xD2511F53);
    Value odd = mb.mul(counter[2], 0xCD9E8D57);
    Value word0 = mb.bitXor(mb.bitXor(mb.shr(odd, 32), counter[1]),
                            mb.splat(key[0], lanes));
    Value word2 = mb.bitXor(mb.bitXor(mb.shr(even, 32), counter[3]),
                            mb.splat(key[1], lanes));
    counter[0] = word0;
    counter[1] = mb.bitAnd(odd, low);
    counter[2] = word2;
    counter[3] = mb.bitAnd(even, low);
    key[0] = mb.bitAnd(mb.add(key[0], 0x9E3779B9), low);
    key[1] = mb.bitAnd(mb.add(key[1], 0xBB67AE85), low);
  }
  Value position = mb.bitAnd(index, 3);
  Value word = counter[0];
  for (int i = 1; i < 4; ++i)
    word = mb.select(mb.cmp(IntPredicate::eq, position, i), counter[i], word);
  // 24 bits are exact as f32.
  Value high = mb.truncate(mb.shr(word, 8), mb.i32);
  return mb.mulF(mb.intToFloat(high), 0x1p-24);
}
