//===- LoadStore.cpp - ld, st and their kin ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ld, ldu, st with vectors, st.bulk, in all state spaces; prefetches, discards
// and cache policies, which have no functional effect. Acquire and release
// forms go to the checker; in this simulator all accesses are performed in
// program order.
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
  MemoryOrder order;
  bool isLoad = false;
};

/// Puts what a lane has loaded into its registers.
template <typename T, bool Wide>
void putElements(Warp &warp, const Ref *values, unsigned count,
                 const uint8_t *bytes, unsigned lane) {
  for (unsigned i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    // Signed ones are extended into wider registers.
    if constexpr (Wide)
      warp.wide(values[i])[lane] = static_cast<uint64_t>(value);
    else
      warp.narrow(values[i])[lane] = static_cast<uint32_t>(value);
  }
}

/// Elements of 16 bytes.
struct Quad {
  uint64_t halves[2];
};
template <>
void putElements<Quad, true>(Warp &warp, const Ref *values, unsigned count,
                             const uint8_t *bytes, unsigned lane) {
  for (unsigned i = 0; i < count; ++i) {
    Quad value;
    std::memcpy(&value, bytes + i * sizeof value, sizeof value);
    warp.wide(values[i])[lane] = value.halves[0];
    warp.wide(values[i])[32 + lane] = value.halves[1];
  }
}

template <typename T, bool Wide>
void takeElements(Warp &warp, const Ref *values, unsigned count, uint8_t *bytes,
                  unsigned lane) {
  for (unsigned i = 0; i < count; ++i) {
    T value;
    if constexpr (sizeof(T) == 16)
      value = {{warp.wide(values[i])[lane], warp.wide(values[i])[32 + lane]}};
    else if constexpr (Wide)
      value = static_cast<T>(warp.wide(values[i])[lane]);
    else
      value = static_cast<T>(warp.narrow(values[i])[lane]);
    std::memcpy(bytes + i * sizeof value, &value, sizeof value);
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

/// The addresses of an access, by lane.
class Addresses {
public:
  Addresses(Warp &warp, const Inst &inst, const MemoryAttributes &a)
      : narrow(warp.narrow(inst.op[0])), wide(warp.wide(inst.op[0])),
        offset(inst.immediate), isWide(a.wideAddress) {}
  uint64_t operator[](unsigned lane) const {
    return isWide ? wide[lane] + offset
                  : static_cast<uint32_t>(narrow[lane] + offset);
  }
  /// The lanes, active or not, that have `address`.
  LaneMask lanesAt(uint64_t address) const {
    LaneMask lanes = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      lanes |= static_cast<LaneMask>((*this)[lane] == address) << lane;
    return lanes;
  }

private:
  const uint32_t *narrow;
  const uint64_t *wide;
  int64_t offset;
  bool isWide;
};

/// One bit of each lane.
constexpr auto laneBits = [] {
  std::array<uint32_t, 32> bits{};
  for (unsigned lane = 0; lane < 32; ++lane)
    bits[lane] = 1u << lane;
  return bits;
}();

/// Where the lanes of an access go, seen from its first active lane. Loops are
/// without branches, so that they become vector code; inactive lanes go where
/// the first one does.
struct Spread {
  std::array<int32_t, 32> offset;
  uint64_t origin = 0;
  int32_t low = 0, high = 0;

  /// Whether all addresses are multiples of `size` and less than 2 GiB apart.
  template <typename Plane>
  bool measure(const Plane *plane, int64_t immediate, LaneMask mask,
               unsigned size) {
    Plane base = plane[std::countr_zero(mask)];
    origin = static_cast<Plane>(base + immediate);
    uint32_t bits = 0, far = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      Plane difference = plane[lane] - base;
      difference = mask & laneBits[lane] ? difference : 0;
      offset[lane] = static_cast<int32_t>(difference);
      bits |= static_cast<uint32_t>(difference);
      if constexpr (sizeof(Plane) == 8)
        far |= static_cast<uint32_t>((difference + (uint64_t{1} << 31)) >> 32);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      low = offset[lane] < low ? offset[lane] : low;
      high = offset[lane] > high ? offset[lane] : high;
    }
    return !far && !((bits | static_cast<uint32_t>(origin)) & (size - 1));
  }

  uint64_t begin() const { return origin + low; }
  uint64_t bytes(unsigned size) const {
    return static_cast<uint64_t>(int64_t{high} - low) + size;
  }
  /// The part that is cheaper to look at as a whole than lane by lane.
  static constexpr uint64_t fewBytes = 2048;
};

/// The whole-warp form of `load` and `store`, for accesses without anything to
/// report about a lane and without a listener. Otherwise false, with nothing
/// done.
template <typename T, bool Wide>
bool loadPlainly(Warp &warp, const Inst &inst, const MemoryAttributes &a,
                 const Window &window, const Spread &spread, LaneMask mask) {
  auto size = static_cast<unsigned>(sizeof(T) * a.count);
  uint64_t bytes = spread.bytes(size);
  const uint8_t *data = window.findSpan(spread.begin(), bytes);
  if (!data)
    return false;
  data -= spread.low;
  const ByteMask &written = window.written();
  size_t mark = window.writtenOffset(spread.begin());
  if (bytes > Spread::fewBytes || !written.all(mark, bytes)) {
    bool all = true;
    for (int32_t offset : spread.offset)
      all &= written.allFew(mark - spread.low + offset, size);
    if (!all)
      return false;
  }
  const Ref *values = &warp.kernel.pool[inst.pool];
  using Plane = std::conditional_t<Wide, uint64_t, uint32_t>;
  for (unsigned i = 0; i < a.count; ++i) {
    Plane results[32];
    for (unsigned lane = 0; lane < 32; ++lane) {
      T value;
      std::memcpy(&value, data + spread.offset[lane] + i * sizeof value,
                  sizeof value);
      // Signed ones are extended into wider registers.
      results[lane] = static_cast<Plane>(value);
    }
    detail::writeLanes(reinterpret_cast<Plane *>(warp.plane(values[i])),
                       results, mask);
  }
  return true;
}

template <typename T, bool Wide>
bool storePlainly(Warp &warp, const Inst &inst, const MemoryAttributes &a,
                  const Window &window, const Spread &spread, LaneMask mask) {
  auto size = static_cast<unsigned>(sizeof(T) * a.count);
  uint64_t bytes = spread.bytes(size);
  uint8_t *data = window.findSpan(spread.begin(), bytes);
  if (!data)
    return false;
  data -= spread.low;
  ByteMask &written = window.written();
  size_t mark = window.writtenOffset(spread.begin());
  bool isMarked = bytes <= Spread::fewBytes && written.all(mark, bytes);
  const Ref *values = &warp.kernel.pool[inst.pool];
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    takeElements<T, Wide>(warp, values, a.count, data + spread.offset[lane],
                          lane);
    if (!isMarked)
      written.setFew(mark - spread.low + spread.offset[lane], size);
  }
  warp.machine.progress();
  return true;
}

/// Measures an access that the checker does not see.
bool measure(Warp &warp, const Inst &inst, const MemoryAttributes &a,
             LaneMask mask, unsigned size, Spread &spread) {
  if (a.wideAddress)
    return spread.measure(warp.wide(inst.op[0]), inst.immediate, mask, size);
  return spread.measure(warp.narrow(inst.op[0]), inst.immediate, mask, size);
}

template <typename T, bool Wide>
Step load(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MemoryAttributes>();
  if (warp.machine.options.lintBankConflicts)
    lintBanks(warp, inst, a, mask);
  const Ref *values = &warp.kernel.pool[inst.pool];
  unsigned count = a.count;
  auto size = static_cast<unsigned>(sizeof(T) * count);
  bool isChecked = warp.machine.checker != nullptr;
  // A load of a loop with atom.cas, as the CUDA Programming Guide writes it.
  bool isCompared = (inst.flags & FlagCompared) &&
                    warp.machine.options.profile != CheckProfile::Strict;
  MemoryOrder order =
      isCompared && a.order.isWeak() ? MemoryOrder(Ordering::Relaxed) : a.order;
  Addresses addresses(warp, inst, a);
  Window window(warp, a.space, addresses[std::countr_zero(mask)]);
  // The checker looks at strong loads one by one.
  bool isPlain = !window.isRemote() && (!isChecked || order.isWeak());
  if constexpr (sizeof(T) <= 8)
    if (Spread spread; isPlain && measure(warp, inst, a, mask, size, spread))
      if (loadPlainly<T, Wide>(warp, inst, a, window, spread, mask)) {
        if (isChecked)
          warp.machine.checker->warpLoad(warp, window.place(spread.origin),
                                         spread.offset.data(), size, mask);
        return Step::Next;
      }
  for (LaneMask rest = mask; rest;) {
    unsigned lane = std::countr_zero(rest);
    uint64_t address = addresses[lane];
    LaneMask same = LaneMask{1} << lane;
    const uint8_t *bytes = isChecked || window.isRemote()
                               ? nullptr
                               : window.findWritten(address, size, lane);
    uint8_t read[32];
    if (!bytes) {
      Place place;
      if (!window.find(address, size, lane, place) &&
          !resolve(warp, a.space, address, size, size, lane, place))
        return Step::Stop;
      // Lanes that read the same bytes do it together.
      if (isChecked && place.space != StateSpace::Local)
        same = rest & addresses.lanesAt(address);
      readPlace(warp, place, read, size,
                std::has_single_bit(same) ? lane : Checker::manyLanes, order);
      bytes = read;
    }
    for (LaneMask lanes = same; lanes; lanes &= lanes - 1)
      putElements<T, Wide>(warp, values, count, bytes, std::countr_zero(lanes));
    rest &= ~same;
  }
  return Step::Next;
}

/// The bytes that a lane has stored.
struct LaneStore {
  Place place;
  std::array<uint8_t, 32> bytes;
};

/// The same for the first of `lanes` in memory of another device, which its
/// value has not reached yet.
void compareLaterLanes(Warp &warp, Checker &checker,
                       const std::array<LaneStore, 32> &stores, LaneMask lanes,
                       unsigned size) {
  unsigned lane = std::countr_zero(lanes);
  const LaneStore &mine = stores[lane];
  for (LaneMask rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
    unsigned other = std::countr_zero(rest);
    // Both are multiples of their size.
    if (stores[other].place.address != mine.place.address ||
        !std::memcmp(stores[other].bytes.data(), mine.bytes.data(), size))
      continue;
    checker.lanesDiffer(warp, mine.place, lane, other);
    return;
  }
}

/// Reports lanes of a store whose value another lane has replaced by a
/// different one: PTX does not say which of them stays.
void compareLanes(Warp &warp, Checker &checker,
                  const std::array<LaneStore, 32> &stores, LaneMask mask,
                  unsigned size) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    const LaneStore &mine = stores[lane];
    if (mine.place.isRemote) {
      compareLaterLanes(warp, checker, stores, rest, size);
      continue;
    }
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

template <typename T, bool Wide>
Step store(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<MemoryAttributes>();
  if (warp.machine.options.lintBankConflicts)
    lintBanks(warp, inst, a, mask);
  const Ref *values = &warp.kernel.pool[inst.pool];
  unsigned count = a.count;
  auto size = static_cast<unsigned>(sizeof(T) * count);
  Checker *checker = warp.machine.checker.get();
  Addresses addresses(warp, inst, a);
  Window window(warp, a.space, addresses[std::countr_zero(mask)]);
  auto locate = [&](unsigned lane, Place &place) {
    return window.find(addresses[lane], size, lane, place) ||
           resolve(warp, a.space, addresses[lane], size, size, lane, place);
  };
  // Releases and stores to other devices are told apart lane by lane.
  bool mayBeRemote = warp.machine.remoteWrites != nullptr;
  bool isPlain =
      !checker && (!mayBeRemote || (!window.isRemote() && a.order.isWeak()));
  if (Spread spread; isPlain && measure(warp, inst, a, mask, size, spread))
    if (storePlainly<T, Wide>(warp, inst, a, window, spread, mask))
      return Step::Next;
  if (!checker && !mayBeRemote) {
    for (LaneMask rest = mask; rest; rest &= rest - 1) {
      unsigned lane = std::countr_zero(rest);
      Place place;
      if (!locate(lane, place))
        return Step::Stop;
      takeElements<T, Wide>(warp, values, count, place.data, lane);
      if (place.written)
        place.written->setFew(place.writtenOffset, size);
    }
    warp.machine.progress();
    return Step::Next;
  }
  std::array<LaneStore, 32> stores;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    Place &place = stores[lane].place;
    uint8_t *bytes = stores[lane].bytes.data();
    takeElements<T, Wide>(warp, values, count, bytes, lane);
    if (!locate(lane, place))
      return Step::Stop;
    writePlace(warp, place, bytes, size, lane, a.order);
  }
  if (checker && a.order.isWeak())
    compareLanes(warp, *checker, stores, mask, size);
  return Step::Next;
}

/// The handler of an access for elements of `bytes` bytes in registers of 32
/// or 64 bits.
template <bool Wide>
Handler handlerOf(unsigned bytes, bool isLoad, bool isSigned) {
  auto pick = [&]<typename T>() -> Handler {
    return isLoad ? &load<T, Wide> : &store<T, Wide>;
  };
  switch (bytes) {
  case 1:
    return isSigned ? pick.template operator()<int8_t>()
                    : pick.template operator()<uint8_t>();
  case 2:
    return isSigned ? pick.template operator()<int16_t>()
                    : pick.template operator()<uint16_t>();
  case 4:
    return isSigned ? pick.template operator()<int32_t>()
                    : pick.template operator()<uint32_t>();
  default:
    return pick.template operator()<uint64_t>();
  }
}

/// st.bulk: zeros in shared memory of the own CTA.
Step storeZeros(Warp &warp, const Inst &inst, LaneMask mask) {
  constexpr uint64_t most = 16777216;
  const auto &a = inst.attr<MemoryAttributes>();
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t address =
        warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane);
    uint64_t size = a.wideValue ? warp.wide(inst.op[1])[lane]
                                : warp.narrow(inst.op[1])[lane];
    if (size % 8 || size > most)
      return warp.fault(ReportKind::IllegalOperand,
                        "expected a size that is a multiple of 8 up to " +
                            std::to_string(most) + ", but got " +
                            std::to_string(size),
                        static_cast<int>(lane));
    uint32_t shared = 0;
    Place place;
    if (!sharedAddressOf(warp, a.space, address, lane, shared) ||
        !resolve(warp, StateSpace::Shared, shared, static_cast<unsigned>(size),
                 8, lane, place))
      return Step::Stop;
    if (place.cta != &warp.cta)
      return warp.fault(ReportKind::IllegalOperand,
                        "expected shared memory of the own CTA, but got that "
                        "of CTA rank " +
                            std::to_string(place.cta->rank),
                        static_cast<int>(lane));
    if (size == 0)
      continue;
    std::vector<uint8_t> zeros(size);
    writePlace(warp, place, zeros.data(), static_cast<unsigned>(size), lane);
  }
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

} // namespace

SyncScope takeSyncScope(DecodeContext &context) {
  int scope = context.takeAny({"cta", "cluster", "gpu", "sys"});
  return scope < 0 ? SyncScope::Gpu : static_cast<SyncScope>(scope);
}

namespace {

MemoryOrder takeOrder(DecodeContext &context) {
  int kind = context.takeAny(
      {"weak", "volatile", "relaxed", "acquire", "release", "mmio"});
  SyncScope scope = takeSyncScope(context);
  context.take("unified");
  switch (kind) {
  case 1: // as strong as relaxed at system scope
  case 5:
    return {Ordering::Relaxed, SyncScope::System};
  case 2:
    return {Ordering::Relaxed, scope};
  case 3:
    return {Ordering::Acquire, scope};
  case 4:
    return {Ordering::Release, scope};
  default:
    return {};
  }
}

void decodeAccess(DecodeContext &context, bool isLoad) {
  auto &a = context.makeAttributes<MemoryAttributes>();
  a.order = takeOrder(context);
  a.isLoad = isLoad;
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
  bool isSigned = isLoad && isSignedInteger(type);
  if (a.elementBytes == 16)
    inst.handler = isLoad ? &load<Quad, true> : &store<Quad, true>;
  else
    inst.handler = a.wideValue
                       ? handlerOf<true>(a.elementBytes, isLoad, isSigned)
                       : handlerOf<false>(a.elementBytes, isLoad, isSigned);
}

void decodeStoreZeros(DecodeContext &context) {
  requireBlackwell(context);
  auto &a = context.makeAttributes<MemoryAttributes>();
  context.take("weak");
  if (context.take("shared::cta"))
    a.space = StateSpace::Shared;
  if (!context.expectOperands(3))
    return;
  AddressOperand address = context.address(0);
  Inst &inst = context.inst;
  inst.op[0] = address.base;
  inst.immediate = address.offset;
  a.wideAddress = address.wide;
  inst.op[1] =
      context.sourceAnyWidth(context.operand(1), Type::B32, a.wideValue);
  if (int64_t value = context.literal(2))
    context.error("expected the value 0, but got " + std::to_string(value));
  inst.handler = storeZeros;
}

void decodeLoad(DecodeContext &context) { decodeAccess(context, true); }
void decodeStore(DecodeContext &context) {
  if (context.take("async"))
    return decodeRemoteStore(context);
  if (context.take("bulk"))
    return decodeStoreZeros(context);
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

bool findPolledWord(Warp &warp, const Inst &inst, uint64_t &address,
                    unsigned &size) {
  const auto *a = dynamic_cast<const MemoryAttributes *>(inst.attributes);
  LaneMask mask = warp.group().mask;
  if (inst.guard.valid())
    mask &= warp.predicate(inst.guard);
  if (!a)
    return mask && findAtomicWord(warp, inst, mask, address, size);
  bool isGlobal =
      a->space == StateSpace::Global || a->space == StateSpace::Generic;
  if (!mask || !a->isLoad || !isGlobal)
    return false;
  address = warp.addressOf(inst.op[0], a->wideAddress, inst.immediate,
                           std::countr_zero(mask));
  size = a->elementBytes * a->count;
  return true;
}

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
