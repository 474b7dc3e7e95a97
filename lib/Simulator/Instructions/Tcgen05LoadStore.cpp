//===- Tcgen05LoadStore.cpp - tcgen05.ld, tcgen05.st and their waits ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A load reads tensor memory some time after its issue; its registers hold
// poison until tcgen05.wait::ld. A store takes its registers at issue and
// writes some time before tcgen05.wait::st. With .red a load also gives each
// thread the smallest or largest of the values that it has loaded.
//
//===----------------------------------------------------------------------===//

#include "FloatExtreme.h"
#include "Tcgen05.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Timeline.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

enum class TmemShape : uint8_t {
  L32x32b,
  L16x64b,
  L16x128b,
  L16x256b,
  L16x32bx2
};

/// The operation of .red.
enum class Reduction : uint8_t { None, Unsigned, Signed, Float };

struct TmemAttributes : InstAttributes {
  TmemShape shape = TmemShape::L32x32b;
  unsigned repeat = 1;
  bool pack = false;
  int64_t halfSplit = 0;
  unsigned registers = 1;
  Reduction reduction = Reduction::None;
  bool isMax = false;
  bool absolute = false;
  bool propagateNan = false;

  /// Registers that a load writes, the reduced value's last.
  unsigned results() const {
    return registers + (reduction != Reduction::None);
  }
};

/// The cell that register `r` of lane `t` refers to, relative to the address:
/// (lane in the warp's quarter, column).
std::pair<unsigned, unsigned> cellOf(const TmemAttributes &a, unsigned t,
                                     unsigned r) {
  switch (a.shape) {
  case TmemShape::L32x32b:
    return {t, r};
  case TmemShape::L16x64b:
    return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
  case TmemShape::L16x128b:
    return {t / 4 + 8 * (r % 2), 4 * (r / 2) + t % 4};
  case TmemShape::L16x256b:
    return {t / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2};
  case TmemShape::L16x32bx2:
    return {t % 16, r + (t < 16 ? 0 : static_cast<unsigned>(a.halfSplit))};
  }
  return {0, 0};
}

unsigned columnCount(const TmemAttributes &a) {
  switch (a.shape) {
  case TmemShape::L32x32b:
  case TmemShape::L16x32bx2:
    return a.repeat;
  case TmemShape::L16x64b:
    return 2 * a.repeat;
  case TmemShape::L16x128b:
    return 4 * a.repeat;
  default:
    return 8 * a.repeat;
  }
}

/// Checks the address and gives the first TMEM lane and column of the access.
bool locate(Warp &warp, const Inst &inst, const TmemAttributes &a,
            LaneMask mask, TmemAddress &place) {
  if (!warp.requireAllLanes(mask, "the instruction"))
    return false;
  const uint32_t *base = warp.narrow(inst.op[0]);
  uint32_t address = base[0] + static_cast<uint32_t>(inst.immediate);
  for (unsigned lane = 1; lane < 32; ++lane)
    if (base[lane] != base[0]) {
      warp.fault(ReportKind::IllegalOperand,
                 "expected the same tensor-memory address in all lanes",
                 static_cast<int>(lane));
      return false;
    }
  place = splitTmem(address);
  unsigned quarter = warp.index % 4;
  bool strict = warp.machine.options.profile == CheckProfile::Strict;
  if (place.lane / 32 != quarter && (strict || place.lane / 32 != 0)) {
    warp.fault(ReportKind::TmemLane, "warp " + std::to_string(warp.index) +
                                         " may access lanes " +
                                         std::to_string(32 * quarter) + " to " +
                                         std::to_string(32 * quarter + 31) +
                                         ", but the address names lane " +
                                         std::to_string(place.lane));
    return false;
  }
  unsigned inner = place.lane % 32;
  if (inner != 0 && (inner != 16 || a.shape == TmemShape::L32x32b)) {
    warp.fault(ReportKind::TmemLane, "expected lane 0 or 16 of a quarter, but "
                                     "got " +
                                         std::to_string(inner));
    return false;
  }
  place.lane = 32 * quarter + inner;
  AsyncOperation here;
  here.machine = &warp.machine;
  here.pc = warp.group().pc;
  here.where = warp.describe();
  unsigned count = columnCount(a) * (a.pack ? 2 : 1);
  if (!checkColumns(here, warp.cta, place.column, count, "access to"))
    return false;
  return a.shape != TmemShape::L16x32bx2 ||
         checkColumns(here, warp.cta,
                      place.column + static_cast<unsigned>(a.halfSplit), count,
                      "access to");
}

void tellChecker(Warp &warp, uint32_t operation, const TmemAttributes &a,
                 TmemAddress place, Access access) {
  Checker *checker = warp.machine.checker.get();
  if (!checker)
    return;
  unsigned count = columnCount(a) * (a.pack ? 2 : 1);
  unsigned quarters = 1u << (place.lane / 32);
  checker->operationTmem(operation, warp.cta, quarters, place.column, count,
                         access);
  if (a.shape == TmemShape::L16x32bx2)
    checker->operationTmem(operation, warp.cta, quarters,
                           place.column + static_cast<unsigned>(a.halfSplit),
                           count, access);
}

/// Appends what .red makes of each thread's values.
void reduceValues(const TmemAttributes &a, std::vector<uint32_t> &values) {
  for (unsigned t = 0; t < 32; ++t) {
    FloatExtreme extreme{.isMax = a.isMax,
                         .absolute = a.absolute,
                         .propagateNan = a.propagateNan};
    uint32_t best = values[t];
    for (unsigned r = 0; r < a.registers; ++r) {
      uint32_t value = values[r * 32 + t];
      extreme.add(value);
      bool above =
          a.reduction == Reduction::Signed
              ? static_cast<int32_t>(value) > static_cast<int32_t>(best)
              : value > best;
      if (above == a.isMax)
        best = value;
    }
    values.push_back(a.reduction == Reduction::Float ? extreme.bits() : best);
  }
}

/// Reads the cells of a load, 32 values a register.
void readCells(const AsyncOperation &operation, Tmem &tmem,
               const TmemAttributes &a, TmemAddress place,
               std::vector<uint32_t> &values) {
  values.resize(size_t{a.registers} * 32);
  bool written = true;
  for (unsigned r = 0; r < a.registers; ++r)
    for (unsigned t = 0; t < 32; ++t) {
      auto [lane, column] = cellOf(a, t, r);
      unsigned first = place.column + (a.pack ? 2 * column : column);
      uint32_t value = tmem.cell(place.lane + lane, first);
      written &= tmem.isWritten(place.lane + lane, first);
      if (a.pack)
        value = (value & 0xffff) | tmem.cell(place.lane + lane, first + 1)
                                       << 16;
      values[r * 32 + t] = value;
    }
  if (!written)
    operation.note(ReportKind::UninitializedRead,
                   "tensor memory from column " + std::to_string(place.column) +
                       " is read before it is written");
  if (a.reduction != Reduction::None)
    reduceValues(a, values);
}

/// A load whose registers are used before they are waited for. The access
/// stays open until the wait all the same, or in profile cutlass until a use.
Step loadNow(Warp &warp, const TmemAttributes &a, TmemAddress place,
             const Ref *regs) {
  AsyncOperation operation = beginOperation(warp, 0, OperationProxy::Generic);
  tellChecker(warp, operation.id, a, place, Access::Read);
  if (warp.machine.checker)
    warp.openLoads.emplace_back(warp.group().pc, operation.id);
  if (Timeline *timeline = warp.machine.options.timeline)
    timeline->operationEnds(warp.machine.now);
  std::vector<uint32_t> values;
  readCells(operation, warp.cta.tensorMemory(), a, place, values);
  for (unsigned r = 0; r < a.results(); ++r)
    std::copy_n(&values[r * 32], 32, warp.narrow(regs[r]));
  return Step::Next;
}

Step load(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto *a = &inst.attr<TmemAttributes>();
  TmemAddress place;
  if (!locate(warp, inst, *a, mask, place))
    return Step::Stop;
  Machine &machine = warp.machine;
  const Ref *regs = &warp.kernel.pool[inst.pool];
  if (inst.flags & FlagUsedEarly)
    return loadNow(warp, *a, place, regs);
  auto result = std::make_shared<DelayedResult>();
  result->mask = mask;
  result->refs.assign(regs, regs + a->results());
  for (unsigned r = 0; r < a->results(); ++r)
    std::fill_n(warp.narrow(regs[r]), 32, Tmem::poison);
  warp.tmemLoads.push_back(result);
  AsyncOperation operation = beginOperation(warp, 0, OperationProxy::Generic);
  tellChecker(warp, operation.id, *a, place, Access::Read);
  Warp *issuer = &warp;
  ++warp.cta.cluster->pendingOperations;
  machine.schedule(machine.delayFor(AsyncKind::TmemLoadStore, warp.cta),
                   [=, &machine] {
                     --issuer->cta.cluster->pendingOperations;
                     readCells(operation, issuer->cta.tensorMemory(), *a, place,
                               result->values);
                     result->ready = true;
                     machine.wake(*issuer);
                   });
  return Step::Next;
}

Step store(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto *a = &inst.attr<TmemAttributes>();
  TmemAddress place;
  if (!locate(warp, inst, *a, mask, place))
    return Step::Stop;
  Machine &machine = warp.machine;
  const Ref *regs = &warp.kernel.pool[inst.pool];
  auto values = std::make_shared<std::vector<uint32_t>>();
  for (unsigned r = 0; r < a->registers; ++r)
    values->insert(values->end(), warp.narrow(regs[r]),
                   warp.narrow(regs[r]) + 32);
  AsyncOperation operation = beginOperation(warp, 0, OperationProxy::Generic);
  tellChecker(warp, operation.id, *a, place, Access::Write);
  Warp *issuer = &warp;
  ++warp.tmemStoresPending;
  ++warp.cta.cluster->pendingOperations;
  machine.schedule(
      machine.delayFor(AsyncKind::TmemLoadStore, warp.cta), [=, &machine] {
        --issuer->cta.cluster->pendingOperations;
        Tmem &tmem = issuer->cta.tensorMemory();
        for (unsigned r = 0; r < a->registers; ++r)
          for (unsigned t = 0; t < 32; ++t) {
            auto [lane, column] = cellOf(*a, t, r);
            uint32_t value = (*values)[r * 32 + t];
            if (!a->pack) {
              tmem.put(place.lane + lane, place.column + column, value);
              continue;
            }
            tmem.put(place.lane + lane, place.column + 2 * column,
                     value & 0xffff);
            tmem.put(place.lane + lane, place.column + 2 * column + 1,
                     value >> 16);
          }
        --issuer->tmemStoresPending;
        machine.wake(*issuer);
      });
  return Step::Next;
}

Step waitLoads(Warp &warp, const Inst &, LaneMask) {
  for (const auto &result : warp.tmemLoads)
    if (!result->ready)
      return warp.block(WaitKind::TensorPipe);
  for (const auto &result : warp.tmemLoads)
    for (size_t r = 0; r < result->refs.size(); ++r)
      std::copy_n(&result->values[r * 32], 32, warp.narrow(result->refs[r]));
  warp.tmemLoads.clear();
  warp.openLoads.clear();
  if (warp.machine.checker)
    warp.machine.checker->tmemWaited(warp, /*stores=*/false);
  return Step::Next;
}

Step waitStores(Warp &warp, const Inst &, LaneMask) {
  if (warp.tmemStoresPending)
    return warp.block(WaitKind::TensorPipe);
  if (warp.machine.checker)
    warp.machine.checker->tmemWaited(warp, /*stores=*/true);
  return Step::Next;
}

} // namespace

void decodeTmemWait(DecodeContext &context) {
  context.take("sync");
  context.take("aligned");
  context.expectOperands(0);
  context.inst.flags |= FlagAligned;
  bool stores = context.inst.sub[0];
  context.effects.waitsForDelayed = context.effects.tmemWait = !stores;
  context.inst.handler = stores ? waitStores : waitLoads;
}

namespace {

/// The reduction's modifiers and type; false after an error.
bool decodeReduction(DecodeContext &context, TmemAttributes &a) {
  if (context.tables.module.target.starts_with("sm_100"))
    return context.error("expected target sm_101a, sm_103a, sm_110a or a later "
                         "one for 'tcgen05.ld.red', but got " +
                         context.tables.module.target);
  a.isMax = context.expectAny({"min", "max"}) == 1;
  a.absolute = context.take("abs");
  a.propagateNan = context.take("NaN");
  Type type = context.expectType({Type::U32, Type::S32, Type::F32});
  a.reduction = type == Type::F32   ? Reduction::Float
                : type == Type::S32 ? Reduction::Signed
                                    : Reduction::Unsigned;
  if (type != Type::F32 && (a.absolute || a.propagateNan))
    return context.error("expected type .f32 with '.abs' or '.NaN', but got ." +
                         std::string(typeName(type)));
  if (a.shape != TmemShape::L32x32b && a.shape != TmemShape::L16x32bx2)
    return context.error("expected shape .32x32b or .16x32bx2, but got '" +
                         context.parsed.fullName() + "'");
  if (a.repeat < 2)
    return context.error("expected .x2 or more, but got '" +
                         context.parsed.fullName() + "'");
  return true;
}

/// Modifiers and type; false after an error.
bool decodeForm(DecodeContext &context, TmemAttributes &a, bool isLoad,
                bool reduces) {
  context.take("sync");
  context.take("aligned");
  a.shape = static_cast<TmemShape>(context.expectAny(
      {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"}));
  int repeat =
      context.expectAny({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  a.repeat = 1u << repeat;
  if (reduces) {
    if (!decodeReduction(context, a))
      return false;
  } else {
    a.pack = context.take(isLoad ? "pack::16b" : "unpack::16b");
    context.expectType({Type::B32});
  }
  unsigned each = a.shape == TmemShape::L16x128b   ? 2
                  : a.shape == TmemShape::L16x256b ? 4
                                                   : 1;
  a.registers = a.repeat * each;
  if (a.registers > 128)
    return context.error("expected at most 128 registers, but got " +
                         std::to_string(a.registers));
  return true;
}

} // namespace

void decodeTmemAccess(DecodeContext &context, bool isLoad) {
  auto &a = context.makeAttributes<TmemAttributes>();
  bool reduces = isLoad && context.take("red");
  if (!decodeForm(context, a, isLoad, reduces))
    return;
  bool split = a.shape == TmemShape::L16x32bx2;
  size_t addressIndex = isLoad ? 1 + reduces : 0;
  if (!context.expectOperands((split ? 3 : 2) + reduces))
    return;
  size_t valueIndex = isLoad ? 0 : split ? 2 : 1;
  if (split)
    a.halfSplit = context.literal(addressIndex + 1);
  if (a.halfSplit < 0 || a.halfSplit >= 512) {
    context.error("expected a half offset of 0 to 511, but got " +
                  std::to_string(a.halfSplit));
    return;
  }
  AddressOperand address = context.address(addressIndex);
  if (address.wide) {
    context.error("expected a 32-bit tensor-memory address");
    return;
  }
  Inst &inst = context.inst;
  inst.op[0] = address.base;
  inst.immediate = address.offset;
  std::vector<const Operand *> regs = context.elements(valueIndex);
  if (regs.size() != a.registers) {
    context.error("expected " + std::to_string(a.registers) +
                  " registers, but got " + std::to_string(regs.size()));
    return;
  }
  inst.pool = context.poolSize();
  for (const Operand *reg : regs)
    context.addToPool(isLoad ? context.dest(*reg, Type::B32)
                             : context.source(*reg, Type::B32));
  if (reduces)
    context.addToPool(context.dest(1, Type::B32));
  context.effects.delayedDefs = context.effects.tmemLoad = isLoad;
  inst.flags |= FlagAligned;
  inst.handler = isLoad ? load : store;
}

} // namespace nvfp4::sim
