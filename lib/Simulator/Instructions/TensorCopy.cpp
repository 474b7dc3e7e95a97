//===- TensorCopy.cpp - cp.async.bulk.tensor --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TMA loads with multicast, stores and reductions in tile, gather4 and scatter4
// modes. A store reads its source at one instant and writes at a later one; a
// load writes shared memory and counts on the mbarrier at one instant.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "Copy.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/Access.h"

#include <cstring>

namespace nvfp4::sim {
namespace {

// Pool: map base, shared base, mbarrier base, mask, coordinates.
enum PoolSlot { MapSlot, SharedSlot, BarrierSlot, MaskSlot, CoordinateSlot };

struct TensorCopyAttributes : InstAttributes {
  unsigned rank = 1;
  bool load = false;
  bool multicast = false;
  bool pair = false;
  bool rows4 = false;
  CopyReduction reduction = CopyReduction::None;
  bool wideMap = false, wideShared = false, wideBarrier = false;
  int64_t mapOffset = 0, sharedOffset = 0, barrierOffset = 0;
};

/// The fault of the address of a box: it is a multiple of 16 bytes (PTX
/// 5.5.3.1), and stores start at no negative coordinate (9.7.9.27.1.1).
/// Hardware calls either an illegal instruction.
std::string checkCorner(const TileBox &box, bool isLoad) {
  unsigned bits = box.map.globalBits();
  int64_t offset = int64_t{box.coordinate[0]} * bits / 8;
  if (offset % 16)
    return "expected a box that starts at a multiple of 16 bytes (" +
           std::to_string(128 / bits) +
           " elements), but got inner coordinate " +
           std::to_string(box.coordinate[0]);
  for (unsigned d = 0; !isLoad && d < (box.rows4 ? 1 : box.map.rank); ++d)
    if (box.coordinate[d] < 0)
      return "expected no negative coordinate where a store starts, but got " +
             std::to_string(box.coordinate[d]);
  return "";
}

bool fetchMap(Warp &warp, const Inst &inst, const TensorCopyAttributes &a,
              unsigned lane, TileBox &box) {
  const Ref *pool = &warp.kernel.pool[inst.pool];
  uint64_t address =
      warp.addressOf(pool[MapSlot], a.wideMap, a.mapOffset, lane);
  Place place;
  if (!resolve(warp, StateSpace::Generic, address, 128, 64, lane, place))
    return false;
  std::memcpy(&box.map, place.data, sizeof box.map);
  if (warp.machine.checker && place.space == StateSpace::Global)
    warp.machine.checker->tensorMapUsed(warp, address, lane);
  std::string problem = checkTensorMap(box.map);
  unsigned coordinates = a.rank;
  if (problem.empty() && (a.rows4 ? 2 : a.rank) != box.map.rank)
    problem = "expected a tensor map of rank " +
              std::to_string(a.rows4 ? 2 : a.rank) + ", but got " +
              std::to_string(box.map.rank);
  if (problem.empty() && a.rows4 && box.map.box[1] != 1)
    problem = "expected a box of one row for gather4 and scatter4, but got " +
              std::to_string(box.map.box[1]);
  if (problem.empty() && !a.load && box.map.type >= TensorType::U4Padded)
    problem = "padded element types can only be loaded";
  if (!problem.empty()) {
    warp.fault(ReportKind::IllegalDescriptor, problem, static_cast<int>(lane));
    return false;
  }
  box.rows4 = a.rows4;
  if (a.rows4) {
    box.coordinate[0] =
        static_cast<int32_t>(warp.narrow(pool[CoordinateSlot])[lane]);
    for (unsigned i = 0; i < 4; ++i)
      box.row[i] =
          static_cast<int32_t>(warp.narrow(pool[CoordinateSlot + 1 + i])[lane]);
  } else {
    for (unsigned i = 0; i < coordinates; ++i)
      box.coordinate[i] =
          static_cast<int32_t>(warp.narrow(pool[CoordinateSlot + i])[lane]);
  }
  bool padded = box.map.type >= TensorType::U4Padded;
  if ((padded && box.coordinate[0] % 128) ||
      (box.map.type == TensorType::U4Packed && box.coordinate[0] % 2)) {
    warp.fault(ReportKind::IllegalDescriptor,
               "expected an inner coordinate that is a multiple of " +
                   std::string(padded ? "128" : "2") + ", but got " +
                   std::to_string(box.coordinate[0]),
               static_cast<int>(lane));
    return false;
  }
  problem = checkCorner(box, a.load);
  if (!problem.empty())
    warp.fault(ReportKind::IllegalOperand, problem, static_cast<int>(lane));
  return problem.empty();
}

uint32_t sharedAlignment(TensorSwizzle swizzle) {
  (void)swizzle;
  return 128;
}

bool sharedOperand(Warp &warp, const Inst &inst, const TensorCopyAttributes &a,
                   const TileBox &box, unsigned lane, uint32_t &address) {
  const Ref *pool = &warp.kernel.pool[inst.pool];
  if (!sharedAddressOf(
          warp, StateSpace::Shared,
          warp.addressOf(pool[SharedSlot], a.wideShared, a.sharedOffset, lane),
          lane, address))
    return false;
  uint32_t alignment = sharedAlignment(box.map.swizzle);
  if (address % alignment == 0)
    return true;
  warp.fault(ReportKind::Misaligned,
             "expected a shared address that is a multiple of " +
                 std::to_string(alignment) + ", but got offset " +
                 std::to_string(address & sharedOffsetMask),
             static_cast<int>(lane));
  return false;
}

void reportTileFault(const AsyncOperation &operation, const TileFault &fault) {
  operation.fault(ReportKind::OutOfBounds,
                  "a tensor copy accesses " + std::to_string(fault.size) +
                      " bytes of global memory that is not allocated: " +
                      operation.machine->memory.describe(fault.address));
}

/// Writes the rows of a box; `written` as for writeShared.
bool writeBox(const AsyncOperation &operation, Cta &cta, uint32_t offset,
              const TileBox &box, const std::vector<uint8_t> &bytes,
              const std::vector<uint8_t> &written) {
  unsigned row = box.rowBytes(), pitch = box.rowPitch();
  if (row == pitch)
    return writeShared(operation, cta, offset, bytes, box.map.swizzle, written);
  auto slice = [&](const std::vector<uint8_t> &from, unsigned r) {
    return from.empty() ? from
                        : std::vector<uint8_t>(from.begin() + r * row,
                                               from.begin() + (r + 1) * row);
  };
  for (unsigned r = 0; r < box.rowCount(); ++r)
    if (!writeShared(operation, cta, offset + r * pitch, slice(bytes, r),
                     box.map.swizzle, slice(written, r)))
      return false;
  return true;
}

bool readBox(const AsyncOperation &operation, Cta &cta, uint32_t offset,
             const TileBox &box, std::vector<uint8_t> &bytes) {
  unsigned row = box.rowBytes(), pitch = box.rowPitch();
  if (row == pitch)
    return readShared(operation, cta, offset, box.sharedBytes(), bytes,
                      box.map.swizzle);
  bytes.clear();
  std::vector<uint8_t> part;
  for (unsigned r = 0; r < box.rowCount(); ++r) {
    if (!readShared(operation, cta, offset + r * pitch, row, part,
                    box.map.swizzle))
      return false;
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return true;
}

Step tensorLoad(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<TensorCopyAttributes>();
  const Ref *pool = &warp.kernel.pool[inst.pool];
  Machine &machine = warp.machine;
  if (std::popcount(mask) > 1)
    warp.note(ReportKind::Lint, "the same tensor load is issued by " +
                                    std::to_string(std::popcount(mask)) +
                                    " lanes of a warp");
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    auto box = std::make_shared<TileBox>();
    uint32_t shared = 0, barrier = 0;
    if (!fetchMap(warp, inst, a, lane, *box) ||
        !sharedOperand(warp, inst, a, *box, lane, shared) ||
        !sharedAddressOf(warp, StateSpace::Shared,
                         warp.addressOf(pool[BarrierSlot], a.wideBarrier,
                                        a.barrierOffset, lane),
                         lane, barrier))
      return Step::Stop;
    uint32_t ranks = 1u << (shared >> sharedRankShift);
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
    bool multicast = a.multicast, pair = a.pair;
    machine.schedule(
        machine.delayFor(AsyncKind::CopyIn, *cta, box->movedBytes(),
                         box->map.address),
        [=, &machine] {
          --cluster->pendingOperations;
          std::vector<uint8_t> bytes, written;
          TileFault fault;
          TileObserver observe;
          if (machine.checker)
            observe = [&](uint64_t address, uint64_t size) {
              machine.checker->operationGlobal(operation.id, *cta->cluster,
                                               address, size, Access::Read);
            };
          if (!readTile(*box, machine.memory, bytes, written, fault, observe))
            return reportTileFault(operation, fault);
          auto deliver = [&](uint32_t rank, uint32_t target) {
            if (!writeBox(operation, *cluster->ctas[rank],
                          shared & sharedOffsetMask, *box, bytes, written))
              return;
            machine.result.statistics.tmaBytes += box->transactionBytes();
            completeOn(operation, *cta, target, box->transactionBytes());
          };
          if (multicast)
            forMulticast(ranks, barrier, pair, deliver);
          else
            deliver(shared >> sharedRankShift, barrier);
        });
  }
  return Step::Next;
}

Step tensorStore(Warp &warp, const Inst &inst, LaneMask mask) {
  const auto &a = inst.attr<TensorCopyAttributes>();
  Machine &machine = warp.machine;
  // Kernels issue one store from all lanes. Hardware makes one of them, and
  // doing it again would change nothing.
  bool once = a.reduction == CopyReduction::None &&
              machine.options.profile == CheckProfile::Cutlass;
  if (std::popcount(mask) > 1 && !once)
    warp.note(ReportKind::Lint, "the same tensor store is issued by " +
                                    std::to_string(std::popcount(mask)) +
                                    " lanes of a warp");
  auto fetch = [&](unsigned lane, TileBox &box, uint32_t &shared) {
    return fetchMap(warp, inst, a, lane, box) &&
           sharedOperand(warp, inst, a, box, lane, shared);
  };
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    auto box = std::make_shared<TileBox>();
    uint32_t shared = 0;
    if (!fetch(lane, *box, shared))
      return Step::Stop;
    if (machine.ctaAt(warp.cta, shared) != &warp.cta)
      return warp.fault(ReportKind::IllegalOperand,
                        "a tensor store reads shared memory of another CTA",
                        static_cast<int>(lane));
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::Async);
    // The groups of all lanes that issue this very store.
    std::vector<std::shared_ptr<CopyGroup>> groups;
    auto join = [&](unsigned member) {
      groups.push_back(openGroup(warp.bulkCopies[member]));
      ++groups.back()->reading;
      ++groups.back()->writing;
      groups.back()->operations.push_back(operation.id);
      groups.back()->pc = warp.group().pc;
    };
    join(lane);
    LaneMask others = once ? rest & (rest - 1) : 0;
    for (; others; others &= others - 1) {
      unsigned other = std::countr_zero(others);
      TileBox otherBox;
      uint32_t otherShared = 0;
      if (!fetch(other, otherBox, otherShared))
        return Step::Stop;
      if (otherShared != shared || !(otherBox == *box))
        continue;
      join(other);
      rest &= ~(1u << other);
    }
    Cta *cta = &warp.cta;
    Warp *issuer = &warp;
    ++cta->cluster->pendingOperations;
    ++machine.result.statistics.tmaStores;
    CopyReduction reduction = a.reduction;
    auto write = [=, &machine](std::shared_ptr<std::vector<uint8_t>> bytes) {
      --cta->cluster->pendingOperations;
      TileFault fault;
      TileObserver observe;
      if (machine.checker)
        observe = [&](uint64_t address, uint64_t size) {
          machine.checker->operationGlobal(
              operation.id, *cta->cluster, address, size,
              reduction == CopyReduction::None ? Access::Write
                                               : Access::Atomic);
        };
      if (!writeTile(*box, machine.memory, *bytes, reduction, fault, observe))
        return reportTileFault(operation, fault);
      for (const auto &group : groups)
        --group->writing;
      machine.wake(*issuer);
    };
    machine.schedule(
        machine.delayFor(AsyncKind::CopyOutRead, *cta, box->movedBytes()),
        [=, &machine] {
          auto bytes = std::make_shared<std::vector<uint8_t>>();
          if (!readBox(operation, *cta, shared & sharedOffsetMask, *box,
                       *bytes))
            return;
          for (const auto &group : groups)
            --group->reading;
          machine.wake(*issuer);
          machine.schedule(machine.delayFor(AsyncKind::CopyOutWrite, *cta,
                                            box->movedBytes(),
                                            box->map.address),
                           [=] { write(bytes); });
        });
  }
  return Step::Next;
}

Step nothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

/// [map, {coordinates}]: appends the coordinates to the pool.
bool mapOperand(DecodeContext &context, size_t i, TensorCopyAttributes &a,
                AddressOperand &map, std::vector<Ref> &coordinates) {
  const Operand &operand = context.operand(i);
  if (operand.kind != Operand::Kind::Memory || operand.elements.size() != 2 ||
      operand.elements[1].kind != Operand::Kind::Vector)
    return context.error(operand, "expected [tensorMap, {coordinates}]");
  map = context.address(operand);
  a.wideMap = map.wide;
  a.mapOffset = map.offset;
  // A map in parameter space is named by its variable.
  const Operand &base = operand.elements[0];
  if (base.kind == Operand::Kind::Symbol &&
      context.tables.module.symbols[base.symbol].space == StateSpace::Param)
    a.mapOffset += static_cast<int64_t>(paramWindow);
  const std::vector<Operand> &list = operand.elements[1].elements;
  size_t expected = a.rows4 ? 5 : a.rank;
  if (list.size() != expected)
    return context.error(operand, "expected " + std::to_string(expected) +
                                      " coordinates, but got " +
                                      std::to_string(list.size()));
  for (const Operand &coordinate : list)
    coordinates.push_back(context.source(coordinate, Type::B32));
  return true;
}

} // namespace

void decodeTensorCopy(DecodeContext &context) {
  auto &a = context.makeAttributes<TensorCopyAttributes>();
  bool prefetch = context.take("prefetch");
  bool reduces = context.parsed.modifiers.size() &&
                 context.parsed.modifiers[0] == "reduce";
  a.rank =
      static_cast<unsigned>(context.expectAny({"1d", "2d", "3d", "4d", "5d"})) +
      1;
  int mode = context.takeAny({"tile", "tile::gather4", "tile::scatter4"});
  a.rows4 = mode == 1 || mode == 2;
  bool hint = context.take("L2::cache_hint");
  if (prefetch) {
    context.take("L2");
    context.take("global");
    AddressOperand map;
    std::vector<Ref> coordinates;
    if (context.expectOperands(1, 2) &&
        mapOperand(context, 0, a, map, coordinates))
      context.inst.handler = nothing;
    return;
  }
  if (reduces)
    a.reduction = takeReduction(context);
  // Destination and source spaces: both directions name `global`.
  context.take("global");
  a.load = !context.take("bulk_group");
  int space = context.expectAny({"shared::cluster", "shared::cta"});
  if (!a.load && space != 1)
    context.error("expected a source in .shared::cta");
  if (a.load)
    context.expectAny({"mbarrier::complete_tx::bytes"});
  a.multicast = context.take("multicast::cluster");
  a.pair = context.takeAny({"cta_group::1", "cta_group::2"}) == 1;
  size_t count = a.load ? 3 + a.multicast + hint : 2 + hint;
  if (!context.expectOperands(count))
    return;
  AddressOperand map, shared, barrier;
  std::vector<Ref> coordinates;
  shared = context.address(a.load ? 0 : 1);
  if (!mapOperand(context, a.load ? 1 : 0, a, map, coordinates))
    return;
  Ref multicastMask = context.constant32(0);
  barrier.base = multicastMask;
  if (a.load)
    barrier = context.address(2);
  if (a.multicast)
    multicastMask = context.source(3, Type::B16);
  if (hint)
    context.source(count - 1, Type::B64);
  a.wideShared = shared.wide;
  a.sharedOffset = shared.offset;
  a.wideBarrier = barrier.wide;
  a.barrierOffset = barrier.offset;
  Inst &inst = context.inst;
  inst.pool = context.poolSize();
  context.addToPool(map.base);
  context.addToPool(shared.base);
  context.addToPool(barrier.base);
  context.addToPool(multicastMask);
  for (Ref coordinate : coordinates)
    context.addToPool(coordinate);
  inst.handler = a.load ? tensorLoad : tensorStore;
}

} // namespace nvfp4::sim
