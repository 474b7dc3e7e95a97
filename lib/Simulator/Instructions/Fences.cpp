//===- Fences.cpp - fence, membar, proxy fences -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accesses of a thread are performed in program order here, but for writes to
// other devices, which a fence performs. What else fences order is the
// checker's business.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"
#include "nvfp4/Simulator/Machine/RemoteWrites.h"

namespace nvfp4::sim {
namespace {

Step nothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

/// sub[0]: 1 for shared, 2 for global memory.
Step proxyFence(Warp &warp, const Inst &inst, LaneMask) {
  if (RemoteWrites *remote = warp.machine.remoteWrites.get())
    remote->beforeRelease(warp);
  if (Checker *checker = warp.machine.checker.get())
    checker->proxyFence(warp, inst.sub[0] & 1, inst.sub[0] & 2);
  return Step::Next;
}

/// sub[1]: the scope.
Step memoryFence(Warp &warp, const Inst &inst, LaneMask) {
  auto scope = static_cast<SyncScope>(inst.sub[1]);
  RemoteWrites *remote = warp.machine.remoteWrites.get();
  if (remote && scope == SyncScope::System)
    remote->beforeRelease(warp);
  if (Checker *checker = warp.machine.checker.get())
    checker->memoryFence(warp, scope);
  return Step::Next;
}

Step mapRelease(Warp &warp, const Inst &inst, LaneMask) {
  if (Checker *checker = warp.machine.checker.get()) {
    checker->tensorMapRelease(warp);
    checker->memoryFence(warp, static_cast<SyncScope>(inst.sub[1]));
  }
  return Step::Next;
}

/// sub[0]: the address has 64 bits.
Step mapAcquire(Warp &warp, const Inst &inst, LaneMask mask) {
  Checker *checker = warp.machine.checker.get();
  if (!checker)
    return Step::Next;
  checker->memoryFence(warp, static_cast<SyncScope>(inst.sub[1]));
  for (LaneMask rest = mask; rest; rest &= rest - 1)
    checker->tensorMapAcquire(warp, warp.addressOf(inst.op[0], inst.sub[0],
                                                   inst.immediate,
                                                   std::countr_zero(rest)));
  return Step::Next;
}

Step initFence(Warp &warp, const Inst &, LaneMask) {
  if (Checker *checker = warp.machine.checker.get())
    checker->mbarrierInitFence(warp);
  return Step::Next;
}

void decodeFence(DecodeContext &context) {
  Inst &inst = context.inst;
  inst.handler = nothing;
  if (context.take("mbarrier_init")) {
    context.expectAny({"release"});
    context.expectAny({"cluster"});
    context.expectOperands(0);
    inst.handler = initFence;
    return;
  }
  if (context.take("proxy")) {
    int kind = context.expectAny({"async", "alias", "async.global",
                                  "async.shared::cta", "tensormap::generic",
                                  "async::generic"});
    int space = context.takeAny({"global", "shared::cta", "shared::cluster",
                                 "sync_restrict::shared::cta",
                                 "sync_restrict::shared::cluster"});
    int order = context.takeAny({"acquire", "release"});
    inst.sub[1] = static_cast<uint8_t>(takeSyncScope(context));
    if (kind == 0 || kind == 2 || kind == 3) {
      inst.handler = proxyFence;
      inst.sub[0] = kind == 2 || space == 0                 ? 2
                    : kind == 3 || space == 1 || space == 2 ? 1
                                                            : 3;
    }
    if (kind == 4)
      inst.handler = order == 0 ? mapAcquire : mapRelease;
    // The acquire form for tensor maps names the map and its size.
    if (kind == 4 && context.operandCount() == 2) {
      AddressOperand address = context.address(0);
      inst.op[0] = address.base;
      inst.immediate = address.offset;
      inst.sub[0] = address.wide;
      if (order != 0)
        context.error("expected '.acquire'");
      if (context.literal(1) != 128)
        context.error("expected a size of 128");
      return;
    }
    if (kind == 4 && order != 1)
      context.error("expected '.release' or an address");
    context.expectOperands(0);
    return;
  }
  inst.handler = memoryFence;
  context.takeAny({"sc", "acq_rel", "acquire", "release"});
  context.takeAny(
      {"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  inst.sub[1] =
      static_cast<uint8_t>(context.expectAny({"cta", "cluster", "gpu", "sys"}));
  context.expectOperands(0);
}

void decodeMembar(DecodeContext &context) {
  bool proxy = context.take("proxy");
  if (proxy) {
    context.expectAny({"alias"});
  } else {
    int level = context.expectAny({"cta", "gl", "sys", "gpu"});
    context.inst.sub[1] = static_cast<uint8_t>(level == 0   ? SyncScope::Cta
                                               : level == 2 ? SyncScope::System
                                                            : SyncScope::Gpu);
  }
  context.expectOperands(0);
  context.inst.handler = proxy ? nothing : memoryFence;
}

} // namespace

void addFenceInstructions(InstructionTable &table) {
  table.add("fence", decodeFence);
  table.add("membar", decodeMembar);
}

} // namespace nvfp4::sim
