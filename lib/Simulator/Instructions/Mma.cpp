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

#include "Families.h"
#include "Fragments.h"

#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {
namespace {

struct MmaAttributes : InstAttributes {
  unsigned k = 16;
  FragmentType a, b;
  bool halfD = false;
  bool halfC = false;
  /// Registers of D, A, B and C in the pool, in this order.
  unsigned count[4] = {};
};

std::vector<uint32_t> gather(Warp &warp, const Ref *refs, unsigned count) {
  std::vector<uint32_t> values;
  for (unsigned i = 0; i < count; ++i)
    values.insert(values.end(), warp.narrow(refs[i]),
                  warp.narrow(refs[i]) + 32);
  return values;
}

Step multiply(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MmaAttributes>();
  if (mask != allLanes)
    return warp.fault(ReportKind::IllegalOperand,
                      "expected all 32 lanes to execute mma");
  const Ref *d = &warp.kernel.pool[inst.pool];
  const Ref *ra = d + a.count[0];
  const Ref *rb = ra + a.count[1];
  const Ref *rc = rb + a.count[2];
  MmaTile tile;
  tile.k = a.k;
  readFragmentA(gather(warp, ra, a.count[1]), a.a, a.k, tile.a);
  readFragmentB(gather(warp, rb, a.count[2]), a.b, a.k, tile.b);
  std::vector<float> values;
  readAccumulators(gather(warp, rc, a.count[3]), a.halfC, 8, values);
  accumulate(tile, warp.machine.options.accumulation, a.halfD, values);
  std::vector<uint32_t> out;
  writeAccumulators(values, a.halfD, 8, out);
  for (unsigned i = 0; i < a.count[0]; ++i)
    std::copy_n(&out[size_t{i} * 32], 32, warp.narrow(d[i]));
  return Step::Next;
}

void decodeMma(DecodeContext &context) {
  auto &a = context.makeAttributes<MmaAttributes>();
  context.take("sync");
  context.take("aligned");
  int shape = context.expectAny({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  a.k = 4u << shape;
  context.expectAny({"row"});
  context.expectAny({"col"});
  context.take("kind::f8f6f4");
  Type d = context.expectType({Type::F32, Type::F16});
  Type ta = context.takeType();
  Type tb = context.takeType();
  Type c = context.expectType({Type::F32, Type::F16});
  if (!fragmentType(ta, a.a) || !fragmentType(tb, a.b) ||
      a.a.bits != a.b.bits) {
    context.error("element types of '" + context.parsed.fullName() +
                  "' are not supported");
    return;
  }
  a.halfD = d == Type::F16;
  a.halfC = c == Type::F16;
  if (!context.expectOperands(4))
    return;
  unsigned perRegister = 32 / a.a.bits;
  unsigned expected[4] = {a.halfD ? 2u : 4u, 16 * a.k / 32 / perRegister,
                          8 * a.k / 32 / perRegister, a.halfC ? 2u : 4u};
  context.inst.pool = context.poolSize();
  for (size_t i = 0; i < 4; ++i) {
    std::vector<const Operand *> regs = context.elements(i);
    a.count[i] = expected[i];
    if (regs.size() != expected[i]) {
      context.error(context.operand(i),
                    "expected " + std::to_string(expected[i]) +
                        " registers, but got " + std::to_string(regs.size()));
      return;
    }
    for (const Operand *reg : regs)
      context.addToPool(i == 0 ? context.dest(*reg, Type::B32)
                               : context.source(*reg, Type::B32));
  }
  context.inst.flags |= FlagAligned;
  context.inst.handler = multiply;
}

} // namespace

void addMmaInstructions(InstructionTable &table) {
  table.add("mma", decodeMma);
}

} // namespace nvfp4::sim
