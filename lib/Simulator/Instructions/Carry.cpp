//===- Carry.cpp - extended-precision arithmetic ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add.cc, addc, sub.cc, subc, mad.cc, madc. The carry flag is one bit a lane,
// kept in the warp.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

namespace nvfp4::sim {
namespace {

enum CarryKind : uint8_t { Add, Subtract, MultiplyLow, MultiplyHigh };

template <typename T>
Step extended(Warp &warp, const Inst &inst, LaneMask mask) {
  using Wide = unsigned __int128;
  constexpr unsigned bits = sizeof(T) * 8;
  auto plane = [&](unsigned i) {
    return reinterpret_cast<T *>(warp.plane(inst.op[i]));
  };
  bool usesCarry = inst.sub[1] & 1;
  bool setsCarry = inst.sub[1] & 2;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    Wide a = plane(1)[lane];
    Wide b = plane(2)[lane];
    Wide in = usesCarry ? warp.carry >> lane & 1 : 0;
    Wide result = 0;
    switch (inst.sub[0]) {
    case Add:
      result = a + b + in;
      break;
    case Subtract: // a borrow shows as a carry of 1
      result = a - b - in;
      break;
    default: {
      Wide product = a * b;
      Wide part = inst.sub[0] == MultiplyLow ? static_cast<T>(product)
                                             : static_cast<T>(product >> bits);
      result = part + plane(3)[lane] + in;
      break;
    }
    }
    plane(0)[lane] = static_cast<T>(result);
    if (setsCarry) {
      auto out = static_cast<LaneMask>(result >> bits & 1);
      warp.carry = (warp.carry & ~(1u << lane)) | out << lane;
    }
  }
  return Step::Next;
}

} // namespace

void decodeCarry(DecodeContext &context, CarryUse use) {
  const std::string &opcode = context.parsed.opcode;
  Inst &inst = context.inst;
  bool sets = context.take("cc");
  inst.sub[1] =
      static_cast<uint8_t>((use == CarryUse::In ? 1 : 0) | (sets ? 2 : 0));
  bool mad = opcode[0] == 'm';
  if (mad)
    inst.sub[0] =
        context.expectAny({"lo", "hi"}) == 0 ? MultiplyLow : MultiplyHigh;
  else
    inst.sub[0] = opcode[0] == 'a' ? Add : Subtract;
  Type type = context.expectType(
      {Type::U32, Type::S32, Type::U64, Type::S64, Type::B32, Type::B64});
  if (mad && inst.sub[0] == MultiplyHigh && isSignedInteger(type))
    context.error("'mad.hi' with carry is not supported for signed types");
  decodeOperands(context, type, mad ? 3 : 2);
  inst.handler = bitWidth(type) == 64 ? extended<uint64_t> : extended<uint32_t>;
}

namespace {
void decodeCarryIn(DecodeContext &context) {
  decodeCarry(context, CarryUse::In);
}
} // namespace

void addCarryInstructions(InstructionTable &table) {
  table.add("addc", decodeCarryIn);
  table.add("subc", decodeCarryIn);
  table.add("madc", decodeCarryIn);
}

} // namespace nvfp4::sim
