//===- Move.cpp - mov, address conversions ----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mov with packing and unpacking of vectors, cvta, isspacep, mapa, getctarank,
// and mov from registers that change while a thread runs (clocks).
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Machine/Machine.h"

namespace nvfp4::sim {
namespace {

uint32_t copy32(uint32_t a) { return a; }
uint64_t copy64(uint64_t a) { return a; }
bool copyPredicate(bool a) { return a; }
uint64_t join32(uint32_t low, uint32_t high) {
  return static_cast<uint64_t>(high) << 32 | low;
}

struct PackAttributes : InstAttributes {
  unsigned count = 0;
  unsigned elementBits = 0;
  bool wideElement = false;
  bool wideWhole = false;
};

uint64_t laneValue(Warp &warp, Ref ref, bool wide, unsigned lane) {
  return wide ? warp.wide(ref)[lane] : warp.narrow(ref)[lane];
}
void setLane(Warp &warp, Ref ref, bool wide, unsigned lane, uint64_t value) {
  if (wide)
    warp.wide(ref)[lane] = value;
  else
    warp.narrow(ref)[lane] = static_cast<uint32_t>(value);
}
uint64_t lowBits(uint64_t value, unsigned bits) {
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

Step pack(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<PackAttributes>();
  const Ref *elements = &warp.kernel.pool[inst.pool];
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint64_t value = 0;
    for (unsigned i = 0; i < a.count; ++i)
      value |= lowBits(laneValue(warp, elements[i], a.wideElement, lane),
                       a.elementBits)
               << (a.elementBits * i);
    setLane(warp, inst.op[0], a.wideWhole, lane, value);
  }
  return Step::Next;
}

Step unpack(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<PackAttributes>();
  const Ref *elements = &warp.kernel.pool[inst.pool];
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint64_t value = laneValue(warp, inst.op[0], a.wideWhole, lane);
    for (unsigned i = 0; i < a.count; ++i)
      setLane(warp, elements[i], a.wideElement, lane,
              lowBits(value >> (a.elementBits * i), a.elementBits));
  }
  return Step::Next;
}

uint32_t pair16(uint32_t low, uint32_t high) {
  return high << 16 | (low & 0xffff);
}

/// A whole of Whole in two elements of Part, the low one first.
template <typename Whole, typename Part>
Step unpackPair(Warp &warp, const Inst &inst, LaneMask mask) {
  const Ref *elements = &warp.kernel.pool[inst.pool];
  const auto *in = reinterpret_cast<const Whole *>(warp.plane(inst.op[0]));
  uint32_t low[32], high[32];
  for (unsigned lane = 0; lane < 32; ++lane) {
    low[lane] = static_cast<Part>(in[lane]);
    high[lane] = static_cast<Part>(in[lane] >> (8 * sizeof(Part)));
  }
  detail::writeLanes(warp.narrow(elements[0]), low, mask);
  detail::writeLanes(warp.narrow(elements[1]), high, mask);
  return Step::Next;
}

/// A 128-bit register is two planes of 64-bit lanes, low half first.
Step pack128(Warp &warp, const Inst &inst, LaneMask mask) {
  const Ref *elements = &warp.kernel.pool[inst.pool];
  uint64_t *out = warp.wide(inst.op[0]);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      for (unsigned i = 0; i < 2; ++i)
        out[i * 32 + lane] =
            inst.sub[0] == 2 ? warp.wide(elements[i])[lane]
                             : join32(warp.narrow(elements[2 * i])[lane],
                                      warp.narrow(elements[2 * i + 1])[lane]);
  return Step::Next;
}

Step unpack128(Warp &warp, const Inst &inst, LaneMask mask) {
  const Ref *elements = &warp.kernel.pool[inst.pool];
  const uint64_t *in = warp.wide(inst.op[0]);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      for (unsigned i = 0; i < 2; ++i) {
        uint64_t value = in[i * 32 + lane];
        if (inst.sub[0] == 2) {
          warp.wide(elements[i])[lane] = value;
          continue;
        }
        warp.narrow(elements[2 * i])[lane] = static_cast<uint32_t>(value);
        warp.narrow(elements[2 * i + 1])[lane] =
            static_cast<uint32_t>(value >> 32);
      }
  return Step::Next;
}

Step copy128(Warp &warp, const Inst &inst, LaneMask mask) {
  uint64_t *out = warp.wide(inst.op[0]);
  const uint64_t *in = warp.wide(inst.op[1]);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1) {
      out[lane] = in[lane];
      out[32 + lane] = in[32 + lane];
    }
  return Step::Next;
}

void decodeVectorMove(DecodeContext &context, Type type, bool packing) {
  std::vector<const Operand *> elements = context.elements(packing ? 1 : 0);
  auto count = static_cast<unsigned>(elements.size());
  unsigned bits = bitWidth(type);
  if (count < 2 || bits % count || (bits / count) % 8) {
    context.error("expected 2 or 4 elements that fill '." +
                  std::string(typeName(type)) + "', but got " +
                  std::to_string(count));
    return;
  }
  Type element = bits / count == 64   ? Type::B64
                 : bits / count == 32 ? Type::B32
                 : bits / count == 16 ? Type::B16
                                      : Type::B8;
  Inst &inst = context.inst;
  inst.op[0] = packing ? context.dest(0, type) : context.source(1, type);
  inst.pool = context.poolSize();
  for (const Operand *operand : elements)
    context.addToPool(packing ? context.source(*operand, element)
                              : context.dest(*operand, element));
  if (type == Type::B128) {
    inst.sub[0] = static_cast<uint8_t>(count);
    inst.handler = packing ? pack128 : unpack128;
    return;
  }
  auto &attributes = context.makeAttributes<PackAttributes>();
  attributes.count = count;
  attributes.elementBits = bits / count;
  attributes.wideElement = bits / count == 64;
  attributes.wideWhole = bits == 64;
  inst.handler = packing ? pack : unpack;
  if (packing && type == Type::B64 && count == 2) {
    inst.op[1] = context.tables.kernel.pool[inst.pool];
    inst.op[2] = context.tables.kernel.pool[inst.pool + 1];
    inst.handler = lanewise<join32>;
  }
  if (packing && bits == 32 && count == 2) {
    inst.op[1] = context.tables.kernel.pool[inst.pool];
    inst.op[2] = context.tables.kernel.pool[inst.pool + 1];
    inst.handler = lanewise<pair16>;
  }
  if (!packing && count == 2 && bits == 64)
    inst.handler = unpackPair<uint64_t, uint32_t>;
  if (!packing && count == 2 && bits == 32)
    inst.handler = unpackPair<uint32_t, uint16_t>;
}

/// %clock, %clock64, %globaltimer: simulated time, which only moves forward.
template <bool Wide>
Step readClock(Warp &warp, const Inst &inst, LaneMask mask) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      setLane(warp, inst.op[0], Wide, lane, warp.machine.now);
  return Step::Next;
}

bool isClock(const Operand &operand) {
  return operand.kind == Operand::Kind::Special &&
         (operand.name.rfind("%clock", 0) == 0 ||
          operand.name.rfind("%globaltimer", 0) == 0);
}

void decodeMov(DecodeContext &context) {
  Type type = context.expectType(
      {Type::B32,   Type::B64,    Type::B16,  Type::U16, Type::S16,
       Type::U32,   Type::S32,    Type::U64,  Type::S64, Type::F32,
       Type::F64,   Type::Pred,   Type::B128, Type::F16, Type::BF16,
       Type::F16x2, Type::BF16x2, Type::B8,   Type::U8,  Type::S8});
  if (!context.expectOperands(2))
    return;
  Inst &inst = context.inst;
  if (isClock(context.operand(1))) {
    inst.op[0] = context.dest(0, type);
    inst.handler = bitWidth(type) == 64 ? readClock<true> : readClock<false>;
    return;
  }
  if (context.operand(1).kind == Operand::Kind::Vector)
    return decodeVectorMove(context, type, true);
  if (context.operand(0).kind == Operand::Kind::Vector)
    return decodeVectorMove(context, type, false);
  inst.op[0] = context.dest(0, type);
  if (type == Type::B128 &&
      context.operand(1).kind != Operand::Kind::Register) {
    context.error("expected a register of 128 bits");
    return;
  }
  inst.op[1] = context.source(1, type);
  inst.handler = type == Type::Pred     ? lanewise<copyPredicate>
                 : type == Type::B128   ? copy128
                 : bitWidth(type) == 64 ? lanewise<copy64>
                                        : lanewise<copy32>;
}

template <uint64_t Window> uint64_t toGeneric(uint64_t a) { return a + Window; }
template <uint64_t Window> uint64_t fromGeneric(uint64_t a) {
  return a - Window;
}

void decodeCvta(DecodeContext &context) {
  bool toSpace = context.take("to");
  int space =
      context.expectAny({"global", "shared", "shared::cta", "shared::cluster",
                         "const", "local", "param", "param::entry"});
  context.expectType({Type::U64});
  decodeOperands(context, Type::U64, 1);
  Inst &inst = context.inst;
  switch (space) {
  case 1:
  case 2:
  case 3:
    inst.handler = toSpace ? lanewise<fromGeneric<sharedWindow>>
                           : lanewise<toGeneric<sharedWindow>>;
    break;
  case 5:
    inst.handler = toSpace ? lanewise<fromGeneric<localWindow>>
                           : lanewise<toGeneric<localWindow>>;
    break;
  case 6:
  case 7:
    inst.handler = toSpace ? lanewise<fromGeneric<paramWindow>>
                           : lanewise<toGeneric<paramWindow>>;
    break;
  default: // global and constant addresses are generic addresses
    inst.handler = lanewise<copy64>;
    break;
  }
}

template <uint64_t Window> bool inWindow(uint64_t a) {
  return a >= Window && a - Window < windowSize;
}
bool inGlobal(uint64_t a) { return isGlobalAddress(a); }
bool never(uint64_t) { return false; }

void decodeIsspacep(DecodeContext &context) {
  int space =
      context.expectAny({"global", "shared", "shared::cta", "shared::cluster",
                         "const", "local", "param", "param::entry"});
  if (!context.expectOperands(2))
    return;
  context.inst.op[0] = context.dest(0, Type::Pred);
  context.inst.op[1] = context.source(1, Type::B64);
  context.inst.handler = space == 0   ? lanewise<inGlobal>
                         : space <= 3 ? lanewise<inWindow<sharedWindow>>
                         : space == 4 ? lanewise<never>
                         : space == 5 ? lanewise<inWindow<localWindow>>
                                      : lanewise<inWindow<paramWindow>>;
}

template <typename T, bool Generic> T mapShared(T address, uint32_t rank) {
  uint64_t base = Generic ? sharedWindow : 0;
  uint64_t offset = (static_cast<uint64_t>(address) - base) & sharedOffsetMask;
  return static_cast<T>(
      base + (static_cast<uint64_t>(rank) << sharedRankShift | offset));
}
uint32_t rankOf32(uint32_t address) { return address >> sharedRankShift; }
uint32_t rankOf64(uint64_t address) {
  if (address >= sharedWindow)
    address -= sharedWindow;
  return static_cast<uint32_t>(address) >> sharedRankShift;
}

void decodeMapa(DecodeContext &context) {
  bool generic = !context.take("shared::cluster");
  Type type = context.expectType({Type::U32, Type::U64});
  if (!context.expectOperands(3))
    return;
  context.inst.op[0] = context.dest(0, type);
  context.inst.op[1] = context.source(1, type);
  context.inst.op[2] = context.source(2, Type::B32);
  context.inst.handler = type == Type::U32
                             ? lanewise<mapShared<uint32_t, false>>
                         : generic ? lanewise<mapShared<uint64_t, true>>
                                   : lanewise<mapShared<uint64_t, false>>;
}

void decodeGetctarank(DecodeContext &context) {
  context.take("shared::cluster");
  Type type = context.expectType({Type::U32, Type::U64});
  if (!context.expectOperands(2))
    return;
  context.inst.op[0] = context.dest(0, Type::B32);
  context.inst.op[1] = context.source(1, type);
  context.inst.handler =
      type == Type::U32 ? lanewise<rankOf32> : lanewise<rankOf64>;
}

} // namespace

void addMoveInstructions(InstructionTable &table) {
  table.add("mov", decodeMov);
  table.add("cvta", decodeCvta);
  table.add("isspacep", decodeIsspacep);
  table.add("mapa", decodeMapa);
  table.add("getctarank", decodeGetctarank);
}

} // namespace nvfp4::sim
