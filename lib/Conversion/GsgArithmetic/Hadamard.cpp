//===- Hadamard.cpp - 16-point transforms -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgArithmetic/Hadamard.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;

static constexpr int64_t kRun = 16;

Value arithmetic::emitHadamard(MathBuilder &mb, Value x, bool normalized,
                               uint32_t signMask) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int32_t> signs;
  for (int64_t i = 0; i < lanes; ++i)
    signs.push_back((signMask >> i % kRun & 1) != 0 ? INT32_MIN : 0);
  Value signBits = arith::ConstantOp::create(
      mb.builder, mb.loc,
      DenseElementsAttr::get(VectorType::get(lanes, mb.i32), ArrayRef(signs)));
  x = mb.fromBits(mb.bitXor(mb.toBits(x), signBits));
  for (int64_t distance = 1; distance < kRun; distance *= 2) {
    SmallVector<int64_t> partners, merge;
    for (int64_t i = 0; i < lanes; ++i) {
      partners.push_back(i ^ distance);
      merge.push_back((i & distance) != 0 ? lanes + i : i);
    }
    Value partner = mb.shuffle(x, x, partners);
    x = mb.shuffle(mb.addF(x, partner), mb.subF(partner, x), merge);
  }
  return normalized ? mb.mulF(x, 0.25) : x;
}

void arithmetic::emitHadamard(MathBuilder &mb, MutableArrayRef<Value> x,
                              bool normalized, uint32_t signMask) {
  for (int64_t i = 0; i < kRun; ++i)
    if (signMask >> i & 1)
      x[i] = mb.negF(x[i]);
  for (int64_t distance = 1; distance < kRun; distance *= 2)
    for (int64_t i = 0; i < kRun; ++i) {
      if (i & distance)
        continue;
      Value low = x[i], high = x[i + distance];
      x[i] = mb.addF(low, high);
      x[i + distance] = mb.subF(low, high);
    }
  if (normalized)
    for (Value &each : x)
      each = mb.mulF(each, 0.25);
}
