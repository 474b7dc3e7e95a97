//===- LoadStore.cpp - ld, st and their kin ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ld, ldu, st with vectors, in all state spaces; prefetches, discards and cache
// policies, which have no functional effect. Acquire and release forms go to
// the checker; in this simulator all accesses are performed in program order.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Machine/Access.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace nvfp4::sim {
namespace {

struct MemoryAttributes : InstAttributes {
  StateSpace space = StateSpace::Generic;
  unsigned elementBytes = 0;
  unsigned count = 1;
  bool wideAddress = false;
  /// Lanes of the value registers are 64 bits wide.
  bool wideValue = false;
  /// Sign-extend into a wider register.
  bool signExtend = false;
  Ordering ordering = Ordering::Weak;
};

uint64_t extended(const uint8_t *bytes, const MemoryAttributes &a) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, a.elementBytes);
  if (a.signExtend) {
    unsigned shift = 64 - 8 * a.elementBytes;
    value =
        static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
  }
  return value;
}

void deliver(Warp &warp, const Inst &inst, const MemoryAttributes &a,
             const uint8_t *bytes, unsigned lane) {
  const Ref *values = &warp.kernel.pool[inst.pool];
  for (unsigned i = 0; i < a.count; ++i) {
    if (a.elementBytes == 16) {
      uint64_t halves[2];
      std::memcpy(halves, bytes + 16 * i, 16);
      warp.wide(values[i])[lane] = halves[0];
      warp.wide(values[i])[32 + lane] = halves[1];
      continue;
    }
    uint64_t value = extended(bytes + i * a.elementBytes, a);
    if (a.wideValue)
      warp.wide(values[i])[lane] = value;
    else
      warp.narrow(values[i])[lane] = static_cast<uint32_t>(value);
  }
}

/// Reports accesses that take more passes over the banks of shared memory than
/// their size needs: lanes go in turns of 128 bytes together, and a turn takes
/// as many passes as the most different words it has in one bank.
void lintBanks(Warp &warp, const Inst &inst, const MemoryAttributes &a,
               LaneMask mask) {
  constexpr unsigned banks = 32;
  unsigned size = a.elementBytes * a.count;
  unsigned lanesOfTurn = std::min(32u, 128 / std::max(size, 4u));
  unsigned worst = 1;
  for (unsigned first = 0; first < 32; first += lanesOfTurn) {
    std::array<std::vector<uint64_t>, banks> words;
    for (unsigned lane = first; lane < first + lanesOfTurn; ++lane) {
      if (!(mask >> lane & 1))
        continue;
      uint64_t address =
          warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane);
      bool generic = a.space == StateSpace::Generic;
      if (a.space != StateSpace::Shared &&
          !(generic && address >= sharedWindow &&
            address - sharedWindow < windowSize))
        return;
      for (uint64_t word = address / 4; word <= (address + size - 1) / 4;
           ++word) {
        auto &list = words[word % banks];
        if (std::find(list.begin(), list.end(), word) == list.end())
          list.push_back(word);
        worst = std::max(worst, static_cast<unsigned>(list.size()));
      }
    }
  }
  if (worst > 1)
    warp.note(ReportKind::Lint, "lanes meet in a bank of shared memory: " +
                                    std::to_string(worst) +
                                    " passes instead of 1");
}

Step load(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MemoryAttributes>();
  if (warp.machine.options.lintBankConflicts)
    lintBanks(warp, inst, a, mask);
  unsigned size = a.elementBytes * a.count;
  uint8_t bytes[64];
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t address =
        warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane);
    if (!loadBytes(warp, a.space, address, bytes, size, lane, a.ordering))
      return Step::Stop;
    deliver(warp, inst, a, bytes, lane);
  }
  return Step::Next;
}

/// What a lane has stored.
struct LaneStore {
  Place place;
  std::array<uint8_t, 32> bytes;
};

/// Reports lanes of a store whose value another lane has replaced by a
/// different one: PTX does not say which of them stays.
void compareLanes(Warp &warp, Checker &checker,
                  const std::array<LaneStore, 32> &stores, LaneMask mask,
                  unsigned size) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    const LaneStore &mine = stores[lane];
    const uint8_t *wrong =
        std::mismatch(mine.place.data, mine.place.data + size,
                      mine.bytes.begin())
            .first;
    if (wrong == mine.place.data + size)
      continue;
    auto wrote = [&](unsigned other) {
      const uint8_t *data = stores[other].place.data;
      return (mask >> other & 1) && wrong >= data && wrong < data + size;
    };
    unsigned other = 31;
    while (!wrote(other))
      --other;
    checker.lanesDiffer(warp, mine.place, lane, other);
  }
}

Step store(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MemoryAttributes>();
  if (warp.machine.options.lintBankConflicts)
    lintBanks(warp, inst, a, mask);
  const Ref *values = &warp.kernel.pool[inst.pool];
  unsigned size = a.elementBytes * a.count;
  std::array<LaneStore, 32> stores;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    Place &place = stores[lane].place;
    uint8_t *bytes = stores[lane].bytes.data();
    uint64_t address =
        warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane);
    for (unsigned i = 0; i < a.count; ++i) {
      if (a.elementBytes == 16) {
        std::memcpy(bytes + 16 * i, &warp.wide(values[i])[lane], 8);
        std::memcpy(bytes + 16 * i + 8, &warp.wide(values[i])[32 + lane], 8);
        continue;
      }
      uint64_t value = a.wideValue ? warp.wide(values[i])[lane]
                                   : warp.narrow(values[i])[lane];
      std::memcpy(bytes + i * a.elementBytes, &value, a.elementBytes);
    }
    if (!resolve(warp, a.space, address, size, size, lane, place))
      return Step::Stop;
    writePlace(warp, place, bytes, size, lane, a.ordering);
  }
  Checker *checker = warp.machine.checker.get();
  if (checker && a.ordering == Ordering::Weak)
    compareLanes(warp, *checker, stores, mask, size);
  return Step::Next;
}

/// The state space of a load or store; generic when none is named.
StateSpace takeSpace(DecodeContext &context) {
  switch (context.takeAny({"global", "shared", "shared::cta", "shared::cluster",
                           "const", "local", "param", "param::entry",
                           "param::func"})) {
  case 0:
    return StateSpace::Global;
  case 1:
  case 2:
  case 3:
    return StateSpace::Shared;
  case 4:
    return StateSpace::Const;
  case 5:
    return StateSpace::Local;
  case 6:
  case 7:
    return StateSpace::Param;
  case 8:
    return StateSpace::Local;
  default:
    return StateSpace::Generic;
  }
}

Ordering takeOrdering(DecodeContext &context) {
  int kind = context.takeAny(
      {"weak", "volatile", "relaxed", "acquire", "release", "mmio"});
  context.takeAny({"cta", "cluster", "gpu", "sys"});
  context.take("unified");
  switch (kind) {
  case 1: // as strong as relaxed
  case 2:
  case 5:
    return Ordering::Relaxed;
  case 3:
    return Ordering::Acquire;
  case 4:
    return Ordering::Release;
  default:
    return Ordering::Weak;
  }
}

void decodeAccess(DecodeContext &context, bool isLoad) {
  auto &a = context.makeAttributes<MemoryAttributes>();
  a.ordering = takeOrdering(context);
  a.space = takeSpace(context);
  bool hint = context.takeCacheHints();
  switch (context.takeAny({"v2", "v4", "v8"})) {
  case 0:
    a.count = 2;
    break;
  case 1:
    a.count = 4;
    break;
  case 2:
    a.count = 8;
    break;
  default:
    break;
  }
  Type type = context.expectType({Type::B32, Type::B8, Type::U8, Type::S8,
                                  Type::B16, Type::U16, Type::S16, Type::U32,
                                  Type::S32, Type::F32, Type::B64, Type::U64,
                                  Type::S64, Type::F64, Type::B128});
  if (!context.expectOperands(hint ? 3 : 2))
    return;
  a.elementBytes = byteWidth(type);
  if (a.elementBytes * a.count > 32) {
    context.error("expected at most 32 bytes in one access, but got " +
                  std::to_string(a.elementBytes * a.count));
    return;
  }
  AddressOperand address = context.address(isLoad ? 1 : 0);
  // Arguments of calls are variables of the local frame.
  const Operand &memory = context.operand(isLoad ? 1 : 0);
  if (a.space == StateSpace::Param && !memory.elements.empty() &&
      memory.elements[0].kind == Operand::Kind::Symbol &&
      context.tables.module.symbols[memory.elements[0].symbol].space ==
          StateSpace::Local)
    a.space = StateSpace::Local;
  Inst &inst = context.inst;
  inst.op[0] = address.base;
  inst.immediate = address.offset;
  a.wideAddress = address.wide;
  std::vector<const Operand *> values = context.elements(isLoad ? 0 : 1);
  if (values.size() != a.count) {
    context.error("expected " + std::to_string(a.count) + " values, but got " +
                  std::to_string(values.size()));
    return;
  }
  inst.pool = context.poolSize();
  bool first = true;
  for (const Operand *value : values) {
    bool wide = false;
    Ref ref = isLoad ? context.destAnyWidth(*value, type, wide)
                     : context.sourceAnyWidth(*value, type, wide);
    context.addToPool(ref);
    if (first || value->kind == Operand::Kind::Register)
      a.wideValue = wide;
    first = false;
  }
  a.signExtend = isLoad && isSignedInteger(type);
  inst.handler = isLoad ? load : store;
}

void decodeLoad(DecodeContext &context) { decodeAccess(context, true); }
void decodeStore(DecodeContext &context) {
  if (context.take("async"))
    return decodeRemoteStore(context);
  decodeAccess(context, false);
}

Step nothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

/// Instructions without functional effect; operands are not looked at.
void decodeNothing(DecodeContext &context) {
  while (!context.firstModifier().empty())
    context.take(std::string(context.firstModifier()));
  context.inst.handler = nothing;
}

uint64_t emptyPolicy() { return 0; }
void decodePolicy(DecodeContext &context) {
  while (!context.firstModifier().empty())
    context.take(std::string(context.firstModifier()));
  if (context.operandCount() < 1)
    return;
  context.inst.op[0] = context.dest(0, Type::B64);
  context.inst.handler = lanewise<emptyPolicy>;
}

} // namespace

void addLoadStoreInstructions(InstructionTable &table) {
  table.add("ld", decodeLoad);
  table.add("ldu", decodeLoad);
  table.add("st", decodeStore);
  for (const char *opcode :
       {"prefetch", "prefetchu", "applypriority", "discard"})
    table.add(opcode, decodeNothing);
  table.add("createpolicy", decodePolicy);
}

} // namespace nvfp4::sim
