//===- ClusterLaunch.cpp - clusterlaunchcontrol -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// try_cancel takes a cluster that has not started from the launch; its reply
// is 16 bytes written through the async proxy: a flag and the first CTA's id.
//
//===----------------------------------------------------------------------===//

#include "AsyncShared.h"
#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Machine/Access.h"

#include <cstring>

namespace nvfp4::sim {
namespace {

Step tryCancel(Warp &warp, const Inst &inst, LaneMask mask) {
  Machine &machine = warp.machine;
  bool multicast = inst.sub[1];
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint32_t target = 0, barrier = 0;
    if (!sharedAddressOf(
            warp, StateSpace::Generic,
            warp.addressOf(inst.op[0], inst.sub[0] & 1, inst.immediate, lane),
            lane, target) ||
        !sharedAddressOf(warp, StateSpace::Generic,
                         warp.addressOf(inst.op[1], inst.sub[0] & 2, 0, lane),
                         lane, barrier))
      return Step::Stop;
    if (target % 16)
      return warp.fault(ReportKind::Misaligned,
                        "expected a response address that is a multiple of 16",
                        static_cast<int>(lane));
    AsyncOperation operation =
        beginOperation(warp, lane, OperationProxy::Async);
    Cta *cta = &warp.cta;
    Cluster *cluster = cta->cluster;
    ++cluster->pendingOperations;
    machine.schedule(
        machine.delayFor(AsyncKind::Request, warp.cta), [=, &machine] {
          --cluster->pendingOperations;
          uint32_t reply[4] = {};
          if (!machine.waitingClusters.empty()) {
            uint32_t index = machine.waitingClusters.front();
            machine.waitingClusters.pop_front();
            const auto &grid = machine.clusterGrid;
            const auto &size = machine.config.cluster;
            reply[0] = 1;
            reply[1] = index % grid[0] * size[0];
            reply[2] = index / grid[0] % grid[1] * size[1];
            reply[3] = index / (grid[0] * grid[1]) * size[2];
          }
          std::vector<uint8_t> bytes(16);
          std::memcpy(bytes.data(), reply, 16);
          for (auto &member : cluster->ctas) {
            if (!multicast && member.get() != cta)
              continue;
            if (!writeShared(operation, *member, target & sharedOffsetMask,
                             bytes, TensorSwizzle::None))
              return;
            completeOn(operation, *cta,
                       member->rank << sharedRankShift |
                           (barrier & sharedOffsetMask),
                       16);
          }
        });
  }
  return Step::Next;
}

Step isCanceled(Warp &warp, const Inst &inst, LaneMask mask) {
  LaneMask result = 0;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    result |= static_cast<LaneMask>(
                  static_cast<uint32_t>(warp.wide(inst.op[1])[lane]) != 0)
              << lane;
  }
  warp.setPredicate(inst.op[0], mask, result);
  return Step::Next;
}

Step firstCta(Warp &warp, const Inst &inst, LaneMask mask) {
  const Ref *out = &warp.kernel.pool[inst.pool];
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = std::countr_zero(rest);
    uint64_t low = warp.wide(inst.op[1])[lane];
    uint64_t high = warp.wide(inst.op[1])[32 + lane];
    uint32_t parts[4] = {static_cast<uint32_t>(low >> 32),
                         static_cast<uint32_t>(high),
                         static_cast<uint32_t>(high >> 32), 0};
    if (inst.sub[0] < 3) {
      warp.narrow(out[0])[lane] = parts[inst.sub[0]];
      continue;
    }
    for (unsigned i = 0; i < 4; ++i)
      warp.narrow(out[i])[lane] = parts[i];
  }
  return Step::Next;
}

void decodeClusterLaunch(DecodeContext &context) {
  Inst &inst = context.inst;
  if (context.take("try_cancel")) {
    context.take("async");
    context.take("shared::cta");
    context.expectAny({"mbarrier::complete_tx::bytes"});
    inst.sub[1] = context.take("multicast::cluster::all");
    context.expectType({Type::B128});
    if (!context.expectOperands(2))
      return;
    AddressOperand target = context.address(0);
    AddressOperand barrier = context.address(1);
    inst.op[0] = target.base;
    inst.immediate = target.offset;
    inst.op[1] = barrier.base;
    inst.sub[0] = static_cast<uint8_t>(target.wide | barrier.wide << 1);
    if (barrier.offset)
      context.error("expected an mbarrier address without offset");
    inst.handler = tryCancel;
    return;
  }
  context.expectAny({"query_cancel"});
  if (context.take("is_canceled")) {
    context.expectType({Type::Pred});
    context.expectType({Type::B128});
    if (!context.expectOperands(2))
      return;
    inst.op[0] = context.dest(0, Type::Pred);
    inst.op[1] = context.source(1, Type::B128);
    inst.handler = isCanceled;
    return;
  }
  int part = context.takeAny({"get_first_ctaid::x", "get_first_ctaid::y",
                              "get_first_ctaid::z", "get_first_ctaid"});
  if (part < 0) {
    context.unsupported();
    return;
  }
  inst.sub[0] = static_cast<uint8_t>(part);
  context.take("v4");
  context.expectType({Type::B32});
  context.expectType({Type::B128});
  if (!context.expectOperands(2))
    return;
  inst.op[1] = context.source(1, Type::B128);
  std::vector<const Operand *> out = context.elements(0);
  if (out.size() != (part == 3 ? 4u : 1u)) {
    context.error("expected " + std::string(part == 3 ? "4" : "1") +
                  " destination registers");
    return;
  }
  inst.pool = context.poolSize();
  for (const Operand *reg : out)
    context.addToPool(context.dest(*reg, Type::B32));
  inst.handler = firstCta;
}

} // namespace

void addClusterLaunchInstructions(InstructionTable &table) {
  table.add("clusterlaunchcontrol", decodeClusterLaunch);
}

} // namespace nvfp4::sim
