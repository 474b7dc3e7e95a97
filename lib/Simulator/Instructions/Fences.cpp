//===- Fences.cpp - fence, membar, proxy fences -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All accesses of a thread are performed in program order here, so fences move
// no data; what they order is the checker's business.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Lanewise.h"

#include "nvfp4/Simulator/Check/Checker.h"

namespace nvfp4::sim {
namespace {

Step nothing(Warp &, const Inst &, LaneMask) { return Step::Next; }

Step proxyFence(Warp &warp, const Inst &, LaneMask) {
  if (Checker *checker = warp.machine.checker.get())
    checker->proxyFence(warp);
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
    context.takeAny({"global", "shared::cta", "shared::cluster",
                     "sync_restrict::shared::cta",
                     "sync_restrict::shared::cluster"});
    context.takeAny({"acquire", "release"});
    context.takeAny({"cta", "cluster", "gpu", "sys"});
    if (kind == 0)
      inst.handler = proxyFence;
    // The acquire form for tensor maps names the map and its size.
    if (kind == 4 && context.operandCount() == 2) {
      AddressOperand address = context.address(0);
      inst.op[0] = address.base;
      inst.immediate = address.offset;
      if (context.literal(1) != 128)
        context.error("expected a size of 128");
      return;
    }
    context.expectOperands(0);
    return;
  }
  context.takeAny({"sc", "acq_rel", "acquire", "release"});
  context.takeAny(
      {"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  context.expectAny({"cta", "cluster", "gpu", "sys"});
  context.expectOperands(0);
}

void decodeMembar(DecodeContext &context) {
  if (context.take("proxy"))
    context.expectAny({"alias"});
  else
    context.expectAny({"cta", "gl", "sys", "gpu"});
  context.expectOperands(0);
  context.inst.handler = nothing;
}

} // namespace

void addFenceInstructions(InstructionTable &table) {
  table.add("fence", decodeFence);
  table.add("membar", decodeMembar);
}

} // namespace nvfp4::sim
