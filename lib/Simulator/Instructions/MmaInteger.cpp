//===- MmaInteger.cpp - mma.sync of integers --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// m16n8 products of 8-bit integers, signed or not, added to s32.
//
//===----------------------------------------------------------------------===//

#include "Mma.h"

#include "nvfp4/Simulator/TensorCore/IntegerProduct.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

struct IntegerAttributes : MmaSyncAttributes {
  IntegerFormat formatA, formatB;
  bool saturate = false;
};

Step multiply(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<IntegerAttributes>();
  if (!warp.requireAllLanes(mask, "mma"))
    return Step::Stop;
  MmaSyncOperands operands(warp, inst, a);
  // Results are spread as f32 ones are: as bits.
  std::vector<float> bits;
  readAccumulators(gatherRegisters(warp, operands.c, 4), false, 8, bits);
  for (unsigned row = 0; row < 16; ++row) {
    int32_t sums[8];
    std::copy_n(reinterpret_cast<const char *>(&bits[size_t{8} * row]),
                sizeof sums, reinterpret_cast<char *>(sums));
    addIntegerRow(operands.tile, a.formatA, a.formatB, a.saturate, row, sums);
    for (unsigned i = 0; i < 4; ++i) {
      // Register 2 (row / 8) + column % 2 of lane 4 (row % 8) + column / 2.
      unsigned lane = 4 * (row % 8) + i;
      for (unsigned odd = 0; odd < 2; ++odd)
        warp.narrow(operands.d[2 * (row / 8) + odd])[lane] =
            static_cast<uint32_t>(sums[2 * i + odd]);
    }
  }
  return Step::Next;
}

} // namespace

void decodeIntegerMma(DecodeContext &context, unsigned k) {
  auto &a = context.makeAttributes<IntegerAttributes>();
  a.k = k;
  a.saturate = context.inst.sub[0];
  Type typeA = context.takeType();
  Type typeB = context.takeType();
  Type typeC = context.takeType();
  auto isByte = [](Type type) { return type == Type::S8 || type == Type::U8; };
  if (!isByte(typeA) || !isByte(typeB) || typeC != Type::S32 ||
      (k != 16 && k != 32)) {
    context.unsupported();
    return;
  }
  a.formatA.isSigned = typeA == Type::S8;
  a.formatB.isSigned = typeB == Type::S8;
  // Only the width of the format matters.
  a.a = a.b = {formatE4M3, 8};
  if (!context.expectOperands(4) || !decodeMmaOperands(context, a, 4, 4))
    return;
  context.inst.flags |= FlagAligned;
  context.inst.handler = multiply;
}

} // namespace nvfp4::sim
