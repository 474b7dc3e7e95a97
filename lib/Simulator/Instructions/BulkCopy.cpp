//===- BulkCopy.cpp - cp.async.bulk without a tensor map --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contiguous copies between global and shared memory and between CTAs of a
// cluster, their reductions, and the groups that threads wait for.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "Copy.h"
#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Access.h"

#include <algorithm>

namespace nvfp4::sim {
namespace {

enum class BulkKind : uint8_t {
  GlobalToShared,
  SharedToShared,
  SharedToGlobal
};

// Pool: destination, source, size, mbarrier, multicast mask.
enum PoolSlot { DestinationSlot, SourceSlot, SizeSlot, BarrierSlot, MaskSlot };

struct BulkAttributes : InstAttributes {
  BulkKind kind = BulkKind::GlobalToShared;
  bool multicast = false;
  CopyReduction reduction = CopyReduction::None;
  TensorType element = TensorType::U8;
  AddressOperand destination, source, barrier;
};

uint64_t operandAddress(Warp &warp, const Inst &inst, PoolSlot slot,
                        const AddressOperand &operand, unsigned lane) {
  return warp.addressOf(warp.kernel.pool[inst.pool + slot], operand.wide,
                        operand.offset, lane);
}

bool readGlobal(const AsyncOperation &operation, Cta &cta, uint64_t address,
                uint32_t size, std::vector<uint8_t> &bytes,
                std::vector<uint8_t> &written) {
  Machine &machine = *operation.machine;
  bytes.resize(size);
  if (!machine.memory.read(address, bytes.data(), size)) {
    operation.fault(
        ReportKind::OutOfBounds,
        "a bulk copy reads " + std::to_string(size) +
            " bytes of global memory: " + machine.memory.describe(address));
    return false;
  }
  written = machine.memory.writtenMarks(address, size);
  if (machine.checker)
    machine.checker->operationGlobal(operation.id, *cta.cluster, address, size,
                                     Access::Read);
  return true;
}

bool writeGlobal(const AsyncOperation &operation, Cta &cta,
                 const BulkAttributes &a, uint64_t address,
                 const std::vector<uint8_t> &bytes) {
  Machine &machine = *operation.machine;
  Allocation *allocation = machine.memory.find(address, bytes.size());
  if (!allocation) {
    operation.fault(
        ReportKind::OutOfBounds,
        "a bulk copy writes " + std::to_string(bytes.size()) +
            " bytes of global memory: " + machine.memory.describe(address));
    return false;
  }
  uint64_t offset = address - allocation->address;
  if (a.reduction == CopyReduction::None) {
    std::copy(bytes.begin(), bytes.end(), allocation->data + offset);
  } else {
    TensorMap map;
    map.type = a.element;
    unsigned step = map.globalBits() / 8;
    for (size_t i = 0; i + step <= bytes.size(); i += step)
      reduceElement(a.element, a.reduction, &allocation->data[offset + i],
                    &bytes[i]);
  }
  allocation->written.set(offset, bytes.size());
  if (machine.checker)
    machine.checker->operationGlobal(
        operation.id, *cta.cluster, address, bytes.size(),
        a.reduction == CopyReduction::None ? Access::Write : Access::Atomic);
  return true;
}

/// Reduces `bytes` into shared memory.
bool reduceShared(const AsyncOperation &operation, Cta &cta,
                  const BulkAttributes &a, uint32_t offset,
                  const std::vector<uint8_t> &bytes) {
  std::vector<uint8_t> sums;
  if (!readShared(operation, cta, offset, static_cast<uint32_t>(bytes.size()),
                  sums, TensorSwizzle::None, Access::Atomic))
    return false;
  TensorMap map;
  map.type = a.element;
  unsigned step = map.globalBits() / 8;
  for (size_t i = 0; i + step <= bytes.size(); i += step)
    reduceElement(a.element, a.reduction, &sums[i], &bytes[i]);
  return writeShared(operation, cta, offset, sums, TensorSwizzle::None, {},
                     Access::Atomic);
}

bool checkOperands(Warp &warp, unsigned lane, uint64_t destination,
                   uint64_t source, uint32_t size) {
  if (destination % 16 == 0 && source % 16 == 0 && size % 16 == 0)
    return true;
  warp.fault(ReportKind::Misaligned,
             "expected addresses and a size that are multiples of 16 for a "
             "bulk copy of " +
                 std::to_string(size) + " bytes",
             static_cast<int>(lane));
  return false;
}

Step bulkLoad(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<BulkAttributes>();
  const Ref *pool = &warp.kernel.pool[inst.pool];
  Machine &machine = warp.machine;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t destination = 0, barrier = 0;
    uint64_t source = operandAddress(warp, inst, SourceSlot, a.source, lane);
    uint32_t size = warp.narrow(pool[SizeSlot])[lane];
    if (!sharedAddressOf(
            warp, StateSpace::Shared,
            operandAddress(warp, inst, DestinationSlot, a.destination, lane),
            lane, destination) ||
        !sharedAddressOf(
            warp, StateSpace::Shared,
            operandAddress(warp, inst, BarrierSlot, a.barrier, lane), lane,
            barrier) ||
        !checkOperands(warp, lane, destination, source, size))
      return Step::Stop;
    uint32_t ranks = 1u << (destination >> sharedRankShift & 15);
    if (a.multicast)
      ranks = warp.narrow(pool[MaskSlot])[lane] & 0xffff;
    if (ranks >> machine.clusterSize)
      return warp.fault(ReportKind::IllegalOperand,
                        "the destination names a CTA outside the cluster",
                        static_cast<int>(lane));
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::Async);
    Cta *cta = &warp.cta;
    Cluster *cluster = cta->cluster;
    ++cluster->pendingOperations;
    ++machine.result.statistics.tmaLoads;
    bool fromShared = a.kind == BulkKind::SharedToShared;
    bool multicast = a.multicast;
    const BulkAttributes *attributes = &a;
    uint64_t delay =
        fromShared ? machine.delayFor(AsyncKind::CopyIn, *cta, size)
                   : machine.delayFor(AsyncKind::CopyIn, *cta, size, source);
    machine.schedule(delay, [=, &machine] {
      --cluster->pendingOperations;
      std::vector<uint8_t> bytes, written;
      if (fromShared
              ? !readShared(operation, *cta,
                            static_cast<uint32_t>(source) & sharedOffsetMask,
                            size, bytes, TensorSwizzle::None)
              : !readGlobal(operation, *cta, source, size, bytes, written))
        return;
      auto deliver = [&](uint32_t rank, uint32_t target) {
        Cta &to = *cluster->ctas[rank];
        uint32_t offset = destination & sharedOffsetMask;
        if (attributes->reduction != CopyReduction::None
                ? !reduceShared(operation, to, *attributes, offset, bytes)
                : !writeShared(operation, to, offset, bytes,
                               TensorSwizzle::None, written))
          return;
        machine.result.statistics.tmaBytes += size;
        completeOn(operation, *cta, target, size);
      };
      if (multicast)
        forMulticast(ranks, barrier, false, deliver);
      else
        deliver(destination >> sharedRankShift, barrier);
    });
  }
  return Step::Next;
}

Step bulkStore(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto *a = &inst.attr<BulkAttributes>();
  const Ref *pool = &warp.kernel.pool[inst.pool];
  Machine &machine = warp.machine;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t destination =
        operandAddress(warp, inst, DestinationSlot, a->destination, lane);
    uint32_t source = 0;
    uint32_t size = warp.narrow(pool[SizeSlot])[lane];
    if (!sharedAddressOf(
            warp, StateSpace::Shared,
            operandAddress(warp, inst, SourceSlot, a->source, lane), lane,
            source) ||
        !checkOperands(warp, lane, destination, source, size))
      return Step::Stop;
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::Async);
    std::shared_ptr<CopyGroup> group = openGroup(warp.bulkCopies[lane]);
    ++group->reading;
    ++group->writing;
    group->operations.push_back(operation.id);
    group->pc = warp.group().pc;
    Cta *cta = &warp.cta;
    Warp *issuer = &warp;
    ++cta->cluster->pendingOperations;
    ++machine.result.statistics.tmaStores;
    machine.schedule(
        machine.delayFor(AsyncKind::CopyOutRead, *cta, size), [=, &machine] {
          auto bytes = std::make_shared<std::vector<uint8_t>>();
          if (!readShared(operation, *cta, source & sharedOffsetMask, size,
                          *bytes, TensorSwizzle::None))
            return;
          --group->reading;
          machine.wake(*issuer);
          machine.schedule(
              machine.delayFor(AsyncKind::CopyOutWrite, *cta, size,
                               destination),
              [=, &machine] {
                --cta->cluster->pendingOperations;
                if (!writeGlobal(operation, *cta, *a, destination, *bytes))
                  return;
                --group->writing;
                machine.wake(*issuer);
              });
        });
  }
  return Step::Next;
}

Step commitGroup(Warp &warp, const Inst &, LaneMask mask) {
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    ThreadCopies &copies = warp.bulkCopies[std::countr_zero(rest)];
    copies.committed.push_back(openGroup(copies));
    copies.open = nullptr;
  }
  return Step::Next;
}

/// wait_group{.read} N: all but the N newest groups have finished. Groups that
/// have finished before older ones still count as pending until those have.
Step waitGroup(Warp &warp, const Inst &inst, LaneMask mask) {
  auto allowed = static_cast<size_t>(inst.immediate);
  bool readOnly = inst.sub[0];
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    auto &committed = warp.bulkCopies[std::countr_zero(rest)].committed;
    for (size_t i = 0; i + allowed < committed.size(); ++i)
      if (readOnly ? committed[i]->reading : committed[i]->writing)
        return warp.block(WaitKind::BulkGroup, 0, allowed);
  }
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    auto &committed = warp.bulkCopies[std::countr_zero(rest)].committed;
    for (size_t i = 0; i + allowed < committed.size(); ++i) {
      committed[i]->waited = true;
      if (warp.machine.checker)
        warp.machine.checker->operationsWaited(warp, committed[i]->operations,
                                               readOnly);
    }
    while (!readOnly && committed.size() > allowed)
      committed.erase(committed.begin());
  }
  return Step::Next;
}

Step nothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

void decodeCp(DecodeContext &context) {
  bool reduce = context.take("reduce");
  if (!context.take("async")) {
    context.unsupported();
    return;
  }
  if (!context.take("bulk")) {
    if (reduce)
      context.unsupported();
    return decodePlainCopy(context);
  }
  if (context.take("tensor"))
    return decodeTensorCopy(context);
  if (context.take("commit_group")) {
    context.expectOperands(0);
    context.inst.handler = commitGroup;
    return;
  }
  if (context.take("wait_group")) {
    context.inst.sub[0] = context.take("read");
    if (context.expectOperands(1))
      context.inst.immediate = context.literal(0);
    if (context.inst.immediate < 0)
      context.error("expected a group count of 0 or more");
    context.inst.handler = waitGroup;
    return;
  }
  decodeBulkCopy(context);
}

} // namespace

std::shared_ptr<CopyGroup> openGroup(ThreadCopies &copies) {
  if (!copies.open)
    copies.open = std::make_shared<CopyGroup>();
  return copies.open;
}

CopyReduction takeReduction(DecodeContext &context) {
  return static_cast<CopyReduction>(
      context.expectAny(
          {"add", "min", "max", "inc", "dec", "and", "or", "xor"}) +
      1);
}

void decodeBulkCopy(DecodeContext &context) {
  auto &a = context.makeAttributes<BulkAttributes>();
  bool reduces = !context.parsed.modifiers.empty() &&
                 context.parsed.modifiers[0] == "reduce";
  bool hint = context.take("L2::cache_hint");
  if (context.take("prefetch")) {
    context.take("L2");
    context.take("global");
    context.expectOperands(2, 3);
    context.inst.handler = nothing;
    return;
  }
  bool group = context.take("bulk_group");
  bool barrier = context.take("mbarrier::complete_tx::bytes");
  bool global = context.take("global");
  bool cluster = context.take("shared::cluster");
  context.take("shared::cta");
  a.multicast = context.take("multicast::cluster");
  a.kind = group    ? BulkKind::SharedToGlobal
           : global ? BulkKind::GlobalToShared
                    : BulkKind::SharedToShared;
  (void)cluster;
  if (group == barrier) {
    context.error("expected '.bulk_group' or '.mbarrier::complete_tx::bytes'");
    return;
  }
  if (reduces) {
    bool toShared = a.kind != BulkKind::SharedToGlobal;
    if (a.kind == BulkKind::GlobalToShared) {
      context.unsupported();
      return;
    }
    if (!toShared)
      context.take("noftz");
    a.reduction = takeReduction(context);
    Type type =
        toShared
            ? context.expectType({Type::U32, Type::S32, Type::U64, Type::B32})
            : context.expectType({Type::U32, Type::S32, Type::U64, Type::S64,
                                  Type::F16, Type::BF16, Type::F32, Type::F64,
                                  Type::B32, Type::B64});
    if (toShared && type == Type::U64 && a.reduction != CopyReduction::Add) {
      context.unsupported();
      return;
    }
    switch (type) {
    case Type::S32:
      a.element = TensorType::S32;
      break;
    case Type::U64:
    case Type::B64:
      a.element = TensorType::U64;
      break;
    case Type::S64:
      a.element = TensorType::S64;
      break;
    case Type::F16:
      a.element = TensorType::F16;
      break;
    case Type::BF16:
      a.element = TensorType::BF16;
      break;
    case Type::F32:
      a.element = TensorType::F32;
      break;
    case Type::F64:
      a.element = TensorType::F64;
      break;
    default:
      a.element = TensorType::U32;
      break;
    }
  }
  size_t count = (group ? 3 : 4) + a.multicast + hint;
  if (!context.expectOperands(count))
    return;
  Inst &inst = context.inst;
  a.destination = context.address(0);
  a.source = context.address(1);
  Ref size = context.source(2, Type::B32);
  Ref zero = context.constant32(0);
  a.barrier.base = zero;
  if (!group)
    a.barrier = context.address(3);
  Ref multicastMask = a.multicast ? context.source(4, Type::B16) : zero;
  inst.pool = context.poolSize();
  context.addToPool(a.destination.base);
  context.addToPool(a.source.base);
  context.addToPool(size);
  context.addToPool(a.barrier.base);
  context.addToPool(multicastMask);
  inst.handler = group ? bulkStore : bulkLoad;
}

void addCopyInstructions(InstructionTable &table) { table.add("cp", decodeCp); }

} // namespace nvfp4::sim
