//===- Mma.cpp - mma.sync ---------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// m16n8 products of f16, bf16, tf32, e4m3 and e5m2 among the lanes of a warp.
//
//===----------------------------------------------------------------------===//

#include "Mma.h"

#include "Families.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

struct FloatAttributes : MmaSyncAttributes {
  bool halfD = false;
  bool halfC = false;
};

/// The half of the elements of fp8 operands that one instruction for f16
/// multiplies: of each register the lower or the upper two.
MmaTile halfOf(const MmaTile &tile, unsigned half) {
  MmaTile result = tile;
  result.k = tile.k / 2;
  auto choose = [&](const MmaMatrix &from, MmaMatrix &to) {
    to.resize(from.rows, result.k);
    for (size_t i = 0; i < size_t{from.rows} * result.k; ++i)
      to.setCode(i, from.code(i / 2 * 4 + 2 * half + i % 2));
  };
  choose(tile.a, result.a);
  choose(tile.b, result.b);
  return result;
}

Step multiply(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<FloatAttributes>();
  if (!warp.requireAllLanes(mask, "mma"))
    return Step::Stop;
  MmaSyncOperands operands(warp, inst, a);
  std::vector<float> values;
  readAccumulators(gatherRegisters(warp, operands.c, a.count[3]), a.halfC, 8,
                   values);
  Accumulation mode = warp.machine.options.accumulation;
  // Hopper multiplies fp8 as f16, in two steps, and adds the accumulator last:
  // the only order found that gives the bits of an H200.
  if (a.a.bits == 8 && a.k == 32 && mode == Accumulation::Aligned) {
    std::vector<float> sums(values.size(), 0.0f);
    accumulate(halfOf(operands.tile, 0), mode, false, sums);
    accumulate(halfOf(operands.tile, 1), mode, false, sums);
    for (size_t i = 0; i < sums.size(); ++i) {
      values[i] += sums[i];
      if (values[i] != values[i])
        values[i] = std::bit_cast<float>(0x7fffffffu);
    }
  } else {
    accumulate(operands.tile, mode, a.halfD, values);
  }
  std::vector<uint32_t> out;
  writeAccumulators(values, a.halfD, 8, out);
  for (unsigned i = 0; i < a.count[0]; ++i)
    std::copy_n(&out[size_t{i} * 32], 32, warp.narrow(operands.d[i]));
  return Step::Next;
}

void decodeMma(DecodeContext &context) {
  context.take("sync");
  context.take("aligned");
  int shape = context.expectAny(
      {"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64"});
  unsigned k = 4u << shape;
  context.expectAny({"row"});
  context.expectAny({"col"});
  if (context.take("block_scale"))
    return decodeScaledMma(context, k);
  context.take("kind::f8f6f4");
  bool satfinite = context.take("satfinite");
  Type d = context.expectType({Type::F32, Type::F16, Type::S32});
  if (d == Type::S32) {
    context.inst.sub[0] = satfinite;
    return decodeIntegerMma(context, k);
  }
  auto &a = context.makeAttributes<FloatAttributes>();
  a.k = k;
  Type ta = context.takeType();
  Type tb = context.takeType();
  Type c = context.expectType({Type::F32, Type::F16});
  if (satfinite || k == 64 || !fragmentType(ta, a.a) ||
      !fragmentType(tb, a.b) || a.a.bits != a.b.bits) {
    context.unsupported();
    return;
  }
  a.halfD = d == Type::F16;
  a.halfC = c == Type::F16;
  if (!context.expectOperands(4) ||
      !decodeMmaOperands(context, a, a.halfD ? 2 : 4, a.halfC ? 2 : 4))
    return;
  context.inst.flags |= FlagAligned;
  context.inst.handler = multiply;
}

} // namespace

bool decodeMmaOperands(DecodeContext &context, MmaSyncAttributes &a,
                       unsigned registersD, unsigned registersC) {
  unsigned perRegister = 32 / a.a.bits;
  unsigned expected[4] = {registersD, 16 * a.k / 32 / perRegister,
                          8 * a.k / 32 / perRegister, registersC};
  if (expected[1] == 0 || expected[2] == 0)
    return context.unsupported();
  context.inst.pool = context.poolSize();
  for (size_t i = 0; i < 4; ++i) {
    std::vector<const Operand *> regs = context.elements(i);
    a.count[i] = expected[i];
    if (regs.size() != expected[i])
      return context.error(context.operand(i), "expected " +
                                                   std::to_string(expected[i]) +
                                                   " registers, but got " +
                                                   std::to_string(regs.size()));
    for (const Operand *reg : regs)
      context.addToPool(i == 0 ? context.dest(*reg, Type::B32)
                               : context.source(*reg, Type::B32));
  }
  return true;
}

void addMmaInstructions(InstructionTable &table) {
  table.add("mma", decodeMma);
}

} // namespace nvfp4::sim
