//===- Atomics.cpp - atom, red, red.async, st.async -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read-modify-write on global and shared memory, lanes in order. The
// asynchronous forms complete late and count on an mbarrier.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "Families.h"
#include "FloatArithmetic.h"

#include "nvfp4/Simulator/Machine/Access.h"
#include "nvfp4/Simulator/Machine/MiniFloat.h"
#include "nvfp4/Simulator/Machine/RemoteWrites.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace nvfp4::sim {
namespace {

enum class AtomicOp : uint8_t {
  Add,
  Min,
  Max,
  Inc,
  Dec,
  And,
  Or,
  Xor,
  Exchange,
  CompareSwap
};

struct AtomicAttributes : InstAttributes {
  AtomicOp op = AtomicOp::Add;
  Type type = Type::U32;
  StateSpace space = StateSpace::Generic;
  bool wideAddress = false;
  bool returns = false;
  unsigned count = 1;
  MemoryOrder order{Ordering::Relaxed};
};

template <typename T>
uint64_t combineInteger(AtomicOp op, uint64_t oldBits, uint64_t b, uint64_t c) {
  auto a = static_cast<T>(oldBits);
  auto x = static_cast<T>(b);
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case AtomicOp::Add:
    return static_cast<U>(static_cast<U>(a) + static_cast<U>(x));
  case AtomicOp::Min:
    return static_cast<U>(std::min(a, x));
  case AtomicOp::Max:
    return static_cast<U>(std::max(a, x));
  case AtomicOp::Inc:
    return static_cast<U>(a >= x ? 0 : a + 1);
  case AtomicOp::Dec:
    return static_cast<U>(a == 0 || a > x ? x : a - 1);
  case AtomicOp::And:
    return static_cast<U>(a & x);
  case AtomicOp::Or:
    return static_cast<U>(a | x);
  case AtomicOp::Xor:
    return static_cast<U>(a ^ x);
  case AtomicOp::Exchange:
    return static_cast<U>(x);
  case AtomicOp::CompareSwap:
    return static_cast<U>(a == x ? static_cast<T>(c) : a);
  }
  return 0;
}

double combineFloat(AtomicOp op, double a, double b, bool isGlobal) {
  return op == AtomicOp::Add   ? isGlobal ? addKeepingNan(a, b) : a + b
         : op == AtomicOp::Min ? minimumNumber(a, b)
         : op == AtomicOp::Max ? maximumNumber(a, b)
                               : b;
}

/// On global memory operands and results are flushed, in shared memory not.
float addFloats(float a, float b, bool flush) {
  constexpr float smallest = 0x1p-126f;
  return flush ? flushBelow(flushBelow(a, smallest) + flushBelow(b, smallest),
                            smallest)
               : a + b;
}

uint64_t combine(const AtomicAttributes &attributes, uint64_t a, uint64_t b,
                 uint64_t c, bool isGlobal) {
  AtomicOp op = attributes.op;
  switch (attributes.type) {
  case Type::S32:
    return combineInteger<int32_t>(op, a, b, c);
  case Type::S64:
    return combineInteger<int64_t>(op, a, b, c);
  case Type::U64:
  case Type::B64:
    return combineInteger<uint64_t>(op, a, b, c);
  case Type::B16:
    return combineInteger<uint16_t>(op, a, b, c);
  case Type::F32: {
    auto f = [](uint64_t x) {
      return std::bit_cast<float>(static_cast<uint32_t>(x));
    };
    if (op == AtomicOp::Add)
      return std::bit_cast<uint32_t>(
          canonical(addFloats(f(a), f(b), isGlobal)));
    return std::bit_cast<uint32_t>(
        static_cast<float>(combineFloat(op, f(a), f(b), isGlobal)));
  }
  case Type::F64:
    return std::bit_cast<uint64_t>(combineFloat(
        op, std::bit_cast<double>(a), std::bit_cast<double>(b), isGlobal));
  case Type::F16:
  case Type::BF16:
  case Type::F16x2:
  case Type::BF16x2: {
    const FloatFormat &format = *floatFormat(attributes.type);
    uint64_t result = 0;
    for (unsigned s = 0; s < bitWidth(attributes.type); s += 16)
      result |=
          static_cast<uint64_t>(encodeFloat(
              combineFloat(op, decodeFloat(a >> s & 0xffff, format),
                           decodeFloat(b >> s & 0xffff, format), isGlobal),
              format, Rounding::NearestEven, false))
          << s;
    return result;
  }
  default:
    return combineInteger<uint32_t>(op, a, b, c);
  }
}

uint64_t laneValue(Warp &warp, Ref ref, Type type, unsigned lane) {
  return bitWidth(type) == 64 ? warp.wide(ref)[lane] : warp.narrow(ref)[lane];
}

/// The operation of one lane on memory; `old` gets what was there. Whether it
/// has changed anything.
bool update(const AtomicAttributes &a, const Place &place,
            const std::array<uint64_t, 9> &values,
            std::array<uint64_t, 8> &old) {
  unsigned size = byteWidth(a.type);
  bool changes = false;
  for (unsigned i = 0; i < a.count; ++i) {
    old[i] = 0;
    std::memcpy(&old[i], place.data + i * size, size);
    uint64_t result = combine(a, old[i], values[i], values[a.count],
                              place.space == StateSpace::Global);
    changes |= std::memcmp(&result, &old[i], size) != 0;
    std::memcpy(place.data + i * size, &result, size);
  }
  return changes;
}

/// Tells the checker of the operation.
void tellChecker(Warp &warp, const AtomicAttributes &a, const Place &place,
                 unsigned lane, bool isUnchanged,
                 PendingWrite *pending = nullptr) {
  WriteInfo info;
  info.isReduction = !a.returns;
  info.isUnchanged = isUnchanged;
  info.isSum = !a.returns && a.op == AtomicOp::Add && !floatFormat(a.type);
  info.pending = pending;
  if (Checker *checker = warp.machine.checker.get())
    checker->threadAccess(warp, place, byteWidth(a.type) * a.count,
                          Access::Atomic, lane, a.order, info);
}

/// `red` on memory of another device, which takes effect later. False where the
/// operation has to be done at once.
bool postReduction(Warp &warp, const AtomicAttributes &a, const Place &place,
                   const std::array<uint64_t, 9> &values, unsigned lane) {
  RemoteWrites &remote = *warp.machine.remoteWrites;
  bool isAtOnce = a.order.releasesToSystem() && !remote.delaysReleases();
  if (a.returns || isAtOnce) {
    remote.beforeAccess(warp, place.address);
    return false;
  }
  PendingWrite pending;
  tellChecker(warp, a, place, lane, /*isUnchanged=*/false, &pending);
  remote.perform(warp, place, pending, [&a, place, values] {
    std::array<uint64_t, 8> old;
    update(a, place, values, old);
  });
  return true;
}

Step atomic(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<AtomicAttributes>();
  const Ref *pool = &warp.kernel.pool[inst.pool];
  unsigned size = byteWidth(a.type);
  RemoteWrites *remote = warp.machine.remoteWrites.get();
  if (remote && a.order.releasesToSystem())
    remote->beforeRelease(warp);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t address =
        warp.addressOf(inst.op[0], a.wideAddress, inst.immediate, lane);
    Place place;
    if (!resolve(warp, a.space, address, size * a.count, size * a.count, lane,
                 place))
      return Step::Stop;
    if (place.written && !place.written->all(place.writtenOffset, size)) {
      warp.note(ReportKind::UninitializedRead,
                "memory is updated atomically before it is written",
                static_cast<int>(lane));
      place.written->set(place.writtenOffset, size);
    }
    // Pool: results, sources, and the swap value of cas.
    std::array<uint64_t, 9> values{};
    for (unsigned i = 0; i < a.count; ++i)
      values[i] = laneValue(warp, pool[a.count + i], a.type, lane);
    if (a.op == AtomicOp::CompareSwap)
      values[a.count] = laneValue(warp, pool[2 * a.count], a.type, lane);
    if (place.isRemote && postReduction(warp, a, place, values, lane))
      continue;
    std::array<uint64_t, 8> old;
    // A loop that waits by atomics makes no progress.
    bool changes = update(a, place, values, old);
    if (changes)
      warp.machine.progress();
    for (unsigned i = 0; a.returns && i < a.count; ++i) {
      if (bitWidth(a.type) == 64)
        warp.wide(pool[i])[lane] = old[i];
      else
        warp.narrow(pool[i])[lane] = static_cast<uint32_t>(old[i]);
    }
    tellChecker(warp, a, place, lane, !changes);
  }
  return Step::Next;
}

struct RemoteAttributes : InstAttributes {
  bool wideAddress = false, wideBarrier = false;
  int64_t barrierOffset = 0;
  bool reduces = false;
  AtomicAttributes op;
};

/// st.async and red.async: a remote write that counts on an mbarrier.
Step remote(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto *a = &inst.attr<RemoteAttributes>();
  const Ref *pool = &warp.kernel.pool[inst.pool];
  Machine &machine = warp.machine;
  unsigned size = byteWidth(a->op.type);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t address = 0, barrier = 0;
    if (!sharedAddressOf(
            warp, StateSpace::Shared,
            warp.addressOf(inst.op[0], a->wideAddress, inst.immediate, lane),
            lane, address) ||
        !sharedAddressOf(
            warp, StateSpace::Shared,
            warp.addressOf(inst.op[1], a->wideBarrier, a->barrierOffset, lane),
            lane, barrier))
      return Step::Stop;
    Cta *target = machine.ctaAt(warp.cta, address);
    if (!target)
      return warp.fault(ReportKind::OutOfBounds,
                        "the address names a CTA outside the cluster",
                        static_cast<int>(lane));
    std::vector<uint8_t> bytes(size_t{size} * a->op.count);
    for (unsigned i = 0; i < a->op.count; ++i) {
      uint64_t value = laneValue(warp, pool[i], a->op.type, lane);
      std::memcpy(&bytes[size_t{i} * size], &value, size);
    }
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::Generic);
    Cta *cta = &warp.cta;
    ++cta->cluster->pendingOperations;
    machine.schedule(machine.delayFor(AsyncKind::CopyIn, warp.cta), [=] {
      --cta->cluster->pendingOperations;
      std::vector<uint8_t> data = bytes;
      uint32_t offset = address & sharedOffsetMask;
      if (a->reduces) {
        uint64_t old = 0, value = 0;
        if (offset + size > target->shared.size())
          return operation.fault(ReportKind::OutOfBounds,
                                 "red.async outside shared memory");
        std::memcpy(&old, &target->shared[offset], size);
        std::memcpy(&value, data.data(), size);
        uint64_t result = combine(a->op, old, value, 0, false);
        std::memcpy(data.data(), &result, size);
      }
      if (writeShared(operation, *target, offset, data, TensorSwizzle::None, {},
                      a->reduces ? Access::Atomic : Access::Write))
        completeOn(operation, *cta, barrier,
                   static_cast<uint32_t>(data.size()));
    });
  }
  return Step::Next;
}

AtomicOp takeOperation(DecodeContext &context) {
  return static_cast<AtomicOp>(context.expectAny(
      {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"}));
}

void takeScope(DecodeContext &context, AtomicAttributes &a) {
  static constexpr Ordering orderings[] = {Ordering::Relaxed, Ordering::Acquire,
                                           Ordering::Release,
                                           Ordering::AcquireRelease};
  int ordering = context.takeAny({"relaxed", "acquire", "release", "acq_rel"});
  a.order = {ordering < 0 ? Ordering::Relaxed : orderings[ordering],
             takeSyncScope(context)};
  switch (
      context.takeAny({"global", "shared", "shared::cta", "shared::cluster"})) {
  case 0:
    a.space = StateSpace::Global;
    break;
  case 1:
  case 2:
  case 3:
    a.space = StateSpace::Shared;
    break;
  default:
    break;
  }
  context.take("L2::cache_hint");
  context.take("noftz");
}

constexpr std::initializer_list<Type> atomicTypes = {
    Type::U32,   Type::S32,    Type::B32, Type::U64, Type::S64,
    Type::B64,   Type::F32,    Type::F64, Type::F16, Type::BF16,
    Type::F16x2, Type::BF16x2, Type::B16};

void decodeAtomic(DecodeContext &context) {
  auto &a = context.makeAttributes<AtomicAttributes>();
  a.returns = context.parsed.opcode == "atom";
  takeScope(context, a);
  a.op = takeOperation(context);
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
  a.type = context.expectType(atomicTypes);
  size_t first = a.returns ? 1 : 0;
  size_t count = first + 2 + (a.op == AtomicOp::CompareSwap);
  if (!context.expectOperands(count, count + 1))
    return;
  AddressOperand address = context.address(first);
  Inst &inst = context.inst;
  inst.op[0] = address.base;
  inst.immediate = address.offset;
  a.wideAddress = address.wide;
  std::vector<const Operand *> results, sources;
  if (a.returns)
    results = context.elements(0);
  sources = context.elements(first + 1);
  if (sources.size() != a.count || (a.returns && results.size() != a.count)) {
    context.error("expected " + std::to_string(a.count) + " values");
    return;
  }
  std::vector<Ref> refs;
  for (unsigned i = 0; i < a.count; ++i)
    refs.push_back(a.returns ? context.dest(*results[i], a.type)
                             : context.scratch());
  for (const Operand *source : sources)
    refs.push_back(context.source(*source, a.type));
  if (a.op == AtomicOp::CompareSwap)
    refs.push_back(context.source(first + 2, a.type));
  inst.pool = context.poolSize();
  for (Ref ref : refs)
    context.addToPool(ref);
  inst.handler = atomic;
}

void decodeRed(DecodeContext &context) {
  if (!context.take("async"))
    return decodeAtomic(context);
  decodeRemoteStore(context);
}

} // namespace

void decodeRemoteStore(DecodeContext &context) {
  auto &a = context.makeAttributes<RemoteAttributes>();
  a.reduces = context.parsed.opcode == "red";
  context.takeAny({"weak", "relaxed"});
  context.takeAny({"cluster"});
  context.expectAny({"mbarrier::complete_tx::bytes"});
  context.take("shared::cluster");
  if (a.reduces)
    a.op.op = takeOperation(context);
  switch (context.takeAny({"v2", "v4"})) {
  case 0:
    a.op.count = 2;
    break;
  case 1:
    a.op.count = 4;
    break;
  default:
    break;
  }
  a.op.type = context.expectType({Type::B32, Type::B64, Type::U32, Type::S32,
                                  Type::U64, Type::S64, Type::F32, Type::F64});
  if (!context.expectOperands(3))
    return;
  AddressOperand address = context.address(0);
  AddressOperand barrier = context.address(2);
  Inst &inst = context.inst;
  inst.op[0] = address.base;
  inst.immediate = address.offset;
  inst.op[1] = barrier.base;
  a.wideAddress = address.wide;
  a.wideBarrier = barrier.wide;
  a.barrierOffset = barrier.offset;
  std::vector<const Operand *> values = context.elements(1);
  if (values.size() != a.op.count) {
    context.error("expected " + std::to_string(a.op.count) + " values");
    return;
  }
  inst.pool = context.poolSize();
  for (const Operand *value : values)
    context.addToPool(context.source(*value, a.op.type));
  inst.handler = remote;
}

bool findAtomicWord(Warp &warp, const Inst &inst, LaneMask mask,
                    uint64_t &address, unsigned &size) {
  const auto *a = dynamic_cast<const AtomicAttributes *>(inst.attributes);
  if (!a || !a->returns || a->space == StateSpace::Shared)
    return false;
  address = warp.addressOf(inst.op[0], a->wideAddress, inst.immediate,
                           std::countr_zero(mask));
  size = byteWidth(a->type) * a->count;
  return true;
}

void addAtomicInstructions(InstructionTable &table) {
  table.add("atom", decodeAtomic);
  table.add("red", decodeRed);
}

} // namespace nvfp4::sim
