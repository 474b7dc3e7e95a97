//===- Compare.cpp - comparison and selection -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// setp, set, selp, slct. A comparison writes a predicate and, after `|`, its
// complement; `.and`, `.or` and `.xor` combine it with another predicate.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "FloatMode.h"
#include "Lanewise.h"

#include <cmath>
#include <limits>

namespace nvfp4::sim {
namespace {

enum class Comparison : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};

template <Comparison C, typename T> bool compare(T a, T b) {
  bool unordered = a != a || b != b;
  switch (C) {
  case Comparison::Eq:
    return a == b;
  case Comparison::Ne:
    return !unordered && a != b;
  case Comparison::Lt:
    return a < b;
  case Comparison::Le:
    return a <= b;
  case Comparison::Gt:
    return a > b;
  case Comparison::Ge:
    return a >= b;
  case Comparison::Equ:
    return unordered || a == b;
  case Comparison::Neu:
    return unordered || a != b;
  case Comparison::Ltu:
    return unordered || a < b;
  case Comparison::Leu:
    return unordered || a <= b;
  case Comparison::Gtu:
    return unordered || a > b;
  case Comparison::Geu:
    return unordered || a >= b;
  case Comparison::Num:
    return !unordered;
  case Comparison::Nan:
    return unordered;
  }
  return false;
}
template <Comparison C> bool compareHalf(Half a, Half b) {
  return compare<C, float>(halfToFloat(a.bits), halfToFloat(b.bits));
}
template <Comparison C> bool compareBFloat(BFloat a, BFloat b) {
  return compare<C, float>(bfloatToFloat(a.bits), bfloatToFloat(b.bits));
}

/// The mask of lanes for which C holds between op[1] and op[2].
using MaskFunction = LaneMask (*)(Warp &, const Inst &);
template <auto F, typename T> LaneMask maskOf(Warp &warp, const Inst &inst) {
  detail::LaneSource<T> a(warp, inst.op[1]);
  detail::LaneSource<T> b(warp, inst.op[2]);
  LaneMask result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    result |= static_cast<LaneMask>(F(a[lane], b[lane])) << lane;
  return result;
}

template <Comparison C> MaskFunction maskFor(Type type) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return maskOf<compare<C, uint16_t>, uint16_t>;
  case Type::S16:
    return maskOf<compare<C, int16_t>, int16_t>;
  case Type::U32:
  case Type::B32:
    return maskOf<compare<C, uint32_t>, uint32_t>;
  case Type::S32:
    return maskOf<compare<C, int32_t>, int32_t>;
  case Type::U64:
  case Type::B64:
    return maskOf<compare<C, uint64_t>, uint64_t>;
  case Type::S64:
    return maskOf<compare<C, int64_t>, int64_t>;
  case Type::F32:
    return maskOf<compare<C, float>, float>;
  case Type::F64:
    return maskOf<compare<C, double>, double>;
  case Type::F16:
    return maskOf<compareHalf<C>, Half>;
  case Type::BF16:
    return maskOf<compareBFloat<C>, BFloat>;
  default:
    return nullptr;
  }
}

MaskFunction takeComparison(DecodeContext &context, int index, Type type) {
  switch (index) {
  case 0:
    return maskFor<Comparison::Eq>(type);
  case 1:
    return maskFor<Comparison::Ne>(type);
  case 2:
  case 6:
    return maskFor<Comparison::Lt>(type);
  case 3:
  case 7:
    return maskFor<Comparison::Le>(type);
  case 4:
  case 8:
    return maskFor<Comparison::Gt>(type);
  case 5:
  case 9:
    return maskFor<Comparison::Ge>(type);
  case 10:
    return maskFor<Comparison::Equ>(type);
  case 11:
    return maskFor<Comparison::Neu>(type);
  case 12:
    return maskFor<Comparison::Ltu>(type);
  case 13:
    return maskFor<Comparison::Leu>(type);
  case 14:
    return maskFor<Comparison::Gtu>(type);
  case 15:
    return maskFor<Comparison::Geu>(type);
  case 16:
    return maskFor<Comparison::Num>(type);
  case 17:
    return maskFor<Comparison::Nan>(type);
  default:
    context.error("unknown comparison");
    return nullptr;
  }
}

struct SetAttributes : InstAttributes {
  MaskFunction mask = nullptr;
  /// `.ftz`: subnormal inputs compare as zero.
  bool flush = false;
};

LaneMask evaluate(Warp &warp, const Inst &inst) {
  const auto &attributes = inst.attr<SetAttributes>();
  if (!attributes.flush)
    return attributes.mask(warp, inst);
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
  LaneMask result = attributes.mask(warp, inst);
  _mm_setcsr(saved);
  return result;
}

enum Combine : uint8_t { CombineNone, CombineAnd, CombineOr, CombineXor };

LaneMask combined(Warp &warp, const Inst &inst, LaneMask value) {
  if (inst.sub[0] == CombineNone)
    return value;
  LaneMask other = warp.predicate(inst.op[3]);
  return inst.sub[0] == CombineAnd  ? value & other
         : inst.sub[0] == CombineOr ? value | other
                                    : value ^ other;
}

Step setPredicate(Warp &warp, const Inst &inst, LaneMask mask) {
  LaneMask value = evaluate(warp, inst);
  LaneMask second = combined(warp, inst, ~value);
  LaneMask first = combined(warp, inst, value);
  warp.setPredicate(inst.op[0], mask, first);
  if (inst.sub[1])
    warp.setPredicate(inst.op[4], mask, second);
  return Step::Next;
}

/// set: all ones or 1.0f for true.
template <bool Float>
Step setValue(Warp &warp, const Inst &inst, LaneMask mask) {
  LaneMask value = combined(warp, inst, evaluate(warp, inst));
  uint32_t *out = warp.narrow(inst.op[0]);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      out[lane] = value >> lane & 1 ? (Float ? 0x3f800000u : ~0u) : 0;
  return Step::Next;
}

void decodeComparison(DecodeContext &context, bool toPredicate) {
  // The comparison is the first modifier; its names collide with no other.
  int index = context.expectAny({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls",
                                 "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
                                 "geu", "num", "nan"});
  int combine = context.takeAny({"and", "or", "xor"});
  bool flush = context.take("ftz");
  Type result = Type::Pred;
  if (!toPredicate)
    result = context.expectType({Type::U32, Type::S32, Type::F32});
  Type type =
      context.expectType({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32,
                          Type::U64, Type::S16, Type::S32, Type::S64, Type::F32,
                          Type::F64, Type::F16, Type::BF16});
  if (!context.expectOperands(combine < 0 ? 3 : 4))
    return;
  Inst &inst = context.inst;
  inst.op[0] = context.dest(0, result);
  inst.op[1] = context.source(1, type);
  inst.op[2] = context.source(2, type);
  if (combine >= 0)
    inst.op[3] = context.source(3, Type::Pred);
  inst.sub[0] = static_cast<uint8_t>(combine + 1);
  if (toPredicate && context.operand(0).second >= 0) {
    inst.op[4] = context.secondDest(0, Type::Pred);
    inst.sub[1] = 1;
  }
  auto &attributes = context.makeAttributes<SetAttributes>();
  attributes.mask = takeComparison(context, index, type);
  inst.handler = toPredicate           ? setPredicate
                 : result == Type::F32 ? setValue<true>
                                       : setValue<false>;
  attributes.flush = flush && type == Type::F32;
}

void decodeSetp(DecodeContext &context) { decodeComparison(context, true); }
void decodeSet(DecodeContext &context) { decodeComparison(context, false); }

template <typename T> T selectValue(T a, T b, bool c) { return c ? a : b; }
template <typename T> T selectSign(T a, T b, int32_t c) {
  return c >= 0 ? a : b;
}
template <typename T> T selectSignFloat(T a, T b, float c) {
  return c >= 0 ? a : b;
}

void decodeSelp(DecodeContext &context) {
  Type type =
      context.expectType({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32,
                          Type::U64, Type::S16, Type::S32, Type::S64, Type::F32,
                          Type::F64, Type::F16, Type::BF16});
  if (!context.expectOperands(4))
    return;
  context.inst.op[0] = context.dest(0, type);
  context.inst.op[1] = context.source(1, type);
  context.inst.op[2] = context.source(2, type);
  context.inst.op[3] = context.source(3, Type::Pred);
  context.inst.handler = bitWidth(type) == 64 ? lanewise<selectValue<uint64_t>>
                                              : lanewise<selectValue<uint32_t>>;
}

template <typename T> T selectSignFlushed(T a, T b, float c) {
  // A subnormal selector is a zero of its sign, and -0 is not negative.
  return c > -0x1p-126f ? a : b;
}

void decodeSlct(DecodeContext &context) {
  bool flush = context.take("ftz");
  Type type = context.expectType({Type::B16, Type::B32, Type::B64, Type::U16,
                                  Type::U32, Type::U64, Type::S16, Type::S32,
                                  Type::S64, Type::F32, Type::F64});
  Type selector = context.expectType({Type::S32, Type::F32});
  if (!context.expectOperands(4))
    return;
  context.inst.op[0] = context.dest(0, type);
  context.inst.op[1] = context.source(1, type);
  context.inst.op[2] = context.source(2, type);
  context.inst.op[3] = context.source(3, selector);
  bool wide = bitWidth(type) == 64;
  if (selector == Type::S32)
    context.inst.handler =
        wide ? lanewise<selectSign<uint64_t>> : lanewise<selectSign<uint32_t>>;
  else if (flush)
    context.inst.handler = wide ? lanewise<selectSignFlushed<uint64_t>>
                                : lanewise<selectSignFlushed<uint32_t>>;
  else
    context.inst.handler = wide ? lanewise<selectSignFloat<uint64_t>>
                                : lanewise<selectSignFloat<uint32_t>>;
}

} // namespace

void addCompareInstructions(InstructionTable &table) {
  table.add("setp", decodeSetp);
  table.add("set", decodeSet);
  table.add("selp", decodeSelp);
  table.add("slct", decodeSlct);
}

} // namespace nvfp4::sim
